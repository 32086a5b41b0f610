"""Kernels by name and of one's own, additive models and forests: all serve from plain numbers."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import GPy
import numpy as np
import pytest
import toygp
from lutra_models import extensions
from lutra_models.errors import BrokenExtension, InvalidOptions
from lutra_models.gp import Options, Snapshot, fit
from lutra_models.gp.conformance import OPTIONS, KernelConformance, kernel_faults, readings
from lutra_models.gp.documents import checked
from lutra_models.gp.fitted.predictor import Predictor
from lutra_models.gp.kernels.covariance import Forest, Tree, covariance_from_dict
from lutra_models.gp.kernels.shapes import KERNELS, MATERN32, MATERN52, RBF, Mixture, Radial, kernel
from lutra_models.gp.space.encoding import Array
from lutra_models.gp.surrogate.gpy_fit import GPY
from lutra_models.gp.surrogate.numpy_fit import NUMPY

from tests.unit.gp.helpers import DEFAULT, history

pytestmark = pytest.mark.slow

OWN = Mixture.named("two_ranges", (0.7, 0.3), (1.0, 9.0))
QUICK = Options().using(surrogate="numpy")


class TestEveryKernel(KernelConformance):
    @pytest.fixture(autouse=True, params=(*KERNELS, OWN), ids=lambda k: k.name)
    def _each(self, request: pytest.FixtureRequest) -> None:
        self.one = request.param


@pytest.mark.parametrize(
    ("ours", "theirs"), [(MATERN52, GPy.kern.Matern52), (MATERN32, GPy.kern.Matern32), (RBF, GPy.kern.RBF)]
)
def test_a_named_kernel_is_gpys(ours: Radial, theirs: type) -> None:
    x, scales = np.random.default_rng(0).random((9, 3)), np.array([0.3, 1.0, 2.0])
    expected = theirs(3, variance=1.0, lengthscale=scales, ARD=True).K(x)
    np.testing.assert_allclose(ours.correlations(x / scales, x / scales), expected, atol=1e-9)


@pytest.mark.parametrize("name", ["matern32", "rbf", "additive"])
def test_gpy_fits_what_numpy_fits_with_any_kernel(name: str) -> None:
    options = replace(OPTIONS, kernel=name)
    one, other = (s.fit(readings(), options.broad, options) for s in (NUMPY, GPY))
    x = np.random.default_rng(1).random((20, 3))
    np.testing.assert_allclose(one.latent(x)[0], other.latent(x)[0], atol=0.05)


@pytest.mark.parametrize("name", ["matern32", "rbf", "additive", "toygp_ranges", "toygp_forest"])
def test_a_stored_model_predicts_from_numbers_alone(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    option = "surrogate.name" if name == "toygp_forest" else "surrogate.kernel"
    model = fit(history(9), rng=np.random.default_rng(1), options=QUICK.varied(**{option: name}))
    stored = json.loads(json.dumps(model.snapshot.to_dict()))
    monkeypatch.setattr(extensions, "entry_points", lambda **_: ())
    again = Snapshot.from_dict(stored)
    assert again.predict([DEFAULT]) == model.predict([DEFAULT])
    gp = again.posteriors["qps"]
    alone = np.array([Predictor(gp).latent(row) for row in gp.x])
    np.testing.assert_allclose(alone.T, gp.latent(gp.x), atol=1e-6)


def test_parts_are_passed_as_objects_and_kept_by_name() -> None:
    class Trees(toygp.TheirForest):
        name = "forest_in_a_notebook"

    class Mean:
        name = "mean"

        def score(self, mean: Array, deviation: Array, best: float) -> Array:
            return mean

    model = fit(history(9), rng=1, surrogate=Trees(), kernel=OWN, acquisition=Mean())
    assert isinstance(model.snapshot.posteriors["qps"].covariance, Forest)
    assert model.recommend().predictions
    kept = model.options.to_dict()
    named = kept["surrogate"]["name"], kept["surrogate"]["kernel"], kept["search"]["acquisition"]
    assert named == ("forest_in_a_notebook", "two_ranges", "mean")
    with pytest.raises(InvalidOptions, match="no kernel 'two_ranges'"):
        checked(kept)  # only an installed package brings it to a service


@pytest.mark.parametrize("part", [object(), toygp.TheirForest, 3])
def test_a_part_that_is_none_is_refused(part: Any) -> None:
    with pytest.raises(TypeError, match=r"surrogate: expected a name or an object with fit\(…\)"):
        fit(history(1), rng=1, surrogate=part)


def test_two_kernels_of_one_name_are_not_mistaken_for_each_other() -> None:
    past, asked = history(12, seed=4), history(3)
    wiggly = Mixture.named("mine", (0.5, 0.5), (1.0, 90.0))
    smooth = Mixture.named("mine", (1.0,), (0.5,))
    found = [fit(asked, [past], rng=1, options=QUICK.using(kernel=k)).predict([DEFAULT]) for k in (wiggly, smooth)]
    alone = fit(asked, [past], rng=1, options=QUICK.using(kernel=smooth)).predict([DEFAULT])
    assert found[1] == alone != found[0]


def test_a_name_that_nobody_knows_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(InvalidOptions, match=r"surrogate\.kernel: no kernel 'matern5' \(did you mean matern52\?\)"):
        checked({"surrogate": {"kernel": "matern5"}})
    with pytest.raises(InvalidOptions, match=r"no option search\.aquisition \(did you mean acquisition\?\)"):
        checked({"search": {"aquisition": "log_pi"}})


def test_a_kernel_that_is_none_is_told_in_words() -> None:
    flat = Radial("flat", lambda s: (np.cos(s), 0.0 * s))
    found = kernel_faults(flat)
    assert any("it increases with distance" in line for line in found)
    assert any("feature 0:" in line for line in found)
    assert any("no kernel of the kind 'flat'" in line for line in found)
    for weights, rates in (((0.5, 0.6), (1.0, 2.0)), ((1.0,), (-1.0,)), ((1.0,), ())):
        with pytest.raises(ValueError, match="kernel 'mine'"):
            Mixture.named("mine", weights, rates)


def test_trees_that_are_none_are_refused() -> None:
    none, leaf = np.array([-1]), np.array([0.0])
    good = Forest([Tree(none, leaf, none, none)], 2, 1.0)
    assert good(np.zeros((1, 2)), np.ones((1, 2)))[0, 0] == 1.0
    for changed, said in (({"feature": [2]}, "-1 to 1"), ({"feature": [0], "left": [0]}, "after their parent")):
        tree = {**good.to_dict()["trees"][0], **changed}
        with pytest.raises(ValueError, match=said):
            covariance_from_dict({**good.to_dict(), "trees": [tree]})
    with pytest.raises(ValueError, match="no covariance of the kind 'code'"):
        covariance_from_dict({"kind": "code"})


def test_a_package_that_cannot_be_imported_is_told_with_the_ways_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(toygp, "TWO_RANGES")
    extensions.fresh()
    with pytest.raises(BrokenExtension, match="restart this process where it was installed meanwhile"):
        kernel("toygp_ranges")
    monkeypatch.undo()
    extensions.fresh()
    assert kernel("toygp_ranges") is toygp.TWO_RANGES
