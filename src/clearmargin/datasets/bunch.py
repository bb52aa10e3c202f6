"""The one way out of this package: a `Bunch`, or (X, y), as data frames or arrays."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib.resources import files
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from clearmargin.exceptions import MissingDependencyError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import ModuleType

    import pandas as pd
    from numpy.typing import NDArray

    from clearmargin.datasets.info import Feature

# A scikit-learn Bunch (which has no types), or (X, y) as frame and series or as two arrays.
Loaded: TypeAlias = Any

_DTYPES: dict[str, type] = {"real": np.float64, "integer": np.int64, "category": object}


@dataclass(frozen=True, slots=True, eq=False)
class Contents:
    """A data set in memory, ready to be handed out."""

    name: str
    features: tuple[Feature, ...]
    X: NDArray[Any]
    y: NDArray[Any]
    target_names: tuple[str, ...]
    citation: str
    licence: str | None = None
    filename: str | None = None
    target_column: str = "target"
    extras: Mapping[str, Any] = field(default_factory=dict)

    def deliver(self, *, return_X_y: bool, as_frame: bool) -> Loaded:
        """Return (X, y), or a Bunch with all that is known."""
        X: Any = self.X
        y: Any = self.y
        frame = None
        if as_frame:
            frame = self._frame()
            X, y = frame.drop(columns=self.target_column), frame[self.target_column]
        if return_X_y:
            return X, y
        from sklearn.utils import Bunch

        return Bunch(
            data=X,
            target=y,
            frame=frame,
            feature_names=[feature.name for feature in self.features],
            target_names=list(self.target_names),
            DESCR=describe(self.name),
            filename=self.filename,
            units={feature.name: feature.unit for feature in self.features},
            integer={feature.name: feature.kind == "integer" for feature in self.features},
            citation=self.citation,
            licence=self.licence,
            **self.extras,
        )

    def _frame(self) -> pd.DataFrame:
        columns: dict[str, NDArray[Any]] = {
            feature.name: self.X[:, j].astype(_DTYPES[feature.kind])
            for j, feature in enumerate(self.features)
        }
        columns[self.target_column] = self.y
        frame: pd.DataFrame = _pandas().DataFrame(columns)
        return frame


def describe(name: str) -> str:
    """Return the description of a data set."""
    return (files("clearmargin.datasets") / "descr" / f"{name}.md").read_text(encoding="utf-8")


def _pandas() -> ModuleType:
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingDependencyError(
            "as_frame=True needs pandas, which is not installed: "
            "pip install clearmargin[frames], or pass as_frame=False"
        ) from error
    return pd
