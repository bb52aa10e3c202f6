"""Dask data frames and arrays: `LPSVC` is trained on all of their rows, and `scan` gives them to everything else.

Read `estimators.py` first, then `collection.py`, which makes partitions of a collection, and `engine.py`, which runs
functions on them. Dask is imported when something is fitted.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
