"""What is known where no plane beats a constant prediction."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clearmargin.lp_svm.path_scores import FloatArray, IntArray, Tried, leads

__all__ = ["Doubt"]


@dataclass(frozen=True)
class Doubt:
    """No plane within the cap beats a constant one by more than one standard error of the differences in the folds.

    Parameters
    ----------
    is_constant : bool
        Whether the chosen plane is constant.
    constant_score, score : float
        Mean scores of the constant plane and of the chosen one.
    folds : int
        Number of folds.
    cap : float
        Maximum number of features; infinite without a cap.
    more_features, more_score : int or None, float or None
        Number of features and mean score of the best plane beyond the cap, where that one beats a constant one.
    """

    is_constant: bool
    constant_score: float
    score: float
    folds: int
    cap: float
    more_features: int | None = None
    more_score: float | None = None

    @classmethod
    def about(
        cls, path: Tried, scores: FloatArray, counts: IntArray, place: int, cap: float
    ) -> Doubt | None:
        """Compare all planes with a constant one.

        Parameters
        ----------
        path : Tried
            The planes over all columns, within the cap and beyond it.
        scores, counts
            Scores in the folds and numbers of features of the planes within the cap.
        place : int
            The chosen one.
        cap : float
            Maximum number of features.

        Returns
        -------
        Doubt or None
            None if some plane beats the constant one, or there is none to compare with.
        """
        constant = scores[counts == 0]
        if not len(constant) or leads(scores, constant).any(axis=0).all():
            return None
        beyond = np.flatnonzero(path.table["n_features"] > cap)
        beyond = beyond[leads(path.scores[beyond], constant).all(axis=1)]
        mean = path.scores.mean(axis=1)
        best = int(beyond[np.argmax(mean[beyond])]) if len(beyond) else None
        return cls(
            bool(counts[place] == 0),
            float(constant.mean(axis=1).max()),
            float(scores[place].mean()),
            scores.shape[1],
            cap,
            None if best is None else int(path.table["n_features"][best]),
            None if best is None else float(mean[best]),
        )

    def in_python(self) -> str:
        """Say it to somebody who called the estimator.

        Examples
        --------
        >>> print(Doubt(True, 0.7, 0.7, 10, 8.0).in_python().split(".  ")[0][:60])
        no plane with at most 8 features beats a constant one by mor
        """
        return (
            f"{self.finding()}. {self.cause(more='raise max_features')} If one class is rare, try "
            "LPSVCCV(class_weight='balanced', scoring='balanced_accuracy')"
        )

    def finding(self) -> str:
        """Say what was found."""
        few = f" with at most {_features(self.cap)}" if np.isfinite(self.cap) else ""
        found = (
            f"no plane{few} beats a constant one by more than one standard error (mean score of the constant plane "
            f"{self.constant_score:.3f} in {self.folds} folds)"
        )
        if self.is_constant:
            return f"{found}; so the plane is constant, and predicts the same class everywhere"
        return f"{found}; the one chosen has {self.score:.3f}, and is no evidence of a relation"

    def cause(self, *, more: str) -> str:
        """Say what may be the reason, and what to do where more features help."""
        if self.more_features is None:
            return "The features may have no linear relation to the classes."
        return f"One with {_features(self.more_features)} has {self.more_score:.3f}: {more}."


def _features(count: float) -> str:
    return f"{count:.0f} feature{'' if count == 1 else 's'}"
