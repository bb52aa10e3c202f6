"""How a model does on rows that it was not trained on: the whole way of training it, repeated in folds."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from clearmargin.exceptions import ClearmarginError, DataError
from clearmargin.language.prose import ratio_text
from clearmargin.language.words import error_text, rare_text
from clearmargin.progress import Progress, advance
from clearmargin.progress import task as progress_task
from clearmargin.rules.space import nearest_name
from clearmargin.rules.value import IntArray
from clearmargin.tables.figures import Evaluation

if TYPE_CHECKING:
    from clearmargin.models import PlaneModel
    from clearmargin.recipes.task import Task
    from clearmargin.report.subject import Refit
    from clearmargin.tables.files import FileTable
    from clearmargin.tables.splitting import Folds, Splitting

# Number of folds for figures on unseen rows, where the user does not choose it.
FOLDS = 5
# The fact of a model whose training had to differ from that of the model of all rows.
OTHERWISE = "trained_otherwise"


def read_splitting(
    table: FileTable, target: str, cv: int | None, groups: str | None, time: str | None
) -> Splitting | None:
    """Read how the rows of a table are split."""
    from clearmargin.tables.splitting import Splitting

    columns: dict[str, Any] = {}
    for option, name in (("groups", groups), ("time", time)):
        if name is None:
            continue
        if not cv:
            raise DataError(f"{option} says how rows are split; leave it out with cv=None")
        if name == target:
            raise DataError(f"{option}: {name!r} is the column of classes")
        if name not in table.columns:
            hint = nearest_name(name, table.columns)
            raise DataError(f"{table.name} has no column {name!r}{hint}")
        key = "groups" if option == "groups" else "times"
        columns[key] = table.columns[name]
        try:
            Splitting(cv, **{key: columns[key]}).checked(len(table))
        except DataError as error:
            raise DataError(f"{option}={name!r}: {error}") from None
    return Splitting(cv, **columns).checked(len(table)) if cv else None


def inner_folds(task: Task, number: int) -> Any:
    """Make folds for a search within a task: a number, or training and test rows where groups or times decide."""
    splitting = task.splitting
    if splitting is None or (splitting.groups is None and splitting.times is None):
        return number
    try:
        folds = splitting.within(np.arange(len(task.y)), number).folds(task.X, task.y)
    except DataError:  # so few groups or times are left in a fold that they cannot be split again
        return number
    return list(folds.pairs)


@dataclass(frozen=True, slots=True, eq=False)
class Unseen:
    """What models predict for rows that they were trained without."""

    folds: Folds
    known: Evaluation
    otherwise: tuple[str, ...] = ()

    def facts(self) -> dict[str, Any]:
        """Return what a model file keeps, and `unseen_text` puts into words."""
        told = self.known.to_dict()
        facts: dict[str, Any] = {}
        if self.known.rare is not None:
            facts = {name: told[name] for name in ("rare_class", "rare_class_share")}
            facts["rare_class"] = str(self.known.rare)
            for name in ("balanced_accuracy", "auc", "recall", "precision"):
                if told[name]["value"] is not None:
                    facts[f"cross_validated_{name}"] = told[name]["value"]
                    facts[f"cross_validated_{name}_error"] = told[name]["standard_error"]
        label, share = self.known.common
        facts |= {
            "cross_validated_accuracy": told["accuracy"]["value"],
            "cross_validated_error": told["accuracy"]["standard_error"],
            "cross_validation": f"{len(self.folds)} {self.folds.how}",
            "most_frequent_class": str(label),
            "most_frequent_class_share": share,
        }
        if self.folds.note:
            facts["duplicate_rows"] = self.folds.note
        if self.otherwise:
            facts[OTHERWISE] = ", ".join(self.otherwise)
        return facts


class Retraining:
    """A way to train a model on rows of a table, which is repeated in every fold."""

    def __init__(
        self,
        y: NDArray[Any],
        splitting: Splitting | None,
        split: Callable[[], Folds],
        train: Callable[[IntArray], PlaneModel],
        table: Callable[[IntArray, PlaneModel], Any],
    ):
        self.y, self.splitting, self._split = y, splitting, split
        self._train, self._table = train, table
        self._models: dict[bytes, PlaneModel] = {}

    @classmethod
    def of_task(cls, task: Task, train: Callable[[Task], PlaneModel]) -> Retraining:
        """Train on parts of a task."""
        return cls(
            task.y,
            task.splitting,
            task.folds,
            lambda rows: train(task.part(rows)),
            task.rows_for,
        )

    def model(self, rows: IntArray) -> PlaneModel:
        """Train on some rows; a second time only if the rows are others."""
        key = rows.tobytes()
        if key not in self._models:
            with warnings.catch_warnings():
                # They are said of the model of all rows; folds would say them again with other numbers.
                warnings.simplefilter("ignore")
                self._models[key] = self._train(rows)
        return self._models[key]

    def judge(self, progress: Progress) -> tuple[Unseen | None, tuple[str, ...]]:
        """Judge models on rows that they were not trained on; None, and a note, where that cannot be."""
        if self.splitting is None:
            return None, ()
        place = ""
        try:
            folds = self._split()
            said, ranked, otherwise = [], [], []
            with progress_task("folds", len(folds), show=progress):
                for number, (train, test) in enumerate(folds.pairs, start=1):
                    # What is wrong with the rows of a fold may be false of all rows.
                    place = (
                        f"in fold {number}, which trains on {len(train)} of {len(self.y)} rows: "
                    )
                    model = self.model(train)
                    rows = self._table(test, model)
                    said.append(np.asarray(model.predict(rows)))
                    is_scored = hasattr(model, "decision_function")
                    scores = np.asarray(model.decision_function(rows)) if is_scored else None
                    ranked.append(None if scores is None else (model.classes_, scores))
                    if model.facts and OTHERWISE in model.facts:
                        otherwise.append(f"in fold {number} {model.facts[OTHERWISE]}")
                    advance()
        except ClearmarginError as error:
            unknown = "how the model does on rows that it was not trained on is not known"
            return None, (f"{unknown}: {place}{error}",)
        known = Evaluation.of(folds, self.y, said, ranked, self.splitting.groups)
        return Unseen(folds, known, tuple(otherwise)), ()

    def refit(self, extract: Callable[[IntArray, PlaneModel], Any]) -> Refit:
        """Give what a report trains its folds with: a model with its rules, and rows as it takes them."""

        def train_again(train: IntArray, test: IntArray) -> tuple[Any, Any]:
            model = self.model(train)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                # A plane without weights has no rules, but an answer, which counts.
                fitted = extract(train, model) if model.coef_.any() else model
            return fitted, self._table(test, model)

        return train_again


def unseen_text(facts: dict[str, Any]) -> str:
    """Say what is known of a model on rows that it was not trained on; empty if nothing is."""
    if "cross_validated_accuracy" not in facts:
        return ""
    share = ratio_text(float(facts["cross_validated_accuracy"]))
    right = error_text(share, facts.get("cross_validated_error"))
    common, most = facts["most_frequent_class"], float(facts["most_frequent_class_share"])
    way = f", except that {facts[OTHERWISE]},\n" if OTHERWISE in facts else " "
    rare = ""
    if "rare_class" in facts:
        told = {name: facts[name] for name in ("rare_class", "rare_class_share")}
        for name in ("balanced_accuracy", "auc", "recall", "precision"):
            key = f"cross_validated_{name}"
            told[name] = {"value": facts.get(key), "standard_error": facts.get(f"{key}_error")}
        rare = f"has {rare_text(told)};\nit "
    text = (
        f"Trained in the same way{way}without the rows it is judged on, it {rare}is right on {right},\n"
        f"always saying {common} on {ratio_text(most)} ({facts['cross_validation']})."
    )
    if "duplicate_rows" in facts:
        text += f"\n{facts['duplicate_rows']},\nwhich may make this figure too high."
    return text
