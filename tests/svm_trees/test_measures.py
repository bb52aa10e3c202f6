from __future__ import annotations

import pytest

from clearmargin.exceptions import DataError
from clearmargin.svm_trees import class_bias_ratio


@pytest.mark.parametrize(
    ("truth", "said", "ratio"),
    [
        ([0, 0, 1, 1], [0, 0, 1, 1], 0.0),
        ([0, 0, 1, 1], [0, 0, 0, 0], 1.0),
        ([0, 0, 0, 0, 1, 1], [0, 0, 0, 1, 1, 0], 1 - 0.5 / 0.75),
        ([0, 0, 1, 1], [1, 1, 0, 0], 0.0),  # nobody is right about anybody
        (["a", "b", "c", "c"], ["a", "b", "c", "a"], 0.5),
        (
            ["a", "b", "b"],
            ["a", "b", "z"],
            0.5,
        ),  # a label that is no class is an error like any other
        ([0, 1], [0.0, 1.0], 0.0),
        ([True, False], ["x", "y"], 0.0),
    ],
)
def test_the_ratio_compares_the_worst_class_with_the_best(truth, said, ratio):
    assert class_bias_ratio(truth, said) == pytest.approx(ratio)


def test_the_numbers_of_the_paper_come_out():
    # Table I: DFS-SVMT recognises 94.8 % and 70.5 % of the classes, and its ratio is .25 (rounded down: .2563).
    truth = [0] * 1000 + [1] * 1000
    said = [0] * 948 + [1] * 52 + [1] * 705 + [0] * 295
    assert class_bias_ratio(truth, said) == pytest.approx(0.2563, abs=1e-4)


@pytest.mark.parametrize(
    ("truth", "said", "message"),
    [
        ([], [], "y_true is empty"),
        ([1, 1], [0, 1], "only one class, .*1"),
        ([0, 1], [0], "y_true has 2 labels but y_pred has 1"),
        ([0.5, 1.7], [0, 1], "y_true must hold one class a row"),
        ([[0, 1], [1, 0]], [0, 1], "y_true must hold one class a row"),
        ([0, 1], [[0, 1], [1, 0]], "y_pred must hold one class a row"),
    ],
)
def test_what_cannot_be_compared_is_refused(truth, said, message):
    with pytest.raises(DataError, match=message):
        class_bias_ratio(truth, said)
