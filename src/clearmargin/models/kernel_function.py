"""The decision function of a kernel machine: a sum of kernels around support vectors.

To add a kernel, see `kernel_rules/kernels.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from clearmargin.rules.value import FloatArray

KernelKind = Literal["linear", "poly", "rbf"]

# A block of kernel values of this many numbers stays in the caches, and bounds the memory whatever the sizes.
_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True, eq=False)
class KernelFunction:
    """The functions f_q(z) = sum_i coefs[i, q] k(z, vectors[i]) + intercepts[q], over the columns of the machine."""

    kind: KernelKind
    vectors: FloatArray
    coefs: FloatArray
    intercepts: FloatArray
    gamma: float = 1.0
    coef0: float = 0.0
    degree: int = 3

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return int(self.vectors.shape[1])

    @property
    def n_functions(self) -> int:
        """Number of functions."""
        return int(self.coefs.shape[1])

    def kernel(self, Z: FloatArray) -> FloatArray:
        """Give the kernel of each row with each support vector."""
        if self.kind == "rbf":
            # Centred, so that the squares that cancel in |z|^2 - 2 z's + |s|^2 are small.
            centre = self.vectors.mean(axis=0) if len(self.vectors) else np.zeros(self.n_features)
            rows, vectors = Z - centre, self.vectors - centre
            squares = (rows**2).sum(axis=1)[:, None] + (vectors**2).sum(axis=1)
            squares -= 2.0 * (rows @ vectors.T)
            return np.asarray(np.exp(-self.gamma * np.maximum(squares, 0.0)))
        products = Z @ self.vectors.T
        if self.kind == "linear":
            return products
        return np.asarray((self.gamma * products + self.coef0) ** self.degree)

    def values(self, Z: FloatArray) -> FloatArray:
        """Give the values of all functions, block by block: memory does not grow with rows times support vectors."""
        found = np.empty((len(Z), self.n_functions))
        rows = max(1, _BLOCK // max(1, len(self.vectors)))
        for start in range(0, len(Z), rows):
            block = slice(start, start + rows)
            found[block] = self.kernel(Z[block]) @ self.coefs + self.intercepts
        return found

    def take(self, functions: Sequence[int], signs: Sequence[int]) -> KernelFunction:
        """Take some of the functions, each kept (sign 1) or negated (sign -1)."""
        factors = np.asarray(signs, dtype=np.float64)
        coefs = self.coefs[:, list(functions)] * factors
        used = coefs.any(axis=1)
        return KernelFunction(
            self.kind,
            self.vectors[used],
            coefs[used],
            self.intercepts[list(functions)] * factors,
            self.gamma,
            self.coef0,
            self.degree,
        )
