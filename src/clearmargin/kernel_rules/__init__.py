"""Rules out of kernel machines, and proofs about them.

Read `certificate.py` (a proof over one box) and `support_vector_rules.py` (rules around support vectors) first.
What is particular to a kernel is in `kernels.py`, which says how to add one.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
