"""The planes behind the tables of Fung, Sandilya and Rao (KDD 2005), as matched to their published counts."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.preprocessing import MinMaxScaler

from clearmargin.datasets import load_cleveland, load_ionosphere, load_wbc
from clearmargin.lp_svm import LPSVC


def correct(svm, X, y):
    right = svm.predict(X) == y
    return {label: int(right[y == label].sum()) for label in svm.classes_}


def used(svm):
    return [str(name) for name in svm.feature_names_in_[svm.coef_[0] != 0]]


def test_wisconsin_breast_cancer():
    X, y = load_wbc(return_X_y=True)
    svm = LPSVC(nu=0.0025).fit(X, y)
    assert svm.objective_ == pytest.approx(0.59806, abs=1e-5)
    assert svm.gap_ <= 1e-6
    assert used(svm) == [
        "clump_thickness",
        "uniformity_of_cell_size",
        "uniformity_of_cell_shape",
        "bare_nuclei",
        "normal_nucleoli",
    ]
    assert correct(svm, X, y) == {"benign": 435, "malignant": 214}
    # Malignant is positive here, benign in the paper: the plane is the same with all signs turned.
    active = svm.coef_[0][svm.coef_[0] != 0]
    np.testing.assert_allclose(active, [0.02805, 0.08415, 0.02805, 0.15989, 0.04208], atol=1e-5)
    assert svm.intercept_[0] == pytest.approx(-1.48247, abs=1e-5)


def test_benign_may_be_the_positive_class():
    X, y = load_wbc(return_X_y=True)
    signs = np.where(y == "benign", 1, -1)
    svm = LPSVC(nu=0.0025).fit(X, signs)
    assert svm.objective_ == pytest.approx(0.59806, abs=1e-5)
    assert correct(svm, X, signs) == {-1: 214, 1: 435}
    assert (svm.coef_ <= 0).all()


def test_ionosphere():
    X, y = load_ionosphere(return_X_y=True)
    svm = LPSVC(nu=0.0315).fit(X, y)
    assert np.flatnonzero(svm.coef_[0]).tolist() == [0, 2, 4, 6, 7, 30]
    assert correct(svm, X, y) == {"bad": 70, "good": 224}


def test_cleveland():
    X, y = load_cleveland(target="fung", return_X_y=True)
    X = MinMaxScaler().set_output(transform="pandas").fit_transform(X)
    svm = LPSVC(nu=0.125).fit(X, y)
    assert used(svm) == ["cp", "exang", "oldpeak", "slope", "ca", "thal"]
    assert correct(svm, X, y) == {"num_ge_2": 53, "num_le_1": 195}
