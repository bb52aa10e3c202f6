"""What an answer of recourse says, as text, as a value and where nothing can or has to change."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest

from clearmargin.rankings.recourse_answer import FeatureChange, Rank, Recourse, recourse

from .recourse_cases import fitted, linear


def test_what_cannot_be_reached_is_said_with_the_best_score():
    X, _, model = fitted()
    row = X.iloc[[int(np.argmax(model.decision_function(X)))]]
    answer = recourse(model, row, actionable={"visits": (0, 5)}, X=X)
    assert not answer.feasible
    assert answer.changes == ()
    assert answer.cost is None
    best = max(model.decision_function(row.assign(visits=v))[0] * -1 for v in range(6)) * -1
    assert answer.best_score == pytest.approx(best)
    assert answer.shortfall == pytest.approx(best)
    text = str(answer)
    assert "No allowed change of visits would change the model's answer from ill to healthy" in text
    assert f"{answer.shortfall:.4g} would still be missing" in text
    json.dumps(answer.to_dict())
    nowhere = recourse(model, row, actionable={"visits": (int(row.visits.iloc[0]),) * 2}, X=X)
    assert nowhere.best_score == nowhere.score_before == pytest.approx(nowhere.shortfall)
    edge = recourse(linear([1.0], -2.0), [3], actionable={"x0": [2]})
    assert not edge.feasible
    assert edge.shortfall == 0
    assert "reaches the boundary, but does not cross it" in str(edge)


def test_the_text_speaks_of_the_model_and_never_of_causes():
    X, _, model = fitted()
    answer = recourse(model, X.iloc[[3]], actionable=list(X), X=X, n_alternatives=2)
    ranked = recourse(
        model,
        X.iloc[[int(np.argmax(model.decision_function(X)))]],
        actionable=list(X),
        X=X,
        target=Rank(5),
    )
    assert "this would change the model's answer from" in str(answer)
    assert "\nOr: If " in str(answer)
    assert (
        f"this would change the rank from 1 to {ranked.rank_after} of {len(X)}, out of the top 5"
        in str(ranked)
    )
    for text in (str(answer), str(ranked)):
        assert "not known from data" in text
        assert not any(
            word in text for word in ("because", "cause", "leads to", "effect", "reduce")
        )


def test_printed_numbers_are_rounded_so_that_they_still_suffice():
    assert str(FeatureChange("bmi", 31.2, 27.12345678, 1.0)) == "bmi were 27.1234 instead of 31.2"
    assert str(FeatureChange("bmi", 21.2, 27.12345678, 1.0)) == "bmi were 27.1235 instead of 21.2"
    assert str(FeatureChange("colour", "red", "blue", 1.0)) == "colour were blue instead of red"


def test_answers_are_values():
    X, _, model = fitted()
    answer = recourse(model, X.iloc[[3]], actionable=list(X), X=X, n_alternatives=3)
    assert isinstance(answer, Recourse)
    assert pickle.loads(pickle.dumps(answer)) == answer
    plain = json.loads(json.dumps(answer.to_dict()))
    assert plain["text"] == str(answer)
    assert plain["cost"] == answer.cost
    assert len(plain["alternatives"]) == len(answer.alternatives) == 2
    ranked = recourse(model, X.iloc[[3]], actionable=list(X), X=X, target=Rank(100))
    assert ranked.to_dict()["target"] == {"rank": 100}
    with pytest.raises(AttributeError):
        answer.cost = 3.0


def test_a_case_that_is_there_already_has_nothing_to_change():
    X, _, model = fitted()
    said = model.predict(X.iloc[[3]])[0]
    answer = recourse(model, X.iloc[[3]], actionable=["age"], X=X, target=said)
    assert (answer.changes, answer.cost, answer.feasible, answer.verified) == ((), 0.0, True, True)
    assert str(answer) == f"Nothing has to change: the model's answer is {said} already."
