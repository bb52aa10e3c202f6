"""Settings for all tests, those in docstrings included."""

import os
import sys

import pytest

# Read when SciPy is first imported: lets scikit-learn's checks of array inputs run instead of being skipped.
os.environ.setdefault("SCIPY_ARRAY_API", "1")


@pytest.fixture(autouse=True)
def _no_figure_is_left_open():
    """Examples open figures as users do, and matplotlib warns when more than twenty stay open."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
