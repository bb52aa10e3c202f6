"""What can be, over the columns of a model that learns from advice."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clearmargin.advice.case import AdviceCase
from clearmargin.advice.frame import Frame, declared_ranges
from clearmargin.rules import Domain, FeatureSpace
from clearmargin.rules.space import seen_ranges

__all__ = ["Possible"]

BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Possible:
    """The cases that can exist: as far as they are declared, and with what the data show.

    Parameters
    ----------
    declared : Domain
        Ranges and whole numbers that the advice declares, and one category of each categorical feature. What is proved
        over it holds for all cases.
    seen : Domain
        With the domain of the frame as ranges, and whole numbers where the data have no others. What is proved over it
        holds for cases like those of the data.
    """

    declared: Domain
    seen: Domain

    @classmethod
    def of(cls, case: AdviceCase, frame: Frame) -> Possible:
        """Find what can be.

        Parameters
        ----------
        case : AdviceCase
            Data and advice.
        frame : Frame
            The domain in which premises count.

        Returns
        -------
        Possible
            Ranges that come with extracted rules were seen, not declared.
        """
        columns = case.columns
        n = len(columns.names)
        lower, upper = declared_ranges(columns)
        if any(rule.origin == "extracted" for rule in case.rules):
            lower, upper = np.full(n, -np.inf), np.full(n, np.inf)
        whole: BoolArray = np.zeros(n, dtype=np.bool_)
        for feature, column in columns.numbers.items():
            whole[column] = columns.space.integer[feature]
        met = seen_ranges(list(case.points.T))[2] if len(case.points) else np.zeros(n, np.bool_)
        names = columns.names
        # Data beyond a declared range speak against the declaration.
        low = np.where(frame.lower >= lower, lower, -np.inf)
        high = np.where(frame.upper <= upper, upper, np.inf)
        known = Domain(
            FeatureSpace(names, low, high, whole),
            np.isfinite(low),
            np.isfinite(high),
            columns.one_hot,
        )
        seen = Domain(
            FeatureSpace(names, frame.lower, frame.upper, whole | met), groups=columns.one_hot
        )
        return cls(known, seen)
