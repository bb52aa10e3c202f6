r"""The kernels, each in one class: its gradient, its models over boxes, and its values along axes.

Everything in this room that depends on the kernel is here; `KERNELS` lists the classes by the names that libsvm gives
to the kernels. The values themselves are in `KernelFunction.kernel` (`models/kernel_function.py`), because reading a
fitted machine needs them, too.

**How to add a kernel.** Write its values into `KernelFunction.kernel` and its name into `KernelKind`. A callable keeps
neither its support vectors nor its parameters where the reader in `models/kernel_machine.py` looks: teach the reader of
SVC to recognise it, to take the vectors from the training rows, and to give gamma and the like. Then write a class here
with the methods of `RBFKernel`, and put it into `KERNELS`. `gradients` may be
rough: what it leads to is proved afterwards. `expand` must hold for every real point of the box, rounding included:
it is all that a proof rests on. That goes for slopes, too: slope times rate, plus or minus the error of the rate,
must hold every partial derivative in the box (a kink within the box widens the error), since coordinates are fixed by
its sign. A kernel that is no function of one inner product gives its range alone.

**Models over boxes.** A box is centre + v, abs(v_j) <= h_j. Around its centre each is a function of one number,
u_i = w_i'v::

    growth(v) k(centre + v, s_i) = c0_i + c1_i u_i + c2_i u_i^2 + e_i,    -below_i <= e_i <= above_i,
    abs(u_i) <= r_i = sum_j abs(w_ij) h_j

so that the sum over the support vectors is again a quadratic, in which terms of either sign cancel before anything is
bounded (`bounds.py`). Where r is large the range of the kernel itself is the better model; each support vector takes
the one that errs less.

**Along an axis** through anchors a function is one of a single number t, cheap to evaluate at many t at once (`lines`):
a polynomial for kernels of an inner product; for RBF the factor of the axis times a factor that does not know t.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, comb, sqrt

import numpy as np

from clearmargin.exceptions import InvalidValueError
from clearmargin.models.kernel_function import KernelFunction, KernelKind
from clearmargin.rules.value import FloatArray, IntArray

# Eight times the relative error of one rounding, half the distance from 1 to the next float; see `bounds`.
SAFETY = 8.0 * 2.0**-53
# Steps of a grid along an axis: at least so many, at most so many, and for RBF so many for each 1 / sqrt(gamma).
_STEPS, _MOST_STEPS, _STEPS_PER_WIDTH = 64, 512, 4.0


@dataclass(frozen=True, slots=True, eq=False)
class Expansion:
    """Quadratic models of all kernels (s) over some boxes (B), and the range of the kernels."""

    slopes: FloatArray
    constant: FloatArray
    first: FloatArray
    second: FloatArray
    below: FloatArray
    above: FloatArray
    third: FloatArray
    third_first: FloatArray
    saved: FloatArray
    rate: FloatArray
    rate_error: FloatArray
    reach: FloatArray
    low: FloatArray
    high: FloatArray
    noise: FloatArray
    growth: FloatArray


def count_roundings(function: KernelFunction) -> float:
    """Count the roundings of a term in sums over support vectors and coordinates, and some of each kernel."""
    return len(function.vectors) + 2.0 * function.n_features + 16.0


class PolynomialKernel:
    r"""(gamma s'z + coef0)^degree."""

    def growth_rate(self, function: KernelFunction) -> float:
        """Give g of the factor growth(v) = exp(g abs(v)^2) that `expand` takes out: it takes none."""
        return 0.0

    def steps(self, function: KernelFunction, width: float) -> int:
        """Choose how many steps a grid over some width has, so that hardly any change of sign is missed."""
        return _STEPS

    def constants(self, function: KernelFunction) -> tuple[float, float, int]:
        """Give gamma, coef0 and the degree."""
        return function.gamma, function.coef0, function.degree

    def gradients(self, function: KernelFunction, k: int, Z: FloatArray) -> FloatArray:
        """Give the gradients of one function at some points."""
        gamma, coef0, degree = self.constants(function)
        inner = gamma * (Z @ function.vectors.T) + coef0
        rates = degree * inner ** max(degree - 1, 0)
        return np.asarray((gamma * rates * function.coefs[:, k]) @ function.vectors)

    def expand(self, function: KernelFunction, centre: FloatArray, half: FloatArray) -> Expansion:
        """Expand the kernel around the centres of boxes."""
        gamma, coef0, degree = self.constants(function)
        inner = _Inner.of(function.vectors * gamma, coef0, centre, half)
        often = count_roundings(function) + (function.n_features + 16.0) * (degree + 1.0)
        size = inner.size + inner.reach
        rate_noise = often * degree * size ** max(degree - 1, 0)
        return inner.model(
            _expand_power(inner.y, inner.reach, degree), often * size**degree, rate_noise
        )

    def lines(self, function: KernelFunction, anchors: FloatArray) -> PolynomialLines:
        """Prepare to evaluate the functions along axes through some anchors."""
        return PolynomialLines(function, anchors, self.constants(function))


class LinearKernel(PolynomialKernel):
    """s'z: the polynomial kernel of degree 1 with gamma = 1 and coef0 = 0."""

    def constants(self, function: KernelFunction) -> tuple[float, float, int]:
        """Give gamma, coef0 and the degree."""
        return 1.0, 0.0, 1

    def gradients(self, function: KernelFunction, k: int, Z: FloatArray) -> FloatArray:
        """Give the gradients of one function at some points."""
        return np.asarray(np.tile(function.coefs[:, k] @ function.vectors, (len(Z), 1)))


@dataclass(frozen=True, slots=True, eq=False)
class _Inner:
    """The argument y_i + u_i of kernels of an inner product, over boxes (B) and support vectors (s)."""

    slopes: FloatArray
    y: FloatArray
    reach: FloatArray
    # What y was summed from: its rounding errors are relative to this.
    size: FloatArray

    @classmethod
    def of(cls, slopes: FloatArray, shift: float, centre: FloatArray, half: FloatArray) -> _Inner:
        y = centre @ slopes.T + shift
        reach = half @ np.abs(slopes).T
        return cls(slopes, y, reach, np.abs(centre) @ np.abs(slopes).T + abs(shift))

    def model(
        self, parts: tuple[FloatArray, ...], noise: FloatArray, rate_noise: FloatArray
    ) -> Expansion:
        """Return the expansion; where it errs more than the range of the kernel is wide, the middle of the range."""
        reach = self.reach
        constant, first, second, third, error, rate, rate_error, low, high = parts
        rate_error += SAFETY * rate_noise
        flat = 2.0 * error > high - low
        spread = np.where(flat, (high - low) / 2.0, error)
        return Expansion(
            self.slopes[None],
            np.where(flat, (low + high) / 2.0, constant),
            np.where(flat, 0.0, first),
            np.where(flat, 0.0, second),
            spread,
            spread,
            np.where(flat, 0.0, third),
            np.where(flat, 0.0, first - 0.75 * third * reach**2),
            np.where(flat, 0.0, np.abs(third) * reach**3 / 4.0),
            rate,
            # The derivative's model has the same term in u; where that is dropped, it is an error.
            np.where(flat, rate_error + 2.0 * np.abs(second) * reach, rate_error),
            reach,
            low,
            high,
            noise,
            np.zeros(len(reach)),
        )


def _expand_power(y: FloatArray, r: FloatArray, degree: int) -> tuple[FloatArray, ...]:
    """Return the model of (y + u)^degree, its error, that of the derivative, and the range."""
    constant, first, second, third, error, rate, rate_error = np.zeros((7, *y.shape))
    for k in range(degree + 1):
        term = comb(degree, k) * y ** (degree - k)
        size = np.abs(term) * r**k
        if k == 0:
            constant += term
        elif k == 1:
            first += term
            rate += term
        elif k == 2:
            second += term
        elif k == 3:
            third += term
            first += 0.75 * term * r**2
            error += size / 4.0
            # The derivative 3 u^2 lies in [0, 3 r^2].
            rate += 1.5 * term * r**2
            rate_error += 1.5 * np.abs(term) * r**2
        elif k == 4:
            second += term * r**2
            constant -= term * r**4 / 8.0
            error += size / 8.0
            # 4 u^3 - 2 r^2 u, whose largest value on [-r, r] is at the end.
            rate_error += 2.0 * np.abs(term) * r**3
        else:
            constant += 0.0 if k % 2 else term * r**k / 2.0
            error += size / (1.0 if k % 2 else 2.0)
            rate_error += k * np.abs(term) * r ** (k - 1)
    ends = np.stack([(y - r) ** degree, (y + r) ** degree])
    straddles = (np.abs(y) <= r) & (degree > 0 and degree % 2 == 0)
    low = np.where(straddles, 0.0, ends.min(axis=0))
    return constant, first, second, third, error, rate, rate_error, low, ends.max(axis=0)


class PolynomialLines:
    """Polynomials in the distance v from the anchor: the sum over k of C(p, k) (s'z)^(p - k) s_l^k v^k."""

    def __init__(
        self,
        function: KernelFunction,
        anchors: FloatArray,
        constants: tuple[float, float, int],
    ):
        self.function, self.anchors = function, anchors
        gamma, coef0, self.degree = constants
        inner = gamma * (anchors @ function.vectors.T) + coef0
        self.slopes = gamma * function.vectors
        self.powers = [
            comb(self.degree, k) * inner ** (self.degree - k) for k in range(self.degree + 1)
        ]

    def turn_to(self, axis: int) -> None:
        """Take the lines along an axis from now on."""
        self.start, slope = self.anchors[:, axis], self.slopes[:, axis, None]
        self.terms = [
            power @ (slope**k * self.function.coefs) for k, power in enumerate(self.powers)
        ]
        self.terms[0] = self.terms[0] + self.function.intercepts

    def on_grid(self, grid: FloatArray) -> FloatArray:
        """Evaluate all functions on all lines at the same places: anchors, places, functions."""
        v = (grid - self.start[:, None])[:, :, None]
        value = np.zeros((*v.shape[:2], self.function.n_functions))
        for term in reversed(self.terms):
            value = value * v + term[:, None]
        return value

    def at(self, rows: IntArray, t: FloatArray) -> FloatArray:
        """Evaluate all functions on some lines, each at a place of its own."""
        v = (t - self.start[rows])[:, None]
        value = np.zeros((len(rows), self.function.n_functions))
        for term in reversed(self.terms):
            value = value * v + term[rows]
        return value


# Below this reach the model is that of a slightly larger box; its error r^3 / 24 is less than one rounding.
_MIN_REACH = 1e-5
# exp(20) times the smallest normal number is still nothing; beyond, the range of the kernel is the model.
_LARGEST_REACH = 20.0
# From here on boxes are so large that the exact range of distances is worth its price.
_FAR = 2.0


class RBFKernel:
    r"""exp(-gamma abs(z - s)^2)."""

    def growth_rate(self, function: KernelFunction) -> float:
        """Give gamma."""
        if not function.gamma >= 0.0:
            raise InvalidValueError(
                f"gamma of the kernel rbf is {function.gamma}; it must not be negative"
            )
        return function.gamma

    def gradients(self, function: KernelFunction, k: int, Z: FloatArray) -> FloatArray:
        """Give the gradients of one function at some points."""
        weights = function.kernel(Z) * function.coefs[:, k]
        pulls = weights @ function.vectors - weights.sum(axis=1)[:, None] * Z
        return np.asarray(2.0 * function.gamma * pulls)

    def expand(self, function: KernelFunction, centre: FloatArray, half: FloatArray) -> Expansion:
        """Expand the kernel around the centres of boxes."""
        gamma = function.gamma
        away = centre[:, None, :] - function.vectors
        squares = np.einsum("bsn,bsn->bs", away, away)
        slopes = -2.0 * gamma * away
        size = np.abs(away)
        radius = (size @ half[:, :, None])[:, :, 0]
        reach = np.clip(2.0 * gamma * radius, _MIN_REACH, _LARGEST_REACH)
        growth = gamma * (half * half).sum(axis=1)
        # Leaves out abs(v)^2 >= 0 only.
        nearest = np.maximum(squares - 2.0 * radius, 0.0)
        far = (reach > _FAR).any(axis=1)
        if bool(far.any()):
            short = np.maximum(size[far] - half[far, None, :], 0.0)
            nearest[far] = np.einsum("bsn,bsn->bs", short, short)
        farthest = squares + 2.0 * radius + (half * half).sum(axis=1)[:, None]
        low, high = np.exp(-gamma * farthest), np.exp(-gamma * nearest)
        scale = np.exp(-gamma * squares)
        first, second, under, over = _exponential(reach)
        third_first, third, odd = _sinh_cubic(reach)
        rate, rate_error = _exponential_rate(reach, 2.0 * second)
        # The other model: a constant in the middle of the range.
        top = high * np.exp(growth)[:, None]
        flat = scale * (under + over) > top - low
        flat |= 2.0 * gamma * radius >= _LARGEST_REACH
        # Far from 0 the series of the cubic model is no better.
        cubed = ~flat & (odd < over)
        spread = (top - low) / 2.0
        largest = np.where(flat, top, scale * (1.0 + first * reach + second * reach**2))
        # The exponent x has n + 4 roundings, each of which moves exp(-x) by x units.
        exponent = gamma * np.where(flat, nearest, squares)
        noise = count_roundings(function) + (function.n_features + 16.0) * (1.0 + exponent)
        noise *= np.maximum(largest, high)
        return Expansion(
            slopes,
            np.where(flat, (top + low) / 2.0, scale),
            np.where(flat, 0.0, scale * first),
            np.where(flat, 0.0, scale * second),
            np.where(flat, spread, scale * under),
            np.where(flat, spread, scale * over),
            np.where(cubed, scale * third, 0.0),
            np.where(flat, 0.0, scale * np.where(cubed, third_first, first)),
            np.where(cubed, scale * (over - odd), 0.0),
            # exp is its own derivative.
            np.where(flat, (top + low) / 2.0, scale * rate),
            np.where(flat, spread, scale * rate_error) + SAFETY * noise,
            reach,
            low,
            high,
            noise,
            growth,
        )

    def lines(self, function: KernelFunction, anchors: FloatArray) -> RBFLines:
        """Prepare to evaluate the functions along axes through some anchors."""
        return RBFLines(function, anchors)

    def steps(self, function: KernelFunction, width: float) -> int:
        """Choose how many steps a grid over some width has, so that hardly any change of sign is missed."""
        return min(max(_STEPS, ceil(_STEPS_PER_WIDTH * width * sqrt(function.gamma))), _MOST_STEPS)


class RBFLines:
    """Kernels as a factor of the axis, the same for all anchors, times one of all other axes."""

    def __init__(self, function: KernelFunction, anchors: FloatArray):
        self.function = function
        self.anchors = anchors
        centre = function.vectors.mean(axis=0)
        Z, S = anchors - centre, function.vectors - centre
        self.squares = (Z**2).sum(axis=1)[:, None] + (S**2).sum(axis=1) - 2.0 * (Z @ S.T)

    def turn_to(self, axis: int) -> None:
        """Take the lines along an axis from now on."""
        self.sides = self.function.vectors[:, axis]
        others = self.squares - (self.anchors[:, axis, None] - self.sides) ** 2
        self.others = np.exp(-self.function.gamma * np.maximum(others, 0.0))

    def on_grid(self, grid: FloatArray) -> FloatArray:
        """Evaluate all functions on all lines at the same places: anchors, places, functions."""
        f = self.function
        own = np.exp(-f.gamma * (self.sides[:, None] - grid) ** 2)
        parts = [self.others @ (own * coefs[:, None]) for coefs in f.coefs.T]
        return np.asarray(np.stack(parts, axis=2) + f.intercepts)

    def at(self, rows: IntArray, t: FloatArray) -> FloatArray:
        """Evaluate all functions on some lines, each at a place of its own."""
        f = self.function
        own = np.exp(-f.gamma * (t[:, None] - self.sides) ** 2)
        return np.asarray((self.others[rows] * own) @ f.coefs + f.intercepts)


def _exponential(r: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Give c1 and c2 of the model 1 + c1 u + c2 u^2 of exp(u), and how far below and above exp lies."""
    q = r * r / 4.0
    # 2 I_1(r) / r by its series; any value near it will do.
    c1 = 1.0 + q / 2.0 * (1.0 + q / 6.0 * (1.0 + q / 12.0 * (1.0 + q / 20.0 * (1.0 + q / 30.0))))
    # sinh(u) - c1 u is lowest where cosh(u) = c1.
    u = np.minimum(np.arccosh(c1), r)
    odd = c1 * u - np.sinh(u) + np.abs(np.cosh(u) - c1) * r
    odd = np.maximum(odd, np.sinh(r) - c1 * r)
    c2 = 2.0 * (np.sinh(r / 2.0) / r) ** 2
    # The secant and the curve are parallel near w = r^2 / 2 + r^4 / 240, by the series of both.
    w = np.minimum(r * r * (0.5 + r * r / 240.0), r * r)
    root = np.sqrt(w)
    even = 1.0 + c2 * w - np.cosh(root) + np.abs(c2 - np.sinh(root) / (2.0 * root)) * r * r
    return c1, c2, odd + np.maximum(even, 0.0), odd


def _sinh_cubic(r: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Give the coefficients of u and u^3 in a model of sinh(u), and its error."""
    # With x = u / r: x^5 = 5/4 x^3 - 5/16 x up to 1/16, and x^7 = 21/16 x^3 - 7/16 x up to 1/8.
    r2 = r * r
    c1 = 1.0 - r2**2 / 384.0 - r2**3 / 11520.0
    c3 = 1.0 / 6.0 + r2 / 96.0 + r2**2 / 3840.0
    # The terms from u^9 on grow with u.
    series = r * (1.0 + r2 / 6.0 * (1.0 + r2 / 20.0 * (1.0 + r2 / 42.0)))
    rest = np.maximum(np.sinh(r) - series, 0.0)
    return c1, c3, r * r2**2 / 1920.0 + r * r2**3 / 40320.0 + rest


def _exponential_rate(r: FloatArray, slope: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the middle of exp(u) - slope u on [-r, r], and how far it goes from there; the difference is convex."""
    most = np.maximum(np.exp(r) - slope * r, np.exp(-r) + slope * r)
    # c2 >= 1/2, so the lowest place log(slope) >= 0; if beyond r, lower still is lower.
    least = slope * (1.0 - np.log(slope))
    return (most + least) / 2.0, (most - least) / 2.0


KERNELS: dict[KernelKind, PolynomialKernel | RBFKernel] = {
    "linear": LinearKernel(),
    "poly": PolynomialKernel(),
    "rbf": RBFKernel(),
}
