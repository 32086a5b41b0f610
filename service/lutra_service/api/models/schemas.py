"""Model versions, as requests and answers."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import StringConstraints, model_validator

from lutra_service.api.http.body import Answer, Body, Label
from lutra_service.common.documents import Document

ModelState = Literal["candidate", "champion", "retired"]


class NewModel(Body):
    """An options document, as TOML or as JSON: one of both. What it does not name keeps its default."""

    name: Label
    """For people: what is tried."""
    toml: Annotated[str, StringConstraints(max_length=65_536)] | None = None
    """The document as TOML, such as `lutra models options` prints one."""
    options: Document | None = None
    """The document as JSON: a room of options is an object."""
    note: Annotated[str, StringConstraints(max_length=1000)] = ""
    """Why, in a sentence."""

    @model_validator(mode="after")
    def _one_document(self) -> NewModel:
        if (self.toml is None) == (self.options is None):
            raise ValueError("one of toml and options is wanted")
        return self


class Promoting(Body):
    """Empty: promote it whatever is known of it."""

    by_rule: bool = False
    """Only where it is shown to be better than the champion, as `beside_champion` of the model version says; otherwise
    the answer is a conflict that names what is missing."""


class PackageAnswer(Answer):
    """A package beside Lutra's own that a model version needs."""

    option: str
    """The option that names what the package brings."""
    name: str
    """The package's name."""
    version: str
    """The package's version when the model version was registered: no other one will do."""


class SuiteAnswer(Answer):
    """What the conformance suite, which Lutra's own parts pass, found of the parts that packages bring."""

    state: Literal["passed", "failed", "not_run", "not_needed"]
    """`not_needed` where no package brings a part; `not_run` before a score. One that failed, or was not run, neither
    serves nor runs in the shadow."""
    faults: list[str]
    """What a part does not keep, or why the suite could not end; empty where it passed."""


class ModelAnswer(Answer):
    """A model version: options of the recommender, and the packages that they need."""

    id: str
    """Its id."""
    name: str
    """What is tried."""
    note: str
    """Why, in a sentence."""
    state: ModelState
    """One version is the champion."""
    serves: bool
    """Whether recommendations that are asked for now are computed by it: the champion's, if nothing is missing."""
    missing: list[str]
    """What is not installed of the packages that it needs; the version before a champion serves in its place."""
    shadow: bool
    """Whether it predicts beside the champion."""
    suite: SuiteAnswer
    """What the conformance suite found of it."""
    package_version: str
    """The version of Lutra that it was registered with; of what is shipped, the one that runs."""
    packages: list[PackageAnswer]
    """The packages that it needs besides."""
    fingerprint: str
    """The same for versions that compute the same."""
    former: str | None
    """The champion before it; a roll-back goes there."""
    created_at: datetime
    """When it was registered."""
    created_by: str
    """The name of the token that registered it."""
    promoted_at: datetime | None
    """When it became the champion last."""
    retired_at: datetime | None
    """When it was retired last; null while it is not."""
    scored_at: datetime | None
    """When its scorecard was computed; null before that."""


class ScoringAnswer(Answer):
    """How far the computation of a scorecard is."""

    state: Literal["waiting", "done", "failed"]
    """`waiting` until it ends."""
    sessions: int
    """Past sessions that it is computed from."""
    done: int
    """How many of them it has behind it."""
    error: str | None
    """Why it failed; null where it did not."""


class PastGainAnswer(Answer):
    """By how much a number is better with the past workloads of other sessions than without; positive is better."""

    log_score: float | None
    """Of the log score."""
    rank_correlation: float | None
    """Of the rank correlation."""
    regret: float | None
    """Of the regret: so much less of it."""


class ConformanceAnswer(Answer):
    """How a part that a package brings fared in the suite that Lutra's own parts pass."""

    option: str
    """The option that names the part."""
    name: str
    """The part's name."""
    faults: list[str]
    """What it does not keep; empty where it passes."""


class SessionScoreAnswer(Answer):
    """What one past session says of a model version."""

    session: str
    """The session's id; of a data set that belongs to no database that of its workload, `wl_…`."""
    failed: str | None = None
    """Why it could not be scored on this session; null where it could."""
    key: str | None = None
    """A digest of the session as it was scored: equal where two versions were scored on the same."""
    n: int | None = None
    """Readings that were predicted."""
    held_80: float | None = None
    """The share of them that lay inside their 80 % interval."""
    width_80: float | None = None
    """The intervals' mean width, as a share of the median."""
    held_90: float | None = None
    """The same of 90 % intervals."""
    width_90: float | None = None
    """Their mean width."""
    log_score: float | None = None
    """The mean log density of what was measured; more is better."""
    error: float | None = None
    """The mean error of the median, as a share of what was measured."""
    rank_correlation: float | None = None
    """Of what was predicted of the trials left with what they gave, from -1 to 1."""
    regret: float | None = None
    """By how much the best of the trials left is better than the one that it would have picked, as a share."""
    missed: float | None = None
    """Played in a lab from its start, what the best that it tried missed on average: 0 is the best at once, 1 what most
    configurations are worth; null where the session measured too little."""
    missed_live: float | None = None
    """The same played live, where each trial counts and not the best so far."""


class ScorecardAnswer(Answer):
    """How good a model version would have been on past sessions, each of which counts alike.

    It is fitted to a session's first trials, 3 to 24 of them, and predicts those that came then.
    """

    held_80: float | None
    """The share of readings that lay inside their 80 % interval."""
    width_80: float | None
    """The intervals' mean width, as a share of the median."""
    held_90: float | None
    """The same of 90 % intervals."""
    width_90: float | None
    """Their mean width."""
    log_score: float | None
    """The mean log density of what was measured; more is better."""
    error: float | None
    """The mean error of the median, as a share of what was measured."""
    rank_correlation: float | None
    """Of what was predicted of the trials left with what they gave, from -1 to 1."""
    regret: float | None
    """By how much the best of the trials left is better than the one that it would have picked, as a share."""
    missed: float | None = None
    """Played in a lab from its start, what the best that it tried missed on average: 0 is the best at once, 1 what most
    configurations are worth; null where sessions measured too little, and in what an earlier version scored."""
    missed_live: float | None = None
    """The same played live, where each trial counts and not the best so far."""
    sessions: int
    """Past sessions that it rests on."""
    forecasts: int
    """Readings that were predicted."""
    failed: int
    """Past sessions that it could not be scored on."""
    leaning: int
    """Past sessions that could learn from others."""
    gain_from_past: PastGainAnswer
    """What the past of other workloads gives, each session left out of its own past."""
    conformance: list[ConformanceAnswer]
    """How the parts that packages bring fared; empty where it needs none."""
    by_session: list[SessionScoreAnswer]
    """The same, session by session."""


class DataAnswer(Answer):
    """What a scorecard was computed from."""

    fingerprint: str
    """The same for the same sessions with the same trials."""
    sessions: int
    """How many."""
    trials: int
    """How many trials they hold."""


class ShadowScoreAnswer(Answer):
    """How good predictions were of readings that were taken then."""

    n: int
    """How many."""
    held_90: float | None
    """The share of readings inside the 90 % interval."""
    width_90: float | None
    """The intervals' mean width, as a share of the median."""
    log_score: float | None
    """The mean log density of what was measured; more is better."""
    error: float | None
    """The mean error of the median, as a share of what was measured."""


class InShadowAnswer(Answer):
    """A candidate beside what served, over the same readings."""

    candidate: ShadowScoreAnswer
    """What the candidate predicted."""
    served: ShadowScoreAnswer
    """What the versions that served predicted."""


class JudgedAnswer(Answer):
    """What one source says of a candidate beside the champion: the mean difference over sessions, with its interval."""

    source: Literal["past_sessions", "shadow", "played", "played_live"]
    """Forecasts of past sessions, forecasts in the shadow, sessions played in a lab, or sessions played live."""
    measure: Literal["log_score", "missed", "missed_live"]
    """What is compared."""
    judges: list[str]
    """The rooms of options whose changes this source shows."""
    sessions: int
    """Sessions of which both are known."""
    mean: float | None
    """The mean difference; above 0 is better for the candidate. Null without a session."""
    low: float | None
    """The lower end of its interval; null where there are too few sessions for one."""
    high: float | None
    """The upper end."""
    level: float
    """The probability that the interval holds the true difference, however often somebody looks."""
    verdict: Literal["better", "worse", "undecided"]
    """Whether the interval excludes 0, and where it lies."""
    needed: int | None
    """So many sessions more exclude 0 in nine of ten cases, if the difference is what it seems; null where 1000 might
    not, and before 5 sessions."""
    sentence: str
    """All of this in words."""


class BesideChampionAnswer(Answer):
    """A version beside the champion, by what each source can judge."""

    champion: str
    """The champion's id."""
    changed: list[str]
    """The rooms of options in which they differ."""
    not_judged: list[str]
    """Those of them of which no source says anything."""
    judged: list[JudgedAnswer]
    """What each source says."""
    promotes: bool
    """Whether the rule promotes it: each changed room is better by a source that judges it, no source says worse, and
    the suite passed."""
    why: str
    """Why, in words."""


class ModelDetailAnswer(ModelAnswer):
    """A model version with its options and its scores."""

    options: Document
    """The options document, whole."""
    scorecard: ScorecardAnswer | None
    """How good it would have been on past sessions; null before it was scored."""
    data: DataAnswer | None
    """What the scorecard was computed from."""
    scoring: ScoringAnswer | None
    """The newest computation of a scorecard; null before the first."""
    in_shadow: InShadowAnswer | None
    """How it predicted beside what served; null before the first reading that both predicted."""
    beside_champion: BesideChampionAnswer | None
    """How it compares with the champion; null for the champion itself."""
