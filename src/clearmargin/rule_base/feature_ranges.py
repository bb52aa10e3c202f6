"""Where the features live: the ranges seen in the data, or those the user declares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from clearmargin.exceptions import InvalidValueError
from clearmargin.models.surface import Surface
from clearmargin.rules import Box, Domain, FeatureSpace, Polyhedron
from clearmargin.rules.space import nearest_name
from clearmargin.rules.value import BoolArray, FloatArray

__all__ = ["declared_limits", "encoded_domain", "narrowed_to", "read_bounds", "read_relations"]


def read_bounds(
    bounds: Any, space: FeatureSpace, words: Sequence[str] = ("data",)
) -> tuple[FeatureSpace, BoolArray]:
    """Read a parameter `bounds`, such as that of `RuleExtractor`.

    Parameters
    ----------
    bounds : "data", FeatureSpace, Domain, mapping from feature to (low, high), or pair (low, high)
        The pair may hold numbers or one number for each feature. Of a `Domain` only the ends count as declared that it
        says were; its relations are read by `read_relations`.
    space : FeatureSpace
        The features, with the ranges seen in the data.
    words : sequence of str, default ("data",)
        Words that declare nothing.

    Returns
    -------
    space : FeatureSpace
        With the ranges to use.
    declared : ndarray of bool of shape (2, n)
        Which lower and which upper ends were declared by the user; an infinite end declares nothing.

    Examples
    --------
    >>> space = FeatureSpace(["age", "bmi"], [20.0, 18.0], [80.0, 40.0])
    >>> read_bounds({"age": (0, 120)}, space)[0]
    FeatureSpace(age: in [0, 120], bmi: in [18, 40])
    """
    if isinstance(bounds, str):
        if bounds not in words:
            listed = ", ".join(repr(word) for word in words)
            raise InvalidValueError(
                f"bounds must be {listed}, a FeatureSpace, a Domain, a mapping or a pair (low, high), not {bounds!r}"
            )
        return space, np.zeros((2, len(space)), dtype=np.bool_)
    lower, upper = space.lower.copy(), space.upper.copy()
    units = list(space.units)
    declared = np.ones((2, len(space)), dtype=np.bool_)
    if isinstance(bounds, Domain):
        declared[:] = False
        for k, name in enumerate(bounds.space.names):
            j = _index(name, space)
            lower[j], upper[j] = bounds.space.lower[k], bounds.space.upper[k]
            declared[:, j] = bounds.lower_declared[k], bounds.upper_declared[k]
    elif isinstance(bounds, FeatureSpace):
        for j, name in enumerate(space.names):
            k = bounds.index(name)
            lower[j], upper[j], units[j] = bounds.lower[k], bounds.upper[k], bounds.units[k]
    elif isinstance(bounds, Mapping):
        declared[:] = [name in bounds for name in space.names]
        for name, pair in bounds.items():
            j = _index(name, space)
            lower[j], upper[j] = _pair(pair, name)
    else:
        low, high = _pair(bounds, None)
        lower[:], upper[:] = low, high
    declared &= np.isfinite([lower, upper])
    lower = np.where(np.isfinite(lower), lower, space.lower)
    upper = np.where(np.isfinite(upper), upper, space.upper)
    numeric = [categories is None for categories in space.categories]
    lower, upper = np.where(numeric, lower, -np.inf), np.where(numeric, upper, np.inf)
    declared &= numeric
    ranges = FeatureSpace(
        space.names, lower, upper, space.integer, space.categories, units, space.fill
    )
    return ranges, declared


def _index(name: str, space: FeatureSpace) -> int:
    if name not in space.names:
        hint = nearest_name(str(name), space.names)
        raise InvalidValueError(f"bounds for unknown feature {name!r}{hint}")
    return space.index(name)


def read_relations(bounds: Any, space: FeatureSpace) -> Polyhedron | None:
    """Read the relations of the parameter `bounds`, if it is a `Domain` that has some.

    Parameters
    ----------
    bounds : Any
        As for `read_bounds`.
    space : FeatureSpace
        The features.

    Returns
    -------
    Polyhedron or None
        The relations over these features.

    Examples
    --------
    >>> domain = Domain(FeatureSpace(["b", "a"]), relations="a <= b")
    >>> read_relations(domain, FeatureSpace(["a", "b", "c"]))
    Polyhedron([[1.0, -1.0, 0.0]], [0.0])
    """
    if not isinstance(bounds, Domain) or bounds.relations is None:
        return None
    relations = bounds.relations
    A = np.zeros((len(relations.b), len(space)))
    for k, name in enumerate(bounds.space.names):
        if relations.A[:, k].any():
            j = _index(name, space)
            if space.categories[j] is not None:
                raise InvalidValueError(
                    f"{name!r} has categories in the table; a relation compares numbers"
                )
            A[:, j] = relations.A[:, k]
    return Polyhedron(A, relations.b, relations.strict)


def _pair(pair: Any, name: object) -> tuple[Any, Any]:
    try:
        low, high = pair
    except (TypeError, ValueError):
        place = "bounds" if name is None else f"the bounds of {name!r}"
        raise InvalidValueError(f"{place} must be a pair (low, high), not {pair!r}") from None
    return np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)


def declared_limits(surface: Surface, columns: FeatureSpace, declared: BoolArray) -> Box:
    """Return where columns can be taken to live without saying so: declared ranges, and 0 to 1 for categories.

    Parameters
    ----------
    surface : Surface
        The encoding.
    columns : FeatureSpace
        The encoded columns with the ranges to use.
    declared : ndarray of bool of shape (2, n)
        Which of the user's features have a declared lower end, and which an upper one.

    Returns
    -------
    Box
        Over the encoded columns; unbounded where nothing is declared.
    """
    features = [feature for feature, _ in surface.sources]
    is_category = np.array([code is not None for _, code in surface.sources], dtype=np.bool_)
    lower, upper = declared[:, features] | is_category
    return Box(np.where(lower, columns.lower, -np.inf), np.where(upper, columns.upper, np.inf))


def encoded_domain(surface: Surface, space: FeatureSpace, points: FloatArray) -> FeatureSpace:
    """Return the encoded columns with the ranges to use, after checking that they hold the training points.

    Parameters
    ----------
    surface : Surface
        The encoding.
    space : FeatureSpace
        The user's features with the ranges to use.
    points : ndarray of shape (m, n_encoded)
        The training points.

    Returns
    -------
    FeatureSpace
        Encoded columns.
    """
    columns = surface.columns
    lower, upper = columns.lower.copy(), columns.upper.copy()
    for k, (feature, code) in enumerate(surface.sources):
        if code is None:
            lower[k], upper[k] = space.lower[feature], space.upper[feature]
    # A column of which no value is known, and on which nothing depends, holds what was put there.
    unseen = np.isinf(lower) & np.isinf(upper)
    lower[unseen] = upper[unseen] = points[0, unseen]
    # Ranges seen in the data hold the data; only others have to be compared with them.
    changed = ~unseen & ((lower != columns.lower) | (upper != columns.upper))
    cut = np.zeros(len(columns), dtype=np.bool_)
    for k in np.flatnonzero(changed).tolist():
        cut[k] = (
            points[:, k].min(initial=np.inf) < lower[k]
            or points[:, k].max(initial=-np.inf) > upper[k]
        )
    if cut.any():
        k = int(np.argmax(cut))
        values = points[(points[:, k] < lower[k]) | (points[:, k] > upper[k]), k]
        raise InvalidValueError(
            f"bounds cut off training points: {len(values)} rows have {columns.names[k]!r} outside of "
            f"[{lower[k]:g}, {upper[k]:g}], for example {values[0]:g}; widen the bounds or leave the rows out"
        )
    return FeatureSpace(columns.names, lower, upper, columns.integer)


def narrowed_to(points: FloatArray, columns: FeatureSpace, surface: Surface) -> FeatureSpace:
    """Return the encoded columns with the ranges of some points; those of categories stay.

    Parameters
    ----------
    points : ndarray of shape (m, n_encoded)
        The points; without any, all ranges stay.
    columns : FeatureSpace
        The encoded columns with their ranges.
    surface : Surface
        The encoding.

    Returns
    -------
    FeatureSpace
        Encoded columns.
    """
    numeric = np.array([source.code is None for source in surface.sources], dtype=np.bool_)
    lower = points.min(axis=0, initial=np.inf)
    upper = points.max(axis=0, initial=-np.inf)
    numeric &= bool(len(points))
    return FeatureSpace(
        columns.names,
        np.where(numeric, lower, columns.lower),
        np.where(numeric, upper, columns.upper),
        columns.integer,
    )
