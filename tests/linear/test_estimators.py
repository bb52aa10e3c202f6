from __future__ import annotations

from sklearn.utils.estimator_checks import parametrize_with_checks

from clearmargin.linear import LPSVC, LPSVCCV, ProximalSVC


@parametrize_with_checks(
    [
        LPSVC(),
        LPSVC(nu=0.1, class_weight="balanced"),
        LPSVCCV([0.03, 0.3, 3.0], cv=3),
        LPSVCCV(cv=3, rule="1se", max_features=2),
        ProximalSVC(),
        ProximalSVC(balanced=True),
    ]
)
def test_the_contract_of_scikit_learn_is_kept(estimator, check):
    check(estimator)
