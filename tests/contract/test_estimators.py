"""scikit-learn's contract, and what every estimator of the package keeps beside it."""

import pickle
import sys
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.contract.estimators import CHECKED, ESTIMATORS, X, Y

import clearmargin
from clearmargin.exceptions import ClearmarginWarning


# The checks bring tables of ten rows and labels at random, which deserve our warnings.
@pytest.mark.filterwarnings("ignore::clearmargin.exceptions.ClearmarginWarning")
@parametrize_with_checks(CHECKED)
def test_estimator_keeps_the_contract_of_scikit_learn(estimator, check):
    check(estimator)


def fit(estimator: Any, table: Any = X, labels: Any = Y) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ClearmarginWarning)
        return estimator.fit(table, labels)


def fitted(name: str, table: Any = X, labels: Any = Y) -> Any:
    return fit(clone(ESTIMATORS[name]), table, labels)


def answers(estimator: Any, table: Any = X) -> list[Any]:
    """All that an estimator says of a table."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ClearmarginWarning)
        given = [
            np.asarray(getattr(estimator, method)(table)).tolist()
            for method in ("predict", "decision_function", "predict_proba", "transform")
            if hasattr(estimator, method)
        ]
    rules = getattr(estimator, "rules_", None)
    listed = getattr(estimator, "properties_", None)
    return [*given, str(rules), None if listed is None else listed.to_csv()]


def parameters(estimator: Any) -> dict[str, Any]:
    return {name: repr(value) for name, value in estimator.get_params(deep=True).items()}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_pickle_and_refit_give_equal_answers(name):
    first = fitted(name)
    assert answers(pickle.loads(pickle.dumps(first))) == answers(first) == answers(fitted(name))


@pytest.mark.parametrize("name", ESTIMATORS)
def test_fit_leaves_parameters_table_and_random_state_alone(name):
    table, labels = X.copy(), Y.copy()
    estimator = clone(ESTIMATORS[name])
    before, state = parameters(estimator), repr(np.random.get_state())  # noqa: NPY002
    assert fit(estimator, table, labels) is estimator
    answers(estimator, table)
    assert parameters(estimator) == before
    assert repr(np.random.get_state()) == state  # noqa: NPY002
    pd.testing.assert_frame_equal(table, X)
    assert (labels == Y).all()


@pytest.mark.parametrize("name", ESTIMATORS)
def test_second_fit_forgets_the_first(name):
    other = X.rename(columns={"bmi": "dose"})[["dose", "age"]]
    estimator = fit(fitted(name), other)
    assert answers(estimator, other) == answers(fitted(name, other), other)


def calls_of(act: Any, stop_at: int | None = None) -> int:
    """Count the calls inside the package, or interrupt the one with some number."""
    count = 0

    def profile(frame: Any, event: str, _: Any) -> None:
        nonlocal count
        code = frame.f_code
        # An interruption of what the garbage collector ends is not raised.
        if event == "call" and "clearmargin" in code.co_filename and code.co_name[0] != "<":
            count += 1
            if count == stop_at:
                raise KeyboardInterrupt

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        act()
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize("name", ESTIMATORS)
def test_interrupted_fit_leaves_the_estimator_as_it_was(name):
    done, turned = fitted(name), np.where(Y == "ill", "well", "ill")
    fitted(name, X, turned)  # fills what is remembered between fits
    before, n_calls = answers(done), calls_of(lambda: fitted(name, X, turned))
    for share in (0.0, 0.5, 0.9):
        new, place = clone(ESTIMATORS[name]), max(1, int(share * n_calls))
        for estimator in (new, done):
            with pytest.raises(KeyboardInterrupt):
                calls_of(lambda e=estimator: fit(e, X, turned), stop_at=place)
        assert not [word for word in vars(new) if word.endswith("_")]
        assert answers(done) == before


def test_rulesvc_says_that_it_takes_missing_values_and_categories():
    tags = get_tags(clearmargin.RuleSVC()).input_tags
    assert (tags.allow_nan, tags.string, tags.categorical, tags.sparse) == (True, True, True, False)


def test_every_public_estimator_is_listed():
    from sklearn.base import BaseEstimator

    public = {
        name
        for name in clearmargin.__all__
        if isinstance(kind := getattr(clearmargin, name), type) and issubclass(kind, BaseEstimator)
    }
    assert public == {type(estimator).__name__ for estimator in ESTIMATORS.values()}
