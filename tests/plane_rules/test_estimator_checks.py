from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from clearmargin import ProximalSVC, RuleExtractor
from clearmargin.lp_svm import lpsvccv as default_machine


@pytest.fixture(autouse=True)
def _few_folds(monkeypatch):
    # The checks fit hundreds of times; how many folds choose the default model's nu is not what they look at.
    monkeypatch.setattr(default_machine, "FOLDS", 2)


@parametrize_with_checks([RuleExtractor(), RuleExtractor(ProximalSVC(), max_features=1)])
# Some checks bring ten columns, and a plane with ten weights deserves the warning.
@pytest.mark.filterwarnings("ignore:the plane has:clearmargin.exceptions.ClearmarginWarning")
# Others bring labels drawn at random, where no plane beats a constant prediction.
@pytest.mark.filterwarnings("ignore:no plane:clearmargin.exceptions.ClearmarginWarning")
def test_the_contract_of_scikit_learn_is_kept(estimator, check):
    check(estimator)
