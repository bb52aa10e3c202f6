"""Rows in chunks (sites, files): rules of each chunk, and one support vector machine of the rules of all.

Read `chunked_svc.py` first, then `knowledge.py`, whose docstring states the program.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
