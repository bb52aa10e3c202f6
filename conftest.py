"""Settings for all tests, those in docstrings included."""

import gc
import os
import sys

import pytest
from _pytest.doctest import DoctestItem

# Read when SciPy is first imported: lets scikit-learn's checks of array inputs run instead of being skipped.
os.environ.setdefault("SCIPY_ARRAY_API", "1")
# Workers share the processors; threads of BLAS that wait for each other would take them from the other tests.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")


@pytest.fixture(autouse=True)
def _no_figure_is_left_open():
    """Examples open figures as users do, and matplotlib warns when more than twenty stay open."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


def _exported() -> set[str]:
    """The objects that a package exports, and the classes that these inherit from, by the modules that define them."""
    packages = [m for m in sys.modules.values() if m.__name__.split(".")[0] == "clearmargin"]
    found = set()
    for package in packages:
        if not hasattr(package, "__path__"):
            continue
        for name in getattr(package, "__all__", ()):
            value = getattr(package, name)
            kinds = value.__mro__ if isinstance(value, type) else [value]
            found |= {
                f"{k.__module__}.{k.__qualname__}" for k in kinds if hasattr(k, "__qualname__")
            }
    return found


def pytest_collection_finish(session):
    """What is loaded now lives to the end: to look through it again and again takes a tenth of the time of tests."""
    gc.collect()
    gc.freeze()


def pytest_sessionfinish(session):
    """Libraries warn of what is left when the interpreter ends."""
    gc.unfreeze()


def pytest_collection_modifyitems(config, items):
    """Examples in docstrings are run where the name is exported; of private names they are comments."""
    docs = [item for item in items if isinstance(item, DoctestItem)]
    public = _exported()
    private = [d for d in docs if not {d.name, d.name.rpartition(".")[0]} & public]
    config.hook.pytest_deselected(items=private)
    dropped = set(map(id, private))
    items[:] = [item for item in items if id(item) not in dropped]
    # What waits for other processes comes first, so that at the end all workers have short tests to share.
    items.sort(key=lambda item: "tests/workbench/" not in item.nodeid)
