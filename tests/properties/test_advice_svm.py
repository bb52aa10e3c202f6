"""AdviceSVC beside the printed program of the knowledge-based SVM: any rules, hard and soft, few rows and many."""

from __future__ import annotations

import gzip
import itertools
import json
import math
import pickle
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.oracles.advice_program import Frame, least_error, optimum, random_advice

from clearmargin import LPSVC, AdviceSVC, Box, parse_rules, scan
from clearmargin.exceptions import ClearmarginError, InfeasibleError

pytestmark = pytest.mark.filterwarnings("ignore::clearmargin.exceptions.ClearmarginWarning")
CLOSE = {"rel": 1e-6, "abs": 1e-7}
ALL = {"where": "everywhere"}


def check_optimum(model, X, y, **options):
    """The value, the plane and the errors of the rules are those of the printed program."""
    frame = Frame(model, X, y, **options)
    least = optimum(*frame.data, frame.rules)
    assert model.objective_ == pytest.approx(least, **CLOSE)
    points, signs, cost = frame.data
    w, b = frame.plane(model)
    own = np.abs(w).sum() + cost @ np.maximum(0, 1 - signs * (points @ w + b))
    full = [rule for rule in model.outcome_ if rule.verdict != "empty"]
    assert len(full) == len(frame.rules)
    for one in frame.rules:
        error = least_error(one, w, b)
        assert error <= 1e-5 or np.isfinite(one[3])
        own += one[3] * error if np.isfinite(one[3]) else 0.0
    assert own == pytest.approx(least, rel=1e-6, abs=1e-6)
    return frame


@given(
    seed=st.integers(0, 10_000),
    mu=st.sampled_from([0.1, 1.0, 5.0]),
    lam=st.sampled_from([0.3, 1.0]),
    bounds=st.sampled_from(["data", None]),
)
@settings(max_examples=20)
def test_plane_is_the_optimum_of_the_printed_program(seed, mu, lam, bounds):
    X, y, advice = random_advice(seed)
    options = {"mu": mu, "lam": lam, "bounds": bounds}
    check_optimum(AdviceSVC(advice, **ALL, **options).fit(X, y), X, y, **options)


@given(st.integers(0, 10_000), st.sampled_from([5.0, 30.0, "auto"]))
@settings(max_examples=20)
def test_by_default_rules_count_as_far_as_the_cases_bear_them_out(seed, mu):
    X, y, advice = random_advice(seed)
    model = AdviceSVC(advice, mu=mu).fit(X, y)
    for rule, covered in zip(model.outcome_, model.advice_.covers(X).T, strict=True):
        right, n = int((covered & (y == rule.before.label)).sum()), int(covered.sum())
        trust = max(0.0, 2 * (right + 8) / (n + 10) - 1)
        assert rule.trust == pytest.approx(trust, abs=1e-3)
        assert (rule.verdict == "rejected") == (trust == 0.0)
        assert (rule.verdict == "empty") or bool(rule.problems) == (2 * right < n)
    alone = AdviceSVC().fit(X, y)
    if not any(rule.verdict == "unchanged" for rule in model.outcome_):
        np.testing.assert_array_equal(model.coef_, alone.coef_)


@given(seed=st.integers(0, 10_000), bounds=st.sampled_from(["data", None]))
@settings(max_examples=15)
def test_advice_that_must_hold_holds_or_a_smallest_contradiction_is_named(seed, bounds):
    X, y, advice = random_advice(seed)
    options = {"mu": np.inf, "bounds": bounds}
    soft = AdviceSVC(advice, **ALL, **options | {"mu": 1.0}).fit(X, y)
    try:
        model = AdviceSVC(advice, **ALL, **options).fit(X, y)
    except InfeasibleError as found:
        error = found
    else:
        check_optimum(model, X, y, **options)
        assert all(rule.margin >= 1 - 1e-5 for rule in model.outcome_ if rule.proved)
        return
    kept = [k for k, rule in enumerate(soft.outcome_) if rule.verdict != "empty"]
    clash = [k for k in kept if f"rule {k + 1}" in error.blocks]
    frame = Frame(soft, X, y, **options)
    nothing = (*frame.data[:2], 0 * frame.data[2])
    rules = dict(zip(kept, frame.rules, strict=True))
    assert len(error.blocks) == len(clash)
    assert optimum(*nothing, [rules[k] for k in clash]) == np.inf
    for k in clash:
        assert optimum(*nothing, [rules[j] for j in clash if j != k]) < np.inf


@given(st.integers(0, 10_000))
def test_points_as_advice_are_points(seed):
    X, y, _ = random_advice(seed * 3 + 1)
    more, labels = (X.iloc[:4] + X.iloc[4:8].to_numpy()) / 2, np.array(["yes", "no", "no", "yes"])
    rows = [" and ".join(f"{n} = {v!r}" for n, v in row.items()) for row in more.to_dict("records")]
    advice = "\n".join(f"{row} => {label}" for row, label in zip(rows, labels, strict=True))
    told = AdviceSVC(advice, mu=3.0, **ALL).fit(X, y)
    weights = np.r_[np.ones(len(y)), np.full(4, 3.0)]
    shown = AdviceSVC(**ALL).fit(pd.concat([X, more]), np.r_[y, labels], weights)
    assert told.objective_ == pytest.approx(shown.objective_, rel=1e-6)
    np.testing.assert_allclose(told.coef_, shown.coef_, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(told.intercept_, shown.intercept_, atol=1e-8)


def same_plane(one, other, atol=1e-9):
    np.testing.assert_allclose(one.coef_, other.coef_, rtol=1e-8, atol=atol)
    np.testing.assert_allclose(one.intercept_, other.intercept_, rtol=1e-8, atol=10 * atol)
    assert one.objective_ == pytest.approx(other.objective_, rel=1e-9)


@given(st.integers(0, 10_000), st.sampled_from(["cases", "everywhere"]))
@settings(max_examples=10)
def test_ways_to_say_the_same_give_the_same_plane(seed, where):
    X, y, advice = random_advice(seed)
    X, counts = X.round(1), np.resize([1, 2, 3], len(y))  # ties
    order = np.random.default_rng(seed).permutation(len(y))

    def fit(X=X, y=y, weight=None, text=advice, mu=2.0):
        return AdviceSVC(text, mu=mu, where=where).fit(X, y, weight)

    model = fit()
    same_plane(fit(X.iloc[order], y[order]), model)
    if where == "everywhere":
        same_plane(fit(text=f"{advice}\n{advice}", mu=1.0), model)
    same_plane(fit(weight=counts), fit(X.loc[X.index.repeat(counts)], y.repeat(counts)))
    turned = fit(y=np.where(y == "no", "zo", y), text=advice.replace("=> no", "=> zo"))
    assert turned.objective_ == pytest.approx(model.objective_, rel=1e-9)


def test_without_advice_it_is_the_1_norm_svm():
    X, y, _ = random_advice(4)
    X = 2.0 * (X - X.min()) / (X.max() - X.min()) - 1.0
    alone, svm = AdviceSVC(lam=0.5, **ALL).fit(X, y), LPSVC(nu=0.5).fit(X, y)
    assert alone.objective_ == pytest.approx(svm.objective_, rel=1e-6)
    np.testing.assert_allclose(alone.decision_function(X), svm.decision_function(X), atol=1e-5)
    assert len(alone.outcome_) == len(alone.refined_) == 0
    numbers = [*alone.coef_[0].tolist(), float(alone.intercept_[0])]
    digits = 12 - math.ceil(math.log10(max(map(abs, numbers))))  # of the largest; the rest is noise
    assert [round(v, digits) for v in numbers] == numbers
    only = AdviceSVC("a >= 5 => sick", mu=10.0, lam=10.0, **ALL).fit(
        X[["a"]] * 0 + 2.0, ["fine"] * len(y)
    )
    assert only.predict(pd.DataFrame({"a": [2.0, 5.0]})).tolist() == ["fine", "sick"]


BOX = "a >= 1 and b <= 0 => yes\na <= -1 => no [weight 3]"
LINEAR = "a + b >= 2 => yes\na <= -1 => no"
MANY = {
    "boxes": (BOX, {"mu": 30.0}),
    "linear": (LINEAR, {"mu": 30.0}),
    "unbounded": (BOX, {"bounds": None, "mu": 5.0}),
    "mean over cases": (LINEAR, {"where": "cases"}),
    "hard": (BOX, {"mu": np.inf}),
    "both hard": ("a + b >= 3 => yes\na <= -1 and b <= 1 => no", {"mu": np.inf, "lam": 1e-4}),
    "constant": ("a >= 0 => no\nb >= 0.5 => no\nb <= 0 => yes", {"mu": 0.3, "lam": 1e-7}),
    "constant of the lighter class": ("a >= 0 => no", {"mu": 0.3, "lam": 1e-7}),
    "advice outweighs": ("a >= 0 => yes\na <= -1 => no", {"mu": 50.0, "lam": 1e-5}),
    "equal classes": (None, {"lam": 1e-9}),
}


@pytest.mark.parametrize("case", MANY)
def test_many_points_have_the_plane_of_the_same_points_with_weights(case):
    rng = np.random.default_rng(7)
    X = pd.DataFrame(rng.normal(size=(450, 4)).round(1), columns=list("abcd"))
    y = np.where(X["a"] - 0.5 * X["b"] + 0.6 * rng.normal(size=450) > 0.4, "yes", "no")
    y[:225] = np.where(case == "equal classes", "yes", y[:225])
    y[225:] = np.where(case == "equal classes", "no", y[225:])
    advice, options = MANY[case]
    many = AdviceSVC(advice, **{"lam": 0.01} | ALL | options).fit(
        pd.concat([X] * 20), np.tile(y, 20)
    )
    few = AdviceSVC(advice, **{"lam": 0.01} | ALL | options).fit(X, y, np.full(450, 20.0))
    same_plane(many, few)
    assert ("constant" in case or "equal" in case) == (not many.coef_.any())
    assert [rule.proved for rule in many.outcome_] == [rule.proved for rule in few.outcome_]


def test_hard_advice_that_contradicts_itself_is_refused_with_many_points_too():
    X = np.random.default_rng(0).normal(size=(8_200, 1)).round(2)
    with pytest.raises(InfeasibleError, match="rule 1"):
        AdviceSVC("x0 >= 1 => 1\nx0 >= 0.5 => 0", mu=np.inf, **ALL).fit(
            X, (X[:, 0] > 0).astype(int)
        )


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    """A table of more rows than are held, in memory and as files of which one has no rows."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(21_000, 3)).round(2), columns=["a", "b", "c"])
    X["kind"] = rng.choice(["x", "y"], len(X))
    y = np.where(
        X["a"] - 0.5 * X["b"] + 0.3 * (X["kind"] == "x") + 0.6 * rng.normal(size=len(X)) > 0,
        "yes",
        "no",
    )
    place = tmp_path_factory.mktemp("parts")
    for k, (start, end) in enumerate([(0, 37), (37, 37), (37, 9_000), (9_000, len(X))]):
        X.assign(label=y)[start:end].to_parquet(place / f"{k}.parquet")
    return X, y, place


@pytest.mark.parametrize(
    "options",
    [
        {"advice": f"{BOX}\nc >= 100 => no"},
        {"advice": "a + b >= 2 => yes\na >= 0 => yes", "refine": "translate", "mu": 5.0},
        {"advice": LINEAR, "bounds": None, "where": "everywhere"},
    ],
)
def test_of_rows_in_files_a_sample_is_fitted_and_all_are_counted(parts, options):
    X, y, place = parts
    here, there = AdviceSVC(lam=0.01, **options), AdviceSVC(lam=0.01, **options)
    here.fit(X, y)
    there.fit(scan(place, target="label"))
    assert (there.n_rows_, there.n_sampled_rows_ < there.n_rows_) == (len(X), True)
    assert (here.predict(X) == there.predict(X)).mean() > 0.97
    assert there.outcome_.verdicts == here.outcome_.verdicts
    assert [r.before.stats.covered for r in there.outcome_] == [
        r.before.stats.covered for r in here.outcome_
    ]
    assert all(rule.after.stats.rows == len(X) for rule in (*here.outcome_, *there.outcome_))
    small = scan(sorted(place.glob("*.parquet"))[2], target="label")
    here, there = AdviceSVC(**options).fit(X[37:9_000], y[37:9_000]), AdviceSVC(**options)
    assert (there.fit(small).coef_ == here.coef_).all()
    assert there.outcome_.to_dict() == here.outcome_.to_dict()


def test_columns_are_found_by_name_or_by_position(tmp_path):
    rng = np.random.default_rng(2)
    X = pd.DataFrame(
        {"colour": rng.choice(["red", "blue", "green"], 60), "size": rng.normal(size=60)}
    )
    X["colour_years"] = np.arange(60.0)
    y = np.where((X["colour"] == "red") ^ (rng.random(60) < 0.2), "hot", "cold")
    text = "colour = red and size >= 0 => hot\ncolour in {blue, green} and size >= 1 => cold"
    model = AdviceSVC(text, mu=100.0, lam=0.1, **ALL).fit(X, y)
    assert model.outcome_.verdicts == ("unchanged", "unchanged")
    assert model.outcome_[0].text_after == "colour = red and size >= 0 => hot"
    corners = pd.DataFrame(
        {"colour": ["red", "blue", "green"], "size": [0.0, 1, 1], "colour_years": 9.0}
    )
    assert model.predict(corners).tolist() == ["hot", "cold", "cold"]
    numbers = X[["colour_years", "size"]]
    rules = parse_rules("colour_years >= 30 => hot\nsize <= 0 => cold")
    by_name = AdviceSVC(rules).fit(numbers, y)
    by_position = AdviceSVC(rules).fit(numbers.to_numpy(), y)
    np.testing.assert_array_equal(by_position.coef_, by_name.coef_)
    assert by_position.refined_ == by_name.refined_
    for name in ("advice.rules", "advice.json"):
        rules.save(tmp_path / name)
        np.testing.assert_array_equal(
            AdviceSVC(tmp_path / name).fit(numbers, y).coef_, by_name.coef_
        )


RULES = [
    "a >= 1.5 => p",
    "a < 2 and b > 1 => n",
    "a > 0 and b <= 2.5 => p",
    "a + b <= 2.5 => p",
    "a + b < 3 and a >= 0.5 => n",
    "2*a - b > 1.2 => p",
    "c in {x, y} and a >= 1 => n",
    "c = z and 2*a + b <= 4.5 => p",
    "c = x and a <= 1 => p",
]


@given(
    st.lists(st.sampled_from("np"), min_size=12, max_size=12).filter(lambda y: len(set(y)) > 1),
    st.lists(st.sampled_from(RULES), min_size=1, max_size=3),
    st.sampled_from([0.1, 3.0]),
)
@settings(max_examples=40)
def test_the_worst_case_of_a_rule_is_that_of_all_cases_that_could_be(y, rules, mu):
    """Whole numbers within the ranges of the table, one category of each feature: each case, in fractions."""
    X = pd.DataFrame({"a": [0, 3, 1, 2] * 3, "b": [0, 1, 3, 2, 1, 0] * 2, "c": [*"xyzz"] * 3})
    model = AdviceSVC("\n".join(rules), mu=mu, lam=10.0, **ALL).fit(X, y)
    assume(not model.outcome_.problem)
    every = pd.DataFrame(itertools.product(range(4), range(4), "xyz"), columns=[*"abc"])
    points = pd.get_dummies(every).astype(float)
    w, b = [Fraction(v) for v in model.coef_[0]], Fraction(float(model.intercept_[0]))
    scores = [b + sum(u * Fraction(v) for u, v in zip(w, row, strict=True)) for row in points.to_numpy()]  # fmt: skip
    covered = model.advice_.covers(every)
    for k, rule in enumerate(model.outcome_):
        side = 1 if rule.after.label == "p" else -1
        inside = np.flatnonzero(covered[:, k]).tolist()
        lowest = min(side * scores[i] for i in inside)
        right = all(scores[i] > 0 if side > 0 else scores[i] <= 0 for i in inside)
        agreed = set(model.predict(every.iloc[inside])) == {rule.after.label}
        if isinstance(rule.after.region, Box) and right == agreed:
            assert (rule.proved, rule.margin) == (right, pytest.approx(float(lowest), abs=1e-9))
            assert (rule.counterexample is None) == right
        # Over linear conditions a proof is over all real points: it may be missing, and is never false.
        assert right or not rule.proved
        assert rule.margin <= float(lowest) + 1e-6
        if rule.counterexample is None:
            continue
        case = every
        for name, value in rule.counterexample.items():
            case = case[case[name] == value]
        shown = [i for i in case.index if i in inside]
        assert shown
        assert rule.after.label not in model.predict(every.loc[shown])


def test_what_is_proved_holds_beyond_the_data_where_ranges_are_declared():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.uniform(0, 1, (60, 2)), columns=["a", "b"])
    y = np.where(X["a"] + 0.3 * X["b"] > 0.6, "p", "n")
    text = "a >= 0.9 => p"
    local = AdviceSVC(text, mu=np.inf, lam=10.0, **ALL).fit(X, y)
    assert local.coef_[0, 1] != 0
    assert local.outcome_[0].proved
    assert local.refined_[0].proof is None
    assert local.predict(pd.DataFrame({"a": [0.9], "b": [-1000.0]})).tolist() == ["n"]
    declared = f"feature a: in [0, 2]\nfeature b: in [-1, 2]\n{text}"
    known = AdviceSVC(declared, mu=np.inf, lam=10.0, **ALL).fit(X, y)
    assert known.refined_[0].proof == "proved"
    kinds = X[["a"]].assign(k=rng.choice([*"xyz"], 60))
    apart = AdviceSVC("a <= 0.1 => n", lam=10.0, mu=1e-3, **ALL)
    (rule,) = apart.fit(kinds, np.where(kinds["k"] == "x", "p", "n")).outcome_
    assert not rule.proved
    assert rule.counterexample["k"] == "x"


def test_an_outcome_is_text_table_and_plain_data():
    evil = "<script>alert(1)</script>"
    X = pd.DataFrame({"x": [0.0, 0.5, 1.5, 2.0], "z": 0.0})
    advice = f"upper: x >= 1 => p\n`{evil}`: x <= 1 => n\n2*x >= 9 and 3*x <= 2 => p"
    model = AdviceSVC(advice, mu=100.0, **ALL).fit(X, ["n", "n", "p", "p"])
    outcome = model.outcome_
    assert outcome.verdicts[2] == "empty"
    assert [rule.proved for rule in outcome] == [False, True, False]
    frame, plain = outcome.to_frame(), json.loads(json.dumps(outcome.to_dict(), allow_nan=False))
    assert (
        frame["verdict"].tolist() == [fact["verdict"] for fact in plain] == list(outcome.verdicts)
    )
    assert (
        frame["covered_before"].tolist()[:2]
        == [fact["covered_after"] for fact in plain[:2]]
        == [2, 2]
    )
    assert frame["correct_after"].tolist()[:2] == [2, 2]
    assert [fact["text"] for fact in plain] == list(map(str, outcome))
    html = outcome._repr_html_()
    assert "<script" not in html
    assert "&lt;script" in html
    assert outcome[1:].verdicts == outcome.verdicts[1:]
    assert len(outcome[:0]) == 0
    assert "<table" not in outcome[:0]._repr_html_()
    again = pickle.loads(pickle.dumps(model))
    assert (str(again.outcome_), again.refined_) == (str(outcome), model.refined_)


def test_missing_values_count_as_medians_and_most_frequent_categories():
    X = pd.DataFrame({"a": [0.0, 1.0, np.nan, 3.0, 4.0, 2.0], "k": ["x", None, "y", "y", "y", "x"]})
    y, rule = [*"nnpppn"], "a >= 3 and k = y => p"
    model, filled = AdviceSVC(rule).fit(X, y), X.fillna({"a": 2.0, "k": "y"})
    same_plane(model, AdviceSVC(rule).fit(filled, y))
    assert (model.predict(X) == model.predict(filled)).all()
    new = pd.DataFrame(
        {"a": [2.0, 2.0], "k": ["z", "x"]}
    )  # a category that was not met counts as none
    score = model.decision_function(new)
    assert score[1] - score[0] == pytest.approx(model.coef_[0, 1])


TABLE = pd.DataFrame({"age": [20.0, 30.0, 40.0, 50.0], "bmi": [20.0, 31.0, 24.0, 35.0]})
NAMED = pd.DataFrame({"colour": ["red", "blue", "red", "blue"]})
ILL = "bmi >= 30 => ill"


@pytest.mark.parametrize(
    ("advice", "options", "named"),
    [
        (ILL, {"lam": 0}, "lam"), (ILL, {"mu": np.nan}, "mu"), (ILL, {"mu": np.inf, "refine": "slp"} | ALL, "mu=inf"),
        (ILL, {"nu": np.inf}, "nu"), (ILL, {"nu": "dear"}, "nu"), (ILL, {"mu": np.inf}, "everywhere"),
        (ILL, {"tol": 0.0}, "tol"),
        (ILL, {"where": "rules"}, "where"), (ILL, {"refine": "slq"}, "refine"), (ILL, {"max_iter": 0}, "max_iter"),
        (ILL, {"mu": "dear"}, "mu"), (ILL, {"bounds": (0, 1)}, "bounds"), (7, {}, "advice"),
        ("no such file", {}, "no such file"),
        (f"{ILL}\nbmy <= 25 => well", {}, "line 2, column 1"), ("bmi >= 30 => ill [weight 0]", {}, "weight"),
        ("bmi is missing => ill", {}, "missing"), (parse_rules("agee >= 30 => ill"), {}, "'age'"),
        (parse_rules("expert: age >= 30 => sick"), {}, "expert"),
    ],
)  # fmt: skip
def test_bad_parameters_and_advice_are_refused_by_name(advice, options, named):
    with pytest.raises(ClearmarginError, match=named):
        AdviceSVC(advice, **options).fit(TABLE, ["well", "ill", "well", "ill"])


@pytest.mark.parametrize(
    ("model", "data", "named"),
    [
        (AdviceSVC(ILL), (TABLE, ["ill"] * 4), "y"),
        (AdviceSVC(ILL), (TABLE.assign(bmi=[1.0, np.inf, 2, 3]), [*"abab"]), "row 2, column 'bmi'"),
        (AdviceSVC("colour >= 3 => a"), (NAMED, [*"abab"]), "colour"),
        (AdviceSVC("age = red => a"), (TABLE, [*"abab"]), "age"),
    ],
)
def test_data_that_cannot_be_learned_from_are_refused_by_name(model, data, named):
    with pytest.raises(ClearmarginError, match=named):
        model.fit(*data)


def test_contradicting_advice_is_named_and_a_file_that_is_no_text_refused(tmp_path):
    advice = "young: age <= 30 => well\nheavy: bmi >= 30 => ill\nold: age >= 45 => ill"
    with pytest.raises(InfeasibleError, match="young") as caught:
        AdviceSVC(advice, mu=np.inf, **ALL).fit(TABLE, ["well", "ill", "well", "ill"])
    assert caught.value.blocks == ("rule 1 (young)", "rule 2 (heavy)")
    path = tmp_path / "expert.rules"
    path.write_bytes(gzip.compress(ILL.encode()))
    with pytest.raises(ClearmarginError, match="expert"):
        AdviceSVC(path).fit(TABLE, ["well", "ill", "well", "ill"])
    path.write_text("agge <= 30 => well\n", encoding="utf-8")
    with pytest.raises(ClearmarginError, match=r"expert.rules, line 1"):
        AdviceSVC(path).fit(TABLE, ["well", "ill", "well", "ill"])
