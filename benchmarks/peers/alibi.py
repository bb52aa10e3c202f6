"""AnchorTabular of alibi, with its defaults: a box around a case in which a model mostly says the same.

The packages are entered without their own first files, which import everything that alibi can do: spaCy, transformers
and more. What is run is alibi's, unchanged.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
import time
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers.protocol import Problem, attend, example, load, write


def _bare(name: str, folder: Path) -> None:
    module = types.ModuleType(name)
    module.__path__ = [str(folder)]
    sys.modules[name] = module


def _anchor_tabular() -> Any:
    found = importlib.util.find_spec("alibi")
    if found is None or found.origin is None:
        raise ModuleNotFoundError("No module named 'alibi'")
    root = Path(found.origin).parent
    for name in ("alibi", "alibi.explainers", "alibi.utils"):
        _bare(name, root.joinpath(*name.split(".")[1:]))
    return importlib.import_module("alibi.explainers.anchors.anchor_tabular").AnchorTabular


AnchorTabular: Any = _anchor_tabular()


class Explainer(AnchorTabular):  # type: ignore[misc]
    """Remembers the conditions of an anchor as numbers of its own, before it writes them with two decimals."""

    def add_names_to_exp(self, explanation: dict[str, Any]) -> None:
        """Take note of the conditions, which alibi replaces by their features here."""
        self.conditions = list(explanation["feature"])
        super().add_names_to_exp(explanation)

    def bounds(self) -> tuple[list[float | None], list[float | None]]:
        """What the anchor just found asks for: lower < x <= upper, and nothing where there is None.

        Bin k of a feature goes from quantile k - 1, without it, to quantile k. A condition allows the lowest bins or
        the highest.
        """
        count = len(self.feature_names)
        lower, upper = np.full(count, -np.inf), np.full(count, np.inf)
        cuts = self.samplers[0].disc.lambdas
        for condition in self.conditions:
            feature, bins = self.enc2feat_idx[condition], self.ord_lookup[condition]
            quantiles = cuts[feature].keywords["qts"]
            if 0 in bins:
                upper[feature] = min(upper[feature], quantiles[max(bins)])
            else:
                lower[feature] = max(lower[feature], quantiles[min(bins) - 1])
        return [finite(value) for value in lower], [finite(value) for value in upper]


def finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def teacher(fields: dict[str, Any]) -> Callable[[Any], Any]:
    """The model to be explained: a plane in the units of the rows, or an RBF machine on standardised rows."""
    b = float(fields["b"])
    if "w" in fields:
        w = fields["w"].ravel()
        return lambda X: (np.asarray(X, float) @ w + b > 0).astype(int)
    sv, dual, gamma = fields["sv"], fields["dual"].ravel(), float(fields["gamma"])
    mean, scale, squares = fields["mean"], fields["scale"], (fields["sv"] ** 2).sum(axis=1)

    def predict(X: Any) -> Any:
        Z = (np.asarray(X, float) - mean) / scale
        distances = (Z**2).sum(axis=1)[:, None] + squares - 2 * Z @ sv.T
        return (np.exp(-gamma * distances) @ dual + b > 0).astype(int)

    return predict


def explain(problem: Problem, rows: list[int], tell: Callable[[dict[str, Any]], None]) -> None:
    """Explain rows one by one, each with the same random numbers whichever went before."""
    explainer = Explainer(teacher(problem.rest), problem.names, seed=problem.seed)
    explainer.fit(problem.X_train)
    for row in rows:
        np.random.seed(problem.seed)  # noqa: NPY002 - alibi draws from it
        start = time.process_time()
        explainer.explain(problem.X_test[row])
        seconds = time.process_time() - start
        lower, upper = explainer.bounds()
        tell(
            {
                "row": row,
                "lower": lower,
                "upper": upper,
                "predicted": int(explainer.instance_label),
                "seconds": seconds,
            }
        )


def rehearse() -> None:
    plane = {"w": np.array([1.0, 0.5, 0.0]), "b": np.array(0.0)}
    explain(example()._replace(rest=plane), [0], lambda _: None)


def answer(path: Path, target: Path) -> None:
    """What is found is written after each row, so that a limit of time leaves what was found before."""
    problem = load(path)
    anchors: list[dict[str, Any]] = []

    def tell(anchor: dict[str, Any]) -> None:
        anchors.append(anchor)
        write(target, {"anchors": anchors})

    explain(problem, [int(row) for row in problem.rest["rows"]], tell)


if __name__ == "__main__":
    attend(rehearse, answer)
