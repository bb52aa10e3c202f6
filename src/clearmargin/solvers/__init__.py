"""Linear, mixed-integer, quadratic and cone programs as values: Program -> backend -> Solution.

Read `program.py` first, then `solving.py`. A solution judges itself by residuals (`residual.py`); `exact.py` solves in
rational arithmetic.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
