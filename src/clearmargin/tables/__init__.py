"""The user's table: columns, categories, missing values, encoding, labels, and how rows are split.

Read `columns.py` first.
"""
