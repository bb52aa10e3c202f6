"""Fit every estimator and print what it found, as JSON: run by `test_one_answer` under several processors.

Called as ``python one_answer_fits.py TABLES ORDER...`` with an .npz file of tables and the seeds of row orders to try;
0 is the order of the file.
"""

import json
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

import clearmargin as cm

Answer = dict[str, Any]
Table = tuple[np.ndarray, np.ndarray]
RULES = "small: a <= 4 and b <= 3 => no\nlarge: a >= 7 and c >= 5 => yes"
COLUMNS = "abcdef"


def plane(model: Any) -> Answer:
    """Weights and intercept."""
    return {"values": [float(v) for v in [*np.ravel(model.coef_), model.intercept_[0]]]}


def rules(model: Any) -> Answer:
    return {"rules": model.rules_.to_text()}


def points(model: Any) -> Answer:
    """Rules with their weights, to the last bit."""
    return {"points": model.scorecard_.to_text(digits=None)}


def named(X: np.ndarray) -> Any:
    import pandas as pd

    return pd.DataFrame(X, columns=list(COLUMNS[: X.shape[1]]))


def given_plane(X: np.ndarray, y: np.ndarray) -> LinearSVC:
    """A machine that nobody trained here: its weights are the same wherever this runs."""
    machine = LinearSVC()
    machine.classes_ = np.array(["no", "yes"])
    machine.coef_ = np.linspace(-0.5, 1.0, X.shape[1])[None, :] / np.ptp(X, axis=0)
    machine.intercept_ = np.array([-float(np.median(column_sum(X, machine.coef_[0])))])
    machine.n_features_in_ = X.shape[1]
    machine.feature_names_in_ = np.array(list(COLUMNS[: X.shape[1]]), dtype=object)
    return machine


def column_sum(X: np.ndarray, w: np.ndarray) -> np.ndarray:
    total = np.zeros(len(X))
    for j in range(X.shape[1]):
        total += X[:, j] * w[j]
    return total


# The same rules in any order of the rows.
IN_ANY_ORDER: dict[str, Callable[[np.ndarray, np.ndarray], Answer]] = {
    "LPSVC(small nu)": lambda X, y: plane(cm.LPSVC(0.01).fit(X, y)),
    "LPSVC": lambda X, y: plane(cm.LPSVC().fit(X, y)),
    "LPSVC(balanced)": lambda X, y: plane(cm.LPSVC(0.1, class_weight="balanced").fit(X, y)),
    "LPSVC(no intercept)": lambda X, y: plane(cm.LPSVC(0.1, fit_intercept=False).fit(X, y)),
    "RuleSVC": lambda X, y: points(cm.RuleSVC(8, cv=3).fit(X, y)),
    "RuleSVC(points)": lambda X, y: points(cm.RuleSVC(4, points=True, cv=3).fit(X, y)),
    "RuleExtractor(plane)": lambda X, y: rules(
        cm.RuleExtractor(given_plane(X, y)).fit(named(X), y)
    ),
    "RuleExtractor(plane, coverage)": lambda X, y: rules(
        cm.RuleExtractor(given_plane(X, y), criterion="coverage").fit(named(X), y)
    ),
}

# The same rules in one order of the rows, which folds follow.
IN_ONE_ORDER: dict[str, Callable[[np.ndarray, np.ndarray], Answer]] = {
    "LPSVC(cv)": lambda X, y: plane(cm.LPSVC("cv", cv=3, max_features=3).fit(X, y)),
}


def recipe(X: np.ndarray, y: np.ndarray) -> Answer:
    model = cm.AdviceSVC(RULES, refine="slp").fit(named(X), y)
    return {"values": model.coef_.ravel().tolist(), "rules": model.refined_.to_text()}


def explained(X: np.ndarray, y: np.ndarray) -> Answer:
    machine = make_pipeline(StandardScaler(), LinearSVC(random_state=0)).fit(named(X), y)
    extractor = cm.RuleExtractor(machine).fit(named(X), y)
    cases = named(X).iloc[:3]
    texts = [str(each) for each in extractor.explain_many(cases)]
    for guarantee in ("proved", "measured"):
        texts += map(str, cm.explain_many(machine, cases, named(X), guarantee=guarantee))
    return {"rules": extractor.rules_.to_text() + "\n" + "\n".join(texts)}


def proved(X: np.ndarray, y: np.ndarray) -> Answer:
    machine = make_pipeline(StandardScaler(), SVC(gamma=0.5)).fit(X, y)
    space = cm.FeatureSpace.from_data(X)
    box = cm.grow_box(machine, X[:1], space=space)
    answer = cm.certify(machine, box, machine.predict(X[:1])[0])
    return {"values": [*box.lower.tolist(), *box.upper.tolist()], "status": answer.status}


def moved(X: np.ndarray, y: np.ndarray) -> Answer:
    machine, table = given_plane(X, y), named(X)
    case = table.iloc[[int(np.argmin(column_sum(X, machine.coef_[0])))]]
    return {"rules": str(cm.recourse(machine, case, actionable=list(table), X=table))}


def ranked(X: np.ndarray, y: np.ndarray) -> Answer:
    found = cm.RankContrast(top=0.2, bottom=0.2).fit(named(X), y)
    return {"rules": found.rules_.to_text(), "values": [found.auc_]}


# To 1e-8, with the same structure, in one order of the rows.
CLOSE: dict[str, Callable[[np.ndarray, np.ndarray], Answer]] = {
    "AdviceSVC": lambda X, y: {
        "values": cm.AdviceSVC(RULES, mu=5).fit(named(X), y).coef_.ravel().tolist()
    },
    "AdviceSVC(slp)": recipe,
    "RuleExtractor": lambda X, y: rules(cm.RuleExtractor().fit(named(X), y)),
    "explanations": explained,
    "certify": proved,
    "recourse": moved,
    "RankContrast": ranked,
    "ScoreRules": lambda X, y: {
        "rules": str(
            cm.ScoreRules(make_pipeline(StandardScaler(), SVC()), max_rules=4, random_state=0)
            .fit(named(X), y)
            .scorecard_
        )
    },
    "ScoreRules with proof": lambda X, y: {
        "rules": str(
            cm.ScoreRules(cm.LPSVC(), max_rules=6, certify=True).fit(named(X), y).scorecard_
        )
    },
    "SVMTreeClassifier": lambda X, y: rules(cm.SVMTreeClassifier(random_state=0).fit(named(X), y)),
    **{
        maker.__name__: lambda X, y, maker=maker, options=options: rules(
            maker(make_pipeline(StandardScaler(), SVC()), **options).fit(named(X), y)
        )
        for maker, options in (
            (cm.SupportVectorRules, {}),
            (cm.SurrogateRules, {"random_state": 0}),
        )
    },
}


def run(fits: dict[str, Callable[..., Answer]], X: np.ndarray, y: np.ndarray) -> dict[str, Answer]:
    return {name: fit(X, y) for name, fit in fits.items()}


def main(tables: str, *orders: int) -> None:
    warnings.simplefilter("ignore")
    with np.load(tables) as file:
        names = sorted({key.removesuffix("_X") for key in file if key.endswith("_X")})
        loaded = {name: (file[f"{name}_X"], file[f"{name}_y"]) for name in names}
    answers: dict[str, Any] = {}
    for name, (X, y) in loaded.items():
        answers[name] = {"rules": run(IN_ONE_ORDER, X, y), "close": run(CLOSE, X, y), "orders": []}
        for seed in orders:
            order = np.random.default_rng(seed).permutation(len(X)) if seed else np.arange(len(X))
            answers[name]["orders"].append(run(IN_ANY_ORDER, X[order], y[order]))
    json.dump(answers, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
