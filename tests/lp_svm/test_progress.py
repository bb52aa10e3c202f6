from __future__ import annotations

from clearmargin.datasets import load_wbc
from clearmargin.lp_svm import LPSVCCV


def test_cross_validation_shows_its_folds(capsys):
    LPSVCCV([0.003], cv=3, progress=True).fit(*load_wbc(return_X_y=True))
    assert "cross-validation" in capsys.readouterr().err
