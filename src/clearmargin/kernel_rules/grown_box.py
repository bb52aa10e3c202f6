"""A certified box around one case: an explanation of a kernel machine that comes with a proof."""

from __future__ import annotations

from typing import Any

import numpy as np

from clearmargin.exceptions import DataError
from clearmargin.kernel_rules.growth import ProvedBox
from clearmargin.models.kernel_machine import KernelMachine, read_machine
from clearmargin.rule_base.simplify import shorten_bounds
from clearmargin.rule_base.translate import to_user_box
from clearmargin.rules import Box, Domain, FeatureSpace
from clearmargin.rules.value import BoolArray, FloatArray
from clearmargin.tables.table import case_table
from clearmargin.tables.validation import check_whole

__all__ = ["grow_box"]


def grow_box(
    estimator: Any, x: Any, *, space: FeatureSpace | None = None, budget: int = 500
) -> Box:
    """Find a large box around a case in which a kernel machine is proved to say the same everywhere.

    First the box grows on all sides in proportion to the ranges of the features, then side by side, those first
    along which the decision function changes least. Each step counts only when it is proved.

    Parameters
    ----------
    estimator : fitted estimator
        A kernel machine, as for `certify`.
    x : data frame of one row, series or mapping with the names of features, or array-like of shape (n,) or (1, n)
        The case, for example ``X.iloc[0]``; by name in any order.
    space : FeatureSpace, optional
        Where features live; the box ends there, and at whole numbers where the space has them. By default where the
        support vectors do.
    budget : int, default 500
        Most boxes that the proof of a step may look at.

    Returns
    -------
    Box
        Over the features of the table, in the user's units; closed.

    Examples
    --------
    >>> from sklearn.svm import SVC
    >>> X, y = [[0.0], [1.0], [3.0], [4.0]], ["near", "near", "far", "far"]
    >>> model = SVC(gamma=1.0, C=10.0).fit(X, y)
    >>> grow_box(model, [1.0], space=FeatureSpace(["x0"], [0.0], [4.0])).interval(0)
    Interval(0, 1.98, closed='both')
    >>> grow_box(model, [1.0], space=FeatureSpace(["x0"], [0.0], [4.0], integer=True)).interval(0)
    Interval(0, 1, closed='both')
    """
    check_whole("budget", budget, 1)
    names = getattr(estimator, "feature_names_in_", None)
    rows = case_table(x, None if names is None else [str(name) for name in names])
    machine = read_machine(estimator, rows)
    point = machine.encoding.encode(rows)[0]
    if not np.isfinite(point).all():
        name = machine.encoding.columns.names[int(np.argmax(~np.isfinite(point)))]
        raise DataError(f"the case has no value in {name!r}; a box needs a point to start from")
    k = _class_of(machine, point)
    lower, upper = _limits(machine, point, space)
    growth = ProvedBox(machine, machine.region(k), point, budget)
    growth.grow_in_proportion(lower, upper)
    growth.grow_sides(lower, upper)
    if not growth.is_proved():
        raise DataError(
            "the case lies so near the decision surface that its class cannot be proved even at the case itself"
        )
    region = _readable(machine, growth, point, lower, upper)
    return region if space is None else _to_values(region, space, machine.encoding.read(rows)[0])


def _to_values(region: Box, space: FeatureSpace, case: FloatArray) -> Box:
    """End a box at values that features can have: whole numbers, where space and case have them."""
    with np.errstate(invalid="ignore"):
        whole = space.integer & (case == np.floor(case))
    return Domain(FeatureSpace(space.names, integer=whole)).round_to_values(region)


def _class_of(machine: KernelMachine, point: FloatArray) -> int:
    Z = machine.to_machine(point[None, :])
    for k in range(len(machine.classes)):
        if (machine.region(k).values(Z) > 0).all():
            return k
    raise DataError(
        "the case lies on the decision surface, or no class wins all its duels there: no box around it has one class"
    )


def _limits(
    machine: KernelMachine, point: FloatArray, space: FeatureSpace | None
) -> tuple[FloatArray, FloatArray]:
    """Where the box ends at the latest; columns of categories stay as they are."""
    sources = machine.encoding.sources
    vectors = machine.support_points(point)
    lower, upper = vectors.min(axis=0), vectors.max(axis=0)
    if space is not None:
        if len(space) != len(machine.encoding.space):
            raise DataError(
                f"space has {len(space)} features, but the model takes {len(machine.encoding.space)}"
            )
        feature = [source.feature for source in sources]
        low, high = space.lower[feature], space.upper[feature]
        lower, upper = (
            np.where(np.isfinite(low), low, lower),
            np.where(np.isfinite(high), high, upper),
        )
    named = np.array([source.code is not None for source in sources], dtype=np.bool_)
    lower, upper = np.minimum(lower, point), np.maximum(upper, point)
    return np.where(named, point, lower), np.where(named, point, upper)


def _readable(
    machine: KernelMachine,
    growth: ProvedBox,
    point: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
) -> Box:
    """The box in the user's features and in few digits, which only takes from it."""
    columns = machine.encoding.columns
    used: BoolArray = np.zeros(len(columns), dtype=np.bool_)
    used[machine.source] = True
    ranges = FeatureSpace(
        columns.names, lower, np.where(upper > lower, upper, lower), np.zeros_like(used)
    )
    box = shorten_bounds(
        Box(np.where(used, growth.lower, -np.inf), np.where(used, growth.upper, np.inf)),
        ranges,
        point[None, :],
    )
    region = to_user_box(box, machine.encoding)
    assert region is not None  # the category of the case is in it
    return region
