"""A report: plain data, and the files made from it."""

from __future__ import annotations

import copy
import json
import os
import re
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from clearmargin.exceptions import InvalidValueError
from clearmargin.report.markdown import make_markdown
from clearmargin.report.page import make_page
from clearmargin.rules.files import write_text_atomically

__all__ = ["Report"]

_HIDDEN = re.compile(r"[^\x20-\x7e\n]")


@dataclass(frozen=True, slots=True, repr=False)
class Report:
    """What `report` found, as plain data and as a page.

    Parameters
    ----------
    summary : dict
        Everything that the report says, as plain data; see `to_dict`.

    Examples
    --------
    >>> from clearmargin import LPSVC
    >>> from clearmargin.report import report
    >>> made = report(LPSVC(), [[0.0], [1.0], [4.0], [5.0]], ["no", "no", "yes", "yes"], cv=2)
    >>> made.to_dict()["rules"]["total"]["covered"]
    4
    >>> made
    <Report 'Rules for no and yes': 2 rules, 4 cases>
    """

    summary: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Give everything that the report says as plain data for JSON.

        Returns
        -------
        dict
            `title`, `about`, `learned` (sentences), `data`, `model`, `rules`, `features`, `validation`, `curves`,
            `cases`, `uncovered`, `contrast`, `advice` and `reproduce`. Parts that there are not are None or empty.
            Names of features and classes are as they were given; sentences show what cannot be seen as escapes.
        """
        return copy.deepcopy(self.summary)

    def to_json(self) -> str:
        """Write the summary as JSON; what cannot be seen is escaped."""
        text = json.dumps(self.summary, indent=1, ensure_ascii=False, allow_nan=False)
        return _HIDDEN.sub(_escape, text) + "\n"

    def to_markdown(self) -> str:
        """Write the report as Markdown, with tables in the style of GitHub and without drawings."""
        return make_markdown(self.summary)

    def to_html(self) -> str:
        """Write the report as one HTML page with style and drawings in it; it loads nothing and runs nothing."""
        return make_page(self.summary)

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
        """Write the report to a file, as a page (.html), Markdown (.md) or JSON (.json).

        Parameters
        ----------
        path : path
            The file; its suffix decides the form.
        overwrite : bool, default False
            Whether an existing file may be replaced.

        Returns
        -------
        Path
            The file written, whole or not at all.
        """
        writers = {
            ".html": self.to_html,
            ".htm": self.to_html,
            ".md": self.to_markdown,
            ".json": self.to_json,
        }
        suffix = Path(path).suffix.lower()
        if suffix not in writers:
            raise InvalidValueError(f"{path}: the name of a report ends in .html, .md or .json")
        return write_text_atomically(path, writers[suffix](), overwrite=overwrite)

    def _repr_html_(self) -> str:
        # In a frame of its own, neither the notebook's style nor the report's gets at the other.
        return (
            f'<iframe title="{escape(self.summary["title"])}" sandbox srcdoc="{escape(self.to_html())}" '
            'style="width:100%;height:40rem;border:1px solid #888"></iframe>'
        )

    def __repr__(self) -> str:
        rules = self.summary["rules"]
        count = "" if rules is None else f"{len(rules['list'])} rules, "
        return f"<Report {self.summary['title']!r}: {count}{self.summary['data']['rows']} cases>"

    def __str__(self) -> str:
        return "\n".join([self.summary["title"], *self.summary["learned"]])


def _escape(match: re.Match[str]) -> str:
    char = match.group()
    return char if char.isprintable() else json.dumps(char)[1:-1]
