from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from clearmargin.lp_svm import LPSVC, LPSVCCV, ProximalSVC


@parametrize_with_checks(
    [
        LPSVC(nu=0.1, class_weight="balanced"),
        LPSVCCV([0.1, 1.0], cv=2, rule="1se", max_features=2),
        ProximalSVC(balanced=True),
    ]
)
# Labels of some checks are drawn at random, and no plane beats a constant prediction of them.
@pytest.mark.filterwarnings("ignore:no plane:clearmargin.exceptions.ClearmarginWarning")
def test_the_contract_of_scikit_learn_is_kept(estimator, check):
    check(estimator)
