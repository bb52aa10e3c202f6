"""Train a machine by its name: all machines whose model is a plane, and can be saved as a file."""

from __future__ import annotations

from time import process_time
from typing import TYPE_CHECKING, Any

from clearmargin.exceptions import DataError
from clearmargin.recipes.advised import AdviceOptions, advise
from clearmargin.recipes.task import Task
from clearmargin.recipes.trained_models import (
    PlaneOptions,
    Trained,
    as_model,
    encoder,
    train_plane,
    trained_on,
)
from clearmargin.rules.space import nearest_name

if TYPE_CHECKING:
    from clearmargin.models import PlaneModel
    from clearmargin.progress import Progress

__all__ = ["MACHINES", "train"]

MACHINES = {
    "lp-svm": "LPSVCCV",
    "proximal": "ProximalSVC",
    "advice": "AdviceSVC",
    "advice-blend": "AdviceBlendSVC",
}


def train(
    task: Task,
    machine: str = "lp-svm",
    *,
    plane: PlaneOptions | None = None,
    advice: str | None = None,
    advice_options: AdviceOptions | None = None,
    progress: Progress = False,
) -> Trained:
    """Train a machine on a task.

    Parameters
    ----------
    task : Task
        The table.
    machine : {"lp-svm", "proximal", "advice", "advice-blend"}, default "lp-svm"
        Which one.
    plane : PlaneOptions, optional
        For the first two: costs, features and weights of classes.
    advice : str, optional
        For the last two: the file with an expert's rules.
    advice_options : AdviceOptions, optional
        For "advice".
    progress : bool or "auto", default False
        Whether bars are shown.

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
    if machine in ("lp-svm", "proximal"):
        if advice is not None:
            raise DataError("advice is for machine='advice' or machine='advice-blend'")
        _refuse(with_rules, AdviceOptions(), f"machine={machine!r}")
        if machine == "lp-svm":
            return train_plane(task, chosen, progress=progress)
        return _train_proximal(task, chosen)
    if advice is None:
        raise DataError(f"machine={machine!r} needs rules, too: advice='expert.rules'")
    _refuse(chosen, PlaneOptions(), f"machine={machine!r}")
    if machine == "advice":
        return advise(task, advice, with_rules, progress=progress).trained
    _refuse(with_rules, AdviceOptions(), f"machine={machine!r}")
    return _train_blend(task, advice, progress)


def _refuse(given: Any, nothing: Any, machine: str) -> None:
    """Raise for an option that a machine has not, instead of passing it over."""
    for name in given.__dataclass_fields__:
        if getattr(given, name) != getattr(nothing, name):
            raise DataError(f"{machine} has no such option; leave out {name}")


def _train_proximal(task: Task, options: PlaneOptions) -> Trained:
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.pipeline import make_pipeline

    from clearmargin.lp_svm import ProximalSVC

    if options.max_features is not None:
        raise DataError("machine='proximal' gives all features a weight; leave out max_features")

    def fit(part: Task) -> PlaneModel:
        svm = ProximalSVC(options.nu or 1.0, balanced=options.balanced)
        last = OneVsRestClassifier(svm) if len(task.counts) > 2 else svm
        pipeline = make_pipeline(encoder(part, scale=True), last).fit(part.X, part.y)
        return as_model(part, pipeline)

    start = process_time()
    return trained_on(task, fit(task), fit, (), start)


def _train_blend(task: Task, advice: str, progress: Progress) -> Trained:
    from clearmargin.advice import AdviceBlendSVC
    from clearmargin.recipes.advised import fit_with_rules
    from clearmargin.recipes.unseen import inner_folds

    task.require_two_classes("advice")

    def fit(part: Task, show: Progress) -> PlaneModel:
        folds = min(5, *part.counts.values())
        if folds < 2:
            raise DataError("machine='advice-blend' needs two rows of each class at least")
        svm = AdviceBlendSVC(advice, cv=inner_folds(part, folds), progress=show)
        return fit_with_rules(part, svm)[0]

    start = process_time()
    model = fit(task, progress)
    return trained_on(task, model, lambda part: fit(part, False), (), start)
