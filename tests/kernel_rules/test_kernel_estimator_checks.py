from __future__ import annotations

from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from clearmargin.kernel_rules.support_vector_rules import SupportVectorRules
from clearmargin.kernel_rules.surrogate_rules import SurrogateRules


@parametrize_with_checks(
    [
        SupportVectorRules(make_pipeline(MinMaxScaler(), SVC())),
        SurrogateRules(n_generated=200, fallback="estimator", random_state=0),
    ]
)
def test_the_contract_of_scikit_learn_is_kept(estimator, check):
    check(estimator)
