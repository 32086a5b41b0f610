from __future__ import annotations

import numpy as np
import pytest
from click import ClickException
from scipy.linalg import cho_factor, cho_solve

from benchmarks.tuning import ottertune, peers, race
from tests.support.service.small_task import small_task

pytestmark = pytest.mark.thorough


def test_a_peer_that_is_not_installed_is_named_with_the_way_to_get_it() -> None:
    with pytest.raises(ClickException, match=r"no-such-peer is not installed.*--group peers"):
        peers.version(["no-such-peer"])


def test_ottertunes_bound_has_the_gradient_that_differences_show() -> None:
    rng = np.random.default_rng(0)
    z, y, x = rng.standard_normal((12, 4)), rng.standard_normal(12), rng.standard_normal((3, 4))
    covariance = np.exp(-np.linalg.norm(z[:, None] - z[None], axis=2) / 2) + np.eye(12)
    lower = cho_factor(covariance, lower=True)
    alpha = cho_solve(lower, y)
    _, gradient = ottertune.lower_bound(x, z, lower, alpha)
    for j in range(4):
        step = np.zeros_like(x)
        step[:, j] = 1e-6
        above, below = (ottertune.lower_bound(x + s, z, lower, alpha)[0] for s in (step, -step))
        assert gradient[:, j] == pytest.approx((above - below) / 2e-6, abs=1e-6)


@pytest.mark.slow
def test_ottertune_as_it_was_runs_without_any_peers_packages() -> None:
    (contender,) = [c for c in peers.PEERS if c.name == "ottertune"]
    row = race.play(small_task(), contender, 0, 13)
    assert len(row["scores"]) == 13
    assert np.isfinite(row["scores"]).all()
