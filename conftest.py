"""Settings for all tests, those in docstrings included."""

import os

# Read when SciPy is first imported: lets scikit-learn's checks of array inputs run instead of being skipped.
os.environ.setdefault("SCIPY_ARRAY_API", "1")
