"""What extractors of rules are worth on held-out rows: measures, means and standard errors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from clearmargin.exceptions import InvalidValueError, MissingDependencyError
from clearmargin.rules.value import FloatArray

if TYPE_CHECKING:
    import pandas as pd

    from clearmargin.compare.plot import ExtractorsDisplay

__all__ = ["MEASURES", "ExtractorComparison", "ExtractorFigures"]

#: What is measured on each fold, and what it means.
MEASURES: Mapping[str, str] = {
    "accuracy": "share of the held-out rows to which rules and fallback give their label",
    "fidelity": "share of the held-out rows on which they say what the model says",
    "coverage": "share of the held-out rows that a rule covers",
    "covered_accuracy": "accuracy on the covered rows alone",
    "covered_fidelity": "fidelity on the covered rows alone",
    "rules": "number of rules",
    "conditions": "mean number of bounds in a rule; low <= x <= high are two",
    "explanation": "mean number of bounds of the rule that decides, over covered rows",
    "overlap": "share of the held-out rows that rules of different classes cover",
    "proved": "share of the rules for which it was proved that the model says the same all over them",
    "seconds": "processor time of the extraction, without that of training",
}
_SHARES = frozenset(
    [
        "accuracy",
        "fidelity",
        "coverage",
        "covered_accuracy",
        "covered_fidelity",
        "overlap",
        "proved",
    ]
)
_SHOWN = tuple(
    measure for measure in MEASURES if measure not in ("covered_accuracy", "explanation")
)
_TITLES = {"covered_fidelity": "fid. covered", "conditions": "bounds/rule"}


@dataclass(frozen=True, slots=True, eq=False)
class ExtractorFigures:
    """The figures of one extractor, fold by fold.

    Parameters
    ----------
    name : str
        What it is called.
    fallback : label or str
        Who decides where no rule covers a row.
    folds : ndarray of shape (k, len(MEASURES))
        One row a fold, one column a measure; NaN where it failed, or where there was nothing to measure.
    errors : tuple of (str or None) of length k
        What went wrong in each fold; None where nothing did.

    Examples
    --------
    >>> figures = ExtractorFigures("mine", "nearest", np.full((2, len(MEASURES)), 0.5), (None, None))
    >>> figures.mean("fidelity"), figures.error("fidelity"), figures.failure
    (0.5, 0.0, '')
    """

    name: str
    fallback: Any
    folds: FloatArray
    errors: tuple[str | None, ...]

    def values(self, measure: str) -> FloatArray:
        """A measure on the folds on which it exists."""
        if measure not in MEASURES:
            raise InvalidValueError(f"no measure {measure!r}; there are {', '.join(MEASURES)}")
        column = self.folds[:, list(MEASURES).index(measure)]
        return np.asarray(column[~np.isnan(column)])

    def mean(self, measure: str) -> float:
        """The mean of a measure over the folds; NaN where it exists on none."""
        values = self.values(measure)
        return float(values.mean()) if len(values) else float("nan")

    def error(self, measure: str) -> float:
        """The standard error of the mean; NaN where there are fewer than two folds."""
        values = self.values(measure)
        if len(values) < 2:
            return float("nan")
        return float(values.std(ddof=1) / np.sqrt(len(values)))

    @property
    def failure(self) -> str:
        """In how many folds it failed, and the most frequent reason; empty where it did not."""
        reasons = Counter(text for text in self.errors if text is not None)
        if not reasons:
            return ""
        return f"failed on {reasons.total()} of {len(self.errors)} folds: {reasons.most_common(1)[0][0]}"


@dataclass(frozen=True, slots=True, eq=False)
class ExtractorComparison:
    """Held-out figures of extractors that were given the same models.

    Parameters
    ----------
    extractors : tuple of ExtractorFigures
        One for each extractor.
    model_accuracies : ndarray of shape (k,)
        The accuracy of the model itself on each fold.
    how : str, optional
        How the folds were made.
    note : str, optional
        What has to be said of rows that occur in both parts of a fold.

    See Also
    --------
    compare_extractors : Makes it.

    Examples
    --------
    >>> figures = ExtractorFigures("mine", "nearest", np.full((2, len(MEASURES)), 0.5), (None, None))
    >>> comparison = ExtractorComparison((figures,), np.array([0.9, 0.8]))
    >>> round(comparison.model_accuracy, 3), round(comparison.model_accuracy_se, 3)
    (0.85, 0.05)
    """

    extractors: tuple[ExtractorFigures, ...]
    model_accuracies: FloatArray
    how: str = "folds"
    note: str = ""

    @property
    def model_accuracy(self) -> float:
        """The mean accuracy of the model itself."""
        return float(self.model_accuracies.mean())

    @property
    def model_accuracy_se(self) -> float:
        """Its standard error over the folds; NaN where there is but one."""
        k = len(self.model_accuracies)
        return float(self.model_accuracies.std(ddof=1) / np.sqrt(k)) if k > 1 else float("nan")

    def __getitem__(self, name: str) -> ExtractorFigures:
        for figures in self.extractors:
            if figures.name == name:
                return figures
        raise KeyError(
            f"no extractor {name!r}; there are {', '.join(repr(f.name) for f in self.extractors)}"
        )

    def to_frame(self) -> pd.DataFrame:
        """Put the figures into a data frame, one row an extractor.

        Returns
        -------
        DataFrame
            For each measure of `MEASURES` its mean and, in a column with the ending `_se`, the standard error of the
            mean over folds; besides `fallback` and `failure`, what went wrong.
        """
        rows = []
        for figures in self.extractors:
            row: dict[str, Any] = {}
            for measure in MEASURES:
                row[measure], row[f"{measure}_se"] = figures.mean(measure), figures.error(measure)
            rows.append({**row, "fallback": figures.fallback, "failure": figures.failure})
        return _frame(rows, [f.name for f in self.extractors])

    def to_fold_frame(self) -> pd.DataFrame:
        """Put the figures of single folds into a data frame, one row for each extractor and fold.

        Returns
        -------
        DataFrame
            Columns `extractor`, `fold`, the measures, `model_accuracy` and `error`.
        """
        return _frame(
            [
                {
                    "extractor": figures.name,
                    "fold": k,
                    **dict(zip(MEASURES, values.tolist(), strict=True)),
                    "model_accuracy": float(self.model_accuracies[k]),
                    "error": figures.errors[k],
                }
                for figures in self.extractors
                for k, values in enumerate(figures.folds)
            ]
        )

    def plot(self, *, axes: Any = None) -> ExtractorsDisplay:
        """Draw the figures side by side; see `clearmargin.plot.plot_extractors`."""
        from clearmargin.compare.plot import plot_extractors

        return plot_extractors(self, axes=axes)

    def _summary(self) -> str:
        k = len(self.model_accuracies)
        return (
            f"Held out, means over {k} {self.how}, with standard errors; "
            f"the model itself has an accuracy of {_number(self.model_accuracy, self.model_accuracy_se, share=True)} %."
            + (f" {self.note}." if self.note else "")
        )

    def _cells(self) -> list[list[str]]:
        """The table that people read: a header, and a line for each extractor."""
        head = ["extractor"]
        head += [_TITLES.get(m, m) + (" %" if m in _SHARES else "") for m in _SHOWN]
        lines = [head]
        for figures in self.extractors:
            cells = [_number(figures.mean(m), figures.error(m), share=m in _SHARES) for m in _SHOWN]
            lines.append([figures.name, *cells])
        return lines

    def _failures(self) -> list[str]:
        return [f"{f.name} {f.failure}" for f in self.extractors if f.failure]

    def __str__(self) -> str:
        lines = self._cells()
        widths = [max(len(line[j]) for line in lines) for j in range(len(lines[0]))]
        rows = [
            "  ".join([line[0].ljust(widths[0]), *map(str.rjust, line[1:], widths[1:])])
            for line in lines
        ]
        return "\n".join([self._summary(), *rows, *self._failures()])

    def _repr_html_(self) -> str:
        from clearmargin.templates import html_table, render_macro

        head, *body = self._cells()
        numbers = range(1, len(head))
        drawn = html_table(head, body, lines=[self._summary()], numbers=numbers, named=True)
        return drawn + render_macro("notebook.html", "lines", items=self._failures())


def _number(mean: float, error: float, *, share: bool) -> str:
    """A mean with its standard error; shares in percent."""
    if np.isnan(mean):
        return "-"
    mean, error = (100.0 * mean, 100.0 * error) if share else (mean, error)
    digits = 2 if not share and mean < 10 else 1
    return f"{mean:.{digits}f}" + ("" if np.isnan(error) else f" ±{error:.{digits}f}")


def _frame(rows: list[dict[str, Any]], names: list[str] | None = None) -> pd.DataFrame:
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingDependencyError(
            "a data frame needs pandas: pip install clearmargin[frames]"
        ) from error
    return pd.DataFrame(rows, index=None if names is None else pd.Index(names, name="extractor"))
