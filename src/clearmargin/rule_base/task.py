"""What an extractor works on, and what it finds."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError

from clearmargin.exceptions import InvalidValueError
from clearmargin.models.kernel_machine import innermost, read_machine
from clearmargin.rule_base.training import class_codes
from clearmargin.rules.boxes import Boxes
from clearmargin.rules.rule import Label
from clearmargin.rules.value import BoolArray, FloatArray, IntArray
from clearmargin.tables.encoding import Decoding, Encoding

__all__ = ["ExtractionTask", "FoundBoxes", "SupportVectors", "read_support"]


@dataclass(frozen=True, slots=True, eq=False)
class SupportVectors:
    """The support vectors of a machine as encoded rows.

    Parameters
    ----------
    points : ndarray of shape (s, n)
        Encoded rows.
    codes : ndarray of int of shape (s,)
        The class of each, as trained.
    """

    points: FloatArray
    codes: IntArray


@dataclass(frozen=True, slots=True, eq=False)
class ExtractionTask:
    """The training points, what the model predicts of them, and the model to ask about others.

    Parameters
    ----------
    model : fitted classifier
        The model.
    encoding : Encoding
        The table as columns of numbers.
    table : Decoding
        The way back.
    classes : tuple of labels
        The classes.
    points : ndarray of shape (m, n)
        Encoded training rows without missing values.
    codes : ndarray of int of shape (m,)
        The class that rules should give each row: what the model predicts, or the label.
    predicted, true : ndarray of int of shape (m,)
        What the model predicts, and the label.
    random : numpy.random.RandomState
        Where chance comes from.
    """

    model: Any
    encoding: Encoding
    table: Decoding
    classes: tuple[Label, ...]
    points: FloatArray
    codes: IntArray
    predicted: IntArray
    true: IntArray
    random: np.random.RandomState

    @property
    def lower(self) -> FloatArray:
        """Where the training points begin, column by column."""
        return np.asarray(self.points.min(axis=0))

    @property
    def upper(self) -> FloatArray:
        """Where the training points end."""
        return np.asarray(self.points.max(axis=0))

    def ask(self, points: FloatArray) -> IntArray:
        """Ask the model for the classes of encoded rows.

        Parameters
        ----------
        points : ndarray of shape (k, n)
            Encoded rows.

        Returns
        -------
        ndarray of int of shape (k,)
            Positions of classes.
        """
        if not len(points):
            return np.empty(0, dtype=np.intp)
        with warnings.catch_warnings():
            # Names that only the table or only the model has change nothing here.
            warnings.filterwarnings("ignore", "X (has|does not have valid) feature names")
            answers = self.model.predict(self.table.make(points))
        return class_codes(answers, self.classes)


@dataclass(frozen=True, slots=True, eq=False)
class FoundBoxes:
    """Boxes over the encoded columns, each with its class.

    Parameters
    ----------
    boxes : Boxes
        The boxes.
    codes : ndarray of int of shape (r,)
        Positions of their classes.
    proved : ndarray of bool of shape (r,)
        Whether the model was proved to give this class everywhere in the box.
    """

    boxes: Boxes
    codes: IntArray
    proved: BoolArray

    @classmethod
    def observed(cls, boxes: Boxes, codes: IntArray) -> FoundBoxes:
        """Boxes without proof."""
        return cls(boxes, codes, np.zeros(len(codes), dtype=np.bool_))


def read_support(task: ExtractionTask, X: Any, *, trained_here: bool) -> SupportVectors:
    """Give the support vectors of a model as encoded rows.

    Parameters
    ----------
    task : ExtractionTask
        What is known; its encoding is that of the table by itself.
    X : data frame or array-like of shape (m, n)
        The training table.
    trained_here : bool
        Whether the model was trained on this table, so that its support vectors are rows of it.

    Returns
    -------
    SupportVectors
        The support vectors.
    """
    machine = innermost(task.model)
    if not hasattr(machine, "support_vectors_"):
        raise InvalidValueError(
            f"{type(machine).__name__} has no support vectors; SurrogateRules(method='train') takes any classifier"
        )
    if getattr(machine, "kernel", None) == "precomputed":
        read_machine(task.model, X)  # says what is wrong with it
    if trained_here:
        rows = np.asarray(machine.support_, dtype=np.intp)
        points = task.encoding.encode(X)[rows]
        codes = np.repeat(np.arange(len(machine.classes_)), machine.n_support_)
        return SupportVectors(points, codes.astype(np.intp))
    try:
        kernel_machine = read_machine(task.model, X)
    except (InvalidValueError, NotFittedError) as error:
        raise InvalidValueError(
            f"the support vectors of the fitted model cannot be carried back to the table: {error}. "
            "Pass the model unfitted: it is then trained here, and its support vectors are rows of the table"
        ) from None
    middle = np.median(kernel_machine.encoding.encode(X), axis=0)
    vectors = kernel_machine.support_points(middle)
    # The machine's own encoding may order categories otherwise than the table's.
    user = Decoding.of(X, kernel_machine.encoding).make(vectors)
    return SupportVectors(task.encoding.encode(user), kernel_machine.support_codes)
