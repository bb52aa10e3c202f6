"""The cheapest change of a case by trying all of them, with a linear program where numbers are continuous."""

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.optimize import linprog


def cheapest_choice(
    options: Sequence[Sequence[tuple[Any, float]]], arrives: Callable[[list[Any]], bool]
) -> tuple[float, list[Any]] | None:
    """Try all combinations of (value, price); give the least price of one that arrives."""
    best = None
    for combination in itertools.product(*options):
        price = sum(each for _, each in combination)
        values = [value for value, _ in combination]
        if (best is None or price < best[0]) and arrives(values):
            best = price, values
    return best


def cheapest_amounts(
    rows: np.ndarray,
    offsets: np.ndarray,
    before: np.ndarray,
    prices: Sequence[float],
    options: Sequence[Sequence[float | tuple[float, float]]],
) -> float | None:
    """Find the least price of a point with rows @ point + offsets >= 0; None if there is none.

    Each feature takes one of its options: a number, or any number of an interval (low, high) on one side of its value.
    """
    lots = []
    for chosen in itertools.product(*options):
        ends = np.array([each if isinstance(each, tuple) else (each, each) for each in chosen])
        away = np.maximum(np.maximum(ends[:, 0] - before, before - ends[:, 1]), 0.0)
        lots.append((float(away @ prices), ends))
    best = None
    for least, ends in sorted(lots, key=lambda lot: lot[0]):
        if best is not None and least >= best:
            break
        low, high = ends.T
        if (np.maximum(rows * low, rows * high).sum(axis=1) + offsets < 0).any():
            continue
        # Within its option each feature moves away from where it was, or towards it.
        cost = np.where(low >= before, 1.0, -1.0) * prices
        answer = linprog(cost, A_ub=-rows, b_ub=offsets, bounds=ends)
        if answer.success and (best is None or answer.fun - cost @ before < best):
            best = float(answer.fun - cost @ before)
    return best


def leaves_something_alone(earlier: Sequence[set[str]], changed: set[str]) -> bool:
    """Tell whether a way keeps at least one feature of each earlier way."""
    return all(not old <= changed for old in earlier)
