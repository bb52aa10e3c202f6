"""`clearmargin --debug`: versions of clearmargin and what it runs on, for a report of a bug."""

from __future__ import annotations

import argparse
import os
import platform
from importlib import metadata

from clearmargin.cli.console import Console

# In the order in which they decide results.
_PACKAGES = (
    "clearmargin",
    "numpy",
    "scipy",
    "scikit-learn",
    "highspy",
    "clarabel",
    "pyarrow",
    "threadpoolctl",
    "pandas",
    "polars",
    "matplotlib",
)


def run(arguments: argparse.Namespace) -> None:
    """Print the versions, as lines or as JSON."""
    versions = read_versions()
    Console.of(arguments).result(format_versions(versions), versions)


def read_versions() -> dict[str, str]:
    """Read the versions of Python, packages and BLAS, and what the machine is."""
    versions = {
        "python": f"{platform.python_version()} ({platform.python_implementation()})",
        "platform": platform.platform(),
        "processors": str(os.cpu_count()),
    }
    versions |= {name: _version_of(name) for name in _PACKAGES}
    return versions | {f"BLAS {number}": text for number, text in enumerate(_blas(), 1)}


def format_versions(versions: dict[str, str]) -> str:
    """Format versions as aligned lines."""
    width = max(map(len, versions)) + 1
    return "\n".join(f"{name + ':':<{width}} {text}" for name, text in versions.items())


def _version_of(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def _blas() -> list[str]:
    """Name the BLAS libraries that numpy and scipy load; results can differ in the last bits between them."""
    try:
        # Libraries are listed once they are loaded.
        import scipy.linalg  # noqa: F401
        from threadpoolctl import threadpool_info
    except ImportError as error:
        return [f"not read: {error}"]
    return [
        f"{library['internal_api']} {library['version']}, kernels of {library.get('architecture', 'unknown')}, "
        f"{library['num_threads']} threads"
        for library in threadpool_info()
        if library["user_api"] == "blas"
    ]
