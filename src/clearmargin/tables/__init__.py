"""The user's table: columns, categories, missing values, encoding, labels, and how rows are split.

Read `table.py` first: `Table.read` takes whatever the user has, once. `encoding.py` makes 0/1 columns of categories and
goes back, `validation.py` checks training data, `splitting.py` makes folds. Tables larger than memory: `partitions.py`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
