"""Every number that steers the recommender, by the room that it steers. The defaults are what is served.

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
    """How readings become what a surrogate is fitted to."""

    lift: float = 0.1
    """What is added before its logarithm to a reading of which more is better, as a share of the median reading."""
    prior_spread: float = 0.25
    """How far, relatively, a database's readings spread over its settings, before anything else is known …"""
    prior_readings: float = 2.0
    """… and how many readings that belief weighs."""
    noise: float = 0.05
    """The typical relative spread of two readings of one configuration."""
    least_noise: float = 0.01
    """The first guess of the noise's deviation, in standard units, is at least this …"""
    most_noise: float = 0.7
    """… and at most this."""
    usual_readings: float = 4.0
    """How many readings that guess weighs, where repeats of the other configurations say what scatter is usual …"""
    noise_factor_readings: float = 4.0
    """… and how many that weighs, where a configuration's own readings say that it scatters more."""
    most_noise_factor: float = 9.0
    """The largest multiple of the usual variance that they are believed to have."""
    stall: float = 3.0
    """Usual deviations from their median beyond which one of three readings or more does not pull their mean."""
    reliable: float = 0.1
    """The quantile of its readings at which a configuration counts that scatters more than usual."""
    within_floor: float = 0.05
    """What is added to the share by which windows fall short of their mean inside, before two are compared …"""
    most_within: float = 4.0
    """… and the largest multiple of the usual variance that the comparison gives."""
    least_half: float = 0.25
    """The upper half's least width, in standard units: what lies farther below the median is drawn in by logarithm."""


@dataclass(frozen=True)
class Belief(Room):
    """The prior of each length-scale, relative to that of Hvarfner et al.: its median times e^`shift`."""

    shift: float
    sigma: float


@dataclass(frozen=True)
class Surrogates(Room):
    """How posteriors are fitted."""

    name: str | Named = "gpy"
    """One of `surrogate.table.SURROGATES`, or a surrogate."""
    kernel: str | Named = "matern52"
    """One of `kernels.shapes.KERNELS`, or a kernel: how the correlation of two configurations falls with distance."""
    broad: Belief = Belief(0.0, math.sqrt(3.0))
    """For searching: a knob matters little until the data say otherwise …"""
    local: Belief = Belief(-3.0, math.sqrt(3.0))
    """… or it matters in some part of its range, where this belief predicts the readings better."""
    wary: Belief = Belief(-2.0, 0.7)
    """For predicting: what was measured says little about what was not, until the data say otherwise."""
    steps: int = 60
    """Steps of L-BFGS towards the hyperparameters' mode …"""
    last_steps: int = 3
    """… and of GPy's own optimiser from there."""
    fitted_rows: int = 400
    """Rows that the mode is looked for with, picked evenly; the posterior rests on every row."""
    variance_sigma: float = 0.5
    """The deviation of the logarithm of the kernel's variance around one."""
    noise_sigma: float = 1.2
    """The deviation of the logarithm of the noise's variance around its first guess."""
    proving_rows: int = 5
    """Rows from which past workloads have to prove that they help to foresee what was measured here."""
    boundary_noise: float = 0.2
    """The first guess of the noise's deviation where the target is whether a configuration runs."""
    boundary_blur: float = 0.1
    """How far from certain a configuration is that lies exactly on others: variance of the boundary, in label units."""


@dataclass(frozen=True)
class Drifts(Room):
    """What counts as a change of all readings over a session's time; see `surrogate.drift`."""

    size: float = 0.3
    """The deviation of a change around none, relatively."""
    evidence: float = 0.5
    """By how much the logarithm of the evidence has to grow, beyond that of the number of courses looked at …"""
    opening: float = 2.0
    """… and how much more without a witness where the opening ends: the search moves to a better place there."""
    promise: float = 0.0
    """The same growth at the hyperparameters as they are from which it is worth finding others."""
    least_rows: int = 8
    """Readings from which changes are looked for …"""
    most_rows: int = 64
    """… among so many of the newest."""
    most_changes: int = 3
    """Changes that are followed."""
    interval: int = 25
    """Readings of a server after which one is read again, where none was meanwhile."""


@dataclass(frozen=True)
class Calibration(Room):
    """What intervals are scaled by, so that nine of ten readings lie inside; see `surrogate.calibration`."""

    worse: float = 1.4
    """What the latent deviation is multiplied by on the bad side …"""
    worse_by_cliff: float = 1.9
    """… and what is added to that once trials have failed."""
    better: float = 1.1
    """The same on the good side …"""
    better_by_cliff: float = 1.25
    """… and once trials have failed."""
    noise: float = 4.0
    """What the noise's variance is multiplied by: a real server's readings have longer tails than a Gaussian's."""
    headroom: float = 0.04
    """How far above the best reading so far the objective is expected, relatively …"""
    early_headroom: float = 0.8
    """… and what is added to that, over n^1.5, n being the configurations measured."""
    own_readings: float = 20.0
    """How many of a workload's own readings, each left out in turn, weigh as much as these widths."""
    few_rows: float = 2.0
    """Two thirds wider from three rows: fewer than `enough_rows` leave the hyperparameters a guess …"""
    enough_rows: float = 80.0
    """… (as in Student's t)."""
    failures: float = 6.0
    """Failed trials after which cliffs are taken for granted (by 1 - 1/e)."""


@dataclass(frozen=True)
class Transfer(Room):
    """How far past workloads are believed."""

    slope: float = 0.9
    """What the coefficient of a past workload of full weight is expected to be …"""
    doubt: float = 0.4
    """… and the deviation of that belief."""
    least_weight: float = 0.02
    """A past workload that weighs no more is left out."""
    most: int = 3
    """Past workloads that are listened to at a time, once there is something to rank: of many, few are of use."""
    turns: int = 3
    """Past workloads lead the opening, and then one of so many trials: others look where the past knows nothing."""
    silence: float = 0.2
    """The belief, before there is anything to rank, that no past workload has anything to say."""
    alien: float = 0.1
    """The chance that a past workload, be it alike, says nothing about which of two configurations is better."""
    least_skill: float = 0.1
    """The share of its own readings' variance that a past workload has to predict, each left out, to be listened to."""
    closeness: float = 4.0
    """How fast a past workload's weight falls with the distance of its signature, before anything is ranked."""
    margin: float = 0.1
    """How far beyond the past's range, as a share of it, a counter still counts as inside."""
    outside: float = 2.0
    """The place of a counter outside the past's range, where its median is 0 and its ends are 1."""
    strange: float = 0.25
    """The share of its counters outside the past's from which a workload is a stranger."""
    context: float = 0.5
    """How fast the belief in a past workload falls with the distance of its circumstances: cores, memory, load …"""
    most_context: float = 3.0
    """… each of which counts by its ratio's logarithm, at most so much …"""
    other_text: float = 1.0
    """… and a text (a version, a script) so much where it is another one."""
    factors: int = 5
    """Factors of the counters whose loadings are clustered …"""
    most_clusters: int = 12
    """… into at most so many clusters …"""
    least_rows: int = 10
    """… where there are at least so many observations."""


@dataclass(frozen=True)
class Effort(Room):
    """How far candidates are improved by local steps: rounds, steps per round, and how much they shrink by round."""

    rounds: int
    steps: int
    shrink: float


@dataclass(frozen=True)
class Search(Room):
    """Which configuration comes next."""

    acquisition: str | Named = "log_ei"
    """One of `search.acquisition.ACQUISITIONS`, or an acquisition."""
    opening_trials: int = 6
    """Trials before the search trusts the model: the current configuration, the starts and space-filling ones."""
    opening_candidates: int = 64
    """Points of which the one farthest from everything tried fills the space; a power of two."""
    incumbents: int = 3
    """The best configurations around which is searched."""
    everywhere: int = 512
    """Candidates that fill the space; a power of two."""
    near: int = 512
    """Candidates around the incumbents."""
    climbers: int = 8
    """Candidates that are improved by local steps."""
    thorough: Effort = Effort(14, 32, 0.75)
    """To the top of the acquisition. Past workloads are rugged, and worth it; else taken in turns with the next …"""
    cursory: Effort = Effort(6, 24, 0.6)
    """… up to a good place near where it happens to start: this spreads the trials of a long search."""
    asked: int = 48
    """Candidates of which the rules are asked."""
    halvings: int = 6
    """Steps by which what a rule refuses is drawn towards an allowed configuration."""
    moves: tuple[float, ...] = (-1.0, -0.5, -0.25, -0.1, 0.1, 0.25, 0.5, 1.0)
    """By how much a single move changes a number's place."""
    free_knobs: int = 30
    """Knobs that the search may move from the start; one more for each configuration measured."""
    leading_knobs: int = 10
    """Knobs whose products join the Lasso path, by their own correlation with the target."""
    shuffles: int = 8
    """How often each knob is shuffled among the rows to see whether it matters."""
    slack: float = 0.02
    """What the score may lose for the sake of fewer changes, where a recommendation rests on past workloads."""
    handover_loss: float = 0.05
    """The share of the predicted gain that a handover is expected to lose at most for the sake of fewer changes …"""
    handover_risk: float = 0.25
    """… and what it loses at most one deviation beyond that."""
    shorter_every: int = 4
    """Of so many trials one measures what would be handed over with fewer changes, where a session has a baseline."""
    doubt: float = 2.0
    """Noise deviations by which the search's model may be wrong far from what was measured, without past workloads."""
    luck: float = 2.0
    """Noise deviations by which a reading exceeds what the posterior holds of it to be taken for luck."""
    contradicted: float = 3.0
    """Multiple of the usual variance from which two readings of a configuration call for a third."""
    stalled_after: int = 4
    """Trials without an advance after which every other trial may look beside the best."""
    untried_stretch: float = 0.3
    """The share of a setting's range beside the best that no trial has been in, from which such a look is worth it …"""
    least_effect: float = 2.0
    """… where the setting moves the target by so many noise deviations."""


@dataclass(frozen=True)
class Start(Room):
    """How far the rule-based start is believed to be near the best."""

    weight: float = 1.0
    """Trials that the belief counts as: its power is this, divided by the number of trials."""
    around: float = 0.2
    """How far from the start's place a number of the best is, as a share of its range …"""
    anywhere: float = 0.1
    """… and the chance, beside that, that it is anywhere."""
    moved: float = 0.25
    """The share of settings that a point of the opening moves away from the start."""


@dataclass(frozen=True)
class Safety(Room):
    """What a safe recommendation is."""

    probability: float = 0.95
    """That it stays within the tolerance, runs, and keeps the limits."""
    tolerance: float = 0.1
    """How much worse than the current configuration still counts as no worse, relatively: less is no surprise."""
    lesson: float = 1.0
    """By how much each bad surprise widens what is believed possible."""
    bad: float = 0.1
    """Relatively worse than the current configuration: a bad surprise."""
    telling_knobs: int = 2
    """Settings that a surprise may differ in from a sound configuration to be blamed on them."""
    prudence: float = 100.0
    """How much a missing certainty weighs against any gain."""


@dataclass(frozen=True)
class Live(Room):
    """What is worth proposing to the operator of a live database."""

    least_strength: float = 0.4
    """A symptom's strength from which it speaks for its cure; a weaker one is told and not acted on."""
    least_gain: float = 0.05
    """What the model has to predict of a change that nothing else speaks for, relatively …"""
    probability: float = 0.9
    """… and how probable so much has to be. The same of a return to what was measured before."""
    escalations: int = 3
    """How often a setting is moved on in one direction for a symptom that persists; from then on it is told alone."""


@dataclass(frozen=True)
class Options(Room):
    """Everything that steers the recommender: `Options(search=Search(opening_trials=8))`.

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
        """Only what differs from the defaults, as `DEFAULT.varied` takes it."""
        return f"Options({', '.join(_differing(Options().to_dict(), self.to_dict()))})"

    @property
    def fingerprint(self) -> str:
        """A stable digest of every number."""
        return fingerprint(self.to_dict())

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Options:
        """The options that `to_dict` wrote; what it does not name keeps its default. Raises ValueError."""
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

        Raises TypeError for an object that is no such part.
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
        """Whether a part is an object: the fingerprint knows its name alone."""
        return any(not isinstance(getattr(getattr(self, room), option), str) for room, option, _ in _PARTS.values())


_PARTS = {
    "surrogate": ("surrogate", "name", "fit"),
    "kernel": ("surrogate", "kernel", "correlations"),
    "acquisition": ("search", "acquisition", "score"),
}
"""Where the options have a part of the recommender, and the method by which it is one."""


def _differing(usual: Mapping[str, Any], own: Mapping[str, Any], room: str = "") -> Iterator[str]:
    for name, value in own.items():
        if isinstance(value, Mapping):
            yield from _differing(usual[name], value, f"{room}{name}.")
        elif value != usual[name]:
            yield f"{room}{name}={value!r}"


DEFAULT = Options()
