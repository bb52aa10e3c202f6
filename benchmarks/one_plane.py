"""Fit the same tables under several BLAS kernels, numbers of threads and orders of rows, and compare planes bit by bit.

``python benchmarks/one_plane.py`` starts a process for each kernel that OpenBLAS can run here; one that needs
instructions this processor lacks is passed over. Then it evaluates 72 gaps of `LPSVC` in fractions, at offsets of the
columns from 2^20 to 2^32, and says how many were too small.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import time
import warnings
from fractions import Fraction

import numpy as np

from clearmargin import LPSVC, LPSVCCV, AdviceSVC
from clearmargin.datasets import load_pima, load_wbc
from clearmargin.exceptions import ClearmarginWarning

KERNELS = ("Prescott", "Nehalem", "Sandybridge", "Haswell", "Zen", "SkylakeX")
RULES = "glucose >= 140 and bmi >= 30 => tested_positive\nglucose <= 110 => tested_negative"


def planes(order: int) -> dict[str, str]:
    """A digest of the plane of each estimator; `order` shuffles the rows where it must not matter."""
    warnings.simplefilter("ignore", ClearmarginWarning)
    found = {}
    rng = np.random.default_rng(order)
    for name, (X, y) in (
        ("wbc", load_wbc(return_X_y=True)),
        ("pima", load_pima(return_X_y=True)),
    ):
        rows = rng.permutation(len(y)) if order else np.arange(len(y))
        models = {f"LPSVC {nu:g}": LPSVC(nu).fit(X.iloc[rows], y.iloc[rows]) for nu in (0.0025, 1)}
        models["LPSVCCV"] = LPSVCCV(rule="1se", cv=3).fit(X, y)
        if name == "pima":
            models["AdviceSVC"] = AdviceSVC(RULES).fit(X.iloc[rows], y.iloc[rows])
        for label, model in models.items():
            bits = model.coef_.tobytes() + model.intercept_.tobytes()
            found[f"{name} {label}"] = hashlib.sha256(bits).hexdigest()[:12]
    return found


def compare() -> None:
    """Print which planes are the same everywhere."""
    seen: dict[str, set[str]] = {}
    for k, kernel in enumerate(KERNELS):
        environment = os.environ | {
            "OPENBLAS_CORETYPE": kernel,
            "OPENBLAS_NUM_THREADS": str(1 + k % 2),
        }
        call = [sys.executable, __file__, "planes", str(k)]
        answer = subprocess.run(call, env=environment, capture_output=True, text=True, check=False)
        print(f"{kernel}: {'ran' if answer.returncode == 0 else 'cannot run here'}")
        for line in answer.stdout.splitlines():
            name, digest = line.split("\t")
            seen.setdefault(name, set()).add(digest)
    for name, digests in seen.items():
        print(f"{name}: {len(digests)} plane{'s' if len(digests) > 1 else ''}")


def exact_objective(svm: LPSVC, X: np.ndarray, y: np.ndarray) -> Fraction:
    """The objective of a plane in fractions."""
    w = [Fraction(v) for v in svm.coef_[0].tolist()]
    total = sum((abs(v) for v in w), Fraction(0))
    for row, is_positive in zip(X.tolist(), y.tolist(), strict=True):
        f = sum(a * Fraction(v) for a, v in zip(w, row, strict=True)) + Fraction(svm.intercept_[0])
        total += Fraction(svm.nu) * max(Fraction(0), 1 - (f if is_positive else -f))
    return total


def check_gaps() -> None:
    """Print how many of 72 certified gaps are below the true ones."""
    warnings.simplefilter("ignore", ClearmarginWarning)
    start, wrong, wide = time.perf_counter(), 0, 0
    for exponent in (20, 22, 24, 26, 28, 30, 31, 32):
        for seed in range(9):
            rng = np.random.default_rng(seed)
            m, nu = int(rng.integers(20, 40)), (1.0, 100.0, 1000.0)[seed % 3]
            Z = rng.integers(-2000, 2000, size=(m, 2)) / 1024
            y = Z.sum(1) + 0.5 * rng.normal(size=m) > 0
            svm, near = LPSVC(nu).fit(Z + 2.0**exponent, y), LPSVC(nu).fit(Z, y)
            value = exact_objective(svm, Z + 2.0**exponent, y)
            true_gap = 1 - exact_objective(near, Z, y) / value
            wrong += true_gap > svm.gap_ * (1 + Fraction(1, 10**9)) + Fraction(1, 10**16)
            wide += svm.gap_ > svm.tol
    print(f"72 gaps: {wrong} too small, {wide} above tol, {time.perf_counter() - start:.1f} s")


if __name__ == "__main__":
    if sys.argv[1:2] == ["planes"]:
        for name, digest in planes(int(sys.argv[2])).items():
            print(f"{name}\t{digest}")
    else:
        compare()
        check_gaps()
