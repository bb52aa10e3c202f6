"""The default way, `clearmargin rules`: which method is chosen, how right it is said to be, and what it writes."""

import re
from fractions import Fraction

import numpy as np
import pandas as pd

from clearmargin import load_model


def write(path, columns, labels):
    frame = pd.DataFrame(columns).add_prefix("x") if isinstance(columns, np.ndarray) else columns
    frame.assign(y=labels).to_csv(path, index=False)


def test_page_of_noise_is_at_chance(ask, folder):
    rng, shares = np.random.default_rng(0), []
    for _ in range(2):
        write(folder / "t.csv", rng.normal(size=(60, 2)), np.repeat(["no", "yes"], 30))
        told = ask("rules t.csv --target y --cv 2")
        shares.append(told["unseen"]["accuracy"]["value"])
    # Two tables of 60 rows: a standard error of 5 points.
    assert abs(np.mean(shares) - 0.5) < 0.14


def test_page_gives_way_to_the_next_method_and_does_without_folds(ask, run, folder):
    # Neither column says anything alone, so that every plane is constant.
    grid = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]] * 12)
    write(folder / "t.csv", grid, ["n", "n", "p", "p"] * 12)
    told = ask("rules", "t.csv", "--target", "y", "--cv", "2")
    assert (told["method"], told["model"]["accuracy"]) == ("rule-svc", 1.0)
    assert run("rules", "t.csv", "--target", "y", "--method", "plane").code != 0
    write(folder / "t.csv", grid, ["n"] * 47 + ["p"])
    alone = run("rules", "t.csv", "--target", "y", "--cv", "2")
    assert (alone.code, alone.out != "") == (0, True), alone


def test_page_chooses_a_plane_and_writes_it_with_the_digits_that_decide(run, folder):
    rng = np.random.default_rng(1)
    X = pd.DataFrame(
        {"since": 1.7e9 + rng.uniform(size=150).round(3), "x": rng.normal(size=150).round(3)}
    )
    y = np.where(5 * (X["since"] - 1.7e9) + 2 * X["x"] > 2.5, "yes", "no")
    write(folder / "t.csv", X, y)
    words = ("--cv", "2", "--save-model", "m.json", "--report", "r.html")
    said = run("rules", "t.csv", "--target", "y", *words)
    assert (folder / "r.html").stat().st_size > 1_000, said
    (text,) = re.findall(r"yes where (.*) is above 0", said.out)
    signed = text.replace("- ", "-").replace("+ ", "")
    b, w, v = (Fraction(number) for number in re.findall(r"-?[0-9.]+(?= |$)", signed)[:3])
    sums = [b + w * Fraction(seconds) + v * Fraction(x) for seconds, x in X.to_numpy().tolist()]
    predicted = load_model(folder / "m.json").predict(X)
    assert [value > 0 for value in sums] == (predicted == "yes").tolist()
