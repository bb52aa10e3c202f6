from __future__ import annotations

from sklearn.utils.estimator_checks import parametrize_with_checks

from clearmargin.svm_trees import SVMTreeClassifier


@parametrize_with_checks(
    [
        SVMTreeClassifier(random_state=0),
        SVMTreeClassifier(
            order="depth",
            partition="ecm",
            min_leaf=2,
            kernel="rbf",
            class_weight="balanced",
            one_class_leaves="strict",
            published=True,
        ),
    ]
)
def test_the_contract_of_scikit_learn_is_kept(estimator, check):
    check(estimator)
