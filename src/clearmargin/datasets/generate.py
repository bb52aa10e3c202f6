"""Random data sets of the papers, the same for the same `random_state`."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np

from clearmargin.datasets.bunch import Contents, Loaded
from clearmargin.datasets.info import Feature
from clearmargin.exceptions import InvalidValueError

if TYPE_CHECKING:
    from numpy.random import RandomState
    from numpy.typing import NDArray

_SVMT_PAPER = (
    "S. Pang and N. Kasabov, r-SVMT: Discovering the Knowledge of Association Rule over SVM "
    "Classification Trees, IJCNN 2008, section V-A"
)
_YSVM_PAPER = (
    "A. Salleb-Aouissi, B. Huang and D. Waltz, Vers des machines à vecteurs de support "
    "« actionnables » : une approche fondée sur le classement, EGC 2009, section 4.1"
)

# Mean and standard deviation (the same in both directions) of the two clouds of make_imbalanced.
_LARGE_CLOUD = ((0.0, 0.0), 1.5)
_SMALL_CLOUD = ((-2.5, 0.5), 0.7)


def make_imbalanced(
    n_samples: int = 184,
    *,
    imbalance: float = 10.0,
    random_state: int | RandomState | None = None,
    return_X_y: bool = True,
    as_frame: bool = False,
) -> Loaded:
    """Draw two overlapping Gaussian clouds in the plane, one ten times as large as the other.

    The synthetic set of the paper on r-SVMT (IJCNN 2008, section V-A). The paper says: two classes,
    each a two-dimensional Gaussian, class 2 about a tenth of class 1. It does not give the size,
    the means or the variances; its figure runs from about -4 to 6. Chosen here: 184 rows, because
    168 and 16 give the accuracy of 91.3 % that the paper prints for a machine that always answers
    class 1; class 1 around (0, 0) with standard deviation 1.5; class 2 around (-2.5, 0.5) with
    standard deviation 0.7. So compare methods on it, but do not expect the digits of its Table I.
    """
    n_small = _small_size(_integer("n_samples", n_samples), _real("imbalance", imbalance, 1.0))
    X, y = _draw_clouds(n_samples - n_small, n_small, _generator(random_state))
    features = (Feature("x1"), Feature("x2"))
    contents = Contents("imbalanced", features, X, y, ("class_1", "class_2"), _SVMT_PAPER)
    return contents.deliver(return_X_y=return_X_y, as_frame=as_frame)


def _small_size(n_samples: int, imbalance: float) -> int:
    n_small = math.floor(n_samples / (1.0 + imbalance))
    if n_small == 0:
        raise InvalidValueError(
            f"n_samples = {n_samples} leaves no row for class_2 at imbalance = {imbalance:g}; "
            f"it must be at least {math.ceil(1.0 + imbalance)}"
        )
    return n_small


def _draw_clouds(
    n_large: int, n_small: int, rng: RandomState
) -> tuple[NDArray[np.float64], NDArray[np.object_]]:
    large = rng.normal(*_LARGE_CLOUD, size=(n_large, 2))
    small = rng.normal(*_SMALL_CLOUD, size=(n_small, 2))
    labels = np.array(["class_1"] * n_large + ["class_2"] * n_small, dtype=object)
    order = rng.permutation(n_large + n_small)
    return np.concatenate([large, small])[order], labels[order]


def make_votes(
    n_samples: int = 1000,
    n_features: int = 50,
    n_informative: int = 11,
    *,
    flip: float = 0.0,
    random_state: int | RandomState | None = None,
    return_X_y: bool = True,
    as_frame: bool = False,
) -> Loaded:
    """Draw votes -1 and 1 on many features; the majority of the first few is the class.

    The synthetic set of the paper on YSVM (Salleb-Aouissi, Huang and Waltz, EGC 2009, section 4.1):
    1000 rows of 50 values in {-1, 1}, and the class is the sign of the sum of the first eleven. The
    paper does not say how the values are drawn: here each is -1 or 1 with equal chance,
    independently. Flipped labels are not in the paper.
    """
    shape = _integer("n_samples", n_samples), _integer("n_features", n_features)
    _check_voters(_integer("n_informative", n_informative), n_features)
    flip = _real("flip", flip, 0.0, 1.0)
    X, y = _draw_votes(shape, n_informative, flip, _generator(random_state))
    features = tuple(Feature(f"x{j + 1}", None, "integer") for j in range(n_features))
    contents = Contents("votes", features, X, y, ("-1", "1"), _YSVM_PAPER)
    return contents.deliver(return_X_y=return_X_y, as_frame=as_frame)


def _check_voters(n_informative: int, n_features: int) -> None:
    if n_informative > n_features or n_informative % 2 == 0:
        raise InvalidValueError(
            f"n_informative = {n_informative}; it must be odd (an even number of votes can end in "
            f"a tie) and at most n_features = {n_features}"
        )


def _draw_votes(
    shape: tuple[int, int], n_informative: int, flip: float, rng: RandomState
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    # The type is given because the default one, and with it the stream, depends on the platform.
    X = (2 * rng.randint(0, 2, size=shape, dtype=np.int64) - 1).astype(np.float64)
    y = np.sign(X[:, :n_informative].sum(axis=1)).astype(np.int64)
    # Drawn after X, so that X is the same whatever the share.
    flipped = rng.permutation(len(y))[: round(flip * len(y))]
    y[flipped] = -y[flipped]
    return X, y


def _integer(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        raise InvalidValueError(f"{name} = {value!r}; it must be an integer of at least 1")
    return int(value)


def _real(name: str, value: Any, low: float, high: float = math.inf) -> float:
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if not is_number or not low <= value <= high or math.isinf(value):
        bounds = f"of at least {low:g}" if math.isinf(high) else f"from {low:g} to {high:g}"
        raise InvalidValueError(f"{name} = {value!r}; it must be a finite number {bounds}")
    return float(value)


def _generator(random_state: Any) -> RandomState:
    """Return numpy's legacy generator, whose streams never change between versions of numpy."""
    from sklearn.utils import check_random_state

    try:
        rng: RandomState = check_random_state(random_state)
    except ValueError as error:
        raise InvalidValueError(
            f"random_state = {random_state!r}; it must be None, an integer from 0 to 2**32 - 1, "
            "or a numpy RandomState"
        ) from error
    return rng
