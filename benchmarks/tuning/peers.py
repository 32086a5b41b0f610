"""The peers, each with its own defaults for noisy, mixed spaces. Their packages are imported when one is raced.

None of them has a notion of a configuration that does not start: they are told a bad value instead (see `Contender`).
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from functools import partial
from importlib import import_module, metadata
from typing import Any

import click
import numpy as np
from lutra_models import Choice, Knob
from scipy.stats import qmc

from benchmarks.tuning import cube
from benchmarks.tuning.contenders import Contender, Problem
from benchmarks.tuning.ottertune import OtterTune
from benchmarks.tuning.warm_tasks import OBJECTIVE

FIRST = 10
"""Configurations before a peer's model takes over, the default included where it learns the default."""


def version(packages: Sequence[str]) -> str:
    """The packages with their versions. Raises ClickException, with the way out, where one is not installed."""
    try:
        return ", ".join(f"{p} {metadata.version(p)}" for p in packages)
    except metadata.PackageNotFoundError as missing:
        raise click.ClickException(
            f"{missing.name} is not installed: the peers are an optional group of packages. "
            "Install them with `uv pip install --group peers`, best into an environment of their own"
        ) from None


class Smac:
    """SMAC3's facade for hyperparameters: a random forest and expected improvement."""

    def __init__(self, task: Problem, seed: int, budget: int) -> None:
        self._task = task
        self._space = _configspace(task, seed)
        self._folder = tempfile.TemporaryDirectory(prefix="lutra-bench-")
        self._search = _smac(self._space, seed, budget, FIRST - 1, self._folder)
        self._asked: Any = None

    def ask(self) -> Mapping[str, Any]:
        self._asked = self._search.ask()
        return dict(self._asked.config)

    def tell(self, configuration: Mapping[str, Any], metrics: Mapping[str, float] | None) -> None:
        history = import_module("smac.runhistory.dataclasses")
        asked = self._asked or history.TrialInfo(config=self._space.get_default_configuration(), seed=0)
        self._search.tell(asked, history.TrialValue(cost=_loss(self._task, metrics), time=0.1))


class LlamaTune:
    """LlamaTune: SMAC over a random projection (HeSBO) of 16 axes of 10,000 steps each; Kanellis et al., VLDB 2022.

    Its handling of special values has no use here: the tables mark none.
    """

    axes, steps = 16, 10_000

    def __init__(self, task: Problem, seed: int, budget: int) -> None:
        config_space = import_module("ConfigSpace")
        rng, k = np.random.default_rng(seed), len(task.space)
        axes = min(self.axes, k)
        self._task = task
        self._axis, self._sign = rng.integers(axes, size=k), rng.choice([-1, 1], size=k)
        space = config_space.ConfigurationSpace(seed=seed)
        for axis in range(axes):
            space.add(config_space.Integer(f"z{axis}", (0, self.steps - 1)))
        self._folder = tempfile.TemporaryDirectory(prefix="lutra-bench-")
        self._search = _smac(space, seed, budget, FIRST, self._folder)
        self._asked: Any = None

    def ask(self) -> Mapping[str, Any]:
        self._asked = self._search.ask()
        low = dict(self._asked.config)
        z = np.array([low[f"z{axis}"] for axis in range(len(low))]) / (self.steps - 1) * 2 - 1
        knobs = self._task.space.knobs
        return cube.configurations(knobs, cube.from_unit(knobs, (self._sign * z[self._axis] + 1)[None] / 2))[0]

    def tell(self, configuration: Mapping[str, Any], metrics: Mapping[str, float] | None) -> None:
        history = import_module("smac.runhistory.dataclasses")
        self._search.tell(self._asked, history.TrialValue(cost=_loss(self._task, metrics), time=0.1))


class Tpe:
    """Optuna's multivariate TPE."""

    def __init__(self, task: Problem, seed: int, _budget: int) -> None:
        optuna = import_module("optuna")
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        sampler = optuna.samplers.TPESampler(seed=seed, n_startup_trials=FIRST, multivariate=True)
        self._task, self._study, self._trial = task, optuna.create_study(sampler=sampler), None

    def ask(self) -> Mapping[str, Any]:
        self._trial = self._study.ask()
        return {k.name: _suggested(self._trial, k) for k in self._task.space}

    def tell(self, configuration: Mapping[str, Any], metrics: Mapping[str, float] | None) -> None:
        if self._trial is None:
            self._study.enqueue_trial(dict(configuration))
            self.ask()
        self._study.tell(self._trial, _loss(self._task, metrics))


class BoTorch:
    """BoTorch's defaults: a single-task GP and qLogNEI; choices of three and more are one-hot, the largest counts."""

    def __init__(self, task: Problem, seed: int, _budget: int) -> None:
        torch = import_module("torch")
        torch.set_num_threads(1)
        torch.manual_seed(seed)
        self._task = task
        self._widths = [_width(k) for k in task.space]
        self._first = qmc.Sobol(sum(self._widths), rng=np.random.default_rng(seed)).random(16)
        self._points: list[np.ndarray] = []
        self._gains: list[float] = []

    def ask(self) -> Mapping[str, Any]:
        told = len(self._points)
        return self._decoded(self._first[told] if told < FIRST else self._best())

    def tell(self, configuration: Mapping[str, Any], metrics: Mapping[str, float] | None) -> None:
        self._points.append(self._encoded(configuration))
        self._gains.append(-_loss(self._task, metrics))

    def _best(self) -> np.ndarray:
        import torch
        from botorch.acquisition.logei import qLogNoisyExpectedImprovement
        from botorch.fit import fit_gpytorch_mll
        from botorch.models import SingleTaskGP
        from botorch.models.transforms import Standardize
        from botorch.optim import optimize_acqf
        from gpytorch.mlls import ExactMarginalLogLikelihood

        x, y = torch.tensor(np.array(self._points)), torch.tensor(self._gains).double()[:, None]
        model = SingleTaskGP(x, y, outcome_transform=Standardize(1))
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        box = torch.tensor([[0.0], [1.0]]).double().expand(2, x.shape[1])
        improvement = qLogNoisyExpectedImprovement(model, x)
        point, _ = optimize_acqf(improvement, box, q=1, num_restarts=4, raw_samples=128)
        found: np.ndarray = point[0].numpy()
        return found

    def _encoded(self, configuration: Mapping[str, Any]) -> np.ndarray:
        knobs = self._task.space.knobs
        unit = cube.to_unit(knobs, cube.matrix(knobs, [configuration]))[0]
        parts = [
            _one_hot(k.domain, configuration[k.name]) if isinstance(k.domain, Choice) and width > 1 else np.array([u])
            for k, width, u in zip(knobs, self._widths, unit, strict=True)
        ]
        return np.concatenate(parts)

    def _decoded(self, point: np.ndarray) -> Mapping[str, Any]:
        knobs = self._task.space.knobs
        parts = np.split(point, np.cumsum(self._widths)[:-1])
        unit = [(np.argmax(part) + 0.5) / len(part) if len(part) > 1 else part[0] for part in parts]
        return cube.configurations(knobs, cube.from_unit(knobs, np.array([unit])))[0]


def _smac(space: Any, seed: int, budget: int, first: int, folder: tempfile.TemporaryDirectory[str]) -> Any:
    """SMAC3 over a space; it insists on writing into a folder."""
    smac = import_module("smac")
    facade = smac.HyperparameterOptimizationFacade
    scenario = smac.Scenario(space, n_trials=budget + 5, deterministic=True, seed=seed, output_directory=folder.name)
    return facade(
        scenario,
        _unused,
        overwrite=True,
        logging_level=50,
        initial_design=facade.get_initial_design(scenario, n_configs=first, max_ratio=1.0),
        intensifier=facade.get_intensifier(scenario, max_config_calls=1),
    )


def _unused(config: Any, seed: int = 0) -> float:  # noqa: ARG001 - SMAC checks these names; asked and told, it calls none
    raise AssertionError("SMAC is asked and told, and never measures by itself")


def _configspace(task: Problem, seed: int) -> Any:
    config_space = import_module("ConfigSpace")
    space = config_space.ConfigurationSpace(seed=seed)
    for knob in task.space:
        domain, default = knob.domain, task.default[knob.name]
        if isinstance(domain, Choice):
            space.add(config_space.Categorical(knob.name, list(domain.options), default=default))
        elif domain.integer:
            steps = (int(domain.low), int(domain.high))
            space.add(config_space.Integer(knob.name, steps, log=domain.log, default=default))
        else:
            bounds = (domain.low, domain.high)
            space.add(config_space.Float(knob.name, bounds, log=domain.log, default=default))
    return space


def _suggested(trial: Any, knob: Knob) -> Any:
    domain = knob.domain
    if isinstance(domain, Choice):
        return trial.suggest_categorical(knob.name, list(domain.options))
    if domain.integer:
        return trial.suggest_int(knob.name, int(domain.low), int(domain.high), log=domain.log)
    return trial.suggest_float(knob.name, domain.low, domain.high, log=domain.log)


def _width(knob: Knob) -> int:
    return len(knob.domain.options) if isinstance(knob.domain, Choice) and len(knob.domain.options) > 2 else 1


def _one_hot(choice: Choice, option: Any) -> np.ndarray:
    return np.array([float(o == option) for o in choice.options])


def _loss(task: Problem, metrics: Mapping[str, float] | None) -> float:
    assert metrics is not None
    return -task.sign * float(metrics[OBJECTIVE])


PEERS: tuple[Contender, ...] = (
    Contender("smac", Smac, "SMAC3", packages=("smac",)),
    Contender("botorch", BoTorch, "BoTorch, qLogNEI", packages=("botorch", "torch")),
    Contender("tpe", Tpe, "Optuna, TPE", packages=("optuna",)),
    Contender("llamatune", LlamaTune, "LlamaTune over SMAC3", learns_default=False, packages=("smac",)),
    Contender("ottertune", partial(OtterTune, first=FIRST), "the open-source OtterTune's recommender as it was"),
)
