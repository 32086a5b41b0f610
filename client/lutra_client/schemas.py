"""The requests and answers of the service; a moment is a datetime. Made of service/openapi.json by `python -m tests.contract.test_client`: change that, not this."""

# ruff: noqa: E501

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal, NotRequired, TypedDict


class AcceptBody(TypedDict):
    """The acceptance of a risk: a reason and an end."""

    because: str
    """The reason, shown beside the finding."""
    until: datetime | str
    """The moment from which the finding counts again."""


class AcceptedAnswer(TypedDict):
    """An accepted finding."""

    name: str
    """The symptom's name."""
    kind: Literal["outage", "danger", "fault", "elsewhere", "enough", "note"]
    """The symptom's kind at that time: the symptom counts again once its kind is worse."""
    because: str
    """The reason."""
    until: datetime
    """The moment from which the finding counts again."""
    accepted_at: datetime
    """When it was accepted."""
    accepted_by: str
    """The name of the token."""


class AgentAnswer(TypedDict):
    """The agent's newest status."""

    version: NotRequired[str]
    """The agent's version."""
    mode: NotRequired[Literal["observe", "reload_only", "restart_in_window", "lab"]]
    """The strongest mode that the agent's own file allows."""
    paused: NotRequired[bool]
    """Whether somebody on the database's host has paused the agent."""
    driver: NotRequired[str | None]
    """The driver of a lab; null if there is none."""
    loads: NotRequired[list[str]]
    """The named loads of the driver, in addition to its own: a session may name them."""
    spool_dropped: NotRequired[int]
    """The number of reports that were dropped because the spool was full."""
    spool_refused: NotRequired[int]
    """The number of reports that the service refused."""
    problems: NotRequired[list[str]]
    """The agent's problems."""
    guardrails: NotRequired[dict[str, Guardrail]]
    """The guardrails of its own file."""
    firing: NotRequired[list[Literal["p99", "qps", "errors", "memory", "replication_lag", "disk", "unreachable"]]]
    """The guards that are firing."""
    provisional: NotRequired[str | None]
    """The recommendation whose change is not confirmed yet."""


class AgentStatus(TypedDict):
    """The agent's status: its strongest mode, its problems and its guardrails. `provisional` is the directive whose
    change is not confirmed yet. `loads` are the named loads of its driver."""

    version: NotRequired[str]
    """The agent's version."""
    mode: NotRequired[Literal["observe", "reload_only", "restart_in_window", "lab"]]
    """The strongest mode that the agent's own file allows."""
    paused: NotRequired[bool]
    """Whether an operator on the database's host has paused the agent."""
    driver: NotRequired[str | None]
    """The driver of a lab; null if there is none."""
    loads: NotRequired[list[str]]
    """The named loads of the driver, in addition to its own. A session may name them."""
    spool_dropped: NotRequired[int]
    """The number of reports that were dropped because the spool was full."""
    spool_refused: NotRequired[int]
    """The number of reports that the service refused."""
    problems: NotRequired[list[str]]
    """The agent's problems, in words."""
    guardrails: NotRequired[dict[str, Guardrail]]
    """The guardrails of the agent's own file."""
    firing: NotRequired[list[Literal["p99", "qps", "errors", "memory", "replication_lag", "disk", "unreachable"]]]
    """The guards that are firing."""
    provisional: NotRequired[str | None]
    """The directive whose change is not confirmed yet."""


class AlikeAnswer(TypedDict):
    """A workload that resembles the requested one."""

    workload: str
    """The id."""
    name: str
    """The name of its database."""
    distance: float
    """The distance between signatures, levels and circumstances; 0 means none."""
    agreement: float | None
    """How well its effects rank the measurements of the requested workload: the mean probability of each comparison,
    from 0 to 1, where 0.5 is chance; null if there is nothing to compare."""


class AlikeAnswers(TypedDict):
    """The most similar workloads, the most similar first."""

    items: list[AlikeAnswer]
    """The workloads, without those whose counters lie outside the range of the requested one."""


class Alive(TypedDict):
    """The service answers."""

    status: NotRequired[Literal["alive"]]
    """Always `alive`."""
    version: NotRequired[str]
    """The service's version."""


class Approving(TypedDict):
    """Empty: approve the whole recommendation."""

    settings: NotRequired[list[str] | None]
    """Approve only these changes."""
    reason: NotRequired[str | None]
    """With `settings`: the reason for leaving out the others."""


class AuditAnswer(TypedDict):
    """An action, its actor and its object."""

    id: str
    """The id."""
    at: datetime
    """The time of the action."""
    action: str
    """The action, such as `recommendation.approve`."""
    target: str
    """The id of the object."""
    database: str | None
    """The database concerned; null if there is none."""
    token: str | None
    """The id of the token that was used; null if the service, an agent, a guard, or somebody at the service's command
    line acted."""
    token_name: str
    """The token's name, or the actor if there was no token."""
    address: str
    """The network address of the request; empty if there is none."""
    request_id: str
    """The id of the request, as in the service's log; empty if there is none."""
    before: dict[str, Any] | None
    """The state before; null if there was none."""
    after: dict[str, Any] | None
    """The state after; null if nothing is left."""


class BesideChampionAnswer(TypedDict):
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
    source says worse, and the suite passed."""
    why: str
    """The reason, in words."""


class ChangeAnswer(TypedDict):
    """One setting that changes, with the exact statement and its undo."""

    setting: str
    """Its name."""
    before: int | float | str
    """In the server's own unit."""
    after: int | float | str
    """In the server's own unit."""
    before_text: str
    """In a readable form."""
    after_text: str
    """In a readable form."""
    applies: Literal["immediate", "reload", "restart", "reboot"]
    """The step that activates the new value."""
    do: str
    """The statement that makes the change, followed by lines of a file under the file's name and section."""
    undo: str
    """The statement that undoes it, in the same form."""
    do_steps: list[StepAnswer]
    """The steps that the agent executes for `do`, in order."""
    undo_steps: list[StepAnswer]
    """The steps that the agent executes for `undo`, in order. Several changes are undone in the reverse order of
    `changes`."""


class ComparisonAnswer(TypedDict):
    """A comparison of windows after changes on a live database with windows before them, at comparable load."""

    metric: str
    """The compared metric: the session's objective; without a session, p99."""
    verdict: Literal["better", "worse", "no_difference_seen", "not_enough_at_like_load"]
    """Whether the metric improved or got worse, no difference was seen, or too few windows are at comparable load."""
    before: int
    """The number of windows from before the change that count."""
    after: int
    """The number of windows since the change that count."""
    left_out: int
    """The number of windows that are left out because no window on the other side has a comparable load."""
    busy: int
    """The number of counted windows in which the host was busy with something else; these have less weight."""
    ratio: float | None
    """The ratio of after to before, at comparable load; null if there are too few windows."""
    low: float | None
    """The interval's lower end."""
    high: float | None
    """The interval's upper end."""
    level: float
    """The probability that the interval contains the ratio."""
    rate_of: str | None
    """The metric that measures the offered load; null if there is none."""
    rate_low: float | None
    """The smallest rate among the windows that count."""
    rate_high: float | None
    """The largest one."""
    sentence: str
    """The comparison in words."""


class ConformanceAnswer(TypedDict):
    """The result of a package's part in the suite that Lutra's own parts pass."""

    option: str
    """The option that names the part."""
    name: str
    """The part's name."""
    faults: list[str]
    """The failed requirements; empty if the part passes."""


class ConnectionsAnswer(TypedDict):
    """The connections that the memory sum counts."""

    counted: int | None
    """The number that the sum counts; null if the engine's sum does not count connections."""
    seen: int
    """The most connections seen at once; 0 if unknown."""
    most: int | None
    """The maximum number of open connections."""


class CureAnswer(TypedDict):
    """A change of one setting that cures a symptom, within its range, the policy and the memory limit."""

    setting: str
    """Its name."""
    before: int | float | str
    """The active value, in the server's own unit."""
    before_text: str
    """The same as people write it."""
    after: int | float | str | None
    """The recommended value, as far as it is allowed; null if no value may be offered."""
    after_text: str | None
    """The same as people write it."""
    applies: Literal["immediate", "reload", "restart", "reboot"]
    """How a new value becomes active."""
    reason: str
    """The purpose of the change."""
    set_by: str | None
    """The place where the active value was set; null if it is the server's default."""
    obstacle: str | None
    """The reason why no cure, or only a partial one, is offered."""
    unreached: str | None
    """The roles, databases or tablespaces with their own value, which the change does not reach; null if there are
    none."""


class DataAnswer(TypedDict):
    """The data from which a scorecard was computed."""

    fingerprint: str
    """A digest: equal for the same sessions with the same trials."""
    sessions: int
    """The number."""
    trials: int
    """The number of their trials."""


class DatabaseAnswer(TypedDict):
    """A registered database server."""

    id: str
    """The id."""
    name: str
    """The name."""
    engine: str
    """The engine."""
    engine_version: str | None
    """The version, as its agent last reported it; null before the first report."""
    role: Literal["primary", "standby"] | None
    """The version, as its agent last reported it; null before the first report."""
    label: str | None
    """Databases with the same label belong together, and so do those without a label."""
    policy: PolicyBody
    """The operator's policy."""
    host: Host | None
    """The resources that the server may use; null before the first report."""
    peak_connections: int
    """The most connections seen at once; 0 if unknown."""
    agent: AgentAnswer | None
    """Its agent's newest status; null before the first report."""
    created_at: datetime
    """When it was registered."""
    last_report_at: datetime | None
    """When its agent's last report arrived."""
    last_window_end: datetime | None
    """The end of the last window that was measured."""
    retired_at: datetime | None
    """When it was retired: its reports have been refused since. Null while it is in use."""


class DatabaseLoadAnswer(TypedDict):
    """The load and the p99 of a database, against the span before."""

    database: str
    """The database's id."""
    name: str
    """Its name."""
    engine: str
    """Its engine."""
    p99_of: str | None
    """The source of p99 and what it counts; null without p99. Other kinds of p99 are left out."""
    now: LoadAnswer
    """The requested span."""
    before: LoadAnswer
    """The span before it, of the same length."""
    compared: ComparisonAnswer | None
    """The p99 of both spans at comparable load, where each window is a mean over some hours. Null if one of both has no
    p99, and for databases beyond the twenty whose p99 differs most: their figures are then plain ones."""
    daily: list[LoadAnswer]
    """The load of each day of both spans, the oldest first."""


class DatabasePatch(TypedDict):
    """Only the given fields change. `label` needs a token that is not bound to a database; null removes the label."""

    policy: NotRequired[PolicyPatch]
    """The parts of the policy that change."""
    label: NotRequired[str | None]
    """Databases with the same label belong together, and so do those without a label."""


class DeliveryAnswer(TypedDict):
    """A message for a receiver, with its outcome. Of the receiver's answer only the status is kept."""

    id: str
    """The id: the `webhook-id` of every attempt."""
    receiver: str
    """The receiver's id."""
    kind: Literal[
        "proposed",
        "applied",
        "confirmed",
        "reverted",
        "not_applied",
        "guard",
        "session_ended",
        "session_paused",
        "agent_silent",
        "agent_back",
        "drift",
        "gain_lost",
        "summary",
        "digest",
        "test",
    ]
    """The kind of notice; or `digest`, which sums up several, or `test`."""
    database: str | None
    """The database concerned; null if there is none."""
    text: str
    """The message."""
    facts: dict[str, Any]
    """The same for programs."""
    state: Literal["waiting", "delivered", "failed", "digested"]
    """`digested`: the message `digest` contains it."""
    digest: str | None
    """The digest that contains it; null if there is none."""
    at: datetime
    """The time of the event."""
    attempts: int
    """The number of attempts."""
    tried_at: datetime | None
    """When the first attempt was made; null before."""
    status: int | None
    """The HTTP status of the latest attempt; null if there was no answer."""
    error: str | None
    """Why the latest attempt failed; null if it did not."""
    ended_at: datetime | None
    """When it was delivered, summed up in a digest, or given up; null while it waits."""


class Directive(TypedDict):
    """Apply `settings`. A directive is carried out once: an id that was already answered is not carried out again.

    `settings` is name → value in the server's own unit. `restore` marks settings that the database ran with before.
    `rollback` undoes a change that the agent reported as applied, or restores settings from the start of the session
    or settings that measured better since. A rollback needs no confirmation and, in the agent, no maintenance window,
    and no guard undoes it. (The service hands out an automatic rollback only within a window.) `restore` and `rollback`
    take effect only if the agent has these settings on its own disk; otherwise the directive is a new change.
    `measure` asks an agent in lab mode to run its driver afterwards and to report that window as `measures`: under each
    of `loads` in turn, or under the driver's own load if none is named. A window under the driver's own load may be
    ended early if it cannot reach `must_reach`. `expects` is the server for which the settings were chosen; any other
    server refuses them."""

    id: str
    """The id. The agent carries out each id once."""
    recommendation: str
    """The recommendation that it carries out."""
    settings: dict[str, int | float | str]
    """The values to apply, by setting, in the server's own unit."""
    restart_allowed: NotRequired[bool]
    """Whether the server may be restarted for it."""
    restore: NotRequired[bool]
    """Whether it restores settings that the database ran with before."""
    rollback: NotRequired[bool]
    """Whether it undoes a change that its agent reported as applied."""
    measure: NotRequired[bool]
    """Whether an agent in lab mode runs its driver afterwards and reports what it measured."""
    must_reach: NotRequired[MustReach | None]
    """The reading that its window has to reach; otherwise the window is ended early. Null if it is measured to its end."""
    loads: NotRequired[list[str]]
    """The loads to measure under, one after the other; empty for the driver's own load."""
    expects: NotRequired[Identity | None]
    """The server for which the settings were chosen; any other server refuses them."""
    rules: NotRequired[Rules | None]
    """The operator's rules on the service for this database."""
    expires_at: datetime
    """The agent does not start the change after this moment."""


class EffectAnswer(TypedDict):
    """The effect of one setting on a metric, with the others as they were measured: a curve relative to the value at
    which the workload began."""

    setting: str
    """The setting."""
    baseline: int | float | str
    """The value at which the workload began, one of `values`. Gains are relative to it."""
    values: list[int | float | str]
    """The setting's values, in the server's own unit, in ascending order; for a choice, its options."""
    gains: list[float]
    """At each value, the improvement of the metric over the baseline (negative if it is worse), in the metric's unit or
    its logarithm."""
    deviations: list[float]
    """The standard deviation of each gain, in the same unit."""
    deviation: float
    """The standard deviation of the curve around its mean, in the same unit."""
    serves: NotRequired[list[float] | None]
    """The ends of the sensible part of the range for such a host, if values outside it were measured."""
    chance: float
    """The probability that a setting without any effect looks as strong in such a table, found by permuting the
    readings. It applies to all settings together."""
    certain: bool
    """Whether the setting had an effect, at a false discovery rate of 5 %, and the 90 % interval of its largest change
    from the baseline excludes 0."""
    best: int | float | str
    """The sensible value with the greatest gain."""
    gain: float
    """The gain at `best`; 0 if the baseline is best."""
    low: float
    """The low end of the gain's 90 % interval."""
    high: float
    """The high end of the gain's 90 % interval."""
    log: NotRequired[bool]
    """Whether the values are spaced by their logarithms."""
    choice: NotRequired[bool]
    """Whether the values are options."""
    special: NotRequired[int]
    """The number of special values at the end, such as 0 for `off`, which are not part of the curve."""


class EndedEarly(TypedDict):
    """The result of a window that was ended early: a bound instead of a value."""

    metric: str
    """The session's objective."""
    bound: float
    """The bound of the whole window's reading: at most this if more is better, otherwise at least this."""
    planned_s: float
    """The planned length of the window."""


class EndedEarlyAnswer(TypedDict):
    """The result of a window that was ended early: a bound instead of a value."""

    metric: str
    """The session's objective."""
    bound: float
    """The bound of the whole window's reading: at most this if more is better, otherwise at least this."""
    planned_s: float
    """The planned length of the window."""


class EnrolmentAnswer(TypedDict):
    """An agent that is enrolled: its database and its own token."""

    database: str
    """The database's id."""
    name: str
    """The database's name."""
    engine: str
    """The database's engine."""
    token_id: str
    """The id of the agent's token."""
    token: str
    """The secret of the agent's token, shown once."""


class EpisodeAnswer(TypedDict):
    """A finding that was seen without a gap of more than an hour."""

    id: str
    """The id."""
    name: str
    """The symptom's name."""
    kind: Literal["outage", "danger", "fault", "elsewhere", "enough", "note"]
    """Its kind when it was last seen."""
    strength: float
    """Its strength at that time."""
    sentence: str
    """Its sentence at that time."""
    since: datetime
    """When it was first seen."""
    last_seen: datetime
    """When it was last seen."""
    gone_at: datetime | None
    """When it was first found to be gone; null while it is current."""


class EventAnswer(TypedDict):
    """A guard that fired: `value` was beyond `bound` for `held_s` seconds."""

    id: str
    """The id."""
    database: str
    """The id of its database."""
    session: str | None
    """The session that was open at that time."""
    recommendation: str | None
    """The change that the agent undid because of it; null if there was none."""
    guard: Literal["p99", "qps", "errors", "memory", "replication_lag", "disk", "unreachable"]
    """The guard."""
    metric: str
    """The metric that the guard watches."""
    value: float
    """The measured value."""
    bound: float
    """The value that it was compared with: the limit, or the limit and the baseline."""
    limit: float
    """The guardrail's limit, in the guard's own terms."""
    baseline: float | None
    """The metric's value before the change, for a guard that compares with it."""
    hold_s: float
    """For how many seconds without a break the bound had to be crossed."""
    held_s: float
    """For how many seconds the bound was crossed."""
    since: datetime
    """When the bound was first crossed."""
    at: datetime
    """When the guard fired."""
    received_at: datetime
    """When the service received it."""
    message: str
    """The event in words."""


class FailureAnswer(TypedDict):
    """Why a recommendation was not carried out, or was undone."""

    code: Literal[
        "memory_budget_exceeded",
        "limit_exceeded",
        "durability_not_allowed",
        "restart_not_allowed",
        "outside_maintenance_window",
        "mode_forbids",
        "insufficient_privilege",
        "setting_shadowed",
        "invalid_value",
        "unknown_setting",
        "not_primary",
        "server_changed",
        "paused",
        "expired",
        "did_not_start",
        "not_active_after_apply",
        "database_unavailable",
        "guardrail",
        "not_confirmed",
        "internal_error",
        "driver_failed",
        "no_measurement",
        "not_measured",
        "refused",
        "space_exhausted",
        "missing_extension",
        "broken_extension",
        "fit_failed",
        "invalid_answer",
        "invalid_configuration",
        "invalid_options",
        "not_enough_observations",
        "computation_lost",
        "computation_failed",
        "rejected",
        "withdrawn",
        "gathered",
        "rolled_back",
        "state_lost",
        "server_replaced",
        "unknown",
    ]
    """The code, for programs."""
    message: str
    """The message for people, often in the words of an agent or a server; may be empty."""
    by: Literal["agent", "service", "worker", "operator"]
    """The party that ended it: its agent (with its guards and its server), the service, the worker, or an operator."""


class FinalistAnswer(TypedDict):
    """A configuration that the session can hand over."""

    name: Literal["best", "rule_based", "baseline"]
    """`best` is the model's choice, `baseline` the configuration at the start of the session."""
    recommendation: str | None
    """The latest recommendation that measured it; null before the first."""
    configuration: dict[str, int | float | str]
    """The whole configuration, in the server's own units."""
    changed_settings: int
    """The number of settings that differ from the baseline."""
    readings: list[dict[str, float]]
    """The readings, by round and metric."""
    failed: str | None
    """Why this configuration cannot be handed over; null if it can."""
    gains: dict[str, GainAnswer]
    """The gain over each other finalist; empty before the third round. Under several loads, the gain of the aim."""
    gains_by_load: NotRequired[dict[str, dict[str, GainAnswer]]]
    """The gain over each other finalist under each single load; empty without several loads."""


class ForLoadAnswer(TypedDict):
    """The load for which predictions are made. It is an input, and is not predicted itself."""

    rate_of: str
    """The metric that measures the offered load."""
    rate: float
    """The rate: the current one, or the one of the request."""
    low: float
    """The smallest measured rate."""
    high: float
    """The largest one."""


class GainAnswer(TypedDict):
    """The gain over another finalist, as a share of that one's reading: .08 is 8 % better. `low` to `high` is the 90 %
    interval for the gain that three more rounds would measure. It also covers the true gain."""

    median: float
    """The median of the alternating readings."""
    low: float
    """The lower end of the interval for three more rounds."""
    high: float
    """The upper end of the interval for three more rounds."""


class GainsAnswer(TypedDict):
    """The gains that were reported for changes of the last hundred days, by their outcome."""

    reported: int
    """The number of reported gains."""
    holds: int
    """The number of those that still hold."""
    decayed: int
    """The number of those that no longer hold."""
    unknown: int
    """The number of those that are not judged again, or cannot be."""
    share: float | None
    """The share of the judged ones that hold; null if none was judged again."""


class GuardEvent(TypedDict):
    """A guard fired: `value` was beyond `bound` for `held_s` seconds. The bound comes from the limit and, if the guard
    uses one, the baseline. `directive` is the change that was undone because of it, None if the agent had no change in
    progress."""

    id: str
    """The id; an event that is sent twice has the same id."""
    guard: Literal["p99", "qps", "errors", "memory", "replication_lag", "disk", "unreachable"]
    """The guard."""
    metric: str
    """The metric that the guard watches."""
    value: float
    """The measured value."""
    bound: float
    """The value that it was compared with: the limit, or the limit and the baseline."""
    limit: float
    """The guardrail's limit, in the guard's own terms."""
    baseline: NotRequired[float | None]
    """The metric's value before the change, for a guard that compares with it."""
    held_s: float
    """For how many seconds the bound was crossed."""
    hold_s: float
    """For how many seconds without a break the bound had to be crossed."""
    since: datetime | str
    """When the bound was first crossed."""
    at: datetime | str
    """When the guard fired."""
    directive: NotRequired[str | None]
    """The change that the agent undid because of it; null if there was none."""
    message: str
    """The event in words."""


class Guardrail(TypedDict):
    """One guard's limit, and for how many seconds without a break it has to be crossed before the guard fires."""

    limit: float
    """The limit, in the guard's own terms."""
    hold_s: float
    """The guard fires when the limit is crossed for this many seconds without a break."""
    enabled: NotRequired[bool]
    """Whether the guard is enabled."""


class GuardrailBody(TypedDict):
    """One guard's limit, and for how long it has to be crossed before the guard fires."""

    limit: float
    """The limit, in the guard's own terms: see its `meaning`."""
    hold_s: float
    """The guard fires when the limit is crossed for this many seconds without a break."""
    enabled: NotRequired[bool]
    """Whether the guard is enabled."""
    meaning: NotRequired[str | None]
    """The guard's rule, in terms of `limit`."""
    origin: NotRequired[Literal["service", "agent", "default"] | None]
    """The origin of the values. A guardrail that is sent back unchanged with `agent` or `default` keeps that origin."""


class GuardrailsBody(TypedDict):
    """The guardrails by guard. A guard that is left out has the limits of the agent's own file."""

    guardrails: dict[str, GuardrailBody]
    """The guards by name."""
    firing: NotRequired[
        list[Literal["p99", "qps", "errors", "memory", "replication_lag", "disk", "unreachable"]] | None
    ]
    """The guards that fire now, by the agent's newest report."""


class HappeningAnswer(TypedDict):
    """A change of settings, or a guard that fired."""

    at: datetime
    """When it happened, or was noticed."""
    database: str
    """The database's name."""
    what: str
    """In words, such as `applied`, `confirmed`, `reverted`, `refused`, `failed` or `guard fired`."""
    change: str
    """The settings with their values before and after; empty if none changed."""
    by: str
    """The person or the program that decided or did it; empty if unknown."""
    why: str
    """The reason in words; empty if there is none."""
    recommendation: str | None
    """The recommendation's id; null if there is none."""
    effect: ComparisonAnswer | None
    """For an applied change, its effect at comparable load; null if it is not judged yet."""


class HistoryAnswer(TypedDict):
    """The complete input of `recommend` for a session: `lutra_models.serial.history_from_dict` turns it into a
    `History`."""

    format: int
    """The version of this document's format."""
    knobs: list[dict[str, Any]]
    """The settings that are searched, each with its domain."""
    objective: dict[str, Any]
    """The metric to improve."""
    limits: list[dict[str, Any]]
    """Limits on other metrics."""
    observations: list[dict[str, Any]]
    """Every measured or failed trial, in the order in which they were measured."""
    pending: list[dict[str, int | float | str]]
    """Configurations that are proposed but not yet measured."""
    current: dict[str, int | float | str] | None
    """The active configuration."""
    starts: list[dict[str, int | float | str]]
    """Configurations to try early."""
    context: dict[str, Any]
    """The constant circumstances: version, hardware and the like."""
    answers: dict[str, list[list[Any]]]
    """For each setting, pairs of a requested number and the number that the server set."""
    baseline: dict[str, int | float | str] | None
    """The configuration at the start of the session: changes are counted from it."""
    aim: dict[str, Any] | None
    """The readings from which `objective` is computed, under several loads."""
    server: dict[str, Any]
    """The server, from which the memory rules follow."""
    policy: dict[str, Any]
    """The policy, from which the memory rules follow."""


class Host(TypedDict):
    """The resources that the server may use, with container and cgroup limits if they are narrower than the machine,
    and the kind of machine. Facts that the host does not report are None."""

    memory_bytes: int
    """The memory that the server may use."""
    cores: float
    """The processor cores that the server may use."""
    disk_bytes: NotRequired[int | None]
    """The disk size that the formulas use: the data disk's size, or less if it is nearly full."""
    rotational: NotRequired[bool | None]
    """Whether the data's disk spins; null if that is unknown."""
    kernel: NotRequired[str | None]
    """The first two numbers of the Linux kernel's version; null if that is unknown, as below."""
    allocator: NotRequired[str | None]
    """The library from which the server takes its memory."""
    file_system: NotRequired[str | None]
    """The file system that holds the data."""
    device: NotRequired[str | None]
    """The kind of the data's disk: spinning, network, nvme, virtual, composed or solid."""
    memory_pages: NotRequired[str | None]
    """The use of transparent huge pages, and whether explicit ones are reserved."""
    machine: NotRequired[str | None]
    """The firmware's name for the machine; in some clouds the instance type."""
    others_bytes: NotRequired[int | None]
    """The most memory that other programs and the kernel used in the last seven days."""
    resident_bytes: NotRequired[int | None]
    """The memory of the server's own processes, with shared memory counted once."""
    shm_bytes: NotRequired[int | None]
    """The size of the server's /dev/shm."""
    open_files: NotRequired[int | None]
    """The limit of open files of the server's process."""
    tasks: NotRequired[int | None]
    """The limit of processes and threads in the server's control group."""
    write_iops: NotRequired[int | None]
    """The limit of writes per second to the data's disk in the server's control group."""


class HostRollback(TypedDict):
    """An operator restored a configuration on the database's own host, with `lutra-agent rollback`."""

    target: Literal["baseline", "last_known_good"]
    """The restored configuration: the baseline, or the last-known-good."""
    at: datetime | str
    """The time."""
    reason: NotRequired[str]
    """The operator's reason; empty if none was given."""
    settings: NotRequired[dict[str, RolledBackSetting]]
    """The settings that differed, by name."""


class Identity(TypedDict):
    """The server's identity: a failover, an upgrade or a move to another host changes it."""

    role: Literal["primary", "standby"]
    """Whether it accepts writes."""
    engine_version: str
    """The server's version."""
    identifier: str
    """The server's own identifier; empty if it has none."""
    memory_bytes: int
    """The memory that the server may use."""
    cores: float
    """The processor cores that the server may use."""


class InShadowAnswer(TypedDict):
    """A candidate compared with the serving version, on the same readings."""

    candidate: ShadowScoreAnswer
    """The candidate's predictions."""
    served: ShadowScoreAnswer
    """The predictions of the serving versions."""


class IntervalBody(TypedDict):
    """From `start` to before `end`, in UTC."""

    start: datetime
    """The start."""
    end: datetime
    """The end."""


class JudgedAnswer(TypedDict):
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
    one; null if 1000 might not suffice, and before 5 sessions."""
    sentence: str
    """The comparison in words."""


class JudgementAnswer(TypedDict):
    """The effect of a change on a live database: windows after it compared with windows before, at comparable load."""

    metric: str
    """The compared metric: the session's objective; without a session, p99."""
    verdict: Literal["better", "worse", "no_difference_seen", "not_enough_at_like_load"]
    """Whether the metric improved or got worse, no difference was seen, or too few windows are at comparable load."""
    before: int
    """The number of windows from before the change that count."""
    after: int
    """The number of windows since the change that count."""
    left_out: int
    """The number of windows that are left out because no window on the other side has a comparable load."""
    busy: int
    """The number of counted windows in which the host was busy with something else; these have less weight."""
    ratio: float | None
    """The ratio of after to before, at comparable load; null if there are too few windows."""
    low: float | None
    """The interval's lower end."""
    high: float | None
    """The interval's upper end."""
    level: float
    """The probability that the interval contains the ratio."""
    rate_of: str | None
    """The metric that measures the offered load; null if there is none."""
    rate_low: float | None
    """The smallest rate among the windows that count."""
    rate_high: float | None
    """The largest one."""
    sentence: str
    """The comparison in words."""
    follows: NotRequired[str]
    """The possible next step, in words: how to undo a loss, or the cost of a change without a visible difference. Empty
    if there is none."""
    together: NotRequired[ComparisonAnswer | None]
    """The same comparison for all changes of its session up to this one; null if it is the only one."""
    lasting: NotRequired[list[LookAnswer]]
    """If it is a gain: its later judgements, after a day and after a week. After a loss there are no more."""


class KnobAnswer(TypedDict):
    """One setting of the catalogue."""

    name: str
    """Its name."""
    setting_source: str
    """The source of the setting: `server`, or another one, such as the host's operating system."""
    group: str
    """The group."""
    kind: Literal["integer", "real", "bool", "enum"]
    """The type of its values."""
    unit: str
    """The catalogue's unit; empty if it has none."""
    range: str
    """The ends as formulas of the host's facts, in the catalogue's unit."""
    log: bool
    """Whether it is searched on a logarithmic scale."""
    special: list[float]
    """Special values outside the range."""
    versions: str
    """The versions that have it."""
    applies: Literal["immediate", "reload", "restart", "reboot"] | Literal["fixed"]
    """How a new value becomes active; `fixed` for a setting that cannot be changed."""
    risk: Literal["none", "durability", "availability", "host"]
    """The risk of a change."""
    tuned_by_default: bool
    """Whether it is searched without being named in a policy."""
    rule: str | None
    """The formula of a good first value; null if there is none."""
    meaning: str
    """The meaning."""
    manual: str
    """The page of the engine's manual."""


class LeaningAnswer(TypedDict):
    """Whether past workloads help a session: the log score of its forecasts with them minus the log score without, over
    the trials that used some."""

    trials: int
    """The number of measured trials."""
    mean: float
    """The mean difference; above 0, the past helps."""
    low: float | None
    """The lower end of its interval; null if there are too few trials."""
    high: float | None
    """The upper end."""
    level: float
    """The probability that the interval contains the true difference, however often you look."""
    verdict: Literal["better", "worse", "undecided"]
    """`better`: the past helps. `worse`: the past harms, and the session no longer uses it."""
    sentence: str
    """The comparison in words."""


class LeansOnAnswer(TypedDict):
    """The influence of past workloads on a recommendation."""

    workloads: list[PastWorkloadAnswer]
    """The workloads that it uses, in descending order of weight."""
    without: dict[str, int | float | str]
    """The configuration that would have been proposed without past workloads, in the server's own units."""
    differs: list[str]
    """The settings whose values differ in it."""
    predictions: dict[str, PredictionAnswer]
    """By metric, the prediction for the recommended settings without past workloads."""
    sentence: str
    """The comparison in words."""


class LeftOutAnswer(TypedDict):
    """The accuracy of such intervals on past readings."""

    n: int
    """The number of readings so far."""
    held: int
    """The number of readings inside their interval when they were left out of the fit."""


class LessonAnswer(TypedDict):
    """The lessons of a workload about one metric."""

    log: bool
    """Whether all values are on the logarithm of the metric: then a difference of 0.1 is about 10 %."""
    goal: Literal["minimize", "maximize"]
    """Whether more or less of the metric is better."""
    low: float
    """The least reading."""
    high: float
    """The greatest reading."""
    rest: float
    """The residual variance of the readings."""
    effects: list[EffectAnswer]
    """The effect of each setting: certain ones first, in descending order of strength. Settings that never varied are
    left out."""


class LimitBody(TypedDict):
    """A limit on another metric: either at most or at least."""

    metric: str
    """A metric that is measured on the database."""
    at_most: NotRequired[float | None]
    """The upper limit, in the metric's unit."""
    at_least: NotRequired[float | None]
    """The upper limit, in the metric's unit."""


class LoadAnswer(TypedDict):
    """The load of a database in a span, from the means of its hours."""

    start: datetime
    """The beginning of the span."""
    end: datetime
    """Its end."""
    hours: int
    """The number of hours with windows."""
    p99_ms: float | None
    """The median of the hours' p99; null if there is none."""
    worst_p99_ms: float | None
    """The largest p99 of an hour; null if there is none."""
    qps: float | None
    """The mean of the hours' rates; null if there is none."""


class LoadBody(TypedDict):
    """One of several loads under which a lab's trials are measured."""

    name: str
    """Its name in the agent's file."""
    weight: NotRequired[float]
    """The weight relative to the other loads."""


class LookAnswer(TypedDict):
    """A reported gain, judged again by the windows of the last day, as long as nothing else changed."""

    at: datetime
    """When it was judged again."""
    hours: float
    """The hours since the change."""
    state: Literal["holds", "decayed", "unknown"]
    """Whether the gain holds, has decayed since the time just after the change, or nothing is known."""
    because: str
    """Why nothing is known; otherwise empty."""
    sentence: str
    """The result in words."""
    held: RatioAnswer | None
    """The ratio of the last day to the time before the change; null without windows at comparable load."""
    since: RatioAnswer | None
    """The ratio of the last day to the half day just after the change; null without windows at comparable load."""


class LookedAtAnswer(TypedDict):
    """The basis of a recommendation on a live database."""

    sentence: str
    """A summary of what was examined, and of the result."""
    symptoms: int
    """The number of evaluated symptoms."""
    shown: int
    """The number of symptoms that show a fault."""
    rules: int
    """The number of settings that were compared with the rule for this hardware."""
    windows: int
    """The number of windows on which the symptoms are based."""
    seconds: float
    """The total length of these windows."""
    least_gain: float
    """The smallest gain, as a share, that is proposed on the model's prediction alone."""
    predicted_gain: float | None
    """The largest probable gain according to the model, as a share; null without a model."""
    notes: list[str]
    """Changes that are not proposed, and why: a restart that the mode forbids, a problem that no setting cures, a
    change that was declined."""


class MaintenanceBody(TypedDict):
    """The windows in which the server may be restarted. Without any, nothing is restarted in mode restart_in_window."""

    windows: list[MaintenanceWindowBody]
    """Every weekly window."""
    open_until: NotRequired[datetime | None]
    """The end of the window that is open now; null if none is."""
    next: NotRequired[IntervalBody | None]
    """The start of the next window."""


class MaintenanceWindow(TypedDict):
    """On each of `weekdays` from `start` ("HH:MM" in the time zone `zone`) for `minutes`, across midnight if necessary.
    A zone that this machine does not know is not an error: the window then never opens there."""

    weekdays: list[Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]]
    """The days on which it begins."""
    start: str
    """HH:MM in the time zone `zone`."""
    minutes: int
    """The length in minutes."""
    zone: NotRequired[str]
    """A time zone's name."""


class MaintenanceWindowBody(TypedDict):
    """A weekly window from `start` in the time zone `zone`, across midnight if necessary."""

    weekdays: list[Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]]
    """The days on which it begins."""
    start: str
    """HH:MM"""
    minutes: int
    """The length in minutes."""
    zone: NotRequired[str]
    """A time zone's name, such as `Europe/Berlin`."""


class MemoryAnswer(TypedDict):
    """The server's memory, line by line."""

    terms: list[MemoryTermAnswer]
    """The lines of the sum."""
    total_bytes: float
    """The sum of the lines."""
    limit_bytes: float
    """The limit of the sum."""
    count: Literal["in_use", "worst_case"]
    """The policy's method: the memory that can really be in use at once, or the worst case with everything full at
    once."""
    worst_case_bytes: float
    """The sum in the worst case, with everything full at once."""
    connections: ConnectionsAnswer
    """The counted connections."""


class MemoryTermAnswer(TypedDict):
    """One line of the memory sum."""

    name: str
    """The user of the memory."""
    bytes: float
    """The counted bytes."""
    formula: str
    """The formula."""
    assumption: str
    """The assumption behind the formula."""
    worst_case_bytes: float
    """The bytes in the worst case, with everything full at once."""


class ModelAnswer(TypedDict):
    """A model version: options of the recommender, and the packages that they need."""

    id: str
    """The id."""
    name: str
    """A name for the version."""
    note: str
    """The reason, in one sentence."""
    state: Literal["candidate", "champion", "retired"]
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


class ModelDetailAnswer(TypedDict):
    """A model version with its options and its scores."""

    id: str
    """The id."""
    name: str
    """A name for the version."""
    note: str
    """The reason, in one sentence."""
    state: Literal["candidate", "champion", "retired"]
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
    options: dict[str, Any]
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


class MustReach(TypedDict):
    """The reading that a window has to reach to be worth its time."""

    metric: str
    """The session's objective."""
    goal: Literal["minimize", "maximize"]
    """The direction of improvement."""
    value: float
    """The reading to reach."""


class NewDatabase(TypedDict):
    """A database server to register."""

    name: str
    """The name, unique among databases."""
    engine: str
    """The engine: one of those in the catalogue."""
    policy: NotRequired[PolicyBody]
    """The operator's policy."""
    label: NotRequired[str | None]
    """Databases with the same label belong together, and so do those without a label."""


class NewEnrolment(TypedDict):
    """How one agent may enrol for a database."""

    lifetime_s: NotRequired[int]
    """The number of seconds during which the token is valid."""


class NewModel(TypedDict):
    """An options document, either as TOML or as JSON. Options that it does not name keep their default."""

    name: str
    """A name for people."""
    toml: NotRequired[str | None]
    """The document as TOML, in the form that `lutra models options` prints."""
    options: NotRequired[dict[str, Any] | None]
    """The document as JSON: each group of options is an object."""
    note: NotRequired[str]
    """The reason, in one sentence."""


class NewPrediction(TypedDict):
    """A what-if question."""

    settings: NotRequired[dict[str, int | float | str]]
    """Merged with the current ones: texts with units, or numbers in the server's own unit."""
    level: NotRequired[float]
    """The probability with which each interval should contain the reading."""
    rate: NotRequired[float | None]
    """On a live database, the offered load per second, in the unit that `load` of an answer names; null for the current
    load. A rate outside the measured ones is refused."""


class NewReceiver(TypedDict):
    """A receiver to create."""

    kinds: NotRequired[
        list[
            Literal[
                "proposed",
                "applied",
                "confirmed",
                "reverted",
                "not_applied",
                "guard",
                "session_ended",
                "session_paused",
                "agent_silent",
                "agent_back",
                "drift",
                "gain_lost",
                "summary",
            ]
        ]
    ]
    """The kinds of its notices; empty for all."""
    databases: NotRequired[list[str]]
    """Only notices about these databases, or about those of `labels`; empty for no such limit."""
    labels: NotRequired[list[str]]
    """Only notices about databases with one of these labels, or about `databases`; empty for no such limit."""
    quiet_hours: NotRequired[QuietHoursBody | None]
    """The hours in which only urgent notices are sent; null for none."""
    name: str
    """A name for people."""
    kind: Literal["webhook", "apprise"]
    """`webhook`: a signed HTTP request. `apprise`: a chat, e-mail or another service by an Apprise URL."""
    target: str
    """The URL. It may hold a secret, so that no answer returns it."""


class NewReceiverAnswer(TypedDict):
    """A receiver and its signing secret."""

    id: str
    """The id."""
    name: str
    """The name for people."""
    kind: Literal["webhook", "apprise"]
    """The channel."""
    address: str
    """The beginning of its URL; the rest may hold a secret."""
    kinds: list[str]
    """The kinds of its notices; empty for all."""
    databases: list[str]
    """Only notices about these databases, or about those of `labels`; empty for no such limit."""
    labels: list[str]
    """Only notices about databases with one of these labels, or about `databases`; empty for no such limit."""
    quiet_hours: QuietHoursAnswer | None
    """The hours in which only urgent notices are sent; null for none."""
    enabled: bool
    """Whether it gets notices."""
    disabled_because: str | None
    """Why the service disabled it; null if it did not."""
    retry_at: datetime | None
    """When the next attempt is made after a failed one; null if none failed."""
    created_at: datetime
    """When it was created."""
    secret: str | None
    """The secret that signs a webhook, shown once; null for Apprise, or if the request is repeated with the same
    Idempotency-Key."""


class NewRecommendation(TypedDict):
    """Empty: the next recommendation of the open session. With `settings`: these settings, merged with the current ones
    and checked."""

    settings: NotRequired[dict[str, int | float | str] | None]
    """An operator's own settings: texts with units, or numbers in the server's own unit."""
    approve: NotRequired[bool]
    """With `settings`: approve the recommendation at once."""


class NewSession(TypedDict):
    """A tuning session to open."""

    objective: ObjectiveBody
    """The metric and the direction of improvement."""
    limits: NotRequired[list[LimitBody]]
    """Limits on other metrics."""
    mode: NotRequired[Literal["observe", "reload_only", "restart_in_window", "lab"]]
    """The requested mode; the agent's own file limits it."""
    approval: NotRequired[Literal["manual", "automatic"]]
    """Whether each recommendation waits for a decision, or trials follow each other automatically."""
    max_trials: NotRequired[int]
    """The maximum number of trials."""
    verification_rounds: NotRequired[int]
    """In a lab, the maximum number of rounds of the final verification, in addition to `max_trials`; at least three are
    needed to detect a gain. 0 hands over the model's choice without verification."""
    max_changes: NotRequired[int | None]
    """The maximum number of settings that a recommendation may change, counted from the start of the session; null for
    any."""
    exploration: NotRequired[int]
    """On a live database, the number of trials whose only purpose is to learn. In a lab all trials may be."""
    loads: NotRequired[list[LoadBody]]
    """In a lab, the loads under which each trial is measured, one after the other; empty for the driver's own load."""
    aim: NotRequired[Literal["weighted", "worst"]]
    """With `loads`, the quantity to improve: the weighted geometric mean of the objective's ratios to the baseline's
    readings under each load, or the worst of these ratios."""
    seed: NotRequired[int]
    """The same seed and the same measurements give the same recommendations."""


class NewToken(TypedDict):
    """A token to create."""

    name: str
    """A name for people: the owner or the purpose."""
    scopes: list[Literal["agent", "read", "models", "propose", "operate", "admin"]]
    """The scopes: `models` and `propose` include `read`, `operate` includes `propose`, `admin` all but `agent`."""
    expires_at: NotRequired[datetime | str | None]
    """When it expires; null: it is valid until it is revoked."""


class NewTokenAnswer(TypedDict):
    """A token and its secret."""

    id: str
    """The id."""
    name: str
    """The owner or the purpose."""
    scopes: list[Literal["agent", "read", "models", "propose", "operate", "admin", "enrol"]]
    """The scopes. `enrol` is that of an enrolment, whose token is used once."""
    database: str | None
    """The only database that it reaches; null if it reaches all."""
    created_at: datetime
    """When it was created."""
    revoked_at: datetime | None
    """When it was revoked; null while it is valid."""
    expires_at: datetime | None
    """When it expires; null: it is valid until it is revoked."""
    last_used_at: datetime | None
    """When it was last used, to the minute; null if never."""
    token: str | None
    """The secret, shown once; null if the request is repeated with the same Idempotency-Key."""


class NotJudgedAnswer(TypedDict):
    """A symptom of this server that cannot be judged because an input is missing."""

    name: str
    """Its name."""
    kind: Literal["outage", "danger", "fault", "elsewhere", "enough", "note"]
    """The kind that it would have."""
    accepted: RiskAnswer | None
    """The acceptance; null if it is not accepted."""


class NotKnownAnswer(TypedDict):
    """A change whose effect no model knows, with its description from the catalogue."""

    setting: str
    """Its name."""
    before: int | float | str
    """In the server's own unit."""
    after: int | float | str
    """In the server's own unit."""
    meaning: str
    """The meaning of the setting."""
    manual: str
    """The page of the server's manual."""
    risk: Literal["none", "durability", "availability", "host"]
    """The risk of a wrong value: committed data, the server's availability, or only speed."""
    applies: Literal["immediate", "reload", "restart", "reboot"] | Literal["fixed"]
    """The step that activates a new value."""
    memory_bytes: float
    """The contribution of this change to the memory sum."""


class ObjectiveBody(TypedDict):
    """The metric to improve."""

    metric: str
    """A metric that is measured on the database, such as `p99_ms` or `qps`."""
    goal: Literal["minimize", "maximize"]
    """The direction of improvement."""


class ObservationAnswer(TypedDict):
    """A window, or a failure, with the settings that were active. In a table each entry of `settings`, `metrics`,
    `context` and `bounds` is a column: `setting.…`, `metric.…`, `context.…`, `bound.…`."""

    id: str
    """The id of its window."""
    database: str
    """The id of its database."""
    engine: str
    """Its database's engine."""
    engine_version: str | None
    """The server's version, as its agent last reported it."""
    memory_bytes: int | None
    """The memory of the server's host, as its agent last reported it."""
    cores: float | None
    """The cores of the server's host, as its agent last reported them."""
    session: str | None
    """The tuning session that was open then."""
    recommendation: str | None
    """The recommendation whose settings it measured."""
    start: datetime | None
    """When its window began; null for a failure."""
    end: datetime | None
    """When its window ended; null for a failure."""
    received_at: datetime
    """When it was reported."""
    windows: int
    """The number of windows that were merged into it: 1 for an original window."""
    failure: str | None
    """Why nothing was measured."""
    p99_source: Literal["driver", "histogram", "prometheus", "estimated", "probe", "activity", "log"] | None
    """The source of `p99_ms`."""
    p99_of: Literal["statement", "transaction", "command"] | None
    """The unit of work whose latency `p99_ms` is."""
    settings: dict[str, int | float | str]
    """The settings that were active, in the server's own units."""
    metrics: dict[str, float]
    """The measured values, in the unit of the name."""
    context: dict[str, int | float | str]
    """The circumstances: the load and the like."""
    bounds: dict[str, float]
    """For a window that was ended early, the bound that the whole window would not have exceeded."""


class Outcome(TypedDict):
    """The actual result of a directive, with the settings that are now active. A change that was applied with a
    `confirm_by` is provisional: `confirmed` or `reverted` follows by that time, even if the service is away."""

    directive: str
    """The directive that it answers."""
    state: Literal["applied", "confirmed", "refused", "failed", "reverted"]
    """The result."""
    code: NotRequired[
        Literal[
            "memory_budget_exceeded",
            "limit_exceeded",
            "durability_not_allowed",
            "restart_not_allowed",
            "outside_maintenance_window",
            "mode_forbids",
            "insufficient_privilege",
            "setting_shadowed",
            "invalid_value",
            "unknown_setting",
            "not_primary",
            "server_changed",
            "paused",
            "expired",
            "did_not_start",
            "not_active_after_apply",
            "database_unavailable",
            "guardrail",
            "not_confirmed",
            "internal_error",
        ]
        | None
    ]
    """The reason why the agent refused or undid it."""
    message: NotRequired[str]
    """The event in words."""
    active: NotRequired[dict[str, int | float | str]]
    """The settings that are now active, by name."""
    restarted: NotRequired[bool]
    """Whether the server was restarted."""
    confirm_by: NotRequired[datetime | str | None]
    """The change is provisional until this moment, by which the agent confirms or undoes it."""
    at: datetime | str
    """The time."""


class OwnTokenAnswer(TypedDict):
    """The token of the request, without its secret."""

    id: str
    """The id."""
    name: str
    """The owner or the purpose."""
    scopes: list[Literal["agent", "read", "models", "propose", "operate", "admin", "enrol"]]
    """The scopes, and those that they include."""
    database: str | None
    """The only database that it reaches; null if it reaches all."""


class PackageAnswer(TypedDict):
    """A package beside Lutra's own that a model version needs."""

    option: str
    """The option that names the package's part."""
    name: str
    """The package's name."""
    version: str
    """The package's version when the model version was registered: exactly this version is needed."""


class PastGainAnswer(TypedDict):
    """The improvement of each number by the past workloads of other sessions; positive is better."""

    log_score: float | None
    """The gain in the log score."""
    rank_correlation: float | None
    """The gain in the rank correlation."""
    regret: float | None
    """The reduction of the regret."""


class PastWorkloadAnswer(TypedDict):
    """A past workload that a recommendation uses."""

    workload: str
    """The id."""
    name: str | None
    """The name, if it belongs to this database or to none; null if it belongs to another database."""
    weight: float
    """The weight, from 0 to 1; weights sum to at most 1."""


class PolicyBody(TypedDict):
    """The operator's policy. Values are texts with units or numbers in the server's own unit."""

    pins: NotRequired[dict[str, int | float | str]]
    """Settings that are fixed at a value: name → value."""
    ranges: NotRequired[dict[str, list[Any]]]
    """Settings with a narrower range than the catalogue's: name → [low, high]."""
    movable: NotRequired[list[str] | None]
    """The settings that may move; null for all that are tuned by default."""
    restart: NotRequired[bool]
    """Whether settings that need a restart may move, if the mode allows a restart."""
    durability: NotRequired[bool]
    """Whether settings that can lose committed data may move; the agent's own file has to allow it as well."""
    host: NotRequired[bool]
    """Whether host settings may move, which affect everything on the machine; the agent's own file has to allow it as
    well."""
    memory_fraction: NotRequired[float]
    """The share of the memory that may be used, as counted by `memory_count`."""
    memory_count: NotRequired[Literal["in_use", "worst_case"]]
    """The method of the memory sum: the memory that can really be in use at once, or the worst case with everything
    full at once."""
    past: NotRequired[Literal["all", "label", "none"]]
    """The databases from which it learns and which learn from it: all, those with the same label, or none."""


class PolicyPatch(TypedDict):
    """Only the given parts change; only `movable` can be null."""

    pins: NotRequired[dict[str, int | float | str] | None]
    """Replaces all pins: name → value."""
    ranges: NotRequired[dict[str, list[Any]] | None]
    """Replaces all ranges: name → [low, high]."""
    movable: NotRequired[list[str] | None]
    """The settings that may move; null for all that are tuned by default."""
    restart: NotRequired[bool | None]
    """Whether settings that need a restart may move, if the mode allows a restart."""
    durability: NotRequired[bool | None]
    """Whether settings that can lose committed data may move; the agent's own file has to allow it as well."""
    host: NotRequired[bool | None]
    """Whether host settings may move, which affect everything on the machine; the agent's own file has to allow it as
    well."""
    memory_fraction: NotRequired[float | None]
    """The share of the memory that may be used, as counted by `memory_count`."""
    memory_count: NotRequired[Literal["in_use", "worst_case"] | None]
    """The method of the memory sum: the memory that can really be in use at once, or the worst case with everything
    full at once."""
    past: NotRequired[Literal["all", "label", "none"] | None]
    """The databases from which it learns and which learn from it: all, those with the same label, or none."""


class PredictionAnswer(TypedDict):
    """The prediction of one metric, including noise."""

    median: float
    """The median."""
    low: float
    """The interval's lower end."""
    high: float
    """The interval's upper end."""
    level: float
    """The probability that the interval contains the reading."""
    far: bool
    """Whether it extrapolates far beyond the measurements: the interval is then mostly prior."""
    unlike: NotRequired[list[str]]
    """The settings whose values are unlike any measured ones."""
    without: NotRequired[list[str]]
    """Changes that no model knows: the prediction is for the other settings without them."""
    record: NotRequired[LeftOutAnswer | None]
    """The accuracy of such intervals on the model's own readings, each left out in turn; null if there is only one."""


class PredictionsAnswer(TypedDict):
    """Predictions for given settings."""

    configuration: dict[str, int | float | str]
    """The whole configuration, in the server's own units."""
    predictions: dict[str, PredictionAnswer]
    """The predictions by metric; empty if no model has seen any of the changed settings."""
    not_known: list[NotKnownAnswer]
    """The changes whose effect no model knows: the predictions are for the other changes."""
    changes: list[ChangeAnswer]
    """The changes."""
    memory: MemoryAnswer
    """The server's memory with the changes, line by line."""
    refusal: RefusalAnswer | None
    """Why a recommendation with these settings would be refused: the policy, a range, durability, memory or another
    rule; null if it would be accepted."""
    warnings: list[str]
    """Warnings."""
    observations: int
    """The number of readings to which the model was fitted."""
    session: str | None
    """The session whose model answers."""
    fitted_at: datetime
    """When the model was fitted."""
    record: dict[str, RecordAnswer]
    """By metric, how often such intervals contained the reading so far, for readings that were predicted before they
    were measured."""
    load: NotRequired[ForLoadAnswer | None]
    """On a live database that was measured under several loads, the load of the predictions; otherwise null."""


class Problem(TypedDict):
    """Why a request was refused. A refused request changed nothing."""

    type: str
    """A URN that ends in the code."""
    title: str
    """The status in words."""
    status: int
    """The HTTP status."""
    code: Literal[
        "broken_extension",
        "busy",
        "conflict",
        "database_retired",
        "fit_failed",
        "forbidden",
        "idempotency_key_reused",
        "illegal_transition",
        "internal_error",
        "invalid_answer",
        "invalid_configuration",
        "invalid_json",
        "invalid_options",
        "invalid_report",
        "invalid_request",
        "memory_budget_exceeded",
        "method_not_allowed",
        "missing_extension",
        "name_taken",
        "not_enough_observations",
        "not_found",
        "outcome_unknown",
        "quota_exceeded",
        "session_closed",
        "space_exhausted",
        "store_unavailable",
        "too_large",
        "too_many_requests",
        "too_slow",
        "unauthorized",
        "unknown_field",
        "unsupported_encoding",
    ]
    """The kind of problem, from a closed set, for programs."""
    detail: str
    """The explanation for people, with the values and usually a remedy."""
    errors: NotRequired[list[ProblemError] | None]
    """With `invalid_request` and `unknown_field`: the first twenty errors."""
    protocol: NotRequired[int | None]
    """With `unknown_field`: the service's protocol."""


class ProblemError(TypedDict):
    """One error in a request."""

    at: str
    """The path to the field or the name of the parameter; empty for the whole body."""
    message: str
    """The expected and the given value."""


class Promoting(TypedDict):
    """Empty: promote the version unconditionally."""

    by_rule: NotRequired[bool]
    """Promote only if the version is shown to be better than the champion, according to its `beside_champion`;
    otherwise the answer is a conflict that names what is missing."""


class QuietHoursAnswer(TypedDict):
    """The hours of each day in which only urgent notices are sent."""

    start: str
    """When they begin."""
    end: str
    """When they end; an earlier time than `start` is on the next day."""
    zone: str
    """The time zone of both."""


class QuietHoursBody(TypedDict):
    """The hours of each day in which only urgent notices are sent; the others follow as one digest."""

    start: str
    """When they begin, such as 22:00."""
    end: str
    """When they end; an earlier time than `start` is on the next day."""
    zone: NotRequired[str]
    """The time zone of both, such as Europe/Berlin."""


class RatioAnswer(TypedDict):
    """A ratio of two readings at comparable load."""

    ratio: float
    """The ratio."""
    low: float
    """The lower end of its 90 % interval."""
    high: float
    """The upper end."""


class Readiness(TypedDict):
    """Whether the service can do its work."""

    status: str
    """`ready`, or the missing part."""


class ReasonAnswer(TypedDict):
    """Why one setting changes."""

    setting: str
    """Its name."""
    before: int | float | str | None
    """In the server's own unit."""
    after: int | float | str
    """In the server's own unit."""
    sentence: str
    """The reason, in plain words."""
    effect: float | None
    """Its share of the predicted effect: 0.08 means 8 % better with it; null if nothing was learned yet."""
    against: NotRequired[str]
    """The reason against it; empty if none is known."""


class Receipt(TypedDict):
    """The service's answer to a report. `directive` is the current one, even after a duplicate."""

    protocol: NotRequired[int]
    """The service's protocol."""
    duplicate: NotRequired[bool]
    """Whether this report was stored before."""
    settings_wanted: NotRequired[bool]
    """Whether the next report has to contain the settings."""
    directive: NotRequired[Directive | None]
    """The directive to carry out now; null if there is none."""
    rules: NotRequired[Rules]
    """The operator's rules on the service for this database."""


class ReceiverAnswer(TypedDict):
    """A receiver, without its secrets."""

    id: str
    """The id."""
    name: str
    """The name for people."""
    kind: Literal["webhook", "apprise"]
    """The channel."""
    address: str
    """The beginning of its URL; the rest may hold a secret."""
    kinds: list[str]
    """The kinds of its notices; empty for all."""
    databases: list[str]
    """Only notices about these databases, or about those of `labels`; empty for no such limit."""
    labels: list[str]
    """Only notices about databases with one of these labels, or about `databases`; empty for no such limit."""
    quiet_hours: QuietHoursAnswer | None
    """The hours in which only urgent notices are sent; null for none."""
    enabled: bool
    """Whether it gets notices."""
    disabled_because: str | None
    """Why the service disabled it; null if it did not."""
    retry_at: datetime | None
    """When the next attempt is made after a failed one; null if none failed."""
    created_at: datetime
    """When it was created."""


class ReceiverPatch(TypedDict):
    """Changes of a receiver. A field that is left out stays as it is."""

    kinds: NotRequired[
        list[
            Literal[
                "proposed",
                "applied",
                "confirmed",
                "reverted",
                "not_applied",
                "guard",
                "session_ended",
                "session_paused",
                "agent_silent",
                "agent_back",
                "drift",
                "gain_lost",
                "summary",
            ]
        ]
    ]
    """The kinds of its notices; empty for all."""
    databases: NotRequired[list[str]]
    """Only notices about these databases, or about those of `labels`; empty for no such limit."""
    labels: NotRequired[list[str]]
    """Only notices about databases with one of these labels, or about `databases`; empty for no such limit."""
    quiet_hours: NotRequired[QuietHoursBody | None]
    """The hours in which only urgent notices are sent; null for none."""
    name: NotRequired[str | None]
    """A name for people; null leaves it as it is."""
    enabled: NotRequired[bool | None]
    """Whether it gets notices; null leaves that as it is. Messages that wait for a disabled receiver are dropped."""


class RecommendationAnswer(TypedDict):
    """Recommended settings: the changes, the reasons, the predictions and the outcome."""

    id: str
    """The id."""
    database: str
    """The id of its database."""
    session: str | None
    """Its session; null if it has none."""
    parent: str | None
    """The recommendation that it is a part of, or undoes."""
    trial: int | None
    """Its number among the session's trials; null if it is not a trial."""
    kind: Literal["search", "verification", "handover", "manual", "subset", "rollback", "maintenance"]
    """Its purpose: a trial, the session's end, an operator's choice, a part of another recommendation, an undo, or
    changes for a maintenance window."""
    origin: (
        Literal[
            "current",
            "rule_based",
            "middle",
            "space_filling",
            "transfer",
            "improvement",
            "repeat",
            "reference",
            "shorter",
            "evidence",
            "return",
            "nothing",
            "exploration",
        ]
        | Literal["handover", "baseline", "manual", "subset", "rollback"]
        | None
    )
    """Which step proposed it; null while it is being computed."""
    state: Literal[
        "observing",
        "computing",
        "proposed",
        "approved",
        "applied",
        "confirmed",
        "reverted",
        "rejected",
        "refused",
        "failed",
        "expired",
        "unneeded",
    ]
    """Its progress."""
    before: dict[str, int | float | str]
    """The settings that were active when it was made, in the server's own units."""
    configuration: dict[str, int | float | str] | None
    """The whole configuration, in the server's own units; null while it is being computed."""
    changes: list[ChangeAnswer] | None
    """The changes; null while it is being computed."""
    reasons: list[ReasonAnswer] | None
    """Why each setting changes; null while it is being computed."""
    predictions: dict[str, PredictionAnswer]
    """The predictions by metric; empty before there are readings to predict from."""
    curve: list[ShareAnswer]
    """The share of the predicted gain by number of settings, beginning with none; empty if no gain is predicted."""
    shortened_from: dict[str, int | float | str] | None
    """The best configuration by posterior, if a measured one with fewer changes is nearly as good and was chosen."""
    must_reach: float | None
    """The reading that its window has to reach, or it is ended early. Null if it is measured to its end."""
    leans_on: LeansOnAnswer | None
    """The past workloads that it uses, and the alternative without them; null if it uses none."""
    looked_at: LookedAtAnswer | None
    """On a live database, its basis, or with the origin `nothing`, why nothing is worth changing. Otherwise null."""
    memory: MemoryAnswer | None
    """Its memory, line by line; null while it is being computed."""
    restart_needed: bool | None
    """Whether any of its changes needs a restart."""
    warnings: list[str] | None
    """Warnings to read before approving."""
    outcome: dict[str, Any] | None
    """The outcome that its agent reported; null before that."""
    measured: dict[str, float | str | None] | None
    """The readings by metric; null before it was measured."""
    ended_early: EndedEarlyAnswer | None
    """The bound that replaces the reading if its window was ended early; null if it was not."""
    judgement: JudgementAnswer | None
    """Outside a lab, its effect at comparable load, by the windows so far; null in a lab and before there are any."""
    failed: str | None
    """Why nothing was measured, once that is certain."""
    failure: FailureAnswer | None
    """Why it was rejected, withdrawn, refused or undone, or failed; null if it was not."""
    error: str | None
    """The failure in one line, for people; also set if somebody rejected it without a reason."""
    reason: str | None
    """Why it was rejected or undone, in the words of the person who did so; null if no reason was given."""
    waits: str | None
    """Why an approved recommendation is not carried out yet; null if nothing prevents it."""
    seed: int
    """The seed of its session."""
    key: str
    """A digest of the input: equal for the same history."""
    package_version: str
    """The version that computed it."""
    model: str | None
    """The model version that computed it, `mv_…`; null if nothing was computed."""
    created_at: datetime
    """When it was requested."""
    proposed_at: datetime | None
    """When it was ready for a decision."""
    decided_at: datetime | None
    """When it was approved or rejected."""
    decided_by: str | None
    """The token that decided; `automatic` if the session decided, `service` if the service itself did."""
    decided_by_name: str | None
    """That token's name; otherwise the same as `decided_by`."""
    applied_at: datetime | None
    """When its agent applied it."""
    confirmed_at: datetime | None
    """When it was confirmed: after that, it is no longer undone automatically."""
    expires_at: datetime | None
    """When the approval expires."""
    ended_at: datetime | None
    """When it was confirmed, undone or ended without effect."""
    undone_by: str | None
    """The actor that undid it: a guard, its agent, a token's name, the service, or an operator on the host."""
    handed_out_at: datetime | None
    """When its agent received it as a directive."""
    withdrawn_at: datetime | None
    """When it was withdrawn after its agent had received it: it is rolled back if it becomes active."""
    withdrawn_by: str | None
    """The actor that withdrew it."""


class RecordAnswer(TypedDict):
    """The accuracy of such intervals for readings that were predicted before they were measured."""

    n: int
    """The number of readings that were predicted before they were measured."""
    held: int
    """The number of these readings inside their interval."""
    level: float
    """The probability with which each interval should have contained its reading."""


class RefusalAnswer(TypedDict):
    """Why settings would be refused."""

    code: str
    """The code of the problem with which they would be refused."""
    message: str
    """The reason, with the values."""


class Report(TypedDict):
    """One numbered message of one agent: a window's metrics, the server's facts, outcomes of directives. `settings` is
    present if `settings_hash` changed or the service requested it; `window` and `metrics` are absent in a heartbeat.
    `texts` are names of database objects at the window's end. `measures` names the directive whose configuration this
    window measured. `failure` says why it could not be measured, and `ended_early` has the bound of a window that was
    ended early. `rolled_back` are rollbacks on the host that no earlier report contained.
    `p99_source` and `p99_of` describe `metrics["p99_ms"]`, and are required with it."""

    protocol: NotRequired[Literal[1]]
    """The agent's protocol."""
    agent: str
    """The agent's name."""
    epoch: str
    """The id of the agent's state: a new one when the agent has lost its state."""
    sequence: int
    """The report's number in the epoch."""
    sent_at: datetime | str
    """When the report was made."""
    engine: str
    """The engine, as the database was registered."""
    engine_version: str
    """The server's version."""
    role: NotRequired[Literal["primary", "standby"]]
    """Whether the server accepts writes."""
    identifier: NotRequired[str]
    """The server's own identifier; empty if it has none."""
    host: Host
    """The resources that the server may use."""
    peak_connections: NotRequired[int]
    """The most connections seen at once; 0 if unknown."""
    settings_hash: str
    """A digest of the active settings."""
    settings: NotRequired[dict[str, ServerSetting] | None]
    """Every setting, if the digest is new or the service requested them."""
    window: NotRequired[ReportedWindow | None]
    """The interval in which the metrics were measured."""
    metrics: NotRequired[dict[str, float]]
    """The metrics by name, in the unit of the name. Unmeasured metrics are left out."""
    texts: NotRequired[dict[str, str]]
    """Names of database objects at the end of the window, by key; one line each."""
    p99_source: NotRequired[
        Literal["driver", "histogram", "prometheus", "estimated", "probe", "activity", "log"] | None
    ]
    """The source of `p99_ms`."""
    p99_of: NotRequired[Literal["statement", "transaction", "command"] | None]
    """The unit of work whose latency `p99_ms` is."""
    context: NotRequired[dict[str, int | float | str]]
    """The circumstances of the measurement, such as the load's threads."""
    measures: NotRequired[str | None]
    """The directive whose configuration this window measured."""
    failure: NotRequired[str | None]
    """Why that configuration could not be measured."""
    ended_early: NotRequired[EndedEarly | None]
    """The bound that replaces a value because the window was ended early."""
    outcomes: NotRequired[list[Outcome]]
    """The results of directives."""
    events: NotRequired[list[GuardEvent]]
    """Guards that fired."""
    rolled_back: NotRequired[list[HostRollback]]
    """Rollbacks on the host that no earlier report contained."""
    status: NotRequired[AgentStatus]
    """The agent's status."""


class ReportedWindow(TypedDict):
    """The interval of a measurement, half-open."""

    start: datetime | str
    """Its first moment."""
    end: datetime | str
    """The first moment after it."""


class RiskAnswer(TypedDict):
    """The acceptance of a finding: it comes last, and does not fail a check."""

    because: str
    """The reason."""
    until: datetime
    """When it counts again."""
    by: str
    """The name of the token that accepted it."""


class RolledBackSetting(TypedDict):
    """One setting of a rollback on the host."""

    before: int | float | str
    """Its value before the rollback, in the server's own unit."""
    after: int | float | str
    """Its value after the rollback."""


class Rotation(TypedDict):
    """How a token is replaced by one with a new secret."""

    grace_s: NotRequired[int]
    """The number of seconds during which the old secret stays valid."""
    expires_at: NotRequired[datetime | str | None]
    """When the new token expires; null: with the lifetime of the old token."""


class Rules(TypedDict):
    """The operator's rules on the service for this database; the agent keeps them on its own disk.

    `guardrails` tighten those of the agent's own file."""

    guardrails: NotRequired[dict[str, Guardrail]]
    """The guardrails by guard; they take precedence over the agent's own file."""
    maintenance_windows: NotRequired[list[MaintenanceWindow]]
    """The windows in which the server may be restarted."""


class ScorecardAnswer(TypedDict):
    """The scores of a model version on past sessions, each with the same weight. The model is fitted to the first 3 to
    24 trials of a session and predicts the later ones."""

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
    missed: NotRequired[float | None]
    """The average gap between its best trial and the optimum in simulated lab sessions: 0 is the optimum at once, 1 the
    value of most configurations. Null if sessions have too few readings."""
    missed_live: NotRequired[float | None]
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


class ScoringAnswer(TypedDict):
    """The progress of the computation of a scorecard."""

    state: Literal["waiting", "done", "failed"]
    """The state; `waiting` until it ends."""
    sessions: int
    """The number of past sessions from which it is computed."""
    done: int
    """The number of completed sessions."""
    error: str | None
    """Why it failed; null if it did not."""


class ServerSetting(TypedDict):
    """One setting as the live server reports it.

    `value` is in `unit` ("8kB", "ms", …), the server's own. `low`, `high` and `options` say what it takes.
    `persisted` is the text in the file that the agent writes, None if that file does not mention it:
    the undo is exact. `shadowed` says that something outranks that file (a command line, a file read later), so that a
    change would have no effect; it names what. `unreached` names those who have a value of their own, as a role or a
    database may: a change reaches everybody but them."""

    value: str
    """As the server prints it, in its own unit."""
    unit: NotRequired[str]
    """The server's own unit; empty if it has none."""
    kind: NotRequired[Literal["integer", "real", "bool", "enum", "string"]]
    """The type of its values."""
    low: NotRequired[float | None]
    """The smallest value that the server accepts."""
    high: NotRequired[float | None]
    """The largest value that the server accepts."""
    options: NotRequired[list[str]]
    """The values that the server accepts."""
    applies: NotRequired[Literal["immediate", "reload", "restart", "reboot"] | Literal["fixed"]]
    """How a new value becomes active; `fixed` for a setting that cannot be changed."""
    source: NotRequired[str]
    """The source of the value."""
    persisted: NotRequired[str | None]
    """Its text in the settings file that the agent writes; null if the file does not contain it."""
    shadowed: NotRequired[str | None]
    """The place that overrides that file, so that a change would have no effect."""
    pending_restart: NotRequired[bool]
    """Whether a different value becomes active at the next restart."""
    unreached: NotRequired[str | None]
    """The roles, databases and tablespaces with their own value, which a change does not reach; null if there are none."""


class SessionAnswer(TypedDict):
    """A tuning session and its progress."""

    id: str
    """The id."""
    database: str
    """The id of its database."""
    state: Literal["running", "settled", "paused", "completed", "stopped", "undone"]
    """`running` and `paused` are open; `completed` and `stopped` are ended."""
    objective: ObjectiveBody
    """The metric and the direction of improvement."""
    limits: list[LimitBody]
    """Limits on other metrics."""
    mode: Literal["observe", "reload_only", "restart_in_window", "lab"]
    """The requested mode."""
    effective_mode: Literal["observe", "reload_only", "restart_in_window", "lab"]
    """The weaker of `mode` and the mode that the agent's own file allows."""
    approval: Literal["manual", "automatic"]
    """Whether each recommendation waits for a decision."""
    max_trials: int
    """The maximum number of trials."""
    verification_rounds: int
    """The maximum number of verification rounds before the handover."""
    max_changes: int | None
    """The maximum number of settings that a recommendation may change, counted from `baseline`; null for any."""
    exploration: int
    """The number of trials whose only purpose is to learn."""
    loads: list[LoadBody]
    """The loads under which each trial is measured; empty for the driver's own load."""
    aim: Literal["weighted", "worst"] | None
    """The quantity to improve over `loads`; null without them."""
    seed: int
    """The seed."""
    trials_done: int
    """The number of trials that were measured or failed."""
    current: str | None
    """The recommendation that is being computed, decided, applied or measured."""
    incumbent: str | None
    """In a lab, the best measured configuration that keeps the limits; elsewhere, the latest change that was judged
    better at comparable load."""
    handover: str | None
    """The final configuration of the session, once it is known."""
    for_maintenance_window: str | None
    """The recommendation with the changes that need a restart, while it waits for a decision or for its window;
    otherwise null."""
    baseline: dict[str, int | float | str] | None
    """The settings at the start of the session; null before the first report."""
    server: Identity | None
    """The server; null before the first report."""
    rebased_at: datetime | None
    """When it started over because the server had changed."""
    p99_source: Literal["driver", "histogram", "prometheus", "estimated", "probe", "activity", "log"] | None
    """The only source of `p99_ms` that the session uses; null before the first p99, and under several loads, where it
    is the driver."""
    p99_of: Literal["statement", "transaction", "command"] | None
    """The unit of work whose latency `p99_ms` is."""
    message: str
    """The status in words: why the session paused or settled, what it is waiting for, or how it ended; followed by the
    measured effect of its last change and of all changes so far. Can be empty."""
    opened_by_agent: bool
    """Whether an agent's token opened it: its trials are only for that agent, in mode lab."""
    measured_under: str | None
    """The loads under which the final configuration was measured, and a note that other loads were not; null before the
    handover and outside a lab."""
    verification: VerificationAnswer | None
    """The comparison of the configurations that it can hand over; null before its trials are done and outside a lab."""
    leaning: LeaningAnswer | None
    """Whether past workloads help the session; null before the first measured trial that used some."""
    events: list[EventAnswer]
    """Guards that fired, the newest first."""
    created_at: datetime
    """When it was opened."""
    ended_at: datetime | None
    """When it was completed or stopped."""


class SessionScoreAnswer(TypedDict):
    """The scores of a model version on one past session."""

    session: str
    """The session's id; for a data set without a database, the id of its workload, `wl_…`."""
    failed: NotRequired[str | None]
    """Why it could not be scored on this session; null if it could."""
    key: NotRequired[str | None]
    """A digest of the scored session: equal if two versions were scored on the same data."""
    n: NotRequired[int | None]
    """The number of predicted readings."""
    held_80: NotRequired[float | None]
    """The share of readings inside their 80 % interval."""
    width_80: NotRequired[float | None]
    """The intervals' mean width, as a share of the median."""
    held_90: NotRequired[float | None]
    """The share of readings inside their 90 % interval."""
    width_90: NotRequired[float | None]
    """The mean width of the 90 % intervals."""
    log_score: NotRequired[float | None]
    """The mean log density of the readings; more is better."""
    error: NotRequired[float | None]
    """The mean error of the median, as a share of the reading."""
    rank_correlation: NotRequired[float | None]
    """The correlation between predictions and readings of the remaining trials, from -1 to 1."""
    regret: NotRequired[float | None]
    """The difference between the best remaining trial and the one that it would have picked, as a share."""
    missed: NotRequired[float | None]
    """The average gap between its best trial and the optimum in simulated lab sessions: 0 is the optimum at once, 1 the
    value of most configurations. Null if the session has too few readings."""
    missed_live: NotRequired[float | None]
    """The same in simulated live sessions, where each trial counts and not only the best so far."""


class SettingAnswer(TypedDict):
    """A live setting, as its agent last reported it."""

    setting: str
    """Its name."""
    value: int | float | str
    """In the server's own unit."""
    text: str
    """The value in a readable form."""
    unit: str
    """The server's own unit; empty if it has none."""
    applies: Literal["immediate", "reload", "restart", "reboot"] | Literal["fixed"]
    """How a new value becomes active; `fixed` for a setting that cannot be changed."""
    source: str
    """The source of the value."""
    persisted: str | None
    """Its text in the settings file that the agent writes; null if the file does not contain it."""
    shadowed: str | None
    """The place that overrides that file, so that a change would have no effect."""
    unreached: str | None
    """The roles, databases and tablespaces with their own value, which a change does not reach; null if none."""
    pending_restart: bool
    """Whether a different value becomes active at the next restart."""
    not_active: str | None
    """The value in the settings file that is not active, and the step that activates it; null if there is none."""
    range: str | None
    """The range in which it is searched; null if it does not move."""


class ShadowScoreAnswer(TypedDict):
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


class ShareAnswer(TypedDict):
    """The share of the gain that a number of changed settings gives."""

    settings: int
    """The number of settings in this line and in all lines before it."""
    added: list[str]
    """The settings added in this line; the first lines contribute most."""
    share: float
    """Their predicted gain as a share of the gain of all settings. Above 1, fewer settings are better."""
    low: float
    """The lower end of the share's 90 % interval, by the model."""
    high: float
    """The upper end."""


class SilentAnswer(TypedDict):
    """A database from which windows or reports are missing."""

    database: str
    """The database's name."""
    hours: int
    """The number of complete hours in the span without a window."""
    last_report_at: datetime | None
    """When its agent last reported; null before the first report."""


class StepAnswer(TypedDict):
    """A step for one setting: a statement for the server, or a line of a file that its agent maintains."""

    text: str
    """The statement, or the line."""
    file: str
    """The key under which the agent's own file names the line's file; empty for a statement."""
    section: str
    """The line's section in that file; empty for a statement."""


class SuiteAnswer(TypedDict):
    """The result of the conformance suite, which Lutra's own parts pass, for the parts of packages."""

    state: Literal["passed", "failed", "not_run", "not_needed"]
    """`not_needed` if no package brings a part, `not_run` before a score. A version whose suite failed or was not run
    neither serves nor runs in the shadow."""
    faults: list[str]
    """The failed requirements, or why the suite could not finish; empty if it passed."""


class SummaryAnswer(TypedDict):
    """The load and the events of the databases in a span. Each list is bounded."""

    since: datetime
    """The beginning of the span, on a full hour."""
    until: datetime
    """Its end: now."""
    days: int
    """The requested number of days."""
    databases: list[DatabaseLoadAnswer]
    """The load of each database, at most 500: the largest change of p99 at comparable load first, then the most harmful
    findings."""
    databases_in_all: int
    """The number of databases that the summary covers."""
    counts: dict[str, int]
    """The number of changes and of guards that fired, by `what`."""
    gains: GainsAnswer
    """Whether the gains of changes last."""
    changes: list[HappeningAnswer]
    """Changes through Lutra: applied, confirmed, reverted, refused, rejected or failed; newest first, at most 50."""
    outside: list[HappeningAnswer]
    """Settings that changed without the service, the newest first; at most 50."""
    guards: list[HappeningAnswer]
    """The guards that fired, the newest first; at most 50."""
    findings: list[SummaryFindingAnswer]
    """Current harmful findings without an accepted risk, the most harmful first; at most 50."""
    findings_by_kind: dict[str, int]
    """The number of all of them, by kind."""
    gone: list[SummaryFindingAnswer]
    """Harmful findings that disappeared in the span and are not back, the newest first; at most 50."""
    proposals: list[WaitingAnswer]
    """The proposals that wait for a decision, the oldest first; at most 50."""
    sessions: list[SummarySessionAnswer]
    """The sessions that are open or ended in the span, the newest first; at most 50."""
    silent: list[SilentAnswer]
    """The databases from which windows or reports are missing, the longest silence first; at most 50."""
    text: str
    """The summary as plain text in UTC: lines of at most 100 characters, with the first eight items of each list."""


class SummaryFindingAnswer(TypedDict):
    """A harmful finding."""

    database: str
    """The database's name."""
    name: str
    """The symptom's name."""
    kind: Literal["outage", "danger", "fault", "elsewhere", "enough", "note"]
    """The kind."""
    strength: float
    """The strength, from 0.3 to 1."""
    sentence: str
    """The observation, with its numbers."""
    since: datetime
    """When it was first seen."""
    gone_at: datetime | None
    """When it was found to be gone; null while it is current."""


class SummarySessionAnswer(TypedDict):
    """A session that is open, or ended in the span."""

    database: str
    """The database's name."""
    session: str
    """The session's id."""
    state: Literal["running", "settled", "paused", "completed", "stopped", "undone"]
    """The state."""
    message: str
    """The result, or what the session waits for."""
    created_at: datetime
    """When it was opened."""
    ended_at: datetime | None
    """When it ended; null while it is open."""


class SymptomAnswer(TypedDict):
    """A symptom in the windows."""

    name: str
    """Its name."""
    kind: Literal["outage", "danger", "fault", "elsewhere", "enough", "note"]
    """An outage, a danger, a setting at fault, time lost elsewhere, a setting that is large enough, or a note."""
    group: str
    """The group."""
    strength: float
    """The strength, from 0.3, where the symptom begins, to 1; always below 1 if the evidence is indirect."""
    sentence: str
    """The observation, with its numbers."""
    measured: float
    """The measure that `strength` comes from."""
    numbers: dict[str, int | float | str]
    """The numbers in the measure, the sentence and the cures, in bytes, milliseconds or without a unit."""
    settings: list[str]
    """The settings concerned."""
    cures: list[CureAnswer]
    """The recommended changes of the settings."""
    statements: list[str]
    """The statements for a person, if no cure may be offered."""
    threshold: str
    """The origin of its bounds."""
    source: str
    """The address of the origin."""
    follows: list[str]
    """Symptoms that can cause this one: their cures come first."""
    since: datetime | None
    """When it was first seen; null before the service has looked."""
    gone_at: datetime | None
    """When it was gone, if only older windows of the requested time have it."""
    accepted: RiskAnswer | None
    """The acceptance; null if it is not accepted."""


class SymptomsAnswer(TypedDict):
    """The symptoms of a database, and the windows on which they are based."""

    start: datetime | None
    """The start of the windows; null if there are none."""
    end: datetime | None
    """The end of the windows."""
    windows: int
    """The number of windows."""
    seconds: float
    """The total length of the windows."""
    symptoms: list[SymptomAnswer]
    """Outages first, then dangers, then all others, the strongest first; accepted symptoms at the end."""
    evaluated: int
    """The number of judged symptoms."""
    not_judged: list[NotJudgedAnswer]
    """Symptoms of this server that cannot be judged because an input is missing."""


class TokenAnswer(TypedDict):
    """A token, without its secret."""

    id: str
    """The id."""
    name: str
    """The owner or the purpose."""
    scopes: list[Literal["agent", "read", "models", "propose", "operate", "admin", "enrol"]]
    """The scopes. `enrol` is that of an enrolment, whose token is used once."""
    database: str | None
    """The only database that it reaches; null if it reaches all."""
    created_at: datetime
    """When it was created."""
    revoked_at: datetime | None
    """When it was revoked; null while it is valid."""
    expires_at: datetime | None
    """When it expires; null: it is valid until it is revoked."""
    last_used_at: datetime | None
    """When it was last used, to the minute; null if never."""


class TrialAnswer(TypedDict):
    """A trial: one configuration and its result."""

    trial: int | None
    """Its number in the session, from 1."""
    recommendation: str
    """The id of its recommendation."""
    state: Literal[
        "observing",
        "computing",
        "proposed",
        "approved",
        "applied",
        "confirmed",
        "reverted",
        "rejected",
        "refused",
        "failed",
        "expired",
        "unneeded",
    ]
    """Its progress."""
    origin: (
        Literal[
            "current",
            "rule_based",
            "middle",
            "space_filling",
            "transfer",
            "improvement",
            "repeat",
            "reference",
            "shorter",
            "evidence",
            "return",
            "nothing",
            "exploration",
        ]
        | Literal["handover", "baseline", "manual", "subset", "rollback"]
        | None
    )
    """Which step of the search proposed it; null while it is being computed."""
    configuration: dict[str, int | float | str] | None
    """The whole configuration, in the server's own units; null while it is being computed."""
    changes: list[ChangeAnswer] | None
    """The changes; null while it is being computed."""
    reasons: list[ReasonAnswer] | None
    """Why each setting changes; null while it is being computed."""
    predictions: dict[str, PredictionAnswer]
    """The predictions by metric; empty before there were readings to predict from."""
    curve: list[ShareAnswer]
    """The share of the predicted gain by number of settings, beginning with none; empty if no gain was predicted."""
    measured: dict[str, float | str | None] | None
    """The readings by metric; null if nothing was measured."""
    ended_early: EndedEarlyAnswer | None
    """The bound that replaces the reading if its window was ended early; null if it was not."""
    spent_s: float | None
    """The seconds from the directive to its end: change, warm-up and window; null before both."""
    failed: str | None
    """Why nothing was measured, once that is certain."""
    memory: MemoryAnswer | None
    """Its memory, line by line; null while it is being computed."""


class TurningDown(TypedDict):
    """Empty: without a reason."""

    reason: NotRequired[str | None]
    """The reason. A rejected change is not proposed again until the circumstances change."""


class VerificationAnswer(TypedDict):
    """The final verification of a lab session: its finalists, measured alternately until the result is certain."""

    rounds: int
    """The number of rounds begun."""
    finalists: list[FinalistAnswer]
    """The finalists, each with a different configuration."""
    verdict: Literal["best", "rule_based", "baseline"] | None
    """The finalist that is handed over; null while it is not known."""
    sentence: str
    """The result with the gains and their intervals for three more rounds; empty while it is not known."""


class WaitingAnswer(TypedDict):
    """A proposal that waits for a decision."""

    database: str
    """The database's name."""
    recommendation: str
    """The recommendation's id."""
    since: datetime
    """When it was proposed."""
    change: str
    """The settings with their values before and after."""


class WindowAnswer(TypedDict):
    """An interval in which something was measured."""

    id: str
    """The id."""
    start: datetime
    """Its first moment."""
    end: datetime
    """The first moment after it."""
    metrics: dict[str, float]
    """The metrics by name, in the unit of the name. Unmeasured metrics are absent."""
    p99_source: Literal["driver", "histogram", "prometheus", "estimated", "probe", "activity", "log"] | None
    """The source of `p99_ms`; `estimated` means computed, not measured."""
    p99_of: Literal["statement", "transaction", "command"] | None
    """The unit of work whose latency `p99_ms` is."""
    busy: float
    """The share of its processor time that something else on the host took (steal, throttling, waiting for a disk, a
    queue for its processors), beyond the usual level of the sixty windows before it. Judgements mark windows from 0.1
    upward; 0 if the host shows nothing."""
    failure: str | None
    """Why nothing could be measured; null if something was."""
    agent: str
    """The agent that measured it."""
    session: str | None
    """The session of which it is a trial."""
    recommendation: str | None
    """The recommendation whose settings it measured."""
    windows: int
    """The number of windows that were merged into it: more than one for old windows."""


class WorkloadAnswer(TypedDict):
    """The result of a session, or of an imported data set, from which other sessions learn."""

    id: str
    """The id."""
    name: str
    """The database's name."""
    engine: str
    """The engine; only workloads of one engine are compared."""
    metric: str
    """The objective's metric."""
    database: str | None
    """The database; null for a data set without one."""
    session: str | None
    """The session that produced the workload and has its history."""
    observations: int
    """The number of configurations that were measured or failed."""
    created_at: datetime
    """When it was created."""
    changed_at: datetime
    """When it last changed."""
    teaches: bool
    """Whether other sessions can learn from it: it was fitted and not merged into another workload."""
    merged_into: str | None
    """The equivalent workload of the same database into which it was merged."""
    signature: dict[str, list[float]]
    """The deciles of each counter that distinguishes workloads, from the least to the greatest reading; empty before it
    was fitted."""
    context: dict[str, int | float | str]
    """The circumstances: version, hardware, load and the like."""
    lessons: dict[str, LessonAnswer]
    """The lessons by metric, the objective's first; empty before it was fitted."""


class WorkloadHistoryAnswer(TypedDict):
    """The measurements of a workload: `lutra_models.serial.history_from_dict` turns them into a `History`."""

    format: int
    """The version of this document's format."""
    knobs: list[dict[str, Any]]
    """The settings that are searched, each with its domain."""
    objective: dict[str, Any]
    """The metric to improve."""
    limits: list[dict[str, Any]]
    """Limits on other metrics."""
    observations: list[dict[str, Any]]
    """Every measured or failed trial, in the order in which they were measured."""
    pending: list[dict[str, int | float | str]]
    """Configurations that are proposed but not yet measured."""
    current: dict[str, int | float | str] | None
    """The active configuration."""
    starts: list[dict[str, int | float | str]]
    """Configurations to try early."""
    context: dict[str, Any]
    """The constant circumstances: version, hardware and the like."""
    answers: dict[str, list[list[Any]]]
    """For each setting, pairs of a requested number and the number that the server set."""
    baseline: dict[str, int | float | str] | None
    """The configuration at the start of the session: changes are counted from it."""
    aim: dict[str, Any] | None
    """The readings from which `objective` is computed, under several loads."""
