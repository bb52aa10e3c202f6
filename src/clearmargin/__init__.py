"""Support vector machines that say what they know, and listen to what experts know.

The public names are listed in `__init__.pyi`, here and in each package below. They load when first used, so that
`import clearmargin` costs next to nothing.
"""

import lazy_loader

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__all__ += ["__version__"]
