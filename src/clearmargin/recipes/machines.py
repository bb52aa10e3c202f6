"""Train a machine by its name: all machines whose model is a plane, and can be saved as a file."""

from __future__ import annotations

from typing import Any

from clearmargin.exceptions import DataError
from clearmargin.recipes.advised import AdviceOptions, advise
from clearmargin.recipes.task import Task
from clearmargin.recipes.trained_models import (
    PlaneOptions,
    Trained,
    train_plane,
)
from clearmargin.rules.space import nearest_name

MACHINES = {
    "lp-svm": "LPSVC",
    "advice": "AdviceSVC",
}


def train(
    task: Task,
    machine: str = "lp-svm",
    *,
    plane: PlaneOptions | None = None,
    advice: str | None = None,
    advice_options: AdviceOptions | None = None,
) -> Trained:
    """Train a machine on a task.

    Parameters
    ----------
    task : Task
        The table.
    machine : {"lp-svm", "advice"}, default "lp-svm"
        Which one.
    plane : PlaneOptions, optional
        For "lp-svm": costs, features and weights of classes.
    advice : str, optional
        For "advice": the file with an expert's rules.
    advice_options : AdviceOptions, optional
        For "advice".

    Returns
    -------
    Trained
        Not yet judged on unseen rows.

    Examples
    --------
    >>> import numpy as np
    >>> from clearmargin.recipes import PlaneOptions, make_task, train
    >>> from clearmargin.tables.files import FileTable
    >>> table = FileTable("t", {"age": np.arange(20, 68, 2), "ill": np.repeat(["no", "yes"], 12).astype(object)})
    >>> task = make_task(table, "ill", cv=None)
    >>> trained = train(task, plane=PlaneOptions(nu=1.0))
    >>> trained.model.facts["trained_by"]
    'LPSVC'
    """
    if machine not in MACHINES:
        hint = nearest_name(machine, MACHINES)
        raise DataError(f"there is no machine {machine!r}; there are {', '.join(MACHINES)}{hint}")
    chosen, with_rules = plane or PlaneOptions(), advice_options or AdviceOptions()
    if machine == "lp-svm":
        if advice is not None:
            raise DataError("advice is for machine='advice'")
        _refuse(with_rules, AdviceOptions(), f"machine={machine!r}")
        return train_plane(task, chosen)
    if advice is None:
        raise DataError(f"machine={machine!r} needs rules, too: advice='expert.rules'")
    _refuse(chosen, PlaneOptions(), f"machine={machine!r}")
    return advise(task, advice, with_rules).trained


def _refuse(given: Any, nothing: Any, machine: str) -> None:
    """Raise for an option that a machine has not, instead of passing it over."""
    for name in given.__dataclass_fields__:
        if getattr(given, name) != getattr(nothing, name):
            raise DataError(f"{machine} has no such option; leave out {name}")
