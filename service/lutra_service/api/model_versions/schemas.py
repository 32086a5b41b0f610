"""Model versions, as requests and answers."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import StringConstraints, model_validator

from lutra_service.api.http.body import Answer, Body, Label
from lutra_service.common.documents import Document

ModelState = Literal["candidate", "champion", "retired"]


class NewModel(Body):
    """An options document, either as TOML or as JSON. Options that it does not name keep their default."""

    name: Label
    """A name for people."""
    toml: Annotated[str, StringConstraints(max_length=65_536)] | None = None
    """The document as TOML, in the form that `lutra models options` prints."""
    options: Document | None = None
    """The document as JSON: each group of options is an object."""
    note: Annotated[str, StringConstraints(max_length=1000)] = ""
    """The reason, in one sentence."""

    @model_validator(mode="after")
    def _one_document(self) -> NewModel:
        if (self.toml is None) == (self.options is None):
            raise ValueError("exactly one of toml and options is required")
        return self


class Promoting(Body):
    """Empty: promote the version unconditionally."""

    by_rule: bool = False
    """Promote only if the version is shown to be better than the champion, according to its `beside_champion`;
    otherwise the answer is a conflict that names what is missing.
    """


class PackageAnswer(Answer):
    """A package beside Lutra's own that a model version needs."""

    option: str
    """The option that names the package's part."""
    name: str
    """The package's name."""
    version: str
    """The package's version when the model version was registered: exactly this version is needed."""


class SuiteAnswer(Answer):
    """The result of the conformance suite, which Lutra's own parts pass, for the parts of packages."""

    state: Literal["passed", "failed", "not_run", "not_needed"]
    """`not_needed` if no package brings a part, `not_run` before a score. A version whose suite failed or was not run
    neither serves nor runs in the shadow.
    """
    faults: list[str]
    """The failed requirements, or why the suite could not finish; empty if it passed."""


class ModelAnswer(Answer):
    """A model version: options of the recommender, and the packages that they need."""

    id: str
    """The id."""
    name: str
    """A name for the version."""
    note: str
    """The reason, in one sentence."""
    state: ModelState
    """The state; exactly one version is the champion."""
    serves: bool
    """Whether it computes new recommendations: it is the champion, and nothing is missing."""
    missing: list[str]
    """Required packages that are not installed; the previous champion then serves instead."""
    shadow: bool
    """Whether it predicts beside the champion."""
    suite: SuiteAnswer
    """The result of the conformance suite."""
    package_version: str
    """The version of Lutra with which it was registered; for the shipped version, the running one."""
    packages: list[PackageAnswer]
    """Other packages that it needs."""
    fingerprint: str
    """A digest: equal for versions that compute the same."""
    former: str | None
    """The previous champion, which a roll-back restores."""
    created_at: datetime
    """When it was registered."""
    created_by: str
    """The name of the token that registered it."""
    promoted_at: datetime | None
    """When it last became the champion."""
    retired_at: datetime | None
    """When it was last retired; null while it is not."""
    scored_at: datetime | None
    """When its scorecard was last computed; null before that."""


class ScoringAnswer(Answer):
    """The progress of the computation of a scorecard."""

    state: Literal["waiting", "done", "failed"]
    """The state; `waiting` until it ends."""
    sessions: int
    """The number of past sessions from which it is computed."""
    done: int
    """The number of completed sessions."""
    error: str | None
    """Why it failed; null if it did not."""


class PastGainAnswer(Answer):
    """The improvement of each number by the past workloads of other sessions; positive is better."""

    log_score: float | None
    """The gain in the log score."""
    rank_correlation: float | None
    """The gain in the rank correlation."""
    regret: float | None
    """The reduction of the regret."""


class ConformanceAnswer(Answer):
    """The result of a package's part in the suite that Lutra's own parts pass."""

    option: str
    """The option that names the part."""
    name: str
    """The part's name."""
    faults: list[str]
    """The failed requirements; empty if the part passes."""


class SessionScoreAnswer(Answer):
    """The scores of a model version on one past session."""

    session: str
    """The session's id; for a data set without a database, the id of its workload, `wl_…`."""
    failed: str | None = None
    """Why it could not be scored on this session; null if it could."""
    key: str | None = None
    """A digest of the scored session: equal if two versions were scored on the same data."""
    n: int | None = None
    """The number of predicted readings."""
    held_80: float | None = None
    """The share of readings inside their 80 % interval."""
    width_80: float | None = None
    """The intervals' mean width, as a share of the median."""
    held_90: float | None = None
    """The share of readings inside their 90 % interval."""
    width_90: float | None = None
    """The mean width of the 90 % intervals."""
    log_score: float | None = None
    """The mean log density of the readings; more is better."""
    error: float | None = None
    """The mean error of the median, as a share of the reading."""
    rank_correlation: float | None = None
    """The correlation between predictions and readings of the remaining trials, from -1 to 1."""
    regret: float | None = None
    """The difference between the best remaining trial and the one that it would have picked, as a share."""
    missed: float | None = None
    """The average gap between its best trial and the optimum in simulated lab sessions: 0 is the optimum at once, 1 the
    value of most configurations. Null if the session has too few readings.
    """
    missed_live: float | None = None
    """The same in simulated live sessions, where each trial counts and not only the best so far."""


class ScorecardAnswer(Answer):
    """The scores of a model version on past sessions, each with the same weight. The model is fitted to the first 3 to
    24 trials of a session and predicts the later ones.
    """

    held_80: float | None
    """The share of readings inside their 80 % interval."""
    width_80: float | None
    """The intervals' mean width, as a share of the median."""
    held_90: float | None
    """The share of readings inside their 90 % interval."""
    width_90: float | None
    """The mean width of the 90 % intervals."""
    log_score: float | None
    """The mean log density of the readings; more is better."""
    error: float | None
    """The mean error of the median, as a share of the reading."""
    rank_correlation: float | None
    """The correlation between predictions and readings of the remaining trials, from -1 to 1."""
    regret: float | None
    """The difference between the best remaining trial and the one that it would have picked, as a share."""
    missed: float | None = None
    """The average gap between its best trial and the optimum in simulated lab sessions: 0 is the optimum at once, 1 the
    value of most configurations. Null if sessions have too few readings.
    """
    missed_live: float | None = None
    """The same in simulated live sessions, where each trial counts and not only the best so far."""
    sessions: int
    """The number of past sessions used."""
    forecasts: int
    """The number of predicted readings."""
    failed: int
    """The number of past sessions on which it could not be scored."""
    leaning: int
    """The number of past sessions that could learn from others."""
    gain_from_past: PastGainAnswer
    """The gain from past workloads of other sessions; each session is left out of its own past."""
    conformance: list[ConformanceAnswer]
    """The results of the packages' parts; empty if it needs none."""
    by_session: list[SessionScoreAnswer]
    """The scores by session."""


class DataAnswer(Answer):
    """The data from which a scorecard was computed."""

    fingerprint: str
    """A digest: equal for the same sessions with the same trials."""
    sessions: int
    """The number."""
    trials: int
    """The number of their trials."""


class ShadowScoreAnswer(Answer):
    """The accuracy of the predictions of later readings."""

    n: int
    """The number."""
    held_90: float | None
    """The share of readings inside the 90 % interval."""
    width_90: float | None
    """The intervals' mean width, as a share of the median."""
    log_score: float | None
    """The mean log density of the readings; more is better."""
    error: float | None
    """The mean error of the median, as a share of the reading."""


class InShadowAnswer(Answer):
    """A candidate compared with the serving version, on the same readings."""

    candidate: ShadowScoreAnswer
    """The candidate's predictions."""
    served: ShadowScoreAnswer
    """The predictions of the serving versions."""


class JudgedAnswer(Answer):
    """One source's comparison of a candidate with the champion: the mean difference over sessions and its interval."""

    source: Literal["past_sessions", "shadow", "played", "played_live"]
    """Forecasts of past sessions, forecasts in the shadow, sessions simulated in a lab, or sessions simulated live."""
    measure: Literal["log_score", "missed", "missed_live"]
    """The compared measure."""
    judges: list[str]
    """The groups of options that this source can judge."""
    sessions: int
    """The number of sessions with results for both."""
    mean: float | None
    """The mean difference; above 0, the candidate is better. Null without a session."""
    low: float | None
    """The lower end of its interval; null if there are too few sessions."""
    high: float | None
    """The upper end."""
    level: float
    """The probability that the interval contains the true difference, however often you look."""
    verdict: Literal["better", "worse", "undecided"]
    """Whether the interval excludes 0, and where it lies."""
    needed: int | None
    """The number of further sessions that exclude 0 in nine of ten cases, if the true difference equals the current
    one; null if 1000 might not suffice, and before 5 sessions.
    """
    sentence: str
    """The comparison in words."""


class BesideChampionAnswer(Answer):
    """A version compared with the champion, by each source."""

    champion: str
    """The champion's id."""
    changed: list[str]
    """The groups of options in which they differ."""
    not_judged: list[str]
    """The changed groups that no source can judge."""
    judged: list[JudgedAnswer]
    """The result of each source."""
    promotes: bool
    """Whether the rule promotes the version: each changed group is better according to a source that judges it, no
    source says worse, and the suite passed.
    """
    why: str
    """The reason, in words."""


class ModelDetailAnswer(ModelAnswer):
    """A model version with its options and its scores."""

    options: Document
    """The complete options document."""
    scorecard: ScorecardAnswer | None
    """Its scores on past sessions, of those so far while the first is computed; null before the first session."""
    data: DataAnswer | None
    """The data from which the scorecard was computed."""
    scoring: ScoringAnswer | None
    """The newest computation of a scorecard; null before the first."""
    in_shadow: InShadowAnswer | None
    """Its predictions compared with those of the serving version; null before the first reading that both predicted."""
    beside_champion: BesideChampionAnswer | None
    """Its comparison with the champion; null for the champion itself."""
