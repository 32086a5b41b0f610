"""Prediction with numpy alone is GPy's own prediction."""

from __future__ import annotations

import subprocess
import sys

import GPy
import numpy as np
import pytest
from lutra_models.gp.kernels.covariance import matern52
from lutra_models.gp.surrogate.posterior import GaussianProcess
from lutra_models.gp.surrogate.transforms import Transform

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("seed", range(3))
def test_the_snapshot_predicts_what_gpy_predicts(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, q = rng.random((25, 4)), rng.random((40, 4))
    z = np.sin(5 * x[:, 0]) + 0.1 * rng.standard_normal(25)
    lengthscales = rng.uniform(0.3, 2.0, 4)
    kernel = GPy.kern.Matern52(4, variance=1.3, lengthscale=lengthscales, ARD=True)
    model = GPy.models.GPRegression(x, z[:, None], kernel, noise_var=0.01)
    ours = GaussianProcess(x, z, np.ones(25), matern52(lengthscales, 1.3), 0.01, Transform(False, 0.0, 1.0))
    mean, variance = ours.latent(q)
    gpy_mean, gpy_variance = model.predict(q, include_likelihood=False)
    np.testing.assert_allclose(mean, gpy_mean[:, 0], rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(variance, gpy_variance[:, 0], rtol=1e-6, atol=1e-9)


def test_a_row_left_out_is_predicted_as_without_it() -> None:
    rng = np.random.default_rng(0)
    x, z = rng.random((12, 3)), rng.standard_normal(12)
    plain = Transform(False, 0.0, 1.0)
    whole = GaussianProcess(x, z, np.ones(12), matern52(np.ones(3), 1.0), 0.1, plain)
    without = GaussianProcess(x[1:], z[1:], np.ones(11), matern52(np.ones(3), 1.0), 0.1, plain)
    mean, variance = without.latent(x[:1])
    out_mean, out_variance = whole.left_out()
    np.testing.assert_allclose(out_mean[0], mean[0], rtol=1e-5)
    np.testing.assert_allclose(out_variance[0], variance[0] + 0.1, rtol=1e-5)


def test_the_snapshot_module_does_not_load_gpy() -> None:
    code = (
        "import sys; from lutra_models.gp.fitted.snapshot import Snapshot; from lutra_models.gp import Snapshot as S; "
    )
    code += "assert S is Snapshot; sys.exit(any(m.split('.')[0] in ('GPy', 'sklearn', 'scipy') for m in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
