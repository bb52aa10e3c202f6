"""Train the plane of a sample again on all rows of a table that is too large to be held."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline

from clearmargin.lp_svm import LPSVC, ProximalSVC
from clearmargin.plane_rules.sampled_rules import count_right, target_codes, usable_rows
from clearmargin.recipes.large_tables import SampledTask, sampled_table
from clearmargin.recipes.trained_models import PlaneOptions, as_model, encoder
from clearmargin.tables.part_survey import HeldTable, MappedTable
from clearmargin.tables.scanned import HELD_BYTES
from clearmargin.tables.table_encoder import TableEncoder
from clearmargin.tables.table_part import TablePart, Values

if TYPE_CHECKING:
    from clearmargin.models import PlaneModel

__all__ = ["PlaneOfAllRows"]

_CODE = "class"


class PlaneOfAllRows:
    """A plane with the features, the scale and the cost that were found on a sample, trained on all rows.

    Parameters
    ----------
    task : SampledTask
        The sample, and where all rows are.
    model : PlaneModel
        The plane of the sample.
    machine : {"lp-svm", "proximal"}
        Which machine it is.
    options : PlaneOptions
        How it is trained.
    """

    def __init__(self, task: SampledTask, model: PlaneModel, machine: str, options: PlaneOptions):
        self.task, self.model, self.machine, self.options = task, model, machine, options
        self.classes = np.unique(task.y)
        place = {label: k for k, label in enumerate(self.classes.tolist())}
        self.class_of = {value: place[label] for value, label in task.labels.items()}
        used = set(model.features_used)
        step = encoder(task, scale=True)
        self.encoder = TableEncoder(
            [name for name in step.numeric if name in used],
            {name: known for name, known in step.categories.items() if name in used},
            scale=True,
        ).fit(task.X)

    def fit(self) -> tuple[PlaneModel, float]:
        """Train, and return the model in the units of the table with its accuracy on all rows."""
        if len(self.classes) == 2:
            last: Any = self._fit_side(1)
            last.classes_ = self.classes
        else:
            # Of a frame that is fitted to the sample only the planes are put in the place of others.
            frame = OneVsRestClassifier(ProximalSVC())
            last = frame.fit(self.encoder.transform(self.task.X), self.task.y)
            last.estimators_ = [self._fit_side(k) for k in range(len(self.classes))]
        facts = {**(self.model.facts or {}), "rows": self.task.n_rows}
        if "nu" in facts:
            facts["nu"] = self._cost()
        pipeline = make_pipeline(self.encoder, last)
        model = as_model(self.task.of_sample(), pipeline, facts)
        right, count = count_right(
            sampled_table(self.task, model), model, np.empty(0, dtype=np.intp)
        ).sum(axis=1)
        return model, float(right / count)

    def _cost(self) -> float:
        """Return the cost of a row, where all rows weigh as much as those of the sample."""
        if self.options.nu is not None:
            return self.options.nu
        chosen = (self.model.facts or {}).get("nu")
        if chosen is None:
            return 1.0
        return float(chosen) * len(self.task.X) / self.task.n_rows

    def _machine(self) -> Any:
        weight = "balanced" if self.options.balanced else None
        if self.machine == "proximal":
            return ProximalSVC(self._cost(), balanced=self.options.balanced)
        return LPSVC(self._cost(), class_weight=weight)

    def _source(self) -> Any:
        return self.task.source.select(self.task.X.names)

    def _fit_side(self, k: int) -> Any:
        """Train the plane of one class against the others."""
        arguments = (self.encoder, self.model, self.class_of, self.task.target, k)
        names = self.encoder.get_names_out()
        encoded = MappedTable(self._source(), _encoded, arguments, names)
        encoded.target, encoded.has_names = _CODE, False
        if 8 * len(names) * self.task.n_rows > HELD_BYTES:
            return self._machine().fit(encoded)
        # Encoded once, where that takes little room, instead of in every pass.
        held = HeldTable(encoded.map(_itself), names, _CODE, encoded.name)
        held.has_names = False
        return self._machine().fit(held)


def _itself(part: TablePart) -> TablePart:
    return part


def _encoded(
    part: TablePart,
    step: TableEncoder,
    model: PlaneModel,
    class_of: dict[Any, int],
    target: str,
    k: int,
) -> TablePart:
    """Encode the rows of a partition that can be used, and tell the rows of one class."""
    part = part.take(usable_rows(part, model, target))
    table = part.table(step.feature_names_in_.tolist()).filled(model.fill or {})
    points = np.asfortranarray(step.transform(table))
    columns: dict[str, Values] = dict(zip(step.get_names_out(), points.T, strict=True))
    columns[_CODE] = (target_codes(part, target, class_of) == k).astype(np.int64)
    return part._replace(columns=columns)
