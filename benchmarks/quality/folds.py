"""Held-out folds: the machine that is trained on a fold, and what it says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import RepeatedStratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from benchmarks.quality.data import DataSet

__all__ = ["N_FOLDS", "TEACHERS", "Fold", "folds", "machine_fields", "write_problem"]

N_FOLDS = 5
# Not one of the seeds on which settings of extractors were tried.
SEED = 2026
TEACHERS = ("linear", "RBF")
FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Fold:
    """Training rows, held-out rows, and a machine that was trained on the former with their labels.

    `predicted_train` and `predicted_test` are what the machine predicts: all methods learn from it.
    """

    data: str
    teacher: str
    number: int
    model: Any
    X_train: FloatArray
    predicted_train: IntArray
    X_test: FloatArray
    predicted_test: IntArray
    y_test: IntArray
    names: tuple[str, ...]

    @property
    def seed(self) -> int:
        """The seed of everything that is drawn in this fold."""
        return SEED + self.number


def teacher_of(kind: str, X: FloatArray, y: IntArray) -> Any:
    """A linear or an RBF machine behind a scaler, with the defaults of scikit-learn."""
    machine = LinearSVC(C=1.0, random_state=0, max_iter=100_000) if kind == "linear" else SVC()
    return make_pipeline(StandardScaler(), machine).fit(X, y)


def _drawn(rows: NDArray[np.intp], y: IntArray, most: int | None, seed: int) -> NDArray[np.intp]:
    """At most so many of the rows, in the proportion of the classes."""
    if most is None or len(rows) <= most:
        return rows
    kept, _ = train_test_split(rows, train_size=most, stratify=y[rows], random_state=seed)
    return np.sort(kept)


def folds(data: DataSet, teacher: str, repetitions: int) -> Iterator[Fold]:
    """Train on each fold; the same rows for both machines, so that everything is paired."""
    splits = RepeatedStratifiedKFold(
        n_splits=N_FOLDS, n_repeats=repetitions, random_state=SEED
    ).split(data.X, data.y)
    for number, (train, test) in enumerate(splits):
        kept = _drawn(train, data.y, data.most_train, SEED + number)
        held = _drawn(test, data.y, data.most_test, SEED + number)
        model = teacher_of(teacher, data.X[kept], data.y[kept])
        yield Fold(
            data.name,
            teacher,
            number,
            model,
            data.X[kept],
            model.predict(data.X[kept]).astype(np.int64),
            data.X[held],
            model.predict(data.X[held]).astype(np.int64),
            data.y[held],
            data.names,
        )


def machine_fields(fold: Fold) -> dict[str, Any]:
    """The machine as plain numbers: a plane in the units of the table, or an expansion in scaled units."""
    scaler, machine = fold.model[0], fold.model[-1]
    if fold.teacher == "linear":
        w = machine.coef_[0] / scaler.scale_
        return {"w": w, "b": float(machine.intercept_[0] - w @ scaler.mean_)}
    return {
        "sv": machine.support_vectors_,
        "dual": machine.dual_coef_[0],
        "b": float(machine.intercept_[0]),
        # What gamma="scale" has become.
        "gamma": float(machine._gamma),
        "mean": scaler.mean_,
        "scale": scaler.scale_,
    }


def write_problem(fold: Fold, path: Any, **more: Any) -> None:
    """Write what a peer may see of a fold: rows, the machine's word on training rows, names and a seed."""
    np.savez(
        path,
        X_train=fold.X_train,
        y_train=fold.predicted_train,
        X_test=fold.X_test,
        names=np.array(fold.names),
        seed=fold.seed,
        **more,
    )
