"""Predictions whose bits depend only on the model's numbers and the row asked about.

The last bits of a matrix product change with the number of its rows, and with the threads that BLAS has in a process. A
recommendation's prediction and a later prediction of the same settings, in another process, have to be equal. So both
use this module: one row at a time, in sums without BLAS. Shapes: n distinct configurations, d features, p trends.
"""

from __future__ import annotations

import numpy as np

from lutra_models.gp.space.encoding import Array
from lutra_models.gp.surrogate.posterior import JITTER, GaussianProcess


class Predictor:
    """One target's posterior, asked one row at a time."""

    def __init__(self, gp: GaussianProcess) -> None:
        self.gp = gp
        self._places = gp.covariance.placed(gp.x[:, : gp.d])
        self._trends = gp.x[:, gp.d :] * gp.doubts**2 if len(gp.doubts) else gp.x[:, gp.d :]
        k = np.array([self._covariances(row) for row in gp.x])
        k[np.diag_indices(len(k))] += gp.noise * gp.share + JITTER
        self._factor = _inverse(_cholesky(k))
        off = gp.z - np.array([self._prior_mean(row) for row in gp.x])
        self._weights = np.einsum("ji,j->i", self._factor, np.einsum("ij,j->i", self._factor, off))

    def latent(self, row: Array) -> tuple[float, float]:
        """Mean and variance of the noiseless target at (d + p,), in standard units."""
        k = self._covariances(row)
        half = np.einsum("ij,j->i", self._factor, k)
        prior = self.gp.variance + float(np.sum((row[self.gp.d :] * self.gp.doubts) ** 2))
        mean = self._prior_mean(row) + float(np.sum(k * self._weights))
        return mean, max(prior - float(np.sum(half * half)), 1e-12)

    def left_out(self) -> tuple[Array, Array]:
        """As `GaussianProcess.left_out`."""
        precision = np.sum(self._factor * self._factor, axis=0)
        return (self.gp.z - self._weights / precision)[: self.gp.read], (1.0 / precision)[: self.gp.read]

    def _prior_mean(self, row: Array) -> float:
        return float(np.sum(row[self.gp.d :] * self.gp.slopes))

    def _covariances(self, row: Array) -> Array:
        """(n,) of the target at the row (d + p,) with the rows measured."""
        place = self.gp.covariance.placed(row[None, : self.gp.d])
        k = self.gp.covariance.row(place, self._places)
        return np.asarray(k + np.sum(self._trends * row[self.gp.d :], axis=1))


def _cholesky(k: Array) -> Array:
    """(n, n) the lower factor. Raises LinAlgError if `k` is not positive definite."""
    lower = np.zeros_like(k)
    for j in range(len(k)):
        column = k[j:, j] - np.einsum("ij,j->i", lower[j:, :j], lower[j, :j])
        if not column[0] > 0:
            raise np.linalg.LinAlgError(f"the covariance of {len(k)} rows is not positive definite")
        lower[j:, j] = column / np.sqrt(column[0])
    return lower


def _inverse(lower: Array) -> Array:
    """(n, n) of a lower triangular matrix."""
    out = np.zeros_like(lower)
    for j in range(len(lower)):
        out[j, :j] = -np.einsum("i,ij->j", lower[j, :j], out[:j, :j]) / lower[j, j]
        out[j, j] = 1.0 / lower[j, j]
    return out
