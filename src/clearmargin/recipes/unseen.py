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
from clearmargin.progress import Progress, advance
from clearmargin.progress import task as progress_task
from clearmargin.rules.space import nearest_name
from clearmargin.rules.value import FloatArray, IntArray

if TYPE_CHECKING:
    from clearmargin.models import PlaneModel
    from clearmargin.recipes.task import Task
    from clearmargin.report.subject import Refit
    from clearmargin.tables.files import FileTable
    from clearmargin.tables.splitting import Folds, Splitting

__all__ = ["FOLDS", "Retraining", "Unseen", "inner_folds", "read_splitting", "unseen_text"]

# Number of folds for figures on unseen rows, where the user does not choose it.
FOLDS = 5
# The fact of a model whose training had to differ from that of the model of all rows.
OTHERWISE = "trained_otherwise"


def read_splitting(
    table: FileTable, target: str, cv: int | None, groups: str | None, time: str | None
) -> Splitting | None:
    """Read how the rows of a table are split.

    Parameters
    ----------
    table : FileTable
        The whole table.
    target : str
        The column of the classes.
    cv : int or None
        Number of folds; None where no figure is wanted.
    groups, time : str or None
        The columns that decide.

    Returns
    -------
    Splitting or None
        Of all rows of the table; None where no figure is wanted.
    """
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
    """Make folds for a search within a task: a number, or training and test rows where groups or times decide.

    Parameters
    ----------
    task : Task
        The rows that are trained on.
    number : int
        Maximum number of folds.

    Returns
    -------
    int or list of (train, test)
        For the parameter `cv` of a search.
    """
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
    """The share of rows on which models are right that were trained without these rows.

    Parameters
    ----------
    folds : Folds
        How rows were split.
    right : ndarray of int of shape (k,)
        Rows of each fold on which its model is right.
    constant : tuple of label and int
        The most frequent class, and how many of the tested rows are of it.
    otherwise : tuple of str
        Folds whose models had to be trained in another way than the model of all rows, and how.
    """

    folds: Folds
    right: IntArray
    constant: tuple[Any, int]
    otherwise: tuple[str, ...] = ()

    @property
    def by_fold(self) -> FloatArray:
        """The share of each fold."""
        return np.asarray(self.right / np.array([len(test) for _, test in self.folds.pairs]))

    def facts(self) -> dict[str, Any]:
        """Return what a model file keeps, and `unseen_text` puts into words."""
        label, count = self.constant
        total = self.folds.n_tested
        facts: dict[str, Any] = {"cross_validated_accuracy": float(self.right.sum() / total)}
        if len(self.folds) > 1:
            error = self.by_fold.std(ddof=1) / np.sqrt(len(self.folds))
            facts["cross_validated_error"] = float(error)
        facts["cross_validation"] = f"{len(self.folds)} {self.folds.how}"
        facts["most_frequent_class"] = str(label)
        facts["most_frequent_class_share"] = count / total
        if self.folds.note:
            facts["duplicate_rows"] = self.folds.note
        if self.otherwise:
            facts[OTHERWISE] = ", ".join(self.otherwise)
        return facts


class Retraining:
    """A way to train a model on rows of a table, which is repeated in every fold.

    Parameters
    ----------
    y : array
        The classes of all rows.
    splitting : Splitting or None
        How rows are split.
    split : callable
        Splits them.
    train : callable
        Trains a model on the rows at some positions: choices of costs and features, scaling, encoding, imputation.
    table : callable
        Gives the rows at some positions as a model takes them.
    """

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
            right, otherwise = [], []
            with progress_task("folds", len(folds), show=progress):
                for number, (train, test) in enumerate(folds.pairs, start=1):
                    # What is wrong with the rows of a fold may be false of all rows.
                    place = (
                        f"in fold {number}, which trains on {len(train)} of {len(self.y)} rows: "
                    )
                    model = self.model(train)
                    predicted = model.predict(self._table(test, model))
                    right.append(int((predicted == self.y[test]).sum()))
                    if model.facts and OTHERWISE in model.facts:
                        otherwise.append(f"in fold {number} {model.facts[OTHERWISE]}")
                    advance()
        except ClearmarginError as error:
            unknown = "how the model does on rows that it was not trained on is not known"
            return None, (f"{unknown}: {place}{error}",)
        tested = self.y[np.concatenate([test for _, test in folds.pairs])]
        labels, counts = np.unique(tested, return_counts=True)
        common = int(counts.argmax())
        constant = (labels.tolist()[common], int(counts[common]))
        return Unseen(folds, np.array(right), constant, tuple(otherwise)), ()

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
    error = facts.get("cross_validated_error")
    margin = "" if error is None else f" (standard error {100 * float(error):.1f})"
    common, most = facts["most_frequent_class"], float(facts["most_frequent_class_share"])
    way = f", except that {facts[OTHERWISE]},\n" if OTHERWISE in facts else " "
    text = (
        f"Trained in the same way{way}without the rows it is judged on, it is right on {share}{margin},\n"
        f"always saying {common} on {ratio_text(most)} ({facts['cross_validation']})."
    )
    if "duplicate_rows" in facts:
        text += f"\n{facts['duplicate_rows']},\nwhich may make this figure too high."
    return text
