"""Names of a package that load when they are first used."""

from collections.abc import Callable, Mapping
from importlib import import_module

__all__ = ["lazy_names"]


def lazy_names(
    package: str, homes: Mapping[str, str]
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Make the `__getattr__` and `__dir__` of a package.

    Parameters
    ----------
    package : str
        Its `__name__`.
    homes : mapping from str to str
        The module in the package that each name comes from.

    Returns
    -------
    pair of functions
        The first one finds names, the second one lists them.

    Examples
    --------
    >>> find, names = lazy_names("collections", {"Mapping": "abc"})
    >>> find("Mapping").__name__, names()
    ('Mapping', ['Mapping'])
    """

    def find(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{homes[name]}"), name)

    return find, lambda: sorted(homes)
