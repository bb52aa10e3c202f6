from __future__ import annotations

from sklearn.utils.estimator_checks import parametrize_with_checks

from clearmargin.svm_trees import SVMTreeClassifier


@parametrize_with_checks(
    [
        SVMTreeClassifier(random_state=0),
        SVMTreeClassifier(order="depth", partition="ecm", tol=0.0, min_leaf=2),
        SVMTreeClassifier(published=True, one_class_leaves="strict", kernel="rbf", C=10.0, tol=0.1),
    ]
)
def test_the_contract_of_scikit_learn_is_kept(estimator, check):
    check(estimator)
