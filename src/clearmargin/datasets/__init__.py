"""Data sets of the papers: four real ones that come with the package, three that are made.

The names of the classes are those of the sources. clearmargin calls the second class in
alphabetical order the positive one (``classes_[1]``); each DESCR says which one the papers call so.
"""

from clearmargin.datasets.components import make_components
from clearmargin.datasets.generate import make_imbalanced, make_votes
from clearmargin.datasets.load import load_cleveland, load_ionosphere, load_pima, load_wbc

__all__ = [
    "load_cleveland",
    "load_ionosphere",
    "load_pima",
    "load_wbc",
    "make_components",
    "make_imbalanced",
    "make_votes",
]
