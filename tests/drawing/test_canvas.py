"""matplotlib at arm's length: imported late, missed politely; colours."""

from __future__ import annotations

import subprocess
import sys

import pytest

from clearmargin import parse_rules
from clearmargin.drawing.canvas import class_colours
from clearmargin.exceptions import MissingDependencyError
from clearmargin.plot import plot_coverage, plot_regions, plot_rules

RULES = parse_rules("x < 2 and y < 3 => a")


def test_importing_the_package_loads_neither_matplotlib_nor_scikit_learn():
    code = "import clearmargin.plot, sys; print(' '.join(sys.modules))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {name.split(".")[0] for name in out.stdout.split()} & {
        "matplotlib",
        "sklearn",
        "pandas",
    }


@pytest.mark.parametrize(
    "draw",
    [plot_rules, plot_regions, lambda rules: plot_coverage(rules, [[1.0, 1.0]], ["a"])],
    ids=["rules", "regions", "coverage"],
)
def test_without_matplotlib_the_error_says_how_to_install_it(draw, monkeypatch):
    for name in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingDependencyError, match=r"pip install clearmargin\[plot\]"):
        draw(RULES)


def luminance(colour):
    parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    red, green, blue = (x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_the_colours_of_two_classes_stand_out_from_black_and_from_white():
    for colour in class_colours(["a", "b"]).values():
        # 3 : 1 is what the accessibility guidelines (WCAG 2.2, 1.4.11) ask of the parts of a figure.
        assert 1.05 / (luminance(colour) + 0.05) >= 3
        assert (luminance(colour) + 0.05) / 0.05 >= 3


def test_classes_keep_their_colours_and_many_classes_share_them():
    colours = class_colours(range(8))
    assert len({colours[k] for k in range(6)}) == 6
    assert colours[6] == colours[0]
