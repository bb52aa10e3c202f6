"""Which part of a model stays trained when the model is copied, so that it cannot be judged on rows it has not seen.

Cross-validation clones a model and trains the clone on part of the rows. A `FrozenEstimator` and a model read from a
file keep what they learned, from rows that they are then judged on.
"""

from __future__ import annotations

from typing import Any

from sklearn.base import clone
from sklearn.utils import get_tags

from clearmargin.exceptions import ClearmarginError
from clearmargin.models.fitted import is_fitted

__all__ = ["find_trained_part"]


def find_trained_part(model: Any) -> str:
    """Name the part of an estimator that stays trained when the estimator is cloned.

    Parameters
    ----------
    model : estimator
        With any estimators inside it.

    Returns
    -------
    str
        What to call it in a sentence, such as "PlaneModel" or "estimator=FrozenEstimator"; empty if the whole model is
        trained anew after `clone`.

    Examples
    --------
    >>> from sklearn.frozen import FrozenEstimator
    >>> from sklearn.linear_model import RidgeClassifier
    >>> from clearmargin import RuleExtractor
    >>> ridge = RidgeClassifier().fit([[0.0], [1.0]], [0, 1])
    >>> find_trained_part(RuleExtractor(ridge)), find_trained_part(RuleExtractor(FrozenEstimator(ridge)))
    ('', 'estimator=FrozenEstimator')
    """
    parts = {"": model, **model.get_params(deep=True)}
    # The innermost one first: a pipeline counts as trained where its last step does. What is inside a part that stays
    # trained is its own affair.
    found = [name for name, part in parts.items() if _stays_trained(part)]
    leaves = [
        name
        for name in found
        if not any(
            other.startswith(f"{name}__" if name else "") and other != name for other in found
        )
    ]
    if not leaves:
        return ""
    kind = type(parts[leaves[0]]).__name__
    return f"{leaves[0]}={kind}" if leaves[0] else kind


def _stays_trained(part: Any) -> bool:
    if isinstance(part, type) or not hasattr(part, "fit") or not hasattr(part, "get_params"):
        return False
    try:
        copy = clone(part)
    except ClearmarginError:  # of a model that refuses to be copied untrained
        return True
    # What never needs to be trained learns nothing from rows.
    return bool(get_tags(copy).requires_fit) and is_fitted(copy)
