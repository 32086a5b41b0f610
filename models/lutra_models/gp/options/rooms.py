"""Every number that controls the recommender, by the room that it controls. The service uses the defaults.

Options are part of a model's identity: the same history, seed and options give the same bits. A variant is raced
against the defaults with `python -m benchmarks tuning race --variant search.opening_trials=8`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from lutra_models.digest import fingerprint
from lutra_models.gp.options.reading import Named, Room, laid_over


@dataclass(frozen=True)
class Targets(Room):
    """The conversion of readings to the targets of a surrogate."""

    lift: float = 0.1
    """The amount added to a reading before its logarithm if more is better, as a share of the median reading."""
    prior_spread: float = 0.25
    """The prior of the relative spread of a database's readings over its settings."""
    prior_readings: float = 2.0
    """The weight of that prior, in readings."""
    noise: float = 0.05
    """The typical relative spread of two readings of one configuration."""
    least_noise: float = 0.01
    """The least first guess of the noise's deviation, in standard units."""
    most_noise: float = 0.7
    """The greatest first guess of the noise's deviation, in standard units."""
    usual_readings: float = 4.0
    """The weight of that guess, in readings, when repeats of other configurations show the usual scatter."""
    noise_factor_readings: float = 4.0
    """The weight of the usual scatter, in readings, when a configuration's own readings scatter more."""
    most_noise_factor: float = 9.0
    """The largest multiple of the usual variance that a configuration's noise can have."""
    stall: float = 3.0
    """The distance from the median, in usual deviations, beyond which one of three or more readings is cut off in the
    mean.
    """
    reliable: float = 0.1
    """The quantile of its readings that represents a configuration with more than the usual scatter."""
    within_floor: float = 0.05
    """The amount added to the unsteadiness inside a window (its shortfall below its mean, as a share) before two are
    compared.
    """
    most_within: float = 4.0
    """The largest multiple of the usual variance that this comparison gives."""
    least_half: float = 0.25
    """The upper half's least width, in standard units: values farther below the median are compressed by logarithm."""


@dataclass(frozen=True)
class Belief(Room):
    """The prior of each length-scale, relative to that of Hvarfner et al.: its median times e^`shift`."""

    shift: float
    sigma: float


@dataclass(frozen=True)
class Surrogates(Room):
    """The fit of posteriors."""

    name: str | Named = "gpy"
    """One of `surrogate.table.SURROGATES`, or a surrogate."""
    kernel: str | Named = "matern52"
    """One of `kernels.shapes.KERNELS`, or a kernel: the correlation of two configurations by their distance."""
    broad: Belief = Belief(0.0, math.sqrt(3.0))
    """The prior for searching: a knob has little effect until the data show one."""
    local: Belief = Belief(-3.0, math.sqrt(3.0))
    """An alternative for searching: a knob has an effect in a part of its range. Used if it predicts the readings
    better.
    """
    wary: Belief = Belief(-2.0, 0.7)
    """The prior for predicting: readings say little about other configurations until the data show more."""
    steps: int = 60
    """Steps of L-BFGS towards the hyperparameters' mode."""
    last_steps: int = 3
    """Steps of GPy's own optimiser after those of L-BFGS."""
    fitted_rows: int = 400
    """Rows, picked evenly, from which the mode is computed; the posterior uses every row."""
    variance_sigma: float = 0.5
    """The deviation of the logarithm of the kernel's variance around one."""
    noise_sigma: float = 1.2
    """The deviation of the logarithm of the noise's variance around its first guess."""
    proving_rows: int = 5
    """Rows from which past workloads have to prove that they improve the predictions of readings here."""
    boundary_noise: float = 0.2
    """The first guess of the noise's deviation when the target is whether a configuration runs."""
    boundary_blur: float = 0.1
    """The variance of the boundary between running and failing, in label units: the uncertainty at a repeated
    configuration.
    """


@dataclass(frozen=True)
class Drifts(Room):
    """The criteria for a change of all readings over a session's time; see `surrogate.drift`."""

    size: float = 0.3
    """The prior deviation of a relative change around zero."""
    evidence: float = 0.5
    """The growth of the log evidence that a change needs, beyond the logarithm of the number of courses."""
    opening: float = 2.0
    """The further growth that a change without a witness needs at the end of the opening, where the search moves to a
    better place.
    """
    promise: float = 0.0
    """The growth at the current hyperparameters from which new ones are computed."""
    least_rows: int = 8
    """The number of readings from which changes are detected."""
    most_rows: int = 64
    """The number of the newest readings in which changes are detected."""
    most_changes: int = 3
    """The most changes in a model."""
    interval: int = 25
    """Readings of a server after which a configuration is measured again, if none was repeated meanwhile."""


@dataclass(frozen=True)
class Calibration(Room):
    """Factors of intervals, so that nine of ten readings lie inside; see `surrogate.calibration`."""

    worse: float = 1.4
    """The factor of the latent deviation on the bad side."""
    worse_by_cliff: float = 1.9
    """The addition to the factor on the bad side once trials have failed."""
    better: float = 1.1
    """The factor of the latent deviation on the good side."""
    better_by_cliff: float = 1.25
    """The addition to the factor on the good side once trials have failed."""
    noise: float = 4.0
    """The factor of the noise's variance: a real server's readings have longer tails than a Gaussian's."""
    headroom: float = 0.04
    """The relative distance above the best reading so far within which the objective is expected."""
    early_headroom: float = 0.8
    """The addition to `headroom`, divided by n^1.5 for n measured configurations."""
    own_readings: float = 10.0
    """The number of a workload's own readings, each predicted without it, that weigh as much as these widths."""
    folds: int = 10
    """The parts into which the readings are divided: each is predicted by a model that was fitted to the others."""
    folded_rows: int = 100
    """The rows, picked evenly, from which the hyperparameters of such a model are computed."""
    few_rows: float = 2.0
    """The widening for few rows (as in Student's t), whose hyperparameters are a guess: two thirds at three rows."""
    enough_rows: float = 80.0
    """The rows from which intervals are not widened."""
    failures: float = 6.0
    """Failed trials after which cliffs are assumed (by 1 - 1/e)."""


@dataclass(frozen=True)
class Transfer(Room):
    """The use of past workloads."""

    slope: float = 0.9
    """The prior mean of the coefficient of a past workload of full weight."""
    doubt: float = 0.4
    """The prior deviation of that coefficient."""
    least_weight: float = 0.02
    """The weight up to which a past workload is left out."""
    most: int = 3
    """The most past workloads in use at a time, once there are readings to rank."""
    turns: int = 3
    """After the opening, which past workloads lead, the number of trials of which they lead one. The others explore
    without them.
    """
    silence: float = 0.2
    """The prior probability, before there are readings to rank, that no past workload helps."""
    alien: float = 0.1
    """The probability that even a similar past workload does not predict which of two configurations is better."""
    least_skill: float = 0.1
    """The share of its own readings' variance, each left out, that a past workload has to predict to be used."""
    closeness: float = 4.0
    """The rate at which a past workload's weight falls with the distance of its signature, before anything is ranked.
    """
    margin: float = 0.1
    """The distance beyond the past's range, as a share of it, up to which a counter counts as inside."""
    outside: float = 2.0
    """The place of a counter outside the past's range, where its median is 0 and its ends are 1."""
    strange: float = 0.25
    """The share of counters outside the past's range from which a past workload is excluded."""
    context: float = 0.5
    """The rate at which a past workload's weight falls with the distance of its circumstances: cores, memory, load."""
    most_context: float = 3.0
    """The most that one circumstance adds to that distance; a number adds the logarithm of its ratio."""
    other_text: float = 1.0
    """The amount that a different text (a version, a script) adds to that distance."""
    factors: int = 5
    """The number of factors of the counters whose loadings are clustered."""
    most_clusters: int = 12
    """The most clusters of counters."""
    least_rows: int = 10
    """The least number of observations for clusters of counters."""


@dataclass(frozen=True)
class Effort(Room):
    """Local improvement of candidates: rounds, steps per round, and the factor by which steps shrink in each round."""

    rounds: int
    steps: int
    shrink: float


@dataclass(frozen=True)
class Search(Room):
    """The choice of the next configuration."""

    acquisition: str | Named = "log_ei"
    """One of `search.acquisition.ACQUISITIONS`, or an acquisition."""
    opening_trials: int = 6
    """Trials before the search trusts the model: the current configuration, the starts and space-filling ones."""
    opening_candidates: int = 64
    """Candidate points for filling the space, of which the one farthest from all trials is taken; a power of two."""
    incumbents: int = 3
    """The number of best configurations around which the search looks."""
    everywhere: int = 512
    """Candidates that fill the space; a power of two."""
    near: int = 512
    """Candidates around the incumbents."""
    climbers: int = 8
    """Candidates that are improved by local steps."""
    thorough: Effort = Effort(14, 32, 0.75)
    """The effort of a search to the top of the acquisition. Searches with past workloads always use it; others
    alternate.
    """
    cursory: Effort = Effort(6, 24, 0.6)
    """The effort of a search up to a good place near its start, which spreads the trials of a long search."""
    asked: int = 48
    """Candidates that are checked against the rules."""
    halvings: int = 6
    """Steps by which a refused candidate is moved towards an allowed configuration."""
    moves: tuple[float, ...] = (-1.0, -0.5, -0.25, -0.1, 0.1, 0.25, 0.5, 1.0)
    """The amounts by which a single move changes a number's place."""
    free_knobs: int = 30
    """Knobs that the search may move from the start; one more for each configuration measured."""
    leading_knobs: int = 10
    """Knobs whose products join the Lasso path, by their own correlation with the target."""
    shuffles: int = 8
    """The number of times that each knob is shuffled among the rows to measure its effect."""
    slack: float = 0.02
    """The loss of score that is accepted for fewer changes, if a recommendation uses past workloads."""
    handover_loss: float = 0.05
    """The largest expected loss of a handover for fewer changes, as a share of the predicted gain."""
    handover_risk: float = 0.25
    """The largest loss of a handover for fewer changes at one deviation beyond the expected loss."""
    shorter_every: int = 4
    """The number of trials of which one measures the shortened handover, if a session has a baseline."""
    doubt: float = 2.0
    """The error of the search's model far from all readings, in noise deviations, without past workloads."""
    luck: float = 2.0
    """Noise deviations above the posterior from which a reading is taken for luck."""
    contradicted: float = 3.0
    """The multiple of the usual variance from which two readings of a configuration need a third."""
    stalled_after: int = 4
    """Trials without an advance after which every other trial may explore beside the best."""
    untried_stretch: float = 0.3
    """The untried share of a setting's range beside the best from which such a trial is worthwhile."""
    least_effect: float = 2.0
    """The least effect of a setting on the target, in noise deviations, for such a trial."""


@dataclass(frozen=True)
class Start(Room):
    """The prior that the best configuration is near the rule-based start."""

    weight: float = 1.0
    """The weight of the prior, in trials: its power is this, divided by the number of trials."""
    around: float = 0.2
    """The prior distance of a number of the best from its place in the start, as a share of its range."""
    anywhere: float = 0.1
    """The probability that a number of the best is anywhere in its range."""
    moved: float = 0.25
    """The share of settings that a point of the opening moves away from the start."""


@dataclass(frozen=True)
class Safety(Room):
    """The criteria for a safe recommendation."""

    probability: float = 0.95
    """The required probability that a configuration stays within the tolerance, runs, and keeps the limits."""
    tolerance: float = 0.1
    """The relative loss against the current configuration that still counts as equal."""
    lesson: float = 1.0
    """The widening of intervals by each bad surprise."""
    bad: float = 0.1
    """The relative loss against the current configuration from which a reading is a bad surprise."""
    telling_knobs: int = 2
    """The most settings in which a surprise may differ from a sound configuration to be attributed to them."""
    prudence: float = 100.0
    """The weight of missing certainty against any gain."""


@dataclass(frozen=True)
class Live(Room):
    """The criteria for a proposal to the operator of a live database."""

    least_strength: float = 0.4
    """A symptom's strength from which it recommends its cure; a weaker one is reported without a proposal."""
    least_gain: float = 0.05
    """The relative gain that the model has to predict for a change without other evidence."""
    probability: float = 0.9
    """The probability that this gain has to have; it applies to a return to measured settings as well."""
    escalations: int = 3
    """The number of moves of a setting in one direction for a symptom that persists; after them it is only reported."""


@dataclass(frozen=True)
class Options(Room):
    """Everything that controls the recommender: `Options(search=Search(opening_trials=8))`.

    `print(lutra_models.gp.documents.toml(Options()))` lists each option with its meaning and its range.
    """

    targets: Targets = field(default_factory=Targets)
    surrogate: Surrogates = field(default_factory=Surrogates)
    drift: Drifts = field(default_factory=Drifts)
    calibration: Calibration = field(default_factory=Calibration)
    transfer: Transfer = field(default_factory=Transfer)
    search: Search = field(default_factory=Search)
    start: Start = field(default_factory=Start)
    safety: Safety = field(default_factory=Safety)
    live: Live = field(default_factory=Live)

    def __repr__(self) -> str:
        """The differences from the defaults, as `DEFAULT.varied` takes them."""
        return f"Options({', '.join(_differing(Options().to_dict(), self.to_dict()))})"

    @property
    def fingerprint(self) -> str:
        """A stable digest of every number."""
        return fingerprint(self.to_dict())

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Options:
        """The options that `to_dict` wrote; an option that it does not name keeps its default. Raises ValueError."""
        read: Options = laid_over(cls(), data)
        return read

    def varied(self, **values: Any) -> Options:
        """With other values by room: `varied(search={"opening_trials": 8})`. Raises ValueError.

        A dotted name does the same for what a command line has: `varied(**{"search.opening_trials": 8})`.
        """
        options = self
        for name, value in values.items():
            nested: Any = value
            for part in reversed(name.split(".")):
                nested = {part: nested}
            options = laid_over(options, nested)
        return options

    def using(
        self,
        *,
        surrogate: str | Named | None = None,
        kernel: str | Named | None = None,
        acquisition: str | Named | None = None,
    ) -> Options:
        """With these parts in place of their own, each the object itself or its name; None keeps what there is.

        Raises TypeError for an object that does not fit as such a part.
        """
        given = {"surrogate": surrogate, "kernel": kernel, "acquisition": acquisition}
        options = self
        for kind, part in given.items():
            if part is not None:
                room, option, method = _PARTS[kind]
                if not isinstance(part, str) and (isinstance(part, type) or not callable(getattr(part, method, None))):
                    raise TypeError(f"{kind}: expected a name or an object with {method}(…), got {part!r:.80}")
                options = laid_over(options, {room: {option: part}})
        return options

    @property
    def holds_objects(self) -> bool:
        """Whether a part is an object: the fingerprint contains only its name."""
        return any(not isinstance(getattr(getattr(self, room), option), str) for room, option, _ in _PARTS.values())


_PARTS = {
    "surrogate": ("surrogate", "name", "fit"),
    "kernel": ("surrogate", "kernel", "correlations"),
    "acquisition": ("search", "acquisition", "score"),
}
"""The place of each part of the recommender in the options, and the method that it needs."""


def _differing(usual: Mapping[str, Any], own: Mapping[str, Any], room: str = "") -> Iterator[str]:
    for name, value in own.items():
        if isinstance(value, Mapping):
            yield from _differing(usual[name], value, f"{room}{name}.")
        elif value != usual[name]:
            yield f"{room}{name}={value!r}"


DEFAULT = Options()
