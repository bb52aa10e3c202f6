"""Train the default machine on a task, a sparse plane, and judge it on rows that it was not trained on."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from time import process_time
from typing import TYPE_CHECKING, Any

from clearmargin.exceptions import ClearmarginWarning, DataError
from clearmargin.recipes.task import Task
from clearmargin.recipes.unseen import OTHERWISE, Retraining, inner_folds

if TYPE_CHECKING:
    from clearmargin.models import PlaneModel
    from clearmargin.models.planes import Planes
    from clearmargin.points import RuleSVC
    from clearmargin.progress import Progress
    from clearmargin.tables.table_encoder import TableEncoder


@dataclass(frozen=True, slots=True)
class PlaneOptions:
    """How the default machine, a 1-norm support vector machine, is trained."""

    nu: float | None = None
    max_features: int | None = None
    balanced: bool = False
    folds: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Trained:
    """A trained or loaded model, and how it does on the rows of its task."""

    task: Task
    model: PlaneModel
    accuracy: float | None
    retraining: Retraining | None = None
    notes: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def seconds_of_folds(self) -> float:
        """About how long it will take to train it again in folds; 0 where that is not asked for."""
        if self.retraining is None or self.retraining.splitting is None:
            return 0.0
        folds = self.retraining.splitting.cv
        # Each of k folds trains on all rows but one k-th.
        return self.seconds * (folds - 1) if isinstance(folds, int) else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return the task and the model as plain data for JSON."""
        return {**self.task.to_dict(), "model": model_facts(self.model, self.accuracy)}


def load_for_task(model: PlaneModel, task: Task) -> Trained:
    """Take a model that was trained before for a task."""
    matched = match_model(model, task)
    return Trained(matched, model, matched.share_right(model.predict(matched.X)))


def match_model(model: Planes | RuleSVC, task: Task) -> Task:
    """Give the task as the model sees it; raise if it has a class that the model does not know."""
    classes = model.classes_.tolist()
    for label in task.counts:
        if label not in classes:
            known = ", ".join(map(repr, classes))
            raise DataError(f"{task.target!r} has the class {label!r}; the model knows {known}")
    return replace(task, positive=classes[1] if len(classes) == 2 else None)


def positive_class(model: Planes) -> str | None:
    """Return the class that a model tells from all others, taken together as "not ..."; else None."""
    classes = [str(label) for label in model.classes_]
    return classes[1] if len(classes) == 2 and classes[0] == f"not {classes[1]}" else None


def train_plane(task: Task, options: PlaneOptions | None = None) -> Trained:
    """Train a sparse plane on a task."""
    chosen = options or PlaneOptions()
    start = process_time()
    pipeline = _fit(task, chosen)
    _refuse_constant(pipeline, task, chosen)
    can_choose = _can_choose(task, chosen)

    def train_again(part: Task) -> PlaneModel:
        facts = None
        if can_choose and not _can_choose(part, chosen):
            label, _ = min(part.counts.items(), key=lambda pair: pair[1])
            facts = {OTHERWISE: f"nu is 1 and not chosen, since one row is {label}"}
        return as_model(part, _fit(part, chosen), facts)

    notes = tuple(_doubts(pipeline, chosen))
    return trained_on(task, as_model(task, pipeline), train_again, notes, start)


def trained_on(
    task: Task,
    model: PlaneModel,
    train_again: Callable[[Task], PlaneModel],
    notes: tuple[str, ...],
    start: float,
) -> Trained:
    """Put together what is known of a model that was just trained."""
    retraining = Retraining.of_task(task, train_again)
    seconds = process_time() - start
    return Trained(task, model, _accuracy(model, task), retraining, notes, seconds)


def judge_on_unseen_rows(trained: Trained, *, progress: Progress = False) -> Trained:
    """Judge a model on rows that it was not trained on: it is trained again in folds."""
    if trained.retraining is None:
        return trained
    unseen, unknown = trained.retraining.judge(progress)
    if unseen is not None:
        trained.model.facts = {**(trained.model.facts or {}), **unseen.facts()}
    return replace(trained, notes=(*trained.notes, *unknown))


def _accuracy(model: PlaneModel, task: Task) -> float:
    return float((model.predict(task.X) == task.y).mean())


def model_facts(model: Planes, accuracy: float | None) -> dict[str, Any]:
    """Return a model as plain data for JSON."""
    return {
        "classes": model.classes_.tolist(),
        "features_used": model.features_used,
        "accuracy": accuracy,
        **(model.facts or {}),
    }


def encoder(task: Task, *, scale: bool = False, as_table: bool = False) -> TableEncoder:
    """Make the step that turns a table into numbers: categories as 0/1 columns, numbers scaled or as they are."""
    from clearmargin.tables.table_encoder import TableEncoder

    # A category that only other rows of the table have gets a column of zeros, and so no weight.
    return TableEncoder(_numeric(task), _categorical(task), scale=scale, as_table=as_table)


def _numeric(task: Task) -> list[str]:
    return [column.name for column in task.X.all_columns() if column.has_number_type]


def _categorical(task: Task) -> dict[str, list[str]]:
    """Return the categories of each categorical feature, in the order of their 0/1 columns."""
    others = [column for column in task.X.all_columns() if not column.has_number_type]
    known = task.levels or {}
    return {c.name: list(known.get(c.name, c.categories)) for c in others}


def feature_groups(task: Task) -> list[str]:
    """Name the feature of each column that `encoder` gives."""
    groups = _numeric(task)
    for name, values in _categorical(task).items():
        groups += [name] * len(values)
    return groups


def _fit(task: Task, options: PlaneOptions) -> Any:
    """Train a pipeline, with its cost chosen by cross-validation where the user does not choose it."""
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.pipeline import make_pipeline

    svm = _machine(task, options)
    last = OneVsRestClassifier(svm) if len(task.counts) > 2 else svm
    pipeline = make_pipeline(encoder(task, scale=not svm.scale), last)
    with warnings.catch_warnings():
        # What is known is said by `_doubts`, in words that fit the options.
        warnings.filterwarnings("ignore", "no plane", ClearmarginWarning)
        return pipeline.fit(task.X, task.y)


def as_model(task: Task, pipeline: Any, more: dict[str, Any] | None = None) -> PlaneModel:
    """Read a fitted pipeline as a model in the units of the table, with facts on where it comes from."""
    from clearmargin.models import PlaneModel

    svm = getattr(pipeline[-1], "estimator", pipeline[-1])
    facts: dict[str, Any] = {
        "trained_by": type(svm).__name__,
        "target": task.target,
        "rows": len(task.X),
        **_chosen_cost(pipeline[-1]),
        **(more or {}),
    }
    return PlaneModel.from_estimator(
        pipeline, task.X, positive=task.positive, fill=task.fill, facts=facts
    )


def _can_choose(task: Task, options: PlaneOptions) -> bool:
    """Check whether nu is chosen by cross-validation: every fold needs a row of every class."""
    return options.nu is None and min(task.counts.values()) >= 2


def _machine(task: Task, options: PlaneOptions) -> Any:
    """Make the machine, not yet trained: that of `RuleExtractor` unless the user gives a cost."""
    from clearmargin.lp_svm import LPSVC
    from clearmargin.lp_svm.lpsvc import FOLDS, default_machine

    weight = "balanced" if options.balanced else None
    if not _can_choose(task, options):
        if options.max_features is not None and options.nu is not None:
            raise DataError("max_features is a choice among values of nu; leave out nu")
        if options.max_features is not None:
            rare = next(label for label, count in task.counts.items() if count < 2)
            raise DataError(
                f"max_features chooses features by cross-validation, which needs two rows of each class; {rare!r} "
                "has one. Leave it out, or add rows"
            )
        return LPSVC(options.nu or 1.0, class_weight=weight)
    folds = min(options.folds or FOLDS, *task.counts.values())
    return default_machine(
        folds,
        max_features=options.max_features,
        cv=inner_folds(task, folds),
        feature_groups=feature_groups(task),
        class_weight=weight,
        # Accuracy would choose planes that neglect the class that the weights are for.
        scoring="balanced_accuracy" if options.balanced else None,
    )


def _refuse_constant(pipeline: Any, task: Task, options: PlaneOptions) -> None:
    """Raise if the plane predicts the same class everywhere, in words that fit what the user chose."""
    parts = getattr(pipeline[-1], "estimators_", [pipeline[-1]])
    if any(part.coef_.any() for part in parts):
        return
    if options.nu is not None:
        raise DataError(
            f"with nu={options.nu:g} the plane is constant, it predicts the same class of {task.target!r} for all "
            "rows; try a larger nu, or leave it out, so that cross-validation chooses it"
        )
    advice = "" if options.balanced else "; if one class is rare, try balanced=True"
    raise DataError(
        f"all planes that were tried are constant: no linear combination of the features tells the classes of "
        f"{task.target!r} apart better than predicting the same class for all rows{advice}"
    )


def _doubts(pipeline: Any, options: PlaneOptions) -> list[str]:
    """Say where no plane beats a constant one."""
    last = pipeline[-1]
    parts = getattr(last, "estimators_", [last])
    notes = []
    for k, part in enumerate(parts):
        note = getattr(part, "note_", "")
        if note:
            about = f"class {last.classes_[k]!s}: " if len(parts) > 1 else ""
            advice = "" if options.balanced else " If one class is rare, try balanced=True."
            notes.append(f"{about}{note}{advice}")
    return notes


def _chosen_cost(svm: Any) -> dict[str, Any]:
    """Give the cost that was chosen for a plane of two classes; the score it was chosen by is none for other rows."""
    return {"nu": float(svm.nu_)} if hasattr(svm, "cv_results_") else {}
