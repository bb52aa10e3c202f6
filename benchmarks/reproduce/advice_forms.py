"""All ways to put experts' rules into a classifier beside each other, with right rules and with rules that are wrong.

``python -m benchmarks.reproduce.advice_forms`` writes ``benchmarks/ADVICE_FORMS.md``, on tables that had no part in any
choice. ``--tuning`` measures on tables to tune on instead, and prints.

The rule for the experts, fixed before anything was measured. Each draw deals the rows of a table at random: a third (at
most `EXPERT` rows) to the expert, a third (at most `TEST`) to the test, the rest to the training part, whose first 20
rows have at least three of each class. The expert's rules are the leaves of a tree of at most `LEAVES` leaves grown on
the expert's rows, those in which at least `SURE` of the rows have one class; these rows are never used again.
*Swapped* are the same rules with the classes exchanged.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from benchmarks.page import Section, Table, write_page
from benchmarks.public_tables import judging_tables, tuning_tables
from benchmarks.reproduce.advice_cases import mean_and_se, vote
from benchmarks.strangers import Stranger
from clearmargin import (
    LPSVCCV,
    AdviceBlendSVC,
    AdviceSVC,
    AdviceSVCCV,
    RuleFeatures,
    RuleSVC,
    parse_rules,
)
from clearmargin.exceptions import ClearmarginWarning
from clearmargin.language.lexer import quote
from clearmargin.rules import Rule, RuleSet

__all__ = [
    "FORMS",
    "Dealt",
    "Scores",
    "deal",
    "expert_rules",
    "main",
    "measure",
    "sections",
    "swapped",
    "usable",
]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]

PAGE = Path(__file__).parents[1] / "ADVICE_FORMS.md"
TITLE = "Ways to put rules in"
SIZES = (20, 50, 100)
EXPERT, TEST, LEAVES, SURE = 300, 500, 5, 0.65
# Of the list of tables the first ones that have room for all parts, so that the run takes half an hour.
LEAST_ROWS, MOST_COLUMNS, MOST_TABLES = 320, 40, 8
DRAWS = 20
# Steps of refinement, most of which change little after the first few.
STEPS = 5
# Refined rules take half of the time; they are measured on the first draws alone.
REFINED = ("AdviceSVC, bounds refined", "AdviceSVC, rules refined")
REFINED_DRAWS = 2
# A normal deviate is below minus one standard deviation with this chance.
BY_CHANCE = 0.159
RIGHT, SWAPPED = "right", "swapped"
MISSING = "missing"


@dataclass(frozen=True)
class Dealt:
    """One draw of a table: rows to train and to test on, and an expert's rules.

    Parameters
    ----------
    X, X_test : DataFrame
        The rows as they are, with categories and missing values.
    y, y_test : ndarray of str
        Their classes.
    rules : RuleSet
        The expert's rules.
    categories : dict from str to list of str
        The categories of the table, which are known to all.
    """

    X: pd.DataFrame
    y: NDArray[Any]
    X_test: pd.DataFrame
    y_test: NDArray[Any]
    rules: RuleSet
    categories: dict[str, list[str]]

    def first(self, size: int) -> Dealt:
        """The same with the first rows of the training part alone."""
        return replace(self, X=self.X.iloc[:size], y=self.y[:size])

    @cached_property
    def encoded(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Both parts as numbers, for machines that take nothing else."""
        middle = self.X.median(numeric_only=True)
        return (
            _encoded(self.X, middle, self.categories),
            _encoded(self.X_test, middle, self.categories),
        )

    @property
    def folds(self) -> int:
        """At most three, so that all of this takes minutes, and no more than the rarer class has rows."""
        return int(min(3, np.unique(self.y, return_counts=True)[1].min()))


def _encoded(
    frame: pd.DataFrame, middle: pd.Series[Any], categories: dict[str, list[str]]
) -> pd.DataFrame:
    """Fill missing numbers, and make a 0/1 column of each category; a missing one is a category."""
    numbers = frame.drop(columns=list(categories)).astype(np.float64)
    columns = {
        str(name): numbers[name].fillna(float(middle[str(name)])).fillna(0.0) for name in numbers
    }
    for name, known in categories.items():
        values = frame[name].fillna(MISSING).astype(str)
        columns |= {f"{name}_{each}": (values == each).astype(np.float64) for each in known}
    return pd.DataFrame(columns, index=frame.index)


def known_categories(X: pd.DataFrame) -> dict[str, list[str]]:
    """List the categories of the columns that are no numbers."""
    texts = X.columns.difference(X.select_dtypes("number").columns, sort=False)
    return {name: sorted(X[name].fillna(MISSING).astype(str).unique()) for name in texts}


def expert_rules(X: pd.DataFrame, y: NDArray[Any], categories: dict[str, list[str]]) -> RuleSet:
    """Give the leaves of a small tree as rules over the table as it is.

    Parameters
    ----------
    X : DataFrame
        The expert's rows.
    y : ndarray of str
        Their classes, two of them.
    categories : dict from str to list of str
        The categories of the table.

    Returns
    -------
    RuleSet
        Leaves of which at least `SURE` of the rows have one class; where there is none, the surest leaf.
    """
    table = _encoded(X, X.median(numeric_only=True), categories)
    least = max(5, len(X) // 20)
    tree = DecisionTreeClassifier(max_leaf_nodes=LEAVES, min_samples_leaf=least, random_state=0)
    tree.fit(table, y)
    columns = [_source(column, categories) for column in table.columns]
    lines: list[tuple[float, str]] = []
    _walk(tree, 0, {}, columns, categories, lines)
    sure = [line for share, line in lines if share >= SURE] or [max(lines)[1]]
    return parse_rules("\n".join(sure), classes=[str(label) for label in tree.classes_])


def _source(column: str, categories: dict[str, list[str]]) -> tuple[str, str | None]:
    """Tell which feature and category a column of the encoded table stands for."""
    for name, known in categories.items():
        for category in known:
            if column == f"{name}_{category}":
                return name, category
    return column, None


Limits = dict[str, tuple[float, float, tuple[str, ...] | None]]


def _walk(
    tree: DecisionTreeClassifier,
    node: int,
    limits: Limits,
    columns: Sequence[tuple[str, str | None]],
    categories: dict[str, list[str]],
    lines: list[tuple[float, str]],
) -> None:
    """Write the leaves below a node as rules, each with the share of its class."""
    inner = tree.tree_
    if inner.children_left[node] < 0:
        shares = inner.value[node][0] / inner.value[node][0].sum()
        best = int(np.argmax(shares))
        premise = " and ".join(_condition(name, *limits[name]) for name in limits) or "true"
        lines.append((float(shares[best]), f"{premise} => {quote(str(tree.classes_[best]))}"))
        return
    name, category = columns[inner.feature[node]]
    bound = float(inner.threshold[node])
    low, high, allowed = limits.get(name, (-np.inf, np.inf, None))
    if category is None:
        below: Any = (low, min(high, bound), None)
        above: Any = (max(low, bound), high, None)
    else:
        known = tuple(categories[name]) if allowed is None else allowed
        below = (low, high, tuple(each for each in known if each != category))
        above = (low, high, (category,))
    for child, part in ((inner.children_left[node], below), (inner.children_right[node], above)):
        _walk(tree, int(child), {**limits, name: part}, columns, categories, lines)


def _condition(name: str, low: float, high: float, allowed: tuple[str, ...] | None) -> str:
    if allowed is not None:
        return f"{quote(name)} in {{{', '.join(map(quote, allowed))}}}"
    if np.isinf(low):
        return f"{quote(name)} <= {high!r}"
    if np.isinf(high):
        return f"{quote(name)} > {low!r}"
    return f"{low!r} < {quote(name)} <= {high!r}"


def swapped(rules: RuleSet) -> RuleSet:
    """Give the same rules with the classes exchanged."""
    first, second = rules.classes
    other = {first: second, second: first}
    turned = [Rule(rule.region, other[rule.label]) for rule in rules]
    return RuleSet(turned, rules.space, rules.classes)


def deal(X: pd.DataFrame, y: NDArray[Any], draw: int) -> Dealt:
    """Deal the rows to expert, training and test, at random; see the head of this file."""
    rng = np.random.default_rng([19, draw])
    labels = np.asarray(y).astype(str)
    third = len(X) // 3
    n_expert, n_test = min(EXPERT, third), min(TEST, third)
    while True:
        order = rng.permutation(len(X))
        expert, test, train = np.split(order, [n_expert, n_expert + n_test])
        counts = np.unique(labels[train[: SIZES[0]]], return_counts=True)[1]
        if len(counts) == 2 and counts.min() >= 3 and len(np.unique(labels[expert])) == 2:
            break
    known = known_categories(X)
    rules = expert_rules(X.iloc[expert], labels[expert], known)
    return Dealt(X.iloc[train], labels[train], X.iloc[test], labels[test], rules, known)


Form = Callable[[Dealt], NDArray[Any]]


def _linear(train: FloatArray, test: FloatArray, dealt: Dealt) -> NDArray[Any]:
    """Predict by a linear SVM of scikit-learn, whose cost cross-validation chooses."""
    machine = make_pipeline(StandardScaler(), LinearSVC(random_state=0))
    search = GridSearchCV(machine, {"linearsvc__C": [0.01, 0.1, 1.0]}, cv=dealt.folds)
    return np.asarray(search.fit(train, dealt.y).predict(test))


def _plain(dealt: Dealt) -> NDArray[Any]:
    train, test = dealt.encoded
    return _linear(train.to_numpy(), test.to_numpy(), dealt)


def _sparse(dealt: Dealt) -> NDArray[Any]:
    train, test = dealt.encoded
    machine = LPSVCCV(cv=dealt.folds, scale=True, progress=False)
    return np.asarray(machine.fit(train, dealt.y).predict(test))


def _columns(vote_too: bool | str) -> Form:
    def predict(dealt: Dealt) -> NDArray[Any]:
        columns = RuleFeatures(dealt.rules, vote=vote_too).fit(dealt.X)
        parts = [
            np.hstack([table.to_numpy(), columns.transform(X)])
            for table, X in zip(dealt.encoded, (dealt.X, dealt.X_test), strict=True)
        ]
        return _linear(parts[0], parts[1], dealt)

    return predict


def _alone(dealt: Dealt) -> NDArray[Any]:
    return vote(dealt.rules, dealt.X_test, dealt.y)


def _advised(make: Callable[[Dealt], Any]) -> Form:
    def predict(dealt: Dealt) -> NDArray[Any]:
        train, test = dealt.encoded
        return np.asarray(make(dealt).fit(train, dealt.y).predict(test))

    return predict


def _over_rules(with_rules: bool) -> Form:
    def predict(dealt: Dealt) -> NDArray[Any]:
        rules = dealt.rules if with_rules else None
        # The certificate of the linear program has no part in what is predicted.
        machine = RuleSVC(rules=rules, certify=False, progress=False)
        return np.asarray(machine.fit(dealt.X, dealt.y).predict(dealt.X_test))

    return predict


ALONE, COLUMNS = "rules alone", "RuleSVC, rules as columns"
# Each form, and the machine without rules that it is compared with: its own data alone.
DATA_ALONE = {
    "LinearSVC": "LinearSVC",
    "LPSVCCV": "LPSVCCV",
    "RuleSVC": "RuleSVC",
    ALONE: "LinearSVC",
    "LinearSVC, vote as a column": "LinearSVC",
    "LinearSVC, RuleFeatures": "LinearSVC",
    COLUMNS: "RuleSVC",
    "AdviceSVC": "LPSVCCV",
    "AdviceSVCCV": "LPSVCCV",
    "AdviceBlendSVC": "LPSVCCV",
    "AdviceSVC, bounds refined": "LPSVCCV",
    "AdviceSVC, rules refined": "LPSVCCV",
}
WITHOUT = tuple(form for form, data in DATA_ALONE.items() if form == data)
FORMS: dict[str, Form] = {
    "LinearSVC": _plain,
    "LPSVCCV": _sparse,
    "RuleSVC": _over_rules(False),
    ALONE: _alone,
    "LinearSVC, vote as a column": _columns("only"),
    "LinearSVC, RuleFeatures": _columns(False),
    COLUMNS: _over_rules(True),
    "AdviceSVC": _advised(lambda dealt: AdviceSVC(dealt.rules)),
    "AdviceSVCCV": _advised(lambda dealt: AdviceSVCCV(dealt.rules, cv=dealt.folds, progress=False)),
    "AdviceBlendSVC": _advised(
        lambda dealt: AdviceBlendSVC(dealt.rules, repeats=1, progress=False)
    ),
    "AdviceSVC, bounds refined": _advised(
        lambda dealt: AdviceSVC(dealt.rules, refine="translate", max_iter=STEPS)
    ),
    "AdviceSVC, rules refined": _advised(
        lambda dealt: AdviceSVC(dealt.rules, refine="trust", max_iter=STEPS)
    ),
}


@dataclass(frozen=True)
class Key:
    """A cell: a table, a number of cases, right or swapped rules, and a form."""

    table: str
    size: int
    kind: str
    form: str


Scores = dict[Key, list[float]]


def usable(tables: Sequence[Stranger]) -> list[tuple[str, pd.DataFrame, NDArray[Any]]]:
    """Load the first tables of a list that have rows for all parts, and columns in reason."""
    found = []
    for table in tables:
        X, y = table.load()
        if len(X) >= LEAST_ROWS and len(X.columns) <= MOST_COLUMNS:
            found.append((table.name, X, y))
        if len(found) == MOST_TABLES:
            break
    return found


def measure(
    name: str, X: pd.DataFrame, y: NDArray[Any], draw: int, forms: Sequence[str] = tuple(FORMS)
) -> Scores:
    """Measure all forms on one draw of a table: the share of test rows that are right, in percent."""
    dealt = deal(X, y, draw)
    scores: Scores = {}
    for size in SIZES:
        part = dealt.first(size)
        for kind in (RIGHT, SWAPPED):
            task = part if kind == RIGHT else replace(part, rules=swapped(part.rules))
            for form in forms:
                if (kind == SWAPPED and form in WITHOUT) or (
                    form in REFINED and draw >= REFINED_DRAWS
                ):
                    continue
                with warnings.catch_warnings():
                    # Rules that overlap, planes without weights, costs at the end of a grid: all expected here.
                    warnings.simplefilter("ignore", ClearmarginWarning)
                    warnings.simplefilter("ignore", ConvergenceWarning)
                    said = FORMS[form](task)
                right = 100.0 * float(np.mean(said == task.y_test))
                scores[Key(name, size, kind, form)] = [right]
    return scores


def collect(
    tables: Sequence[tuple[str, pd.DataFrame, NDArray[Any]]], draws: int, seconds: float = np.inf
) -> Scores:
    """Measure all tables, draw by draw; no draw begins after some seconds."""
    start = time.monotonic()
    scores: Scores = {}
    for draw in range(draws):
        if time.monotonic() - start > seconds:
            break
        for table in tables:
            for key, values in measure(*table, draw).items():
                scores.setdefault(key, []).extend(values)
        print(f"draw {draw + 1} of {draws}", flush=True)
    return scores


@dataclass(frozen=True)
class Compared:
    """A form against a reference, over the tables of one size and kind.

    Parameters
    ----------
    lead : ndarray of shape (t,)
        By how much it is right more often, table by table.
    own, paired : ndarray of shape (t,)
        Standard errors over the draws: of its mean, and of the mean difference.
    """

    lead: FloatArray
    own: FloatArray
    paired: FloatArray

    @classmethod
    def of(cls, scores: Scores, size: int, kind: str, form: str, *, with_rules: bool) -> Compared:
        """Compare a form with its data alone or, `with_rules`, with the better of that and of the rules alone."""
        lead, own, paired = [], [], []
        for table in _tables(scores):
            values = np.array(scores[Key(table, size, kind, form)])
            sources = [scores[Key(table, size, RIGHT, DATA_ALONE[form])]]
            if with_rules:
                sources.append(scores[Key(table, size, kind, ALONE)])
            # A form that was measured on some of the draws is compared on these.
            sources = [source[: len(values)] for source in sources]
            better = np.array(max(sources, key=lambda source: float(np.mean(source))))
            lead.append(float(np.mean(values - better)))
            own.append(mean_and_se(values)[1])
            paired.append(mean_and_se(values - better)[1])
        return cls(np.array(lead), np.array(own), np.array(paired))

    def below(self) -> int:
        """On how many tables the form is more than one standard error of its mean below the reference."""
        return int((self.lead < -self.own).sum())

    def below_paired(self) -> int:
        """The same by the standard error of the difference."""
        return int((self.lead < -self.paired).sum())

    def text(self) -> str:
        """The mean over tables, its standard error, and on how many tables the form is below."""
        mean, se = mean_and_se(self.lead)
        return f"{mean:+.1f} ± {se:.1f}, {self.below()}"


def _tables(scores: Scores) -> list[str]:
    return list(dict.fromkeys(key.table for key in scores))


def _mean(scores: Scores, size: int, kind: str, form: str) -> str:
    key_kind = RIGHT if form in WITHOUT else kind
    means = [np.mean(scores[Key(table, size, key_kind, form)]) for table in _tables(scores)]
    return f"{np.mean(means):.1f}"


def sections(scores: Scores) -> list[Section]:
    """Write what was measured: all forms, what rules bring, what wrong rules cost, and the tables one by one."""
    return [
        _overview(scores),
        _claim(scores, RIGHT),
        _claim(scores, SWAPPED),
        _by_table(scores),
    ]


def _overview(scores: Scores) -> Section:
    columns = [(size, kind) for kind in (RIGHT, SWAPPED) for size in SIZES]
    rows = [[form, *(_mean(scores, *column, form) for column in columns)] for form in DATA_ALONE]
    best = [max(rows, key=lambda row: float(row[1 + k]))[0] for k in range(len(SIZES))]
    return Section(
        "All forms",
        "Share of test rows that are right, in percent, mean over the tables.",
        Table(["form", *(f"{kind}, {size} cases" for size, kind in columns)], rows),
        "Most often right with right rules: "
        + "; ".join(f"at {size} cases {form}" for size, form in zip(SIZES, best, strict=True))
        + ".",
        finding=f"most often right at {SIZES[0]} cases: {best[0]}",
    )


def _claim(scores: Scores, kind: str) -> Section:
    """Whether forms are never below the better of rules and data, or with swapped rules below data alone."""
    with_rules = kind == RIGHT
    forms = [form for form in DATA_ALONE if form not in WITHOUT]
    compared = {
        form: [Compared.of(scores, size, kind, form, with_rules=with_rules) for size in SIZES]
        for form in forms
    }
    rows = [[form, DATA_ALONE[form], *(each.text() for each in compared[form])] for form in forms]
    ours = compared[COLUMNS]
    tested = ours if with_rules else ours[1:]
    cells = sum(len(each.lead) for each in tested)
    below, paired = (
        sum(each.below() for each in tested),
        sum(each.below_paired() for each in tested),
    )
    reference = (
        "the better of rules alone and data alone" if with_rules else "data alone, from 50 cases on"
    )
    words = (
        f"{COLUMNS}: more than one standard error below {reference} in {below} of {cells} cells ({paired} by the "
        f"standard error of the difference). A form that is exactly as good as the reference would be so in about "
        f"{BY_CHANCE * cells:.0f} cells by chance. Largest deficit on one table: "
        f"{max(0.0, -min(float(each.lead.min()) for each in tested)):.1f} points."
    )
    title = (
        "Right rules: against the better of rules and data"
        if with_rules
        else ("Swapped rules: against data alone")
    )
    return Section(
        title,
        "Difference in points to "
        + ("the better of the rules alone and of " if with_rules else "")
        + "the same machine without rules, mean over the tables ± its standard error, and the number of tables on "
        "which the form is more than one standard error of its mean (over the draws) below.",
        Table(["form", "data alone is", *(f"{size} cases" for size in SIZES)], rows),
        words,
        finding=f"{COLUMNS} below in {below} of {cells} cells, {BY_CHANCE * cells:.0f} by chance",
    )


def _by_table(scores: Scores) -> Section:
    rows = []
    for table in _tables(scores):
        for size in SIZES:
            cells = [
                scores[Key(table, size, RIGHT, ALONE)],
                scores[Key(table, size, RIGHT, "RuleSVC")],
                scores[Key(table, size, RIGHT, COLUMNS)],
                scores[Key(table, size, SWAPPED, COLUMNS)],
                scores[Key(table, size, RIGHT, "AdviceSVCCV")],
                scores[Key(table, size, SWAPPED, "AdviceSVCCV")],
            ]
            means = [mean_and_se(np.array(values)) for values in cells]
            rows.append([table, str(size), *(f"{mean:.1f} ± {se:.1f}" for mean, se in means)])
    head = ["rules alone", "RuleSVC", COLUMNS, "the same, swapped", "AdviceSVCCV", "swapped"]
    return Section(
        "Table by table",
        "Share of test rows that are right, in percent, mean over the draws ± its standard error.",
        Table(["table", "cases", *head], rows),
        "",
    )


INTRO = f"""\
Written by `python -m benchmarks.reproduce.advice_forms` (part of `make reproduce`) on tables that had no part in any
choice: of the judging list of `benchmarks/public_tables.py` the first {{tables}} with at least {LEAST_ROWS} rows and at
most {MOST_COLUMNS} columns; {{draws}} draws each, {{seconds:.0f}} s of CPU.

Each draw deals the rows at random: a third (at most {EXPERT} rows) to an *expert*, a third (at most {TEST}) to the
test, the rest to training. The expert's rules are the leaves of a tree of at most {LEAVES} leaves, grown on the
expert's rows, in which at least {SURE:.0%} of the rows have one class; these rows are never used again. *Swapped* are
the same rules with the classes exchanged. *Rules alone* is the majority of the rules that cover a row; ties and rows
without a rule go to the more frequent class of the training rows.

*LinearSVC* has standardised columns, and C from 0.01, 0.1 and 1 by cross-validation (in three folds, here and for the
other planes); *vote as a column* and *RuleFeatures* add columns to it. *RuleSVC* and *RuleSVC, rules as columns*
(`RuleSVC(rules=...)`) are as they come, *AdviceSVC* has lam = mu = 1, *AdviceSVCCV* chooses both by cross-validation,
*AdviceBlendSVC* has one round of it. *Refined*: bounds alone (`refine="translate"`) or whole rules (`"trust"`), at the
default costs, in at most {STEPS} steps and on the first {REFINED_DRAWS} draws alone."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and write the page; with tables to tune on, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tuning", action="store_true", help="tables to tune on; prints")
    parser.add_argument("--draws", type=int, default=DRAWS)
    parser.add_argument("--seconds", type=float, default=np.inf, help="begin no draw after these")
    options = parser.parse_args(arguments)
    start = time.process_time()
    tables = usable(tuning_tables() if options.tuning else judging_tables())
    scores = collect(tables, options.draws, options.seconds)
    written = sections(scores)
    if options.tuning:
        print("\n".join(section.to_markdown() for section in written))
        return
    draws = max(map(len, scores.values()))
    intro = INTRO.format(tables=len(tables), draws=draws, seconds=time.process_time() - start)
    write_page(written, PAGE, TITLE, intro)


if __name__ == "__main__":
    main()
