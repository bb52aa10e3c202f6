"""The methods that the tables about SVM trees compare: machines, trees, and the rules of both."""

from __future__ import annotations

from dataclasses import dataclass, replace
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
    "published_answers",
    "tree_answers",
]

Array = NDArray[Any]
# Algorithm 2 of the paper alone: a box for each support vector, and no box whose points another one covers as well.
LETTER: dict[str, Any] = {"anchors": "support", "tune": False, "shorten": False, "cover": False}
# Every rule, as published.
ALL: dict[str, Any] = {"min_coverage": 1, "max_rules": None}


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
        extractor = SupportVectorRules(model, **ALL, **phases).fit(X, y)
        answers[name] = Answer(extractor.predict(rows), machine.vectors, len(extractor.rules_))
    return answers


def tree_answers(
    X: Array,
    y: Array,
    rows: Array,
    seed: int,
    *,
    rules: bool = True,
    published: bool = True,
    min_coverage: int = 1,
    **settings: Any,
) -> dict[str, Answer]:
    """A tree and, if asked for, its rules: the exact ones, simplified intervals, and all that is as published."""
    model = SVMTreeClassifier(random_state=seed, **ALL, **settings).fit(X, y)
    if not rules:
        return {"tree": _tree_answer(model, rows)}
    exact = model.exact_rules_
    answers = {
        "tree": _tree_answer(model, rows, len(exact)),
        "exact": replace(_tree_answer(model, rows, len(exact)), labels=exact.predict(rows)),
    }
    if published:
        answers |= published_answers(X, y, rows, seed, **settings)
        curved = SVMTreeClassifier(kernel="rbf", random_state=seed, **ALL, **settings).fit(X, y)
        answers["rbf"] = _tree_answer(curved, rows)
    answers["simplified"] = _rule_answer(model, rows, min_coverage=min_coverage)
    return answers


def published_answers(
    X: Array, y: Array, rows: Array, seed: int, **settings: Any
) -> dict[str, Answer]:
    """The published system: its tree, read simplified and strictly, and its boxes of all vectors and of pairs."""
    model = SVMTreeClassifier(published=True, random_state=seed, **ALL, **settings).fit(X, y)
    strict = SVMTreeClassifier(
        published=True, one_class_leaves="strict", random_state=seed, **ALL, **settings
    ).fit(X, y)
    return {
        "published tree": _tree_answer(model, rows, len(model.exact_rules_)),
        "strict": _tree_answer(strict, rows),
        "published": _rule_answer(model, rows),
        "pairs": _rule_answer(model.set_params(boxes="pairs"), rows),
    }


def _tree_answer(model: SVMTreeClassifier, rows: Array, n_rules: int | None = None) -> Answer:
    with_machine = sum(bool(leaf.pairs) for leaf in model.tree_.leaves)
    nodes = with_machine, model.n_leaves_ - with_machine
    return Answer(model.predict(rows), model.n_support_vectors_, n_rules, nodes)


def _rule_answer(model: SVMTreeClassifier, rows: Array, min_coverage: int = 1) -> Answer:
    found = interval_rules(model, min_coverage=min_coverage)
    parts = found.n_svm_rules, found.n_tree_rules
    return Answer(found.predict(rows), model.n_support_vectors_, len(found.rules), parts)
