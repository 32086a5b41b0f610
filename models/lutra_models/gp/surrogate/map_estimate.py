"""The mode of a Gaussian process's hyperparameters, found with numpy alone, for any kernel.

Shapes: n distinct configurations, d features; a point is (d + 2,): the logarithms of the length-scales, of the kernel's
variance and of the noise of one reading.

GPy's own optimiser spends about a millisecond per step on bookkeeping; the same posterior in plain numpy takes a tenth
of that at the sizes of tuning sessions. GPy starts where this ends and refines the result. Gradients: Rasmussen &
Williams, section 5.4.1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack
from scipy.optimize import minimize

from lutra_models.gp.kernels.covariance import Scaled
from lutra_models.gp.kernels.shapes import Kernel, kernel
from lutra_models.gp.options import Belief, Surrogates
from lutra_models.gp.space.encoding import Array
from lutra_models.gp.surrogate.dataset import Readings
from lutra_models.gp.surrogate.posterior import JITTER

_HOPELESS = 1e10


@dataclass(frozen=True)
class LogNormal:
    """A prior on a positive number: its logarithm's mean and deviation."""

    mu: float
    sigma: float


@dataclass(frozen=True, eq=False)
class Problem:
    """Rows, kernel and priors. `scatter` and `freedom` describe the noise by repeated readings."""

    kernel: Kernel
    x: Array
    z: Array
    share: Array
    """(n,) each row's share of one reading's noise."""
    lengthscale: LogNormal
    variance: LogNormal
    noise: LogNormal
    trend: Array
    """(n, n) covariance of what other workloads contribute, fixed."""
    scatter: float = 0.0
    freedom: int = 0

    @classmethod
    def of(cls, readings: Readings, belief: Belief, options: Surrogates) -> Problem:
        d = readings.x.shape[1]
        return cls(
            kernel(options.kernel),
            readings.x,
            readings.z - readings.trends @ readings.slopes,
            1.0 / readings.repeats,
            LogNormal(math.sqrt(2.0) + 0.5 * math.log(d) + belief.shift, belief.sigma),
            LogNormal(0.0, options.variance_sigma),
            LogNormal(2.0 * math.log(readings.noise_guess), options.noise_sigma),
            (readings.trends * readings.doubts**2) @ readings.trends.T,
            readings.scatter,
            readings.freedom,
        )


def find_mode(problem: Problem, steps: int) -> Array:
    """The point (d + 2,) of the highest posterior density in logarithms that `steps` steps of L-BFGS find."""
    return highest(problem, steps)[0]


def covariance_at(problem: Problem, point: Array) -> tuple[Scaled, float]:
    """The covariance and the noise's variance at the point (d + 2,)."""
    found, d = np.exp(point), problem.x.shape[1]
    return Scaled(problem.kernel, found[:d], float(found[d])), float(found[d + 1])


def highest(problem: Problem, steps: int) -> tuple[Array, float]:
    """As `find_mode`, and the logarithm of the density there, less the part that does not depend on the trends."""
    d = problem.x.shape[1]
    middle = np.array([problem.lengthscale.mu] * d + [problem.variance.mu, problem.noise.mu])
    width = np.array([problem.lengthscale.sigma] * d + [problem.variance.sigma, problem.noise.sigma])
    squares = squares_of(problem.x)

    def loss(point: Array) -> tuple[float, Array]:
        value, slope = _negative_log_likelihood(problem, squares, point)
        off = (point - middle) / width
        noise = math.exp(point[-1])
        value += 0.5 * float(off @ off) + 0.5 * problem.freedom * point[-1] + 0.5 * problem.scatter / noise
        slope = slope + off / width
        slope[-1] += 0.5 * problem.freedom - 0.5 * problem.scatter / noise
        return value, slope

    start = middle - np.array([math.log(2.0)] * d + [0.0, 0.0])
    bounds = [(-3.0, 7.0)] * d + [(-6.0, 5.0), (-14.0, 2.5)]
    start = np.clip(start, [b[0] for b in bounds], [b[1] for b in bounds])
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": steps})
    return np.asarray(found.x), -float(found.fun)


def squares_of(x: Array) -> Array:
    """(d, n²) each feature's squared differences between the rows (n, d)."""
    return np.asarray(((x.T[:, :, None] - x.T[:, None, :]) ** 2).reshape(x.shape[1], -1))


def _negative_log_likelihood(problem: Problem, squares: Array, point: Array) -> tuple[float, Array]:
    n, d = problem.x.shape
    shrink, variance, noise = np.exp(-2.0 * point[:d]), math.exp(point[d]), math.exp(point[d + 1])
    correlations, by_scale = problem.kernel.terms(squares, shrink)
    k = variance * correlations.reshape(n, n)
    lower, failed = lapack.dpotrf(k + problem.trend + np.diag(noise * problem.share + JITTER), lower=1, clean=1)
    if failed:
        return _HOPELESS, np.zeros(d + 2)
    weights, _ = lapack.dpotrs(lower, problem.z, lower=1)
    inverse, _ = lapack.dpotri(lower, lower=1)
    inverse = np.tril(inverse) + np.tril(inverse, -1).T
    value = 0.5 * float(problem.z @ weights) + float(np.sum(np.log(np.diag(lower))))
    outer = 0.5 * (np.outer(weights, weights) - inverse)
    scales = variance * by_scale(outer.ravel())
    rest = [float(np.sum(outer * k)), noise * float(np.sum(np.diag(outer) * problem.share))]
    return value, -np.concatenate([scales, rest])
