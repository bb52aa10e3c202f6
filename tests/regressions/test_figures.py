"""Figures on unseen rows: no verdict by accuracy where a class is rare, and errors that cover."""

import numpy as np
import pandas as pd
import pytest

from clearmargin import LPSVC, RuleSVC, load_model
from clearmargin.report import report


def failures(rows, share, signal=1.5, seed=0):
    """Sensors with gaps, a category, and a rare failure that the first two sensors tell of."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 4))
    score = signal * (X[:, 0] + X[:, 1]) + rng.logistic(size=rows) * 0.5
    label = np.where(score > np.quantile(score, 1 - share), "fail", "ok")
    X[rng.random(X.shape) < 0.03] = np.nan
    line = rng.choice(["a", "b"], rows)
    return pd.DataFrame({**{f"s{k}": X[:, k] for k in range(4)}, "line": line, "failure": label})


@pytest.fixture
def page(ask, tmp_path, monkeypatch):
    """Makes two rules with points of a table, and gives the figures of its JSON."""
    monkeypatch.chdir(tmp_path)

    def made(frame, *words):
        frame.to_csv("t.csv", index=False)
        fit = "--as points --max-rules 2 --max-conditions 1 --cv 5 --force"
        line = f"rules t.csv --target failure --positive fail {fit}"
        return ask(" ".join([line, *words]))["evaluation"]

    return made


def test_a_rare_class_that_can_be_told_is_not_said_to_be_noise(page):
    told = page(failures(400, 0.06))
    assert (told["figure"], told["above_chance"]) == ("balanced_accuracy", True)
    known, rare = told["models"][0], told["classes"][0]
    assert known["auc"]["value"] > 0.8
    assert (rare["class"], rare["recall"]["value"] > 0.5) == ("fail", True)
    balanced = known["balanced_accuracy"]
    assert balanced["value"] > 0.5 + 3 * balanced["standard_error"]


def test_on_noise_with_a_rare_class_no_figure_is_without_error(page):
    told = page(failures(120, 0.1, signal=0.0))
    known, rare = told["models"][0], told["classes"][0]
    error = known["balanced_accuracy"]["standard_error"]
    assert error > 0.03
    assert abs(known["balanced_accuracy"]["value"] - 0.5) < 3 * error
    figures = (known["auc"], rare["recall"], known["accuracy"])
    assert all(figure["standard_error"] > 0.01 for figure in figures)


def test_a_report_on_any_model_tells_first_how_a_rare_class_is_found():
    X = np.random.default_rng(0).normal(size=(120, 2))
    y = np.where(X[:, 0] > np.quantile(X[:, 0], 0.9), "ill", "well")
    check = report(LPSVC(nu=1.0), X, y, cv=3, cases=0).to_dict()["validation"]
    assert list(check["unseen"])[:3] == ["rare_class", "rare_class_share", "balanced_accuracy"]
    assert check["unseen"]["recall"]["whole"] == 12


def test_a_page_has_one_figure_on_unseen_rows_and_not_the_best_of_several(ask, tmp_path):
    table, out = tmp_path / "t.csv", tmp_path / "page.html"
    failures(100, 0.4, seed=2).to_csv(table, index=False)
    words = (str(table), "--target", "failure", "--cv", "3", "--as", "auto", "--report", str(out))
    mine = ask("rules", *words)["evaluation"]["models"][0]["accuracy"]["value"]
    text = out.read_text(encoding="utf-8").split("<body")[1]
    assert f"<dd>{int(1000 * mine + 1e-9) / 10:g}&nbsp;%</dd>" in text
    # It is that of choosing and training, not of one of the forms.
    assert "those of choosing and training" in text


def test_no_page_speaks_of_a_certificate_of_rules_with_points():
    X = np.random.default_rng(0).normal(size=(60, 2))
    model = RuleSVC(max_rules=2, cv=2).fit(X, X[:, 0] > 0)
    assert "certifi" not in report(model, X, X[:, 0] > 0, cv=None).to_markdown().lower()


def test_figures_of_pages_are_within_two_errors_of_the_truth(page):
    held = []
    for seed in range(4):
        found = page(failures(120, 0.3, seed=seed), "--save-model", "m.json")
        told = found["models"][0]["accuracy"]
        others = failures(2_000, 0.3, seed=seed + 100)
        truth = (
            load_model("m.json").predict(others.drop(columns="failure")) == others["failure"]
        ).mean()
        held.append(abs(told["value"] - truth) <= 2 * told["standard_error"])
    assert sum(held) >= 3
