"""What `clearmargin rules` says of tables without anything to learn, and of a rare class."""

import numpy as np
import pandas as pd


def write(path, columns, labels):
    pd.DataFrame(columns).add_prefix("x").assign(y=labels).to_csv(path, index=False)


def test_figures_of_noise_are_at_chance_and_the_output_says_so(ask, folder):
    rng, shares = np.random.default_rng(0), []
    for _ in range(2):
        write(folder / "t.csv", rng.normal(size=(60, 2)), np.repeat(["no", "yes"], 30))
        found = ask("rules t.csv --target y --cv 2")["evaluation"]
        shares.append(found["models"][0]["accuracy"]["value"])
    # Two tables of 60 rows: a standard error of 5 points.
    assert abs(np.mean(shares) - 0.5) < 0.14
    assert not found["above_chance"]


def test_a_table_without_a_linear_signal_has_points_but_no_rule(ask, folder):
    # Neither column says anything alone, so that every linear SVM is constant.
    grid = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]] * 12)
    write(folder / "t.csv", grid, ["n", "n", "p", "p"] * 12)
    told = ask("rules t.csv --target y --cv 5 --save-model m.json --report r.html --out r.json")
    assert (told["model"]["rules"], told["model"]["is_constant"]) == ([], True)
    # Rules with points know what no linear SVM does.
    assert told["evaluation"]["above_chance"]
    assert (len(told["notes"]), (folder / "m.json").exists()) == (1, False)
    ask("rules t.csv --target y --cv none --as points --out p.json")
    predicted = ask("predict t.csv --rules p.json")["predictions"]
    assert [each["class"] for each in predicted] == ["n", "n", "p", "p"] * 12


def test_a_rare_class_is_balanced_and_what_is_found_comes_first(ask, folder):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 3)).round(3)
    y = np.where(X[:, 0] + 0.4 * rng.normal(size=400) > 1.5, "fail", "ok")
    write(folder / "t.csv", X, y)
    told = ask("rules t.csv --target y --cv 3 --report r.md")
    assert (told["data"]["rare"], told["evaluation"]["figure"]) == ("fail", "balanced_accuracy")
    mine = told["evaluation"]["models"][0]
    assert 0.7 < mine["balanced_accuracy"]["value"] < 1
    counts = told["evaluation"]["rarest"]
    assert counts["found"] + counts["missed"] == (y == "fail").sum()
    page = (folder / "r.md").read_text(encoding="utf-8")
    assert page.index("balanced accuracy |") < page.index("| accuracy |")


def test_a_single_row_of_a_class_leaves_rules_without_figures(ask, folder):
    rng = np.random.default_rng(2)
    write(folder / "t.csv", rng.normal(size=(48, 2)), ["n"] * 47 + ["p"])
    told = ask("rules t.csv --target y --cv 2")
    assert told["evaluation"] is None
    assert told["notes"]
