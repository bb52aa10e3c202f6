"""Sections as one HTML page that needs nothing else."""

from __future__ import annotations

from typing import Any

from clearmargin.report.sections import make_sections
from clearmargin.templates import render

__all__ = ["make_page"]


def make_page(summary: dict[str, Any]) -> str:
    """Write a summary as an HTML page.

    Parameters
    ----------
    summary : dict
        As `Report.to_dict` gives it.

    Returns
    -------
    str
        The page, with style and drawings in it.
    """
    return render(
        "page.html",
        title=summary["title"],
        about=summary["about"],
        sections=make_sections(summary),
        version=summary["reproduce"]["versions"]["clearmargin"],
    )
