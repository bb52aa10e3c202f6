"""The commands of the package, run in a folder of their own."""

from tests.cli.conftest import ask, run

__all__ = ["ask", "run"]
