"""The workbench: a page on this machine where an expert edits rules and the machine answers.

`start.py` is what the command calls; `routes.py` has all addresses, each a few lines over `bench.py`, which holds an
open project: its table, its rules, its machine. What is kept is in one SQLite file (`project_file.py`, `history.py`);
what takes long runs in processes of its own (`jobs.py`, `work.py`). `guard.py` decides who may ask at all. The live
parts of the pages are the modules in `static/`.
"""
