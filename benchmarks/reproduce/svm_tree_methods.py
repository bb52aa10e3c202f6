"""The methods that the tables about SVM trees compare: machines, trees, and the rules of both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVC

from clearmargin.kernel_rules import SupportVectorRules
from clearmargin.svm_trees import SVMTreeClassifier, interval_rules

__all__ = [
    "LETTER",
    "Answer",
    "linear_svm",
    "machine_answer",
    "machine_answers",
    "polynomial_svm",
    "tree_answers",
]

Array = NDArray[Any]
# Algorithm 2 of the paper alone: a box for each support vector, and no box whose points another one covers as well.
LETTER: dict[str, Any] = {"anchors": "support", "tune": False, "shorten": False, "cover": False}


@dataclass(frozen=True)
class Answer:
    """What a method says of some rows, and how large it is.

    Parts are rules of machines and rules of the tree; for a tree, leaves with a machine and leaves of one class.
    """

    labels: Array
    vectors: int
    rules: int | None = None
    parts: tuple[int, int] | None = None


def polynomial_svm(C: float = 0.1, weights: str | None = None) -> Any:
    """The machine of SVM-Rule: kernel (x'z + 1)^2 on data scaled to [0, 1], penalty 0.1."""
    machine = SVC(kernel="poly", degree=2, gamma=1.0, coef0=1.0, C=C, class_weight=weights)
    return make_pipeline(MinMaxScaler(), machine)


def linear_svm(C: float = 0.1) -> Any:
    """One linear machine on data scaled to [0, 1]."""
    return make_pipeline(MinMaxScaler(), SVC(kernel="linear", C=C))


def machine_answer(model: Any, X: Array, y: Array, rows: Array) -> Answer:
    """A machine by itself."""
    model.fit(X, y)
    return Answer(model.predict(rows), int(model[-1].n_support_.sum()))


def machine_answers(model: Any, X: Array, y: Array, rows: Array) -> dict[str, Answer]:
    """A machine, its rules by Algorithm 2 to the letter, and its rules with all phases of RulExSVM."""
    machine = machine_answer(model, X, y, rows)
    answers = {"machine": machine}
    for name, phases in (("letter", LETTER), ("tuned", {})):
        extractor = SupportVectorRules(model, **phases).fit(X, y)
        answers[name] = Answer(extractor.predict(rows), machine.vectors, len(extractor.rules_))
    return answers


def tree_answers(
    X: Array,
    y: Array,
    rows: Array,
    seed: int,
    *,
    rules: bool = True,
    min_coverage: int = 1,
    **settings: Any,
) -> dict[str, Answer]:
    """A tree and, if asked for, its exact rules, its interval rules as published, and these simplified."""
    model = SVMTreeClassifier(random_state=seed, **settings).fit(X, y)
    with_machine = sum(bool(leaf.pairs) for leaf in model.tree_.leaves)
    nodes = with_machine, model.n_leaves_ - with_machine
    vectors = model.n_support_vectors_
    if not rules:
        return {"tree": Answer(model.predict(rows), vectors, parts=nodes)}
    exact = model.exact_rules_
    answers = {
        "tree": Answer(model.predict(rows), vectors, len(exact), nodes),
        "exact": Answer(exact.predict(rows), vectors, len(exact), nodes),
    }
    for name, simplify in (("published", False), ("simplified", True)):
        found = interval_rules(model, simplify=simplify, min_coverage=min_coverage)
        parts = found.n_svm_rules, found.n_tree_rules
        answers[name] = Answer(found.predict(rows), vectors, len(found.rules), parts)
    return answers
