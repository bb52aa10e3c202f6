"""Read anybody's fitted model: hyperplanes, kernel machines, pipeline steps; save and load models as JSON.

Read `surface.py` first: the surface on which a linear classifier changes its class, in the user's units.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
