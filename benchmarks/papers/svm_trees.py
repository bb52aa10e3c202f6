"""Pang and Kasabov (IJCNN 2008): trees of machines and their rules, Tables I and II and Figure 3."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVC

from benchmarks.page import Section, Table, not_measured
from benchmarks.tables import FloatArray, data_folder
from clearmargin import SupportVectorRules, SVMTreeClassifier
from clearmargin.datasets import make_imbalanced

Array = NDArray[Any]
# Every rule, and the printed penalty and depth; by default these are chosen by cross-validation.
ALL: dict[str, Any] = {"min_coverage": 1, "max_rules": None}
PRINTED: dict[str, Any] = {"C": 0.1, "max_layers": None}


@dataclass(frozen=True)
class Answer:
    """What a method says of some rows, its support vectors, rules, and leaves with a machine and of one class."""

    labels: Array
    vectors: int
    rules: int | None = None
    leaves: tuple[int, int] = (0, 0)


def polynomial_svm(C: float = 0.1, weights: str | None = None) -> Any:
    """The machine of SVM-Rule: kernel (x'z + 1)^2 on data scaled to [0, 1], penalty 0.1."""
    machine = SVC(kernel="poly", degree=2, gamma=1.0, coef0=1.0, C=C, class_weight=weights)
    return make_pipeline(MinMaxScaler(), machine)


def by_machine(model: Any, X: Array, y: Array, rows: Array) -> Answer:
    """A machine by itself."""
    model.fit(X, y)
    return Answer(model.predict(rows), int(model[-1].n_support_.sum()))


def by_machine_rules(X: Array, y: Array, rows: Array) -> dict[str, Answer]:
    """The machine of SVM-Rule, and its rules with all phases of RulExSVM."""
    model = polynomial_svm()
    machine = by_machine(model, X, y, rows)
    rules = SupportVectorRules(model, **ALL).fit(X, y)
    answer = Answer(rules.predict(rows), machine.vectors, len(rules.rules_))
    return {"polynomial SVM": machine, "SVM-Rule": answer}


def by_tree(X: Array, y: Array, rows: Array, seed: int, **settings: Any) -> dict[str, Answer]:
    """A tree and its rules, simplified and as published."""
    found = {}
    for how, simplify in (("", True), (" as published", False)):
        options = PRINTED | ALL | settings
        model = SVMTreeClassifier(simplify=simplify, random_state=seed, **options).fit(X, y)
        leaves = model.tree_.leaves
        machines = sum(bool(leaf.pairs) for leaf in leaves)
        vectors = model.n_support_vectors_
        parts = machines, len(leaves) - machines
        found[f"tree{how}"] = Answer(model.predict(rows), vectors, leaves=parts)
        labels = model.predict_by_rules(rows)
        found[f"rules{how}"] = Answer(labels, vectors, len(model.rules_))
    return found


# Table I: a rare class in the plane

# Rules, support vectors, accuracies in percent (all, class 1, class 2) and CBR, as printed; trees have no rules there.
TABLE_I: dict[str, tuple[float, ...]] = {
    "SVM-Rule": (58, 32, 91.3, 100.0, 0.0, 1.0),
    "DFS: tree": (np.nan, 16, 92.7, 94.8, 70.5, 0.25),
    "DFS: rules": (23, 16, 92.4, 94.9, 66.3, 0.30),
    "BFS: tree": (np.nan, 18, 90.1, 92.0, 79.0, 0.14),
    "BFS: rules": (33, 18, 90.0, 91.2, 76.9, 0.16),
}
MEASURES = ("rules", "SVs", "accuracy", "class 1", "class 2", "CBR")
# Leaves with a machine and of one class, as section V.A says of Figure 3.
FIGURE_3 = {"DFS": (8, 14), "BFS": (8, 24)}
# 168 + 16 rows are what makes a constant answer 91.3 % right; ten times as many test it.
IMBALANCE, TEST_ROWS, TEST_SEED, FIRST_DRAW = 10.5, 1840, 10**6, 2000


def printed_beside(name: str) -> tuple[float, ...] | None:
    """The printed row that one of ours is compared with: "DFS, all: tree as published" with "DFS: tree"."""
    return TABLE_I.get(re.sub(r", (all|minority)| as published", "", name))


def draw_i(seed: int) -> dict[str, Answer | tuple[float, ...]]:
    """All rows of Table I on one draw: their measures, and leaves behind a star."""
    X, y = make_imbalanced(imbalance=IMBALANCE, random_state=FIRST_DRAW + seed)
    rows, true = make_imbalanced(
        TEST_ROWS, imbalance=IMBALANCE, random_state=TEST_SEED + FIRST_DRAW + seed
    )
    answers = by_machine_rules(X, y, rows)
    answers["polynomial SVM, C 100"] = by_machine(polynomial_svm(100.0), X, y, rows)
    answers["polynomial SVM, balanced"] = by_machine(polynomial_svm(weights="balanced"), X, y, rows)
    for order, short in (("depth", "DFS"), ("breadth", "BFS")):
        for loss in ("all", "minority"):
            found = by_tree(X, y, rows, seed, order=order, loss=loss)
            answers |= {f"{short}, {loss}: {name}": answer for name, answer in found.items()}
    measured: dict[str, Any] = {}
    for name, answer in answers.items():
        right = answer.labels == true
        shares = [right, right[true == "class_1"], right[true == "class_2"]]
        ratio = 1.0 - min(s.mean() for s in shares[1:]) / max(s.mean() for s in shares[1:])
        percents = [100 * float(share.mean()) for share in shares]
        rules = np.nan if answer.rules is None else float(answer.rules)
        measured[name] = (rules, float(answer.vectors), *percents, ratio)
        if any(answer.leaves):
            measured[f"*{name}"] = tuple(map(float, answer.leaves))
    return measured


def table_i_section(draws: int) -> list[Section]:
    """Table I and Figure 3, ours with standard deviations over draws, the printed numbers in brackets."""
    runs = [draw_i(seed) for seed in range(draws)]
    stacked = {name: np.array([run[name] for run in runs]) for name in runs[0]}
    table = Table(["ours (published)", *MEASURES, "beyond two standard deviations"])
    near: list[bool] = []
    letter: list[bool] = []
    for name, values in stacked.items():
        if name.startswith("*"):
            continue
        mean, deviation = values.mean(axis=0), values.std(axis=0, ddof=1)
        printed, apart, cells = printed_beside(name), [], []
        for k, measure in enumerate(MEASURES):
            digits = 2 if measure == "CBR" else 1
            cell = f"{mean[k]:.{digits}f} ± {deviation[k]:.{digits}f}"
            if printed is not None and not np.isnan(printed[k]):
                cell += f" ({printed[k]:g})"
                # Half a last digit is rounding.
                if abs(mean[k] - printed[k]) > 2.0 * deviation[k] + 0.05:
                    apart.append(f"{measure} {mean[k] - printed[k]:+.3g}")
            cells.append("-" if np.isnan(mean[k]) else cell)
        if printed is not None:
            near.append(not apart)
            letter += [not apart] if name.endswith("as published") else []
        last = "-" if printed is None else ", ".join(apart) or "none"
        table.rows.append([name, *cells, last])
    leaves = []
    for order, (machines, plain) in FIGURE_3.items():
        for loss in ("all", "minority"):
            ours = stacked[f"*{order}, {loss}: tree"].mean(axis=0)
            leaves.append(
                f"{order}, {loss} {ours[0]:.1f} and {ours[1]:.1f} ({machines} and {plain})"
            )
    first = Section(
        "Pang: Table I, a rare class",
        f"Mean ± standard deviation of {draws} draws of 168 + 16 points from clouds of our choice, since the paper "
        "does not give its own; test rows are another 1,680 + 160. In brackets what is printed, from one draw. DFS and "
        "BFS are the orders of splitting; *all* and *minority* say over which points a cell's loss is counted.",
        table,
        "That SVM-Rule never finds class 2 is due to its penalty of 0.1: see the rows with C 100 and balanced weights.",
        f"{sum(letter)} of {len(letter)} rows as published are within two standard deviations of a draw in all that is "
        f"printed, in all readings {sum(near)} of {len(near)}.",
    )
    second = Section(
        "Pang: leaves of Figure 3",
        "Means over the same draws.",
        Table([]),
        finding=f"leaves with a machine and of one class, in brackets published: {'; '.join(leaves)}.",
    )
    return [first, second]


# Table II: cancers by a hundred genes

N_GENES, FOLDS = 100, 10
# Files, and how many rows come first and are the training part of the original study, where that is known.
FILES: dict[str, tuple[str, int | None]] = {
    "lymphoma": ("gene_lymphoma_shipp.csv.gz", None),
    "leukaemia": ("gene_leukemia_golub.csv.gz", 38),
    "CNS": ("gene_cns_pomeroy.csv", None),
    "colon": ("gene_colon_alon.csv", None),
    "breast": ("gene_breast_vantveer.csv.gz", 78),
    "lung": ("gene_lung_gordon.csv.gz", None),
}
# Accuracy in percent, and rules / support vectors where they are printed.
TABLE_II: dict[str, dict[str, tuple[float, ...]]] = {
    "SVM-Rule": {
        "lymphoma": (89.6, 233, 60),
        "leukaemia": (73.5, 245, 29),
        "CNS": (61.7, 234, 37),
        "colon": (71.3, 205, 48),
        "breast": (52.6, 269, 62),
        "lung": (94.6, 171, 23),
    },
    "tree": {
        "lymphoma": (89.6,),
        "leukaemia": (94.1,),
        "CNS": (65.0,),
        "colon": (77.3,),
        "breast": (78.9,),
        "lung": (99.3,),
    },
    "rules": {
        "lymphoma": (80.8, 221, 38),
        "leukaemia": (94.1, 108, 20),
        "CNS": (62.9, 278, 26),
        "colon": (75.3, 202, 32),
        "breast": (78.9, 206, 33),
        "lung": (98.5, 188, 17),
    },
}


@dataclass(frozen=True)
class GeneSet:
    """Expressions of genes, the classes of the patients, and how many of the first ones are for training, if said."""

    name: str
    X: FloatArray
    y: Array
    n_train: int | None

    @property
    def n_tested(self) -> int:
        """Number of patients that a repeat tests."""
        return len(self.y) - (self.n_train or 0)

    def parts(self, repeat: int) -> list[tuple[Array, Array]]:
        """Training and test rows: the split of the study, or ten folds that differ from repeat to repeat."""
        if self.n_train is not None:
            rows = np.arange(len(self.y))
            return [(rows[: self.n_train], rows[self.n_train :])]
        folds = StratifiedKFold(FOLDS, shuffle=True, random_state=repeat)
        return list(folds.split(self.X, self.y))


def gene_sets(names: Sequence[str]) -> list[GeneSet]:
    """The sets that are at hand."""
    found = []
    for name in names:
        file, n_train = FILES[name]
        if (data_folder() / file).exists():
            frame = pd.read_csv(data_folder() / file)
            y = frame.pop("target").to_numpy(dtype=str)
            found.append(GeneSet(name, frame.to_numpy(dtype=np.float64), y, n_train))
    return found


def choose_genes(X: FloatArray, y: Array) -> NDArray[np.intp]:
    """The hundred genes with the largest t statistic of Welch between two classes."""
    first = y == y[0]
    n, m = np.count_nonzero(first), np.count_nonzero(~first)
    squared = X[first].var(axis=0, ddof=1) / n + X[~first].var(axis=0, ddof=1) / m
    gap = np.abs(X[first].mean(axis=0) - X[~first].mean(axis=0))
    # A gene that does not vary tells nothing.
    score = np.where(squared > 0, gap / np.sqrt(np.where(squared > 0, squared, 1.0)), 0.0)
    return np.argsort(-score, kind="stable")[:N_GENES]


def evaluate(data: GeneSet, repeat: int) -> dict[str, tuple[float, float, float]]:
    """Accuracy over all tested patients of one repeat, and rules and support vectors averaged over its folds."""
    right: dict[str, list[bool]] = {}
    sizes: dict[str, list[tuple[int, int]]] = {}
    for rows, tested in data.parts(repeat):
        # The mean of the training part where a value is missing; 0 where a gene has none at all.
        mean = np.nan_to_num(np.nanmean(data.X[rows], axis=0))
        train, test = (np.where(np.isnan(data.X[k]), mean, data.X[k]) for k in (rows, tested))
        y = data.y[rows]
        genes = choose_genes(train, y)
        train, test = train[:, genes], test[:, genes]
        linear = make_pipeline(MinMaxScaler(), SVC(kernel="linear", C=0.1))
        answers = {"linear SVM": by_machine(linear, train, y, test)}
        answers |= by_machine_rules(train, y, test) | by_tree(train, y, test, repeat)
        for name, answer in answers.items():
            right.setdefault(name, []).extend(answer.labels == data.y[tested])
            sizes.setdefault(name, []).append((answer.rules or 0, answer.vectors))
    return {
        name: (100 * float(np.mean(right[name])), *map(float, np.mean(sizes[name], axis=0)))  # type: ignore[misc]
        for name in right
    }


def beside(name: str) -> str:
    """The printed method that one of ours is compared with; nothing for others."""
    kind = "SVM-Rule" if name.startswith("SVM-Rule") else name.removesuffix(" as published")
    return kind if kind in TABLE_II else ""


def table_ii_sections(names: Sequence[str], repeats: int) -> list[Section]:
    """Accuracies, rules and support vectors beside the published ones."""
    title = "Pang: Table II, cancers by a hundred genes"
    sets = gene_sets(names)
    if not sets:
        return [not_measured(title, f"no gene files in {data_folder()}; see CLEARMARGIN_DATA.")]
    runs = {d.name: [evaluate(d, repeat) for repeat in range(repeats)] for d in sets}
    means: Mapping[str, Mapping[str, NDArray[np.float64]]] = {
        d.name: {m: np.mean([run[m] for run in runs[d.name]], axis=0) for m in runs[d.name][0]}
        for d in sets
    }
    methods = list(means[sets[0].name])
    header = [f"{d.name}, {d.n_tested} tested" for d in sets]
    right = Table(["ours (published), %", *header, "mean", "beyond two errors by patients"])
    counts = Table(["ours (published): rules / support vectors", *(d.name for d in sets)])
    near, letter = [], []
    ratios = []
    for method in methods:
        kind, cells, sizes, far = beside(method), [], [], []
        for d in sets:
            share, rules, vectors = means[d.name][method]
            printed = TABLE_II[kind][d.name] if kind else ()
            cells.append(f"{share:.1f}" + (f" ({printed[0]:.1f})" if printed else ""))
            sizes.append(f"{rules:.0f} / {vectors:.0f}")
            if len(printed) > 1:
                sizes[-1] += f" ({printed[1]:g} / {printed[2]:g})"
                ratios.append(printed[1] / rules)
            # The standard error that comes from the number of patients, which no repetition makes smaller.
            error = 100 * np.sqrt(share / 100 * (1 - share / 100) / d.n_tested)
            if printed and abs(share - printed[0]) > 2 * error:
                far.append(f"{d.name} {share - printed[0]:+.1f}")
        average = f"{np.mean([means[d.name][method][0] for d in sets]):.1f}"
        if kind:
            near.append(len(sets) - len(far))
            letter += near[-1:] if method.endswith("as published") else []
            average += f" ({np.mean([TABLE_II[kind][d.name][0] for d in sets]):.1f})"
        right.rows.append([method, *cells, average, (", ".join(far) or "none") if kind else "-"])
        if means[sets[0].name][method][1]:
            counts.rows.append([method, *sizes])
    tree, machine = (
        float(np.mean([means[d.name][name][0] for d in sets])) for name in ("tree", "linear SVM")
    )
    first = Section(
        title,
        f"Percent right, means over {repeats} repeats of ten folds, or of the original test part. Genes are the "
        "hundred with the largest t by Welch's test inside each training part; kernel, normalisation and folds are not "
        "published, and the ovarian set is not at hand. An error by patients is the standard error that comes from "
        "testing so few of them.",
        right,
        f"One linear SVM has {machine:.1f} % on average, the tree {tree:.1f} %: on these data it is not the tree that "
        "makes the accuracy.",
        f"{sum(letter)} of {len(letter) * len(sets)} cells as published are within two errors by patients, in all "
        f"readings {sum(near)} of {len(near) * len(sets)}.",
    )
    second = Section(
        "Pang: rules and support vectors of Table II",
        "Means over folds and repeats. The paper does not say how it counts: its algorithms give at most one rule for "
        "each support vector and each leaf of one class.",
        counts,
        _gain(means),
        f"the printed numbers of rules are {min(ratios):.1f} to {max(ratios):.0f} times ours.",
    )
    return [first, second]


def _gain(means: Mapping[str, Mapping[str, NDArray[np.float64]]]) -> str:
    """What section V.B says of rules of trees beside those of machines, over the sets at hand."""
    rules, tree, machine = ("rules as published", "tree", "SVM-Rule")
    ours = np.array([[each[m] for m in (rules, tree, machine)] for each in means.values()])
    printed = np.array([[TABLE_II[m][name] for m in ("rules", "SVM-Rule")] for name in means])
    gains = [float((x[:, 0, 0] - x[:, -1, 0]).mean()) for x in (printed, ours)]
    left = [100 * float(x[:, k, 2].sum() / x[:, -1, 2].sum()) for x, k in ((printed, 0), (ours, 1))]
    return (
        f"Section V.B: the gain of rules of trees over those of machines is {gains[0]:+.1f} points in the paper's "
        f"table and {gains[1]:+.1f} here (as published); of the support vectors {left[0]:.0f} % are left "
        f"in the paper and {left[1]:.0f} % here."
    )


def sections(quick: bool) -> list[Section]:
    """Both tables."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if quick:
            return [*table_i_section(2), *table_ii_sections(["leukaemia"], 1)]
        return [*table_i_section(20), *table_ii_sections(tuple(FILES), 3)]
