"""Who learns the classes of a stranger's table: `RuleSVC`, learners of scikit-learn, and peers of the same size."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import AdaBoostClassifier, GradientBoostingClassifier
from sklearn.metrics import accuracy_score, balanced_accuracy_score, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from benchmarks.peers.environment import Absent
from benchmarks.peers.run import Outcome, run
from benchmarks.stranger_rules.folds import Part
from benchmarks.stranger_rules.records import Record
from clearmargin import RuleSVC

__all__ = ["BALANCED", "FREE", "OURS", "PEERS", "PLAIN", "TOPIC", "ask_peers", "learn", "score"]

TOPIC = "rules"
FREE, BALANCED = "RuleSVC, plane and 15 rules", "RuleSVC, 15 rules, balanced"
# Of these the table as it is, with categories and missing values. The certificate changes no rule; one of them has it.
OURS: dict[str, Callable[[], Any]] = {
    "RuleSVC, 15 rules": lambda: RuleSVC(15, random_state=0),
    "RuleSVC, 30 rules": lambda: RuleSVC(30, certify=False, random_state=0),
    FREE: lambda: RuleSVC(15, linear="free", certify=False, random_state=0),
    BALANCED: lambda: RuleSVC(15, class_weight="balanced", certify=False, random_state=0),
}


def _tree(leaves: int) -> Any:
    return DecisionTreeClassifier(max_leaf_nodes=leaves, random_state=0)


def _stumps(count: int) -> Any:
    return AdaBoostClassifier(
        DecisionTreeClassifier(max_depth=1, random_state=0), n_estimators=count, random_state=0
    )


def _scaled(machine: Any) -> Any:
    return make_pipeline(StandardScaler(), machine)


# Of these the numbers.
PLAIN: dict[str, Callable[[], Any]] = {
    "tree, 15 leaves": lambda: _tree(15),
    "tree, 30 leaves": lambda: _tree(30),
    "boosted stumps, 15": lambda: _stumps(15),
    "boosted stumps, 30": lambda: _stumps(30),
    "gradient boosting": lambda: GradientBoostingClassifier(random_state=0),
    "LinearSVC": lambda: _scaled(LinearSVC(random_state=0, max_iter=20_000)),
    "SVC": lambda: _scaled(SVC()),
    "LinearSVC, balanced": lambda: _scaled(
        LinearSVC(class_weight="balanced", random_state=0, max_iter=20_000)
    ),
    "SVC, balanced": lambda: _scaled(SVC(class_weight="balanced")),
}
# By name: the peer, its method, and how many rules it may have; None for as many as it likes. 30 cuts of FasterRisk,
# which take half a minute a fold, are left out.
PEERS: dict[str, tuple[str, str, int | None]] = {
    "ruleopt RUG, 15 rules": ("ruleopt", "RUG, 15 rules", 15),
    "ruleopt RUG, 30 rules": ("ruleopt", "RUG, 30 rules", 30),
    "RuleKit, 7 rules a class": ("rulekit", "RuleKit, 7 rules a class", 15),
    "RuleKit, 15 rules a class": ("rulekit", "RuleKit, 15 rules a class", 30),
    "imodels FIGS, 12 splits": ("imodels", "FIGS", 15),
    "FasterRisk, 15 cuts": ("fasterrisk", "FasterRisk, 15 cuts", 15),
    "EBM": ("interpret", "EBM", None),
}


def score(y: Any, predicted: Any, scores: Any, **more: float) -> dict[str, float]:
    """Judge predictions.

    Parameters
    ----------
    y, predicted : ndarray of int
        Classes.
    scores : ndarray or None
        What orders the rows, where there is such a thing.
    **more : float
        Other figures to keep.

    Returns
    -------
    dict
        By measure.
    """
    return {
        "accuracy": float(accuracy_score(y, predicted)),
        "balanced accuracy": float(balanced_accuracy_score(y, predicted)),
        "AUC": float("nan") if scores is None else float(roc_auc_score(y, scores)),
        **more,
    }


def _ranks(model: Any, X: Any) -> Any:
    """What a model orders rows by."""
    if hasattr(model, "decision_function"):
        return model.decision_function(X)
    return model.predict_proba(X)[:, 1]


def _size(model: Any) -> dict[str, float]:
    """Rules and conditions of ours, with what is certified of the program over all rules."""
    if isinstance(model, RuleSVC):
        conditions = [rule.n_conditions for rule in model.rules_]
        return {
            "rules": float(len(conditions)),
            "conditions": float(sum(conditions)),
            "gap": float(model.gap_),
        }
    if isinstance(model, DecisionTreeClassifier):
        return {"rules": float(model.get_n_leaves())}
    if isinstance(model, AdaBoostClassifier):
        return {"rules": float(len(model.estimators_))}
    return {}


def learn(part: Part, methods: Sequence[str]) -> list[Record]:
    """Train ours and those of scikit-learn on one fold, and judge them on its held-out rows.

    Parameters
    ----------
    part : Part
        The fold.
    methods : sequence of str
        Names of `OURS` and `PLAIN`.

    Returns
    -------
    list of Record
        One a method.
    """
    found = []
    for name in methods:
        is_ours = name in OURS
        model = (OURS | PLAIN)[name]()
        train = part.X_train if is_ours else part.numbers_train
        test = part.X_test if is_ours else part.numbers_test
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            start = time.process_time()
            model.fit(train, part.y_train)
            seconds = time.process_time() - start
            predicted, scores = model.predict(test), _ranks(model, test)
        figures = score(part.y_test, predicted, scores, seconds=seconds, **_size(model))
        found.append(Record(TOPIC, part.table, part.number, name, figures))
    return found


def _judged(part: Part, name: str, outcome: Outcome | Absent, most: int | None) -> Record:
    if isinstance(outcome, Absent):
        return Record(TOPIC, part.table, part.number, name, reason=outcome.reason)
    sizes = {"rules": float(outcome.n_rules), "conditions": float(outcome.n_conditions)}
    figures = score(part.y_test, outcome.predicted, outcome.score, seconds=outcome.seconds, **sizes)
    return Record(TOPIC, part.table, part.number, name, figures)


def ask_peers(
    parts: Sequence[Part], folds: Mapping[str, int], folder: Path, seconds: float
) -> list[Record]:
    """Let peers learn the classes of the folds, each in its environment.

    Parameters
    ----------
    parts : sequence of Part
        All folds.
    folds : mapping
        By name of `PEERS`, how many folds of each table it is asked for; 0 for none.
    folder : Path
        Where problems and answers are kept meanwhile.
    seconds : float
        The longest that a peer may take over a fold, in processor time.

    Returns
    -------
    list of Record
        Also for those that did not answer, with the reason.
    """
    problems = []
    for k, part in enumerate(parts):
        problems.append(folder / f"classes-{k}.npz")
        np.savez(
            problems[-1],
            X_train=part.numbers_train,
            y_train=part.y_train,
            X_test=part.numbers_test,
            names=np.array(part.names),
            seed=part.seed,
        )
    found = []
    for name, (peer, method, most) in PEERS.items():
        chosen = [k for k, part in enumerate(parts) if part.number < folds.get(name, 0)]
        if not chosen:
            continue
        print(f"asking {name} on {len(chosen)} folds ...", flush=True)
        outcomes = run(peer, method, [problems[k] for k in chosen], folder, seconds)
        found += [
            _judged(parts[k], name, outcome, most)
            for k, outcome in zip(chosen, outcomes, strict=True)
        ]
    return found
