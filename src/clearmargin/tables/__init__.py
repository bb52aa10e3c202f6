"""The user's table: columns, categories, missing values, encoding, labels, and how rows are split.

Read `table.py` first: `Table.read` takes whatever the user has, once. `encoding.py` makes 0/1 columns of categories and
goes back, `validation.py` checks training data, `splitting.py` makes folds.
"""
