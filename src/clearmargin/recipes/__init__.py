"""The verbs of the front doors: table -> task -> model -> rules -> what people take away.

Every verb takes plain arguments and gives a frozen value with `to_dict`, which is what ``--json`` prints and what a
web page sends. Nothing here prints, parses arguments or ends the process: what the user should know is in `notes` of
the value, what is wrong is one of our exceptions. Read `task.py` first.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
