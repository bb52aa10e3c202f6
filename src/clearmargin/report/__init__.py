"""Reports: what was learned, how good it is and what it leaves out, in one file that needs nothing else.

Read `build.py` first: it gathers plain data (`facts.py`, `origin.py`), `sections.py` puts them into words as blocks,
and `page.py` draws the blocks by the templates of `clearmargin.templates`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
