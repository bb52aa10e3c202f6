"""Show on a data set of the package what comes out: a sparse plane, its rules, an explanation, a report."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from clearmargin.exceptions import DataError
from clearmargin.recipes.unseen import Retraining
from clearmargin.rules.space import nearest_name

if TYPE_CHECKING:
    from clearmargin.lp_svm import LPSVCCV
    from clearmargin.models import PlaneModel
    from clearmargin.plane_rules import RuleExtractor
    from clearmargin.progress import Progress
    from clearmargin.report import Report
    from clearmargin.rules.value import IntArray

__all__ = [
    "DATASETS",
    "Demonstration",
    "dataset_csv",
    "dataset_facts",
    "demonstrate",
    "load_dataset",
]

DATASETS = {
    "wbc": "load_wbc",
    "ionosphere": "load_ionosphere",
    "cleveland": "load_cleveland",
    "pima": "load_pima",
}
_MAX_FEATURES = 5


def load_dataset(name: str) -> Any:
    """Load a data set by its short name, as arrays."""
    from clearmargin import datasets

    if name not in DATASETS:
        raise DataError(f"unknown data set {name!r}{nearest_name(name, DATASETS)}")
    return getattr(datasets, DATASETS[name])(as_frame=False)


def dataset_facts(name: str, data: Any) -> dict[str, Any]:
    """Return size, classes and title of a data set, as plain data for JSON."""
    rows, columns = data.data.shape
    return {
        "name": name,
        "rows": rows,
        "features": columns,
        "classes": list(data.target_names),
        "title": data.DESCR.splitlines()[0].lstrip("# "),
    }


def dataset_csv(data: Any) -> str:
    """Return a data set as CSV; its last column is called class."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*data.feature_names, "class"])
    for values, label in zip(data.data.tolist(), data.target.tolist(), strict=True):
        writer.writerow([*(int(v) if v.is_integer() else v for v in values), label])
    return text.getvalue()


@dataclass(frozen=True, slots=True, eq=False)
class Demonstration:
    """A plane trained on a data set of the package.

    Parameters
    ----------
    name : str
        The data set.
    data : Bunch
        Its rows.
    svm : LPSVCCV
        The plane.
    retraining : Retraining
        How it is trained again on part of the cases: nu and features are chosen anew.
    """

    name: str
    data: Any
    svm: LPSVCCV
    retraining: Retraining

    def extract(self, progress: Progress = False) -> RuleExtractor:
        """Extract the rules of the plane."""
        X, y = self.data.data, self.data.target
        return _extract(_named(self.svm, self.data), self.data, X, y, progress)

    def report(self, extractor: RuleExtractor) -> Report:
        """Report on plane and rules, which are made again in every fold."""
        from clearmargin.report import report

        data = self.data
        X, y = data.data, data.target
        splitting = self.retraining.splitting
        refit = self.retraining.refit(
            lambda rows, model: _extract(model, data, X[rows], y[rows], False)
        )
        return report(extractor, X, y, cv=None if splitting is None else splitting.cv, refit=refit)


def demonstrate(
    name: str, data: Any, cv: int | None, *, progress: Progress = False
) -> Demonstration:
    """Train a sparse plane on a data set.

    Parameters
    ----------
    name : str
        The data set.
    data : Bunch
        What `load_dataset` gives for it.
    cv : int or None
        Number of folds for figures on unseen rows.
    progress : bool or "auto", default False
        Whether bars are shown.

    Returns
    -------
    Demonstration
        From which rules are extracted, and a report is made.
    """
    from clearmargin.tables.splitting import Splitting

    X, y = data.data, data.target

    def train(rows: IntArray) -> PlaneModel:
        return _named(_fit(X[rows], y[rows], False), data)

    splitting = Splitting(cv) if cv else None
    retraining = Retraining(X, y, splitting, train, lambda rows, _: X[rows])
    return Demonstration(name, data, _fit(X, y, progress), retraining)


def _fit(X: Any, y: Any, progress: Progress) -> LPSVCCV:
    from clearmargin.lp_svm import LPSVCCV

    return LPSVCCV(rule="1se", max_features=_MAX_FEATURES, progress=progress).fit(X, y)


def _extract(model: PlaneModel, data: Any, X: Any, y: Any, progress: Progress) -> RuleExtractor:
    """Extract rules with the names and units of the data set, whose table is an array without names."""
    from clearmargin.plane_rules import RuleExtractor
    from clearmargin.rules import FeatureSpace

    units = [data.units.get(name) for name in data.feature_names]
    # Declared, the ranges of the data need not be said in every rule.
    ranges = FeatureSpace(data.feature_names, X.min(axis=0), X.max(axis=0), units=units)
    return RuleExtractor(model, criterion="coverage", bounds=ranges, progress=progress).fit(X, y)


def _named(svm: LPSVCCV, data: Any) -> PlaneModel:
    from clearmargin.models import PlaneModel
    from clearmargin.rules import FeatureSpace, RuleSet

    space = FeatureSpace(data.feature_names)
    return PlaneModel(RuleSet([], space, svm.classes_.tolist()), svm.coef_, svm.intercept_)
