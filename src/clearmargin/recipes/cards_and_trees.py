"""Scorecards and trees of a table, and how they do on rows that they were not made from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from clearmargin.exceptions import InvalidValueError
from clearmargin.recipes.task import Task
from clearmargin.recipes.trained_models import PlaneOptions, encoder, train_plane
from clearmargin.recipes.unseen import Retraining
from clearmargin.rule_base.training import train_kernel_machine

if TYPE_CHECKING:
    from clearmargin.models import PlaneModel
    from clearmargin.points import Scorecard
    from clearmargin.progress import Progress
    from clearmargin.rules import RuleSet


@dataclass(frozen=True, slots=True)
class _FoldModel:
    """What is judged in a fold."""

    predict: Callable[[Any], Any]
    fill: Mapping[str, Any] | None
    facts: Mapping[str, Any] | None = None


def _judge(
    task: Task, fit: Callable[[Task], Callable[[Any], Any]], progress: Progress
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Measure on unseen rows what `fit` gives for a part of the task."""

    def train(part: Task) -> Any:
        return _FoldModel(fit(part), part.fill)

    unseen, notes = Retraining.of_task(task, train).judge(progress)
    return ({} if unseen is None else unseen.facts()), notes


@dataclass(frozen=True, slots=True, eq=False)
class Scored:
    """A scorecard of a table.

    Parameters
    ----------
    task : Task
        The table.
    card : Scorecard
        The card.
    accuracy : float
        The share of the rows on which the card is right; where a card with proof proves nothing, its machine.
    fidelity : float
        The share of the rows of which the card predicts what its machine predicts.
    machine : str
        What it imitates, or proves the predictions of.
    facts : dict
        Figures on unseen rows; of a card with proof, also the share of the rows that it proves.
    notes : tuple of str
        What the user should know.

    Examples
    --------
    >>> import numpy as np
    >>> from clearmargin.recipes import PlaneOptions, make_task, score_table, train
    >>> from clearmargin.tables.files import FileTable
    >>> table = FileTable("t", {"age": np.arange(20, 68, 2), "ill": np.repeat(["no", "yes"], 12).astype(object)})
    >>> task = make_task(table, "ill", cv=None)
    >>> trained = train(task, plane=PlaneOptions(nu=1.0))
    >>> score_table(task, trained.model, max_cuts=1).fidelity
    1.0
    """

    task: Task
    card: Any
    accuracy: float
    fidelity: float
    machine: str
    facts: dict[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The card in lines for people."""
        return str(self.card)

    def to_dict(self) -> dict[str, Any]:
        """Return task, card and figures as plain data for JSON."""
        return {
            **self.task.to_dict(),
            "card": self.card.to_dict(),
            "lines": self._lines(),
            "decision": self.card.card_summary() if self.card.is_card else self.card.summary(),
            "machine": self.machine,
            "accuracy": self.accuracy,
            "fidelity": self.fidelity,
            **self.facts,
        }

    def _lines(self) -> list[dict[str, Any]]:
        """Return the lines of the card as plain data."""
        if not self.card.is_card:
            return [{"condition": line.text, "points": line.points} for line in self.card.lines()]
        titles = [
            "feature",
            "condition",
            *(title.replace(" ", "_") for title in self.card.columns[2:]),
        ]
        return [dict(zip(titles, row, strict=True)) for row in self.card.rows()]

    @property
    def is_proved(self) -> bool:
        """Whether the card has a proof."""
        return "proved" in self.facts


def score_table(
    task: Task,
    model: PlaneModel | None = None,
    *,
    max_cuts: int | None = None,
    max_conditions: int | None = None,
    certify: bool = False,
    distil: int | None = None,
    balanced: bool = False,
    progress: Progress = False,
) -> Scored:
    """Make a scorecard of a table: a few rules with whole points, whose sum decides between two classes.

    Parameters
    ----------
    task : Task
        The table, of two classes.
    model : PlaneModel, optional
        The model that the card imitates; by default a kernel machine (`SVC`) is trained, for a card with proof a
        sparse plane.
    max_cuts : int, optional
        Maximum number of rules with points, of a card with proof of cuts; as in `ScoreRules` by default.
    max_conditions : int, optional
        Maximum number of conditions of a rule; as in `ScoreRules` by default.
    certify : bool, default False
        Whether to make a card with proof: points at least and at most.
    distil : int, optional
        Make the card with proof of a plane distilled to so many features of the model.
    balanced : bool, default False
        Whether all classes weigh the same in the machine that is trained here.
    progress : bool or "auto", default False
        Whether a bar is shown.

    Returns
    -------
    Scored
        With figures on unseen rows, where the machine is trained here.

    Examples
    --------
    >>> import numpy as np
    >>> from clearmargin.recipes import PlaneOptions, make_task, score_table, train
    >>> from clearmargin.tables.files import FileTable
    >>> table = FileTable("t", {"age": np.arange(20, 68, 2), "ill": np.repeat(["no", "yes"], 12).astype(object)})
    >>> task = make_task(table, "ill", cv=None)
    >>> trained = train(task, plane=PlaneOptions(nu=1.0))
    >>> print(score_table(task, trained.model, max_cuts=1).card)
    yes if the points sum to 1 or more (else no)
      age  <= 42  0
           >= 43  1
    """
    task.require_two_classes("a scorecard")
    chosen: dict[str, Any] = {}
    if max_cuts is not None:
        chosen["max_rules"] = max_cuts
    if certify:
        chosen["max_features"] = distil
        return _certified(task, model, PlaneOptions(balanced=balanced), chosen, progress)
    if distil is not None:
        raise InvalidValueError("distil is for cards with proof; add certify")
    if max_conditions is not None:
        chosen["max_conditions"] = max_conditions
    card, fidelity = _score(task, model, chosen, balanced)
    facts: dict[str, Any] = {}
    notes: tuple[str, ...] = ()
    if model is None:
        facts, notes = _judge(
            task, lambda part: _score(part, None, chosen, balanced)[0].predict, progress
        )
    accuracy = float((card.predict(task.X) == task.y).mean())
    machine = "SVC" if model is None else str((model.facts or {}).get("trained_by", "a model"))
    return Scored(task, card, accuracy, fidelity, machine, facts, notes)


def _certified(
    task: Task,
    model: PlaneModel | None,
    plane: PlaneOptions,
    chosen: dict[str, Any],
    progress: Progress,
) -> Scored:
    """Make a card with proof of a plane; where it is trained here, count what is proved of unseen rows, too."""
    made, machine = _prove(task, model, plane, chosen)
    facts: dict[str, Any] = {"proved": made.proved_}
    if made.distillation_ is not None:
        facts["distilled"] = made.distillation_.to_dict()
    notes: tuple[str, ...] = ()
    if model is None:
        counts: list[tuple[int, int]] = []

        def fit(part: Task) -> Callable[[Any], Any]:
            fitted, _ = _prove(part, None, plane, chosen)

            def predict(rows: Any) -> Any:
                codes = fitted.prove_codes(rows)
                counts.append((int((codes >= 0).sum()), len(codes)))
                return fitted.predict(rows)

            return predict

        unseen, notes = _judge(task, fit, progress)
        facts.update(unseen)
        if unseen and counts:
            facts["unseen_proved"] = sum(n for n, _ in counts) / sum(n for _, n in counts)
    accuracy = float((made.predict(_given(task)) == task.y).mean())
    return Scored(task, made.scorecard_, accuracy, made.fidelity_, machine, facts, notes)


def _prove(
    task: Task, model: PlaneModel | None, options: PlaneOptions, chosen: dict[str, Any]
) -> tuple[Any, str]:
    """Train a plane if need be, and make its card with proof; return its estimator and what trained the plane."""
    from clearmargin.points import ScoreRules

    plane = train_plane(task, options).model if model is None else model
    made = ScoreRules(plane, certify=True, **chosen).fit(_given(task), task.y)
    return made, str((plane.facts or {}).get("trained_by", "a model"))


def _given(task: Task) -> Any:
    """Return the rows with their missing values, which the plane imputes."""
    return task.X if task.given is None else task.given


def _score(
    task: Task, model: PlaneModel | None, chosen: dict[str, Any], balanced: bool
) -> tuple[Scorecard, float]:
    """Make the card; the positive class has many points."""
    from clearmargin.points import Scorecard, ScoreRules
    from clearmargin.rules import RuleSet

    if model is not None:
        made = ScoreRules(model, **chosen).fit(task.X, task.y)
        return made.scorecard_, made.fidelity_
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import SVC

    weight = "balanced" if balanced else None
    labels = sorted(task.counts, key=lambda label: (label == task.positive, str(label)))
    is_second = (task.y == labels[1]).astype(int)
    machine = make_pipeline(encoder(task, scale=True), SVC(class_weight=weight))
    # Its cost grows with the square of the rows.
    fitted, _ = train_kernel_machine(machine, task.X, is_second, {})
    made = ScoreRules(fitted, **chosen).fit(task.X, is_second)
    card = made.scorecard_
    rules = [replace(rule, label=labels[int(rule.label)]) for rule in card.rules]
    named = RuleSet(rules, card.space, labels)
    return Scorecard(named, card.weights, card.intercept), made.fidelity_


@dataclass(frozen=True, slots=True, eq=False)
class GrownTree:
    """A tree of support vector machines, and its rules.

    Parameters
    ----------
    task : Task
        The table.
    text : str
        The drawing of the tree.
    rules : RuleSet
        Its interval rules, which come close to it.
    n_leaves : int
        Number of leaves.
    accuracy, rules_accuracy, fidelity : float
        The share of the rows on which the tree is right, its rules are right, and its rules predict what the tree
        predicts.
    facts : dict
        Figures of the tree on unseen rows.
    notes : tuple of str
        What the user should know.
    points : Table
        The rows, with categories as 0/1 columns.

    Examples
    --------
    >>> import numpy as np
    >>> from clearmargin.recipes import grow_tree, make_task
    >>> from clearmargin.tables.files import FileTable
    >>> table = FileTable("t", {"age": np.arange(20, 68, 2), "ill": np.repeat(["no", "yes"], 12).astype(object)})
    >>> task = make_task(table, "ill", cv=None)
    >>> sorted(grow_tree(task).to_dict())[:4]
    ['accuracy', 'classes', 'data', 'features']
    """

    task: Task
    text: str
    rules: RuleSet
    n_leaves: int
    accuracy: float
    rules_accuracy: float
    fidelity: float
    facts: dict[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    points: Any = None

    def rule_rows(self) -> tuple[Any, Any]:
        """Return the rows as the rules take them, encoded, and their classes."""
        return self.points, self.task.y

    def to_dict(self) -> dict[str, Any]:
        """Return task, tree and rules as plain data for JSON."""
        return {
            **self.task.to_dict(),
            "tree": self.text,
            "leaves": self.n_leaves,
            "accuracy": self.accuracy,
            "rules_accuracy": self.rules_accuracy,
            "fidelity": self.fidelity,
            **self.facts,
            "rules": self.rules.to_dict(),
        }


def grow_tree(task: Task, *, progress: Progress = False, **options: Any) -> GrownTree:
    """Grow a tree of support vector machines on a table, for classes of unequal size.

    Parameters
    ----------
    task : Task
        The table.
    progress : bool or "auto", default False
        Whether a bar is shown.
    **options
        Parameters of `SVMTreeClassifier`.

    Returns
    -------
    GrownTree
        The tree, its rules, and how it does on unseen rows.

    Examples
    --------
    >>> import numpy as np
    >>> from clearmargin.recipes import grow_tree, make_task
    >>> from clearmargin.tables.files import FileTable
    >>> table = FileTable("t", {"age": np.arange(20, 68, 2), "ill": np.repeat(["no", "yes"], 12).astype(object)})
    >>> task = make_task(table, "ill", cv=None)
    >>> grow_tree(task).fidelity
    1.0
    """
    encode, tree = _grow(task, options)
    points = encode.transform(task.X)
    facts, notes = _judge(task, lambda part: _predictor(part, options), progress)
    predicted, by_rules = tree.predict(points), tree.predict_by_rules(points)
    return GrownTree(
        task,
        str(tree.tree_),
        tree.rules_,
        tree.n_leaves_,
        float((predicted == task.y).mean()),
        float((by_rules == task.y).mean()),
        float((by_rules == predicted).mean()),
        facts,
        (*_encoded(task), *notes),
        points,
    )


def _grow(task: Task, options: dict[str, Any]) -> tuple[Any, Any]:
    from clearmargin.svm_trees import SVMTreeClassifier

    encode = encoder(task, as_table=True).fit(task.X)
    return encode, SVMTreeClassifier(**options).fit(encode.transform(task.X), task.y)


def _predictor(task: Task, options: dict[str, Any]) -> Callable[[Any], Any]:
    encode, tree = _grow(task, options)
    return lambda rows: tree.predict(encode.transform(rows))


def _encoded(task: Task) -> tuple[str, ...]:
    names = [column.name for column in task.X.all_columns() if not column.has_number_type]
    if not names:
        return ()
    shown = ", ".join(map(repr, names[:3])) + (", ..." if len(names) > 3 else "")
    return (f"a tree measures distances: the categories of {shown} are 0/1 columns in it",)
