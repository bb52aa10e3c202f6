"""Rows that were read once, kept in a file without a name, so that they need not be read as text again."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from clearmargin.cli.plain_csv import Chunk

__all__ = ["KeptRows"]


class KeptRows:
    """Some columns of the rows of a table, on disk as numbers.

    Parameters
    ----------
    columns : sequence of int
        The columns to keep.

    Examples
    --------
    >>> kept = KeptRows([1])
    >>> rows = Chunk(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([0, 1]), ["ill", "well"])
    >>> [chunk.X.tolist() for chunk in kept.passing(iter([rows]))], kept.is_whole
    ([[[1.0, 2.0], [3.0, 4.0]]], True)
    >>> next(kept.chunks()).X.tolist()
    [[0.0, 2.0], [0.0, 4.0]]
    >>> kept.close()
    """

    def __init__(self, columns: Sequence[int]):
        self.columns = list(columns)
        self._file: IO[bytes] | None = None
        # Rows, width and classes of each chunk.
        self._shapes: list[tuple[int, int, list[str]]] = []

    def passing(self, chunks: Iterator[Chunk]) -> Iterator[Chunk]:
        """Keep all chunks that pass by; where the disk is full, none is kept."""
        try:
            self._file = tempfile.TemporaryFile()  # noqa: SIM115 - see close
        except OSError:
            self._file = None
        for chunk in chunks:
            self._keep(chunk)
            yield chunk

    def _keep(self, chunk: Chunk) -> None:
        if self._file is None:
            return
        try:
            self._file.write(np.ascontiguousarray(chunk.X[:, self.columns]).data)
            self._file.write(np.ascontiguousarray(chunk.codes, dtype=np.int32).data)
        except OSError:
            self.close()
            return
        self._shapes.append((*chunk.X.shape, chunk.texts))

    def close(self) -> None:
        """Give the space on the disk back."""
        if self._file is not None:
            self._file.close()
            self._file = None

    @property
    def is_whole(self) -> bool:
        """Whether all rows that passed by are kept."""
        return self._file is not None

    def chunks(self) -> Iterator[Chunk]:
        """Give the kept rows; columns that were not kept are zero."""
        assert self._file is not None
        self._file.seek(0)
        for rows, width, texts in self._shapes:
            X = np.zeros((rows, width))
            kept = self._take((rows, len(self.columns)), np.float64)
            for j, column in enumerate(self.columns):
                X[:, column] = kept[:, j]
            yield Chunk(X, self._take((rows,), np.int32).astype(np.intp), texts)

    def _take(self, shape: tuple[int, ...], kind: type) -> NDArray[Any]:
        assert self._file is not None
        size = int(np.prod(shape)) * np.dtype(kind).itemsize
        return np.frombuffer(self._file.read(size), dtype=kind).reshape(shape)
