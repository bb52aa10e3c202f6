"""The pieces of the page about ways to put rules in: the experts, the draws, and what is counted."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from benchmarks.reproduce import advice_forms
from benchmarks.reproduce.advice_forms import (
    ALONE,
    COLUMNS,
    DATA_ALONE,
    FORMS,
    REFINED,
    RIGHT,
    SIZES,
    SWAPPED,
    WITHOUT,
    Key,
    deal,
    expert_rules,
    known_categories,
    measure,
    sections,
    swapped,
    usable,
)
from benchmarks.strangers import Stranger


def table(m=360, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "age": rng.integers(20, 80, m).astype(float),
            "odd name!": rng.normal(size=m),
            "home": rng.choice(["own", "rent", "with parents"], m),
        }
    )
    worth = 0.05 * (X["age"] - 50) + (X["home"] == "own") + 0.3 * rng.normal(size=m)
    X.loc[::17, "age"] = np.nan
    X.loc[::23, "home"] = None
    return X, np.where(worth > 0.3, "repays", "defaults")


def test_the_experts_rules_are_leaves_that_do_not_overlap_and_are_mostly_right():
    X, y = table()
    rules = expert_rules(X, y, known_categories(X))
    assert 2 <= len(rules) <= 5
    covers = rules.covers(X)
    assert covers.sum(axis=1).max() == 1
    for rule, column in zip(rules, covers.T, strict=True):
        assert (y[column] == rule.label).mean() > 0.6
    assert {"age", "home"} >= {name for name in rules.space.names if name != "odd name!"}


def test_swapped_rules_cover_the_same_rows_for_the_other_class():
    X, y = table()
    rules = expert_rules(X, y, known_categories(X))
    other = swapped(rules)
    assert (other.covers(X) == rules.covers(X)).all()
    assert all(a.label != b.label for a, b in zip(rules, other, strict=True))
    assert swapped(other) == rules


def test_no_row_is_in_two_parts_and_each_draw_is_another():
    X, y = table()
    dealt = deal(X, y, 0)
    assert set(dealt.X.index).isdisjoint(dealt.X_test.index)
    assert len(dealt.X) == 120
    assert len(dealt.X_test) == 120
    assert min(np.unique(dealt.y[: SIZES[0]], return_counts=True)[1]) >= 3
    assert not dealt.X.index.equals(deal(X, y, 1).X.index)
    assert dealt.X.index.equals(deal(X, y, 0).X.index)
    few = dealt.first(50)
    assert few.X.index.equals(dealt.X.index[:50])
    train, test = few.encoded
    assert train.columns.equals(test.columns)
    assert not train.isna().any(axis=None)
    assert train.filter(like="home_").sum(axis=1).eq(1.0).all()


def test_all_forms_predict_on_a_table_with_categories_and_missing_values(monkeypatch):
    monkeypatch.setattr(advice_forms, "SIZES", (20,))
    quick = [form for form in FORMS if form not in REFINED]
    scores = measure("t", *table(), 0, quick)
    assert {key.form for key in scores} == set(quick)
    assert set(FORMS) == set(DATA_ALONE)
    right = {key.form: values[0] for key, values in scores.items() if key.kind == RIGHT}
    turned = {key.form: values[0] for key, values in scores.items() if key.kind == SWAPPED}
    assert set(turned) == set(quick) - set(WITHOUT)
    assert right[ALONE] > 70.0
    assert turned[ALONE] < 50.0
    assert right[COLUMNS] > 70.0


def made_up(rules_at_20):
    """Scores of two tables and four draws: data alone 70, rules alone 80, our form as given at 20 cases, then 85."""
    spread = np.array([-1.0, 0.0, 0.0, 1.0])
    scores = {}
    for name in ("first", "second"):
        for size in SIZES:
            for kind in (RIGHT, SWAPPED):
                for form in FORMS:
                    if kind == SWAPPED and form in WITHOUT:
                        continue
                    mean = 80.0 if form == ALONE else 70.0
                    if form == COLUMNS:
                        mean = rules_at_20 if size == SIZES[0] else 85.0
                    scores[Key(name, size, kind, form)] = (mean + spread).tolist()
    return scores


@pytest.mark.parametrize(("at_20", "below"), [(80.0, 0), (79.0, 2), (81.0, 0)])
def test_cells_are_counted_that_are_more_than_one_standard_error_below(at_20, below):
    _, right, turned, by_table = sections(made_up(at_20))
    # The standard error of four draws with this spread is 0.41.
    assert f"in {below} of 6 cells" in right.verdict
    assert "in 0 of 4 cells" in turned.verdict
    ours = next(row for row in right.table.rows if row[0] == COLUMNS)
    assert ours[2:4] == [f"{at_20 - 80:+.1f} ± 0.0, {below}", "+5.0 ± 0.0, 0"]
    assert len(by_table.table.rows) == 2 * len(SIZES)


def test_tables_that_are_too_small_or_too_wide_are_passed_over(monkeypatch):
    def stranger(name, m, n):
        return Stranger(name, "", "", lambda: (pd.DataFrame(np.zeros((m, n))), np.zeros(m)))

    monkeypatch.setattr(advice_forms, "MOST_TABLES", 2)
    given = [stranger("small", 300, 3), stranger("wide", 400, 50)]
    given += [stranger(name, 400, 3) for name in ("one", "two", "three")]
    assert [name for name, _, _ in usable(given)] == ["one", "two"]
