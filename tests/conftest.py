"""How hard hypothesis looks (HYPOTHESIS_PROFILE=quick or full), small tables that several rooms use, and figures."""

import itertools
import os

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, settings

# Machines differ in speed, so no example has a deadline. In CI the examples are the same in each run:
# a failure must be the change's own.
settings.register_profile(
    "quick", max_examples=20, deadline=None, derandomize=bool(os.environ.get("CI"))
)
settings.register_profile(
    "full", max_examples=1000, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))


def ring(m: int, seed: int, n: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """An inner and an outer class; each feature has its own unit."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(m, n))
    y = np.where((Z**2).sum(axis=1) < n - 0.6, "inner", "outer")
    units = 10.0 ** np.arange(n)
    return Z * units + 5.0 * units, y


@pytest.fixture(scope="session")
def two_classes():
    return ring(120, seed=0)


@pytest.fixture(scope="session")
def three_classes():
    rng = np.random.default_rng(1)
    X = rng.uniform(-2, 2, (150, 2))
    y = np.array(["a", "b", "c"])[(X[:, 0] > X[:, 1] ** 2 - 1).astype(int) + (X[:, 0] > 0.8)]
    return X, y


@pytest.fixture(scope="session")
def mixed():
    """A frame of two numbers, of which one is whole, and two features of categories."""
    rng = np.random.default_rng(2)
    m = 140
    frame = pd.DataFrame({
        "age": rng.integers(20, 80, m), "colour": rng.choice(["red", "green", "blue"], m),
        "dose": rng.uniform(0, 1, m).round(3), "smoker": rng.choice(["yes", "no"], m),
    })  # fmt: skip
    score = (
        (frame["age"] - 50) / 20
        + 1.5 * (frame["colour"] == "red")
        - 1.2 * (frame["smoker"] == "no")
        + 2 * (frame["dose"] - 0.5)
    )
    return frame, np.where(score > 0, "ill", "well")


# Figures. matplotlib is imported by the tests that draw.


@pytest.fixture
def no_screen():
    """Draws figures without a screen, and closes them after the test."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    with mpl.rc_context():
        yield
    plt.close("all")


def _is_drawn(text, ax):
    if text in ax.texts:
        return True
    if not ax.axison:
        return False
    # Ticks beyond the ends of an axis exist, but are not drawn.
    for axis, k in ((ax.xaxis, 0), (ax.yaxis, 1)):
        low, high = sorted(axis.get_view_interval())
        if text in axis.get_ticklabels() and not low <= text.get_position()[k] <= high:
            return False
    return True


@pytest.fixture
def texts_of():
    """Gives all texts that are seen in a figure, with their boxes in pixels."""

    from matplotlib.text import Text

    def find(figure):
        figure.draw_without_rendering()
        renderer = figure.canvas.get_renderer()
        inside = {text: ax for ax in figure.axes for text in ax.findobj(Text)}
        # Keys and titles of the figure itself are in no axes.
        return [
            (text, text.get_window_extent(renderer))
            for text in figure.findobj(Text)
            if text.get_visible()
            and text.get_text().strip()
            and (text not in inside or _is_drawn(text, inside[text]))
        ]

    return find


@pytest.fixture
def check_legible(texts_of):
    """Checks that texts are large enough, inside the figure, and do not overlap each other."""

    def check(figure):
        found = texts_of(figure)
        assert found
        # Two pixels: the ink of letters ends before the box of their line.
        whole = figure.bbox.padded(2)
        for text, box in found:
            assert text.get_fontsize() >= 8, text
            assert whole.containsx(box.x0), text
            assert whole.containsx(box.x1), text
            assert whole.containsy(box.y0), text
            assert whole.containsy(box.y1), text
        for (one, a), (other, b) in itertools.combinations(found, 2):
            across = min(a.x1, b.x1) - max(a.x0, b.x0)
            along = min(a.y1, b.y1) - max(a.y0, b.y0)
            assert across <= 2 or along <= 2, (one, other)

    return check
