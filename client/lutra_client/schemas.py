"""What the service takes and answers; a moment is a datetime. Made of service/openapi.json by `python -m tests.contract.test_client`: change that, not this."""

# ruff: noqa: E501

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal, NotRequired, TypedDict


class AcceptBody(TypedDict):
    """Why a risk is taken, and until when."""

    because: str
    """Why; people read it beside the finding."""
    until: datetime | str
    """From then on it counts again."""


class AcceptedAnswer(TypedDict):
    """A finding that somebody accepts."""

    name: str
    """The symptom's name."""
    kind: Literal["outage", "danger", "fault", "elsewhere", "enough", "note"]
    """Its kind then: it counts where it has become a worse one."""
    because: str
    """Why."""
    until: datetime
    """From then on it counts again."""
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
    """Whether somebody at the database has paused it."""
    driver: NotRequired[str | None]
    """The driver of a lab; null where there is none."""
    loads: NotRequired[list[str]]
    """The loads that its driver makes besides its own: a session may name them."""
    spool_dropped: NotRequired[int]
    """The number of reports that were dropped because the spool was full."""
    spool_refused: NotRequired[int]
    """The number of reports that the service refused."""
    problems: NotRequired[list[str]]
    """What it could not do."""
    guardrails: NotRequired[dict[str, Guardrail]]
    """The guardrails of its own file."""
    firing: NotRequired[list[Literal["p99", "qps", "errors", "memory", "replication_lag", "disk", "unreachable"]]]
    """The guards that fire now."""
    provisional: NotRequired[str | None]
    """The recommendation whose change is not confirmed yet."""


class AgentStatus(TypedDict):
    """What the agent says of itself: the most it will ever do, what it could not do, and what it watches.

    `provisional` is the directive whose change is not confirmed yet. `loads` are those of its driver that have a name.
    `ends_early` says that it knows `must_reach`."""

    version: NotRequired[str]
    """The agent's version."""
    mode: NotRequired[Literal["observe", "reload_only", "restart_in_window", "lab"]]
    """The strongest mode that the agent's own file allows."""
    paused: NotRequired[bool]
    """Whether an operator on the database's host has paused the agent."""
    driver: NotRequired[str | None]
    """The driver of a lab; null where there is none."""
    ends_early: NotRequired[bool]
    """Whether the agent may end a window early: it knows `must_reach`."""
    loads: NotRequired[list[str]]
    """The loads that its driver makes besides its own. A session may name them."""
    spool_dropped: NotRequired[int]
    """The number of reports that were dropped because the spool was full."""
    spool_refused: NotRequired[int]
    """The number of reports that the service refused."""
    problems: NotRequired[list[str]]
    """The agent's problems, in words."""
    guardrails: NotRequired[dict[str, Guardrail]]
    """The guardrails of the agent's own file."""
    firing: NotRequired[list[Literal["p99", "qps", "errors", "memory", "replication_lag", "disk", "unreachable"]]]
    """The guards that fire now."""
    provisional: NotRequired[str | None]
    """The directive whose change is not confirmed yet."""


class AlikeAnswer(TypedDict):
    """A workload that resembles the one that was asked about."""

    workload: str
    """Its id."""
    name: str
    """Its database's name."""
    distance: float
    """How far signatures, levels and circumstances are apart; 0 is not at all."""
    agreement: float | None
    """How well its effects rank what was measured of the one that was asked about: the probability that they give to
    each comparison, from 0 to 1, where 0.5 is as good as tossing a coin; null where there is nothing to compare."""


class AlikeAnswers(TypedDict):
    """The workloads that are most alike, the most alike first."""

    items: list[AlikeAnswer]
    """The workloads. One whose counters lie outside what the other one ever showed is left out."""


class Alive(TypedDict):
    """The service answers."""

    status: NotRequired[Literal["alive"]]
    """It does."""
    version: NotRequired[str]
    """The service's version."""


class Approving(TypedDict):
    """Empty: the whole recommendation."""

    settings: NotRequired[list[str] | None]
    """Only these of its changes."""
    reason: NotRequired[str | None]
    """With `settings`: why the others are left out."""


class AuditAnswer(TypedDict):
    """Who did what to what."""

    id: str
    """Its id."""
    at: datetime
    """When it was done."""
    action: str
    """What was done, such as `recommendation.approve`."""
    target: str
    """The id of what it was done to."""
    database: str | None
    """The database that it concerns; null where it concerns none."""
    token: str | None
    """The id of the token that did it; null where the service decided, an agent or its guard acted, or somebody at
    the service's command line."""
    token_name: str
    """That token's name, or who else did it."""
    address: str
    """The network address that it came from; empty where it came from none."""
    request_id: str
    """The id of the request, as in the service's log; empty where there was none."""
    before: dict[str, Any] | None
    """What it was; null where there was nothing."""
    after: dict[str, Any] | None
    """What it became; null where nothing was left."""


class BesideChampionAnswer(TypedDict):
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


class ChangeAnswer(TypedDict):
    """One setting that changes, with the exact statement and its undo."""

    setting: str
    """Its name."""
    before: int | float | str
    """In the server's own unit."""
    after: int | float | str
    """In the server's own unit."""
    before_text: str
    """As people write it."""
    after_text: str
    """As people write it."""
    applies: Literal["immediate", "reload", "restart", "reboot"]
    """What makes the new value active."""
    do: str
    """The statement that makes the change; lines of a file follow it, under the file's name and section."""
    undo: str
    """The statement that undoes it, in the same form."""
    do_steps: NotRequired[list[StepAnswer] | None]
    """What the agent executes for `do`, in order; null in a recommendation of an earlier version."""
    undo_steps: NotRequired[list[StepAnswer] | None]
    """What the agent executes for `undo`, in order. Several changes are undone in the reverse order of `changes`."""


class ComparisonAnswer(TypedDict):
    """Windows after changes on a live database against windows before them, at like load."""

    metric: str
    """What is judged: the session's objective, without a session p99."""
    verdict: Literal["better", "worse", "no_difference_seen", "not_enough_at_like_load"]
    """Whether it got better or worse, that no difference is seen, or that too few windows are at like load."""
    before: int
    """How many windows from before count."""
    after: int
    """How many windows since count."""
    left_out: int
    """How many do not, as they were under another load than all of the other side."""
    busy: int
    """In how many of those that count the host was busy with something else: they weigh less."""
    ratio: float | None
    """After over before, at like load; null where too few windows are."""
    low: float | None
    """The interval's lower end."""
    high: float | None
    """The interval's upper end."""
    level: float
    """The probability that the interval holds the ratio."""
    rate_of: str | None
    """Which metric says what clients asked for; null where none does."""
    rate_low: float | None
    """The smallest rate among the windows that count."""
    rate_high: float | None
    """The largest one."""
    sentence: str
    """All of this in words."""


class ConformanceAnswer(TypedDict):
    """How a part that a package brings fared in the suite that Lutra's own parts pass."""

    option: str
    """The option that names the part."""
    name: str
    """The part's name."""
    faults: list[str]
    """What it does not keep; empty where it passes."""


class ConnectionsAnswer(TypedDict):
    """The connections that the memory sum counts."""

    counted: int | None
    """So many; null where the engine's sum counts none."""
    seen: int
    """The most that were seen at once; 0 where unknown."""
    most: int | None
    """As many as may be open."""


class CureAnswer(TypedDict):
    """A change of one setting that a symptom speaks for, within its range, the policy and the memory limit."""

    setting: str
    """Its name."""
    before: int | float | str
    """The active value, in the server's own unit."""
    before_text: str
    """The same as people write it."""
    after: int | float | str | None
    """What the symptom asks for, as far as it may be; null where nothing may be offered."""
    after_text: str | None
    """The same as people write it."""
    applies: Literal["immediate", "reload", "restart", "reboot"]
    """How a new value becomes active."""
    reason: str
    """What the change is for."""
    set_by: str | None
    """Where somebody has set the active value; null where it is the server's default."""
    obstacle: str | None
    """Why nothing, or no more, may be offered."""
    unreached: str | None
    """Who has a value of their own, which the change does not reach; null for nobody."""


class DataAnswer(TypedDict):
    """What a scorecard was computed from."""

    fingerprint: str
    """The same for the same sessions with the same trials."""
    sessions: int
    """How many."""
    trials: int
    """How many trials they hold."""


class DatabaseAnswer(TypedDict):
    """A database server that is looked after."""

    id: str
    """Its id."""
    name: str
    """What people call it."""
    engine: str
    """Which kind of server it is."""
    engine_version: str | None
    """As its agent last reported it; null before the first report."""
    role: Literal["primary", "standby"] | None
    """As its agent last reported it; null before the first report."""
    label: str | None
    """Databases of one label belong together; those without any belong together too."""
    policy: PolicyBody
    """What the operator allows."""
    host: Host | None
    """What the server may use of its host; null before the first report."""
    peak_connections: int
    """The most connections seen at once; 0 where unknown."""
    agent: AgentAnswer | None
    """Its agent's newest status; null before the first report."""
    created_at: datetime
    """When it was registered."""
    last_report_at: datetime | None
    """When its agent's last report came."""
    last_window_end: datetime | None
    """The end of the last window that was measured."""
    retired_at: datetime | None
    """When it was retired: since then no report of it is taken. Null while it is in use."""


class DatabasePatch(TypedDict):
    """What is named changes. `label` needs a token that is bound to no database; null takes it away."""

    policy: NotRequired[PolicyPatch]
    """The parts of the policy that change."""
    label: NotRequired[str | None]
    """Databases of one label belong together; those without any belong together too."""


class Directive(TypedDict):
    """Make `settings` active. Carried out once: an id that was already answered is not carried out again.

    `settings` is name → value in the server's own unit. `restore` marks settings that the database ran with before.
    `rollback` undoes a change that the agent reported as applied, or leads back to what was active when the session
    began or measured better since: it needs no confirmation and, in the agent, no maintenance window, and no guard
    undoes it. (The service hands out a rollback that nobody asked for only within one.) Both hold only where
    the agent has these settings on its own disk; otherwise the directive is a new change. `measure` asks an agent in
    lab mode to run its driver afterwards and to report that window as `measures`: under each of `loads` in turn, or
    where none is named under the driver's own. The driver's own may be ended early where it cannot come to
    `must_reach`. `expects` is the server that the settings were chosen for; another one refuses them."""

    id: str
    """Its id. The agent carries out each id once."""
    recommendation: str
    """The recommendation that it carries out."""
    settings: dict[str, int | float | str]
    """By name, the values to make active, in the server's own unit."""
    restart_allowed: NotRequired[bool]
    """Whether the server may be restarted for it."""
    restore: NotRequired[bool]
    """Whether it restores settings that the database ran with before."""
    rollback: NotRequired[bool]
    """Whether it undoes a change that its agent reported as applied."""
    measure: NotRequired[bool]
    """Whether an agent in lab mode runs its driver afterwards and reports what it measured."""
    must_reach: NotRequired[MustReach | None]
    """What its window has to come to so as not to be ended early; null where it is measured to its end."""
    loads: NotRequired[list[str]]
    """The loads under which it measures, one after the other; none for the driver's own load."""
    expects: NotRequired[Identity | None]
    """The server that the settings were chosen for; another one refuses them."""
    rules: NotRequired[Rules | None]
    """What the operator has set on the service for this database."""
    expires_at: datetime
    """The agent starts no change after this."""


class EffectAnswer(TypedDict):
    """What one setting did to a metric, the others as they were measured: one curve, over the value at which the
    workload began."""

    setting: str
    """The setting."""
    baseline: int | float | str
    """The value at which the workload began: gains are over it. It is one of the values."""
    values: list[int | float | str]
    """Its values, in the server's own unit, in ascending order; of a choice its options."""
    gains: list[float]
    """At each value, by how much the metric is better than at the baseline, and negative where it is worse: in the
    metric's unit, or of its logarithm."""
    deviations: list[float]
    """The deviation of the belief in each gain, in the same unit."""
    deviation: float
    """The deviation of the belief in the curve around its mean, in the same unit."""
    serves: NotRequired[list[float] | None]
    """From … to: the part of the range that serves a server on such a host, where values outside it were measured."""
    chance: float
    """How probable it is that a setting without any effect looks as strong in such a table, which was found by
    permuting the readings; it holds for all settings together."""
    certain: bool
    """Whether the setting did something, at a false discovery rate of 5 %, and the 90 % interval of its largest change
    from the baseline lies on one side of 0."""
    best: int | float | str
    """Of the values that serve, the one with the greatest gain."""
    gain: float
    """The gain at `best`: 0 where the baseline is best."""
    low: float
    """The low end of the gain's 90 % interval."""
    high: float
    """The high end of the gain's 90 % interval."""
    log: NotRequired[bool]
    """Whether the values are spaced by their logarithms."""
    choice: NotRequired[bool]
    """Whether the values are options."""
    special: NotRequired[int]
    """So many values at the end are special ones, such as 0 for `off`, which are no part of the curve."""


class EndedEarly(TypedDict):
    """What a window says that was ended before its time: a bound, and no value."""

    metric: str
    """The session's objective."""
    bound: float
    """The whole window would have read at most this where more is better, else at least this."""
    planned_s: float
    """How long the whole window was to be."""


class EndedEarlyAnswer(TypedDict):
    """What a window says that was ended before its time: a bound, and no value."""

    metric: str
    """The session's objective."""
    bound: float
    """The whole window would have read at most this where more is better, else at least this."""
    planned_s: float
    """How long the whole window was to be."""


class EpisodeAnswer(TypedDict):
    """A finding that showed without a break of more than an hour."""

    id: str
    """Its id."""
    name: str
    """The symptom's name."""
    kind: Literal["outage", "danger", "fault", "elsewhere", "enough", "note"]
    """Its kind when it was last seen."""
    strength: float
    """Its strength then."""
    sentence: str
    """What it said then."""
    since: datetime
    """When it was first seen."""
    last_seen: datetime
    """When it was last seen."""
    gone_at: datetime | None
    """When it was first not seen any more; null while it shows."""


class EventAnswer(TypedDict):
    """A guard that fired: `value` was beyond `bound` for `held_s` seconds."""

    id: str
    """Its id."""
    database: str
    """The id of its database."""
    session: str | None
    """The session that was open then."""
    recommendation: str | None
    """The change that the agent undid for it; null where there was none."""
    guard: Literal["p99", "qps", "errors", "memory", "replication_lag", "disk", "unreachable"]
    """Which guard it was."""
    metric: str
    """The metric that the guard watches."""
    value: float
    """What was measured."""
    bound: float
    """The value that it was compared with: the limit, or the limit and the baseline."""
    limit: float
    """The guardrail's limit, in the guard's own terms."""
    baseline: float | None
    """The metric's value before the change, for a guard that compares with it."""
    hold_s: float
    """For how many seconds without a break it had to be crossed."""
    held_s: float
    """For how many seconds it was."""
    since: datetime
    """When the bound was first crossed."""
    at: datetime
    """When the guard fired."""
    received_at: datetime
    """When the service received it."""
    message: str
    """The same in words."""


class FailureAnswer(TypedDict):
    """Why a recommendation came to nothing, or was undone."""

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
    """What a program goes by."""
    message: str
    """For people, often with the words of an agent or a server; may be empty."""
    by: Literal["agent", "service", "worker", "operator"]
    """Who ended it: its agent, with its guards and its server; the service; who computed it; an operator."""


class FinalistAnswer(TypedDict):
    """A configuration that the session may hand over."""

    name: Literal["best", "rule_based", "baseline"]
    """`best` is what the model names, `baseline` what was active when the session began."""
    recommendation: str | None
    """The latest recommendation that measured it; null before the first."""
    configuration: dict[str, int | float | str]
    """The whole configuration, in the server's own units."""
    changed_settings: int
    """How many settings it has other than the baseline."""
    readings: list[dict[str, float]]
    """By round and metric, what was read."""
    failed: str | None
    """Why it is handed over in no case, where that is so."""
    gains: dict[str, GainAnswer]
    """By finalist, the gain over that one; empty before the third round. Under several loads that of the aim."""
    gains_by_load: NotRequired[dict[str, dict[str, GainAnswer]]]
    """By finalist and load, the gain over that one under that load alone; empty without several loads."""


class ForLoadAnswer(TypedDict):
    """The load that predictions are for. It is no outcome of settings, so that it is not predicted itself."""

    rate_of: str
    """The metric that says what clients ask for."""
    rate: float
    """How much of it: that of now, or the one that was asked about."""
    low: float
    """The smallest rate that was measured."""
    high: float
    """The largest one."""


class GainAnswer(TypedDict):
    """How much better than another finalist, as a share of that one's reading: .08 is 8 % better.

    With 90 %, three more rounds of both come to something from `low` to `high`; the true gain is in it, too."""

    median: float
    """The middle of what was read in turns."""
    low: float
    """The least that three more rounds would come to."""
    high: float
    """The most."""


class GuardEvent(TypedDict):
    """A guard fired: `value` was beyond `bound` for `held_s` seconds.

    The bound comes from the limit and, where the guard has one, the baseline. `directive` is the change that was taken
    back for it, None where no change of the agent's was under way."""

    id: str
    """Its id; an event that is sent twice has the same id."""
    guard: Literal["p99", "qps", "errors", "memory", "replication_lag", "disk", "unreachable"]
    """Which guard it was."""
    metric: str
    """The metric that the guard watches."""
    value: float
    """What was measured."""
    bound: float
    """The value that it was compared with: the limit, or the limit and the baseline."""
    limit: float
    """The guardrail's limit, in the guard's own terms."""
    baseline: NotRequired[float | None]
    """The metric's value before the change, for a guard that compares with it."""
    held_s: float
    """For how many seconds the bound was crossed."""
    hold_s: float
    """For how many seconds without a break it had to be crossed."""
    since: datetime | str
    """When the bound was first crossed."""
    at: datetime | str
    """When the guard fired."""
    directive: NotRequired[str | None]
    """The change that the agent undid for it; null where there was none."""
    message: str
    """The same in words."""


class Guardrail(TypedDict):
    """One guard's limit, and for how many seconds without a break it has to be crossed before the guard fires."""

    limit: float
    """In the guard's own terms."""
    hold_s: float
    """The guard fires when the limit is crossed for so many seconds without a break."""
    enabled: NotRequired[bool]
    """Whether the guard watches at all."""


class GuardrailBody(TypedDict):
    """One guard's limit, and for how long it has to be crossed before the guard fires."""

    limit: float
    """In the guard's own terms: see its `meaning`."""
    hold_s: float
    """The guard fires when the limit is crossed for so many seconds without a break."""
    enabled: NotRequired[bool]
    """Whether the guard watches at all."""
    meaning: NotRequired[str | None]
    """What it says, with the limit in the place of "so"."""
    origin: NotRequired[Literal["service", "agent", "default"] | None]
    """Who set it. What comes back with `agent` or `default` and the values that hold there stays theirs."""


class GuardrailsBody(TypedDict):
    """By guard. A guard that is left out has the limits of the agent's own file."""

    guardrails: dict[str, GuardrailBody]
    """The guards by name."""
    firing: NotRequired[
        list[Literal["p99", "qps", "errors", "memory", "replication_lag", "disk", "unreachable"]] | None
    ]
    """The guards that fire now, by the agent's newest report."""


class HistoryAnswer(TypedDict):
    """All that `recommend` knows of a session: `lutra_models.serial.history_from_dict` makes a `History` of it."""

    format: int
    """The version of this document's format."""
    knobs: list[dict[str, Any]]
    """The settings that are searched, each with its domain."""
    objective: dict[str, Any]
    """What is to become better."""
    limits: list[dict[str, Any]]
    """What must hold besides."""
    observations: list[dict[str, Any]]
    """Every measured or failed trial, in the order in which they were measured."""
    pending: list[dict[str, int | float | str]]
    """Configurations that are proposed and not yet measured."""
    current: dict[str, int | float | str] | None
    """The configuration that is active."""
    starts: list[dict[str, int | float | str]]
    """Configurations that are worth trying early."""
    context: dict[str, Any]
    """What was the same all along: version, hardware and the like."""
    answers: dict[str, list[list[Any]]]
    """By setting, pairs of a number that was asked for and the number that the server set."""
    baseline: dict[str, int | float | str] | None
    """The configuration that was active when the session began: changes are counted from it."""
    aim: dict[str, Any] | None
    """What `objective` is computed from, under several loads."""
    server: dict[str, Any]
    """The server, from which the memory rules follow."""
    policy: dict[str, Any]
    """The policy, from which the memory rules follow."""


class Host(TypedDict):
    """What the server may use: container and cgroup limits where they are narrower than the machine; and what kind of
    machine that is. What the host does not tell is None."""

    memory_bytes: int
    """The memory that the server may use."""
    cores: float
    """The processor cores that the server may use."""
    disk_bytes: NotRequired[int | None]
    """The disk size that the formulas use: the data disk's size, or less where it is nearly full."""
    rotational: NotRequired[bool | None]
    """Whether the data's disk spins; null where that is unknown."""
    kernel: NotRequired[str | None]
    """The Linux kernel's version, by its first two numbers; null where that is unknown, as below."""
    allocator: NotRequired[str | None]
    """The library from which the server has its memory."""
    file_system: NotRequired[str | None]
    """The file system that holds the data."""
    device: NotRequired[str | None]
    """The kind of the data's disk: spinning, network, nvme, virtual, composed or solid."""
    memory_pages: NotRequired[str | None]
    """Who gets transparent huge pages, and whether explicit ones are reserved."""
    machine: NotRequired[str | None]
    """What the firmware calls the machine; in some clouds the instance type."""
    others_bytes: NotRequired[int | None]
    """The most of the memory that others held in the last seven days, the kernel included."""
    resident_bytes: NotRequired[int | None]
    """What the server's own processes hold, shared memory counted once."""
    shm_bytes: NotRequired[int | None]
    """The size of the server's /dev/shm."""
    open_files: NotRequired[int | None]
    """How many files the server's process may have open."""
    tasks: NotRequired[int | None]
    """How many processes and threads the server's control group leaves it."""
    write_iops: NotRequired[int | None]
    """How many writes a second the server's control group lets it ask of the data's disk."""


class HostRollback(TypedDict):
    """An operator restored a configuration on the database's own host, with `lutra-agent rollback`."""

    target: Literal["baseline", "last_known_good"]
    """Which one: the baseline, or the last-known-good."""
    at: datetime | str
    """When."""
    reason: NotRequired[str]
    """Why, in the operator's words; empty without a reason."""
    settings: NotRequired[dict[str, RolledBackSetting]]
    """By name, the settings that differed."""


class Identity(TypedDict):
    """The server's identity: a failover, an upgrade or a move to another host changes it."""

    role: Literal["primary", "standby"]
    """Whether it accepts writes."""
    engine_version: str
    """The server's version."""
    identifier: str
    """The server's own identifier; empty where it has none."""
    memory_bytes: int
    """The memory that the server may use."""
    cores: float
    """The processor cores that the server may use."""


class InShadowAnswer(TypedDict):
    """A candidate beside what served, over the same readings."""

    candidate: ShadowScoreAnswer
    """What the candidate predicted."""
    served: ShadowScoreAnswer
    """What the versions that served predicted."""


class IntervalBody(TypedDict):
    """From `start` to before `end`, in UTC."""

    start: datetime
    """When it begins."""
    end: datetime
    """When it is over."""


class JudgedAnswer(TypedDict):
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


class JudgementAnswer(TypedDict):
    """What a change on a live database did: windows after it against windows before, at like load."""

    metric: str
    """What is judged: the session's objective, without a session p99."""
    verdict: Literal["better", "worse", "no_difference_seen", "not_enough_at_like_load"]
    """Whether it got better or worse, that no difference is seen, or that too few windows are at like load."""
    before: int
    """How many windows from before count."""
    after: int
    """How many windows since count."""
    left_out: int
    """How many do not, as they were under another load than all of the other side."""
    busy: int
    """In how many of those that count the host was busy with something else: they weigh less."""
    ratio: float | None
    """After over before, at like load; null where too few windows are."""
    low: float | None
    """The interval's lower end."""
    high: float | None
    """The interval's upper end."""
    level: float
    """The probability that the interval holds the ratio."""
    rate_of: str | None
    """Which metric says what clients asked for; null where none does."""
    rate_low: float | None
    """The smallest rate among the windows that count."""
    rate_high: float | None
    """The largest one."""
    sentence: str
    """All of this in words."""
    follows: NotRequired[str]
    """What may be done about it, in words: how to undo a loss, and what a change costs of which no difference is seen.
    Empty where that is nothing."""
    together: NotRequired[ComparisonAnswer | None]
    """The same of all changes of its session until this one; null where it is the only one."""


class KnobAnswer(TypedDict):
    """One setting of the catalogue."""

    name: str
    """Its name."""
    setting_source: str
    """What keeps it: `server`, or a further source, such as the host's operating system."""
    group: str
    """What it belongs to."""
    kind: Literal["integer", "real", "bool", "enum"]
    """The type of its values."""
    unit: str
    """The catalogue's unit; empty where it has none."""
    range: str
    """Formulas of the host's facts, in the catalogue's unit."""
    log: bool
    """Whether it is searched on a logarithmic scale."""
    special: list[float]
    """Values outside the range that have a meaning of their own."""
    versions: str
    """The versions that have it."""
    applies: Literal["immediate", "reload", "restart", "reboot"] | Literal["fixed"]
    """How a new value becomes active; `fixed` for a setting that cannot be changed."""
    risk: Literal["none", "durability", "availability", "host"]
    """What it can cost to change it."""
    tuned_by_default: bool
    """Whether it is searched without being named in a policy."""
    rule: str | None
    """The formula of a good first value; null where there is none."""
    meaning: str
    """What it does."""
    manual: str
    """The page of the engine's manual."""


class LeaningAnswer(TypedDict):
    """Whether past workloads help a session: the log score of its forecasts with them, less that without, over trials
    that used some."""

    trials: int
    """How many of them were measured."""
    mean: float
    """The mean difference; above 0 the past helps."""
    low: float | None
    """The lower end of its interval; null where there are too few trials for one."""
    high: float | None
    """The upper end."""
    level: float
    """The probability that the interval holds the true difference, however often somebody looks."""
    verdict: Literal["better", "worse", "undecided"]
    """`better`: the past helps; `worse`: it harms, and the session uses it no longer."""
    sentence: str
    """All of this in words."""


class LeansOnAnswer(TypedDict):
    """What a recommendation owes to past workloads."""

    workloads: list[PastWorkloadAnswer]
    """Those that it uses, the weightiest first."""
    without: dict[str, int | float | str]
    """The configuration that would have been proposed without any of them, in the server's own units."""
    differs: list[str]
    """The settings that have another value in it."""
    predictions: dict[str, PredictionAnswer]
    """By metric, what the settings of the recommendation are predicted to give without past workloads."""
    sentence: str
    """All of this in words."""


class LeftOutAnswer(TypedDict):
    """How good such intervals are on what was measured."""

    n: int
    """The number of readings until now."""
    held: int
    """So many of them lay inside their interval when they were predicted without themselves."""


class LessonAnswer(TypedDict):
    """What a workload taught of one metric."""

    log: bool
    """Whether all of this is of the metric's logarithm: then a difference of 0.1 is about 10 %."""
    goal: Literal["minimize", "maximize"]
    """Whether more or less of the metric is better."""
    low: float
    """The least reading."""
    high: float
    """The greatest reading."""
    rest: float
    """The variance of the readings that the sum of the effects does not explain."""
    effects: list[EffectAnswer]
    """What each setting did: those that are certain come first, and of these the strongest; none of a setting that was
    always the same."""


class LimitBody(TypedDict):
    """What must hold besides: at most or at least, one of the two."""

    metric: str
    """A metric that is measured on the database."""
    at_most: NotRequired[float | None]
    """In the metric's unit."""
    at_least: NotRequired[float | None]
    """In the metric's unit."""


class LoadBody(TypedDict):
    """One of several loads that a lab's trials are measured under."""

    name: str
    """Its name in the agent's file."""
    weight: NotRequired[float]
    """How much it counts, in proportion to the others'."""


class LookedAtAnswer(TypedDict):
    """What a recommendation on a live database rests on."""

    sentence: str
    """What was looked at, and what came of it."""
    symptoms: int
    """How many symptoms could be evaluated."""
    shown: int
    """How many of them show a fault."""
    rules: int
    """How many settings were compared with the rule for this hardware."""
    windows: int
    """How many windows the symptoms rest on."""
    seconds: float
    """How long these are in all."""
    least_gain: float
    """What a gain by the model alone has to come to, as a share, to be proposed."""
    predicted_gain: float | None
    """The largest gain that the model holds to be probable, as a share; null without a model."""
    notes: list[str]
    """What is not proposed, and why: a restart that the mode forbids, what no setting cures, what was turned down."""


class MaintenanceBody(TypedDict):
    """When the server may be restarted. With no windows, nothing is restarted in mode restart_in_window."""

    windows: list[MaintenanceWindowBody]
    """Every weekly window."""
    open_until: NotRequired[datetime | None]
    """The end of the window that is open now, null where none is."""
    next: NotRequired[IntervalBody | None]
    """The next one to begin."""


class MaintenanceWindow(TypedDict):
    """On each of `weekdays` from `start` ("HH:MM" by the clocks of `zone`) for `minutes`, past midnight too.

    A zone that this machine does not know is no error here: the window then never opens on it."""

    weekdays: list[Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]]
    """The days on which it begins."""
    start: str
    """HH:MM in the time zone `zone`."""
    minutes: int
    """How long it lasts."""
    zone: NotRequired[str]
    """A time zone's name."""


class MaintenanceWindowBody(TypedDict):
    """Weekly, from `start` by the clocks of `zone`, past midnight too."""

    weekdays: list[Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]]
    """The days on which it begins."""
    start: str
    """HH:MM"""
    minutes: int
    """How long it lasts."""
    zone: NotRequired[str]
    """A time zone's name, such as `Europe/Berlin`."""


class MemoryAnswer(TypedDict):
    """The server's memory, line by line."""

    terms: list[MemoryTermAnswer]
    """Its lines."""
    total_bytes: float
    """Their sum."""
    limit_bytes: float
    """What the sum may be at most."""
    count: NotRequired[Literal["in_use", "worst_case"]]
    """What the policy counts: what can really be in use at once, or everything full at once."""
    worst_case_bytes: NotRequired[float | None]
    """The sum with everything full at once; null in what an earlier version stored."""
    connections: NotRequired[ConnectionsAnswer | None]
    """The connections that it counts; null in what an earlier version stored."""


class MemoryTermAnswer(TypedDict):
    """One line of the memory sum."""

    name: str
    """What takes the memory."""
    bytes: float
    """How much of it counts."""
    formula: str
    """How that is computed."""
    assumption: str
    """What has to be true for it."""
    worst_case_bytes: NotRequired[float | None]
    """How much it takes with everything full at once; null in what an earlier version stored."""


class ModelAnswer(TypedDict):
    """A model version: options of the recommender, and the packages that they need."""

    id: str
    """Its id."""
    name: str
    """What is tried."""
    note: str
    """Why, in a sentence."""
    state: Literal["candidate", "champion", "retired"]
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


class ModelDetailAnswer(TypedDict):
    """A model version with its options and its scores."""

    id: str
    """Its id."""
    name: str
    """What is tried."""
    note: str
    """Why, in a sentence."""
    state: Literal["candidate", "champion", "retired"]
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
    options: dict[str, Any]
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


class MustReach(TypedDict):
    """What a window has to come to so that it is worth its time."""

    metric: str
    """The session's objective."""
    goal: Literal["minimize", "maximize"]
    """Which way is better."""
    value: float
    """The reading that it has to come to."""


class NewDatabase(TypedDict):
    """A database server to look after."""

    name: str
    """What people call it; no two databases have the same name."""
    engine: str
    """Which kind of server it is: one of the engines that the catalogue has."""
    policy: NotRequired[PolicyBody]
    """What the operator allows."""
    label: NotRequired[str | None]
    """Databases of one label belong together; those without any belong together too."""


class NewModel(TypedDict):
    """An options document, as TOML or as JSON: one of both. What it does not name keeps its default."""

    name: str
    """For people: what is tried."""
    toml: NotRequired[str | None]
    """The document as TOML, such as `lutra models options` prints one."""
    options: NotRequired[dict[str, Any] | None]
    """The document as JSON: a room of options is an object."""
    note: NotRequired[str]
    """Why, in a sentence."""


class NewPrediction(TypedDict):
    """A what-if."""

    settings: NotRequired[dict[str, int | float | str]]
    """Merged with the current ones: texts with units, or numbers in the server's own unit."""
    level: NotRequired[float]
    """The probability that each interval is to hold the reading."""
    rate: NotRequired[float | None]
    """On a live database, what clients offer in a second, in the unit that `load` of an answer names; null for the load
    of now. A rate that was not measured is refused."""


class NewRecommendation(TypedDict):
    """Empty: the next one of the open session. With `settings`: these, merged with the current ones and checked."""

    settings: NotRequired[dict[str, int | float | str] | None]
    """An operator's own settings: texts with units, or numbers in the server's own unit."""
    approve: NotRequired[bool]
    """With `settings`: approve them at once."""


class NewSession(TypedDict):
    """A tuning session to open."""

    objective: ObjectiveBody
    """The metric, and which way is better."""
    limits: NotRequired[list[LimitBody]]
    """What must hold besides."""
    mode: NotRequired[Literal["observe", "reload_only", "restart_in_window", "lab"]]
    """The most that is asked for; the agent's own file caps it."""
    approval: NotRequired[Literal["manual", "automatic"]]
    """Whether each recommendation waits for somebody, or trials follow each other by themselves."""
    max_trials: NotRequired[int]
    """How many trials at most."""
    verification_rounds: NotRequired[int]
    """In a lab, how often each finalist is measured at most before the handover, after the trials and beside
    `max_trials`; it takes three to tell a gain. 0 hands over what the model names, unverified."""
    max_changes: NotRequired[int | None]
    """How many settings a recommendation may change at most, counted from the session's begin; null for any."""
    exploration: NotRequired[int]
    """On a live database, how many trials may be made only to learn what settings do. In a lab all of them may."""
    loads: NotRequired[list[LoadBody]]
    """In a lab, the loads that each trial is measured under, one after the other; empty for the driver's own load."""
    aim: NotRequired[Literal["weighted", "worst"]]
    """With `loads`, what is to become better: the weighted geometric mean of the objective's ratios to the baseline's
    readings under each load, or the worst of these ratios."""
    seed: NotRequired[int]
    """The same seed and the same measurements give the same recommendations."""


class NewToken(TypedDict):
    """A token to make."""

    name: str
    """For people: whose it is, or what for."""
    scopes: list[Literal["agent", "read", "models", "operate", "admin"]]
    """What it may do: `operate` and `models` include `read`, `admin` includes all of them."""
    expires_at: NotRequired[datetime | str | None]
    """Until when it is valid; null: until it is revoked."""


class NewTokenAnswer(TypedDict):
    """A token and its secret."""

    id: str
    """Its id."""
    name: str
    """Whose it is, or what for."""
    scopes: list[Literal["agent", "read", "models", "operate", "admin"]]
    """What it may do."""
    database: str | None
    """The only database that it reaches; null where it reaches all."""
    created_at: datetime
    """When it was made."""
    revoked_at: datetime | None
    """Since when it is no longer valid; null while it is."""
    expires_at: datetime | None
    """Until when it is valid; null: until it is revoked."""
    last_used_at: datetime | None
    """When it was last used, to the minute; null where it never was."""
    token: str | None
    """The secret. Shown once; null where an Idempotency-Key asks a second time."""


class NotJudgedAnswer(TypedDict):
    """A symptom of this server of which something that it reads is missing."""

    name: str
    """Its name."""
    kind: Literal["outage", "danger", "fault", "elsewhere", "enough", "note"]
    """What it would be."""
    accepted: RiskAnswer | None
    """Where somebody accepts it; null where it counts."""


class NotKnownAnswer(TypedDict):
    """A change of which no model knows what it does, and what the catalogue says of it."""

    setting: str
    """Its name."""
    before: int | float | str
    """In the server's own unit."""
    after: int | float | str
    """In the server's own unit."""
    meaning: str
    """What the setting means."""
    manual: str
    """Where the server's manual tells of it."""
    risk: Literal["none", "durability", "availability", "host"]
    """What a wrong value can cost: committed data, the server's availability, or nothing but speed."""
    applies: Literal["immediate", "reload", "restart", "reboot"] | Literal["fixed"]
    """What makes a new value active."""
    memory_bytes: float
    """What this change alone adds to the memory sum."""


class ObjectiveBody(TypedDict):
    """What is to become better."""

    metric: str
    """A metric that is measured on the database, such as `p99_ms` or `qps`."""
    goal: Literal["minimize", "maximize"]
    """Which way is better."""


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
    """How many windows it was merged from: 1 for a window as it was measured."""
    failure: str | None
    """Why nothing was measured."""
    p99_source: Literal["driver", "histogram", "prometheus", "estimated", "probe", "activity", "log"] | None
    """Where its `p99_ms` comes from."""
    p99_of: Literal["statement", "transaction", "command"] | None
    """What its `p99_ms` is the latency of."""
    settings: dict[str, int | float | str]
    """The settings that were active, in the server's own units."""
    metrics: dict[str, float]
    """What was measured, in the unit of the name."""
    context: dict[str, int | float | str]
    """The circumstances: the load and the like."""
    bounds: dict[str, float]
    """Of a window that was ended early, what the whole one would not have been better than."""


class Outcome(TypedDict):
    """What really happened to a directive, with the settings that are active now.

    A change that was applied with a `confirm_by` is provisional: `confirmed` or `reverted` follows, by then at the
    latest, whether the service is there or not."""

    directive: str
    """The directive that it answers."""
    state: Literal["applied", "confirmed", "refused", "failed", "reverted"]
    """What happened to it."""
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
    """Why the agent refused or undid it."""
    message: NotRequired[str]
    """The same in words."""
    active: NotRequired[dict[str, int | float | str]]
    """By name, the settings that are active now."""
    restarted: NotRequired[bool]
    """Whether the server was restarted."""
    confirm_by: NotRequired[datetime | str | None]
    """The change is provisional until then: the agent confirms it or undoes it by then."""
    at: datetime | str
    """When it happened."""


class PackageAnswer(TypedDict):
    """A package beside Lutra's own that a model version needs."""

    option: str
    """The option that names what the package brings."""
    name: str
    """The package's name."""
    version: str
    """The package's version when the model version was registered: no other one will do."""


class PastGainAnswer(TypedDict):
    """By how much a number is better with the past workloads of other sessions than without; positive is better."""

    log_score: float | None
    """Of the log score."""
    rank_correlation: float | None
    """Of the rank correlation."""
    regret: float | None
    """Of the regret: so much less of it."""


class PastWorkloadAnswer(TypedDict):
    """A past workload that a recommendation uses."""

    workload: str
    """Its id."""
    name: str | None
    """Its name, where it is the database's own or belongs to none; null for another database's."""
    weight: float
    """How far it is believed, from 0 to 1; what is missing to 1 over all is believed of none."""


class PolicyBody(TypedDict):
    """What the operator allows. Values are texts with units or numbers in the server's own unit."""

    pins: NotRequired[dict[str, int | float | str]]
    """Settings that are held at a value: name → value."""
    ranges: NotRequired[dict[str, list[Any]]]
    """Settings that are searched within narrower ends than the catalogue's: name → [low, high]."""
    movable: NotRequired[list[str] | None]
    """The settings that may move; null for all that are tuned by default."""
    restart: NotRequired[bool]
    """Whether settings that need a restart may move, where the mode allows a restart."""
    durability: NotRequired[bool]
    """Whether settings may move that can lose committed data; the agent's own file has to allow it too."""
    host: NotRequired[bool]
    """Whether settings of the machine may move, which concern everything that runs there; the agent's own file has to
    allow it too."""
    memory_fraction: NotRequired[float]
    """How much of the memory may be taken, as `memory_count` counts it."""
    memory_count: NotRequired[Literal["in_use", "worst_case"]]
    """What the memory sum counts: what can really be in use at once, or the worst case, everything full at once."""
    past: NotRequired[Literal["all", "label", "none"]]
    """Which databases it learns from, and which learn from it: all, those of the same label, or none."""


class PolicyPatch(TypedDict):
    """Only the named parts change; null is a value of `movable` alone."""

    pins: NotRequired[dict[str, int | float | str] | None]
    """In place of all pins before: name → value."""
    ranges: NotRequired[dict[str, list[Any]] | None]
    """In place of all ranges before: name → [low, high]."""
    movable: NotRequired[list[str] | None]
    """The settings that may move; null for all that are tuned by default."""
    restart: NotRequired[bool | None]
    """Whether settings that need a restart may move, where the mode allows a restart."""
    durability: NotRequired[bool | None]
    """Whether settings may move that can lose committed data; the agent's own file has to allow it too."""
    host: NotRequired[bool | None]
    """Whether settings of the machine may move, which concern everything that runs there; the agent's own file has to
    allow it too."""
    memory_fraction: NotRequired[float | None]
    """How much of the memory may be taken, as `memory_count` counts it."""
    memory_count: NotRequired[Literal["in_use", "worst_case"] | None]
    """What the memory sum counts: what can really be in use at once, or the worst case, everything full at once."""
    past: NotRequired[Literal["all", "label", "none"] | None]
    """Which databases it learns from, and which learn from it: all, those of the same label, or none."""


class PredictionAnswer(TypedDict):
    """What one metric is predicted to be, noise included."""

    median: float
    """As likely to be more as to be less."""
    low: float
    """The interval's lower end."""
    high: float
    """The interval's upper end."""
    level: float
    """The probability that the interval holds the reading."""
    far: bool
    """Far from all that was measured: the interval is mostly prior."""
    unlike: NotRequired[list[str]]
    """The settings to whose values nothing like it was measured."""
    without: NotRequired[list[str]]
    """Changes of which no model knows anything: this is what the other settings would give without them."""
    record: NotRequired[LeftOutAnswer | None]
    """How good such intervals are on the model's own readings, each left out in turn; null where there is but one."""


class PredictionsAnswer(TypedDict):
    """What settings would give."""

    configuration: dict[str, int | float | str]
    """The whole configuration, in the server's own units."""
    predictions: dict[str, PredictionAnswer]
    """By metric; empty where no model has seen any of the settings that change."""
    not_known: list[NotKnownAnswer]
    """The changes of which no model knows what they do: the predictions are of the others."""
    changes: list[ChangeAnswer]
    """What would change."""
    memory: MemoryAnswer
    """The server's memory with them, line by line."""
    refusal: RefusalAnswer | None
    """Why a recommendation of these settings would be refused: by the policy, a range, durability, memory or another
    rule; null where it would be let through."""
    warnings: list[str]
    """What else to know."""
    observations: int
    """How many readings the model was fitted to."""
    session: str | None
    """The session whose model answers."""
    fitted_at: datetime
    """When the model was fitted."""
    record: dict[str, RecordAnswer]
    """By metric, how often such intervals held until now, of those that were predicted before they were measured."""
    load: NotRequired[ForLoadAnswer | None]
    """On a live database that was measured under several loads, the one that they are for; else null."""


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
    """What kind of problem it is: a closed set, for programs to tell them apart."""
    detail: str
    """What happened, with the values, and mostly the way out; for people."""
    errors: NotRequired[list[ProblemError] | None]
    """With `invalid_request` and `unknown_field`: each place that is wrong, the first twenty."""
    protocol: NotRequired[int | None]
    """With `unknown_field`: the protocol that the service speaks."""


class ProblemError(TypedDict):
    """One of the things that are wrong with a request."""

    at: str
    """Where: the path to the field or the name of the parameter; empty for the whole body."""
    message: str
    """What is wanted there, and what was given."""


class Promoting(TypedDict):
    """Empty: promote it whatever is known of it."""

    by_rule: NotRequired[bool]
    """Only where it is shown to be better than the champion, as `beside_champion` of the model version says; otherwise
    the answer is a conflict that names what is missing."""


class Readiness(TypedDict):
    """Whether the service can do its work."""

    status: str
    """`ready`, or what is missing."""


class ReasonAnswer(TypedDict):
    """Why one setting changes."""

    setting: str
    """Its name."""
    before: int | float | str | None
    """In the server's own unit."""
    after: int | float | str
    """In the server's own unit."""
    sentence: str
    """Why, in plain words."""
    effect: float | None
    """Its share of the predicted effect: 0.08 is 8 % better with it; null where nothing was learned yet."""
    against: NotRequired[str]
    """What speaks against it; empty where nothing is known to."""


class Receipt(TypedDict):
    """The service's answer to a report. `directive` is the current one, also after a duplicate."""

    protocol: NotRequired[int]
    """The protocol that the service speaks."""
    duplicate: NotRequired[bool]
    """Whether this report was stored before."""
    settings_wanted: NotRequired[bool]
    """Whether the next report has to carry the settings."""
    directive: NotRequired[Directive | None]
    """The directive to carry out now; null where there is none."""
    rules: NotRequired[Rules]
    """What the operator has set on the service for this database."""


class RecommendationAnswer(TypedDict):
    """Settings to try: what changes, why, what it should give, and what became of it."""

    id: str
    """Its id."""
    database: str
    """The id of its database."""
    session: str | None
    """The session that it belongs to; null where it belongs to none."""
    parent: str | None
    """The recommendation that it is a part of, or undoes."""
    trial: int | None
    """Its number among the session's trials; null where it is none."""
    kind: Literal["search", "verification", "handover", "manual", "subset", "rollback", "maintenance"]
    """Its purpose: a trial, the session's end, an operator's choice, a part of another, an undo, or what a maintenance
    window is needed for."""
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
    """What it changes; null while it is being computed."""
    reasons: list[ReasonAnswer] | None
    """Why each setting changes; null while it is being computed."""
    predictions: dict[str, PredictionAnswer]
    """By metric, what it should give; empty before there is anything to predict from."""
    curve: list[ShareAnswer]
    """What share of the predicted gain few settings give, from none on; empty where no gain is predicted."""
    shortened_from: dict[str, int | float | str] | None
    """The best by posterior, where one that was measured too does nearly as well with fewer changes."""
    must_reach: float | None
    """What its window has to come to so as not to be ended early; null where it is measured to its end."""
    leans_on: LeansOnAnswer | None
    """The past workloads that it uses, and what it would be without them; null where it uses none."""
    looked_at: LookedAtAnswer | None
    """On a live database, what it rests on; with the origin `nothing`, why nothing is worth changing. Else null."""
    memory: MemoryAnswer | None
    """Its memory, line by line; null while it is being computed."""
    restart_needed: bool | None
    """Whether any of its changes needs a restart."""
    warnings: list[str] | None
    """What else to know before approving."""
    outcome: dict[str, Any] | None
    """The outcome that its agent reported; null before that."""
    measured: dict[str, float | str | None] | None
    """By metric, what it gave; null before it was measured."""
    ended_early: EndedEarlyAnswer | None
    """Where its window was ended early, the bound that it gave instead; null where it was not."""
    judgement: JudgementAnswer | None
    """Outside a lab, what it changed at like load, by the windows until now; null in a lab and before there are any."""
    failed: str | None
    """Why nothing was measured, once that is certain."""
    failure: FailureAnswer | None
    """Why it was rejected, withdrawn, refused or undone, or failed; null where it was not."""
    error: str | None
    """The same in one line, for people; null also where somebody rejected it without a word."""
    reason: str | None
    """Why it was turned down or undone, in the words of who did that; null where nobody gave a reason."""
    waits: str | None
    """Why an approved one is not carried out yet; null where nothing is in its way."""
    seed: int
    """The seed of its session."""
    key: str
    """A digest of the question: the same history asks the same."""
    package_version: str
    """The version that computed it."""
    model: str | None
    """The model version that computed it, `mv_…`; null where nothing was computed, or by an earlier service."""
    created_at: datetime
    """When it was asked for."""
    proposed_at: datetime | None
    """When it was there to be decided."""
    decided_at: datetime | None
    """When it was approved or rejected."""
    decided_by: str | None
    """The token that decided; `automatic` where the session did, `service` where the service itself did."""
    decided_by_name: str | None
    """That token's name; else as `decided_by`."""
    applied_at: datetime | None
    """When its agent made it active."""
    confirmed_at: datetime | None
    """When it was confirmed: from then on no lapse of time undoes it."""
    expires_at: datetime | None
    """Until when the approval lasts."""
    ended_at: datetime | None
    """When it ended: was confirmed, undone, or came to nothing."""
    undone_by: str | None
    """Who undid it, where it was undone: a guard, its agent, a token by its name, the service, or an operator on the
    host."""
    handed_out_at: datetime | None
    """Since when its agent has it as a directive."""
    withdrawn_at: datetime | None
    """When it was withdrawn while its agent had it: it is rolled back if it becomes active."""
    withdrawn_by: str | None
    """Who withdrew it."""


class RecordAnswer(TypedDict):
    """How good such intervals were on what was predicted and then measured."""

    n: int
    """So many readings were predicted and then measured."""
    held: int
    """So many of them lay inside their interval."""
    level: float
    """The probability that each interval was to hold its reading."""


class RefusalAnswer(TypedDict):
    """Why settings would not be let through."""

    code: str
    """The code of the problem that they would be refused with."""
    message: str
    """Why, with the values."""


class Report(TypedDict):
    """One numbered message of one agent: a window's metrics, the server's facts, outcomes of directives.

    `settings` travels when `settings_hash` changes (or the service asked for it); `window` and `metrics` are absent
    in a heartbeat. `texts` are names of objects of the database at the window's end. `measures` names the directive
    whose configuration this window measured, `failure` why nothing could be measured under it, and `ended_early`
    that its window was ended before its time. `rolled_back` are rollbacks on the host that no report held before.
    `p99_source` and `p99_of` describe `metrics["p99_ms"]`, and are required with it."""

    protocol: NotRequired[Literal[1]]
    """The protocol that the agent speaks."""
    agent: str
    """The agent's name."""
    epoch: str
    """The id of the agent's state: a new one when the agent has lost its state."""
    sequence: int
    """The report's number in the epoch."""
    sent_at: datetime | str
    """When the report was made."""
    engine: str
    """Which kind of server it is; the one that the database was registered with."""
    engine_version: str
    """The server's version."""
    role: NotRequired[Literal["primary", "standby"]]
    """Whether the server accepts writes."""
    identifier: NotRequired[str]
    """The server's own identifier; empty where it has none."""
    host: Host
    """What the server may use of its host."""
    peak_connections: NotRequired[int]
    """The most connections seen at once; 0 where unknown."""
    settings_hash: str
    """A digest of the settings that are active."""
    settings: NotRequired[dict[str, ServerSetting] | None]
    """Every setting, where the digest is new or the service asked for them."""
    window: NotRequired[ReportedWindow | None]
    """The interval in which the metrics were measured."""
    metrics: NotRequired[dict[str, float]]
    """By name, in the unit of the name. What was not measured is left out."""
    texts: NotRequired[dict[str, str]]
    """By name, names of the database's objects at the end of the window; one line each."""
    p99_source: NotRequired[
        Literal["driver", "histogram", "prometheus", "estimated", "probe", "activity", "log"] | None
    ]
    """Where `p99_ms` comes from."""
    p99_of: NotRequired[Literal["statement", "transaction", "command"] | None]
    """What `p99_ms` is the latency of."""
    context: NotRequired[dict[str, int | float | str]]
    """The circumstances of the measurement, such as the load's threads."""
    measures: NotRequired[str | None]
    """The directive whose configuration this window measured."""
    failure: NotRequired[str | None]
    """Why nothing could be measured under it."""
    ended_early: NotRequired[EndedEarly | None]
    """That its window was ended before its time, with the bound that it gave instead of a value."""
    outcomes: NotRequired[list[Outcome]]
    """What happened to directives."""
    events: NotRequired[list[GuardEvent]]
    """Guards that fired."""
    rolled_back: NotRequired[list[HostRollback]]
    """Rollbacks on the host that no report held before."""
    status: NotRequired[AgentStatus]
    """The agent's status."""


class ReportedWindow(TypedDict):
    """The interval of a measurement, half-open."""

    start: datetime | str
    """Its first moment."""
    end: datetime | str
    """The first moment after it."""


class RiskAnswer(TypedDict):
    """That somebody accepts a finding: it comes last, and fails nothing."""

    because: str
    """Why."""
    until: datetime
    """When it counts again."""
    by: str
    """The name of the token that accepted it."""


class RolledBackSetting(TypedDict):
    """One setting of a rollback on the host."""

    before: int | float | str
    """Its value before the rollback, in the server's own unit."""
    after: int | float | str
    """Its value since."""


class Rotation(TypedDict):
    """How a token is replaced by one with another secret."""

    grace_s: NotRequired[int]
    """For so many seconds the old secret is valid too."""
    expires_at: NotRequired[datetime | str | None]
    """Until when the new one is valid; null: for as long as the old one was given."""


class Rules(TypedDict):
    """What the operator has set on the service for this database; the agent keeps it on its own disk.

    `guardrails` tighten those of the agent's own file."""

    guardrails: NotRequired[dict[str, Guardrail]]
    """By guard; they have precedence over the agent's own file."""
    maintenance_windows: NotRequired[list[MaintenanceWindow]]
    """When the server may be restarted."""


class ScorecardAnswer(TypedDict):
    """How good a model version would have been on past sessions, each of which counts alike.

    It is fitted to a session's first trials, 3 to 24 of them, and predicts those that came then."""

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
    missed: NotRequired[float | None]
    """Played in a lab from its start, what the best that it tried missed on average: 0 is the best at once, 1 what most
    configurations are worth; null where sessions measured too little, and in what an earlier version scored."""
    missed_live: NotRequired[float | None]
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


class ScoringAnswer(TypedDict):
    """How far the computation of a scorecard is."""

    state: Literal["waiting", "done", "failed"]
    """`waiting` until it ends."""
    sessions: int
    """Past sessions that it is computed from."""
    done: int
    """How many of them it has behind it."""
    error: str | None
    """Why it failed; null where it did not."""


class ServerSetting(TypedDict):
    """One setting as the live server reports it.

    `value` is in `unit` ("8kB", "ms", …), the server's own. `low`, `high` and `options` say what it takes.
    `persisted` is the text in the file that the agent writes, None where that file does not mention it:
    the undo is exact. `shadowed` says that something outranks that file (a command line, a file read later), so that a
    change would have no effect; it names what. `unreached` names those who have a value of their own, as a role or a
    database may: a change reaches everybody but them."""

    value: str
    """As the server prints it, in its own unit."""
    unit: NotRequired[str]
    """The server's own unit; empty where it has none."""
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
    """Its text in the settings file that the agent writes; null where the file has none."""
    shadowed: NotRequired[str | None]
    """What outranks that file, so that a change would have no effect."""
    pending_restart: NotRequired[bool]
    """Whether another value becomes active at the next restart."""
    unreached: NotRequired[str | None]
    """Who has a value of their own, which a change does not reach: roles, databases, tablespaces; null for nobody."""


class SessionAnswer(TypedDict):
    """A tuning session and its progress."""

    id: str
    """Its id."""
    database: str
    """The id of its database."""
    state: Literal["running", "settled", "paused", "completed", "stopped", "undone"]
    """`running` and `paused` are open; `completed` and `stopped` are ended."""
    objective: ObjectiveBody
    """The metric, and which way is better."""
    limits: list[LimitBody]
    """What must hold besides."""
    mode: Literal["observe", "reload_only", "restart_in_window", "lab"]
    """The most that was asked for."""
    effective_mode: Literal["observe", "reload_only", "restart_in_window", "lab"]
    """The weaker of `mode` and the most that the agent's own file allows."""
    approval: Literal["manual", "automatic"]
    """Whether each recommendation waits for somebody."""
    max_trials: int
    """How many trials at most."""
    verification_rounds: int | None
    """How often each finalist is measured at most before the handover; null in a session of an earlier version."""
    max_changes: int | None
    """How many settings a recommendation may change at most, counted from `baseline`; null for any."""
    exploration: int | None
    """How many trials may be made only to learn what settings do; null in a session of an earlier version."""
    loads: list[LoadBody]
    """The loads that each trial is measured under; empty for the driver's own load."""
    aim: Literal["weighted", "worst"] | None
    """What is to become better over `loads`; null without them."""
    seed: int
    """The seed that it was opened with."""
    trials_done: int
    """How many were measured, or tried and failed."""
    current: str | None
    """The recommendation that is being computed, decided, applied or measured."""
    incumbent: str | None
    """In a lab the best measured configuration that keeps the limits; elsewhere the latest change that was judged
    better at like load."""
    handover: str | None
    """What the session leaves the database with, once it is known."""
    for_maintenance_window: str | None
    """The recommendation that holds what needs a restart, while it waits for somebody or for its window; else null."""
    baseline: dict[str, int | float | str] | None
    """The settings that were active when it began; null before the first report."""
    server: Identity | None
    """The server that it is for; null before the first report."""
    rebased_at: datetime | None
    """It began again then, on a server that had become another one."""
    p99_source: Literal["driver", "histogram", "prometheus", "estimated", "probe", "activity", "log"] | None
    """The only source of `p99_ms` that is used; null before the first p99, and under several loads, which are a
    driver's."""
    p99_of: Literal["statement", "transaction", "command"] | None
    """What its `p99_ms` is the latency of."""
    message: str
    """Why it paused or settled, what it observes or waits for, or how it ended and what became of that; then what its
    last change did, and all of them together, by the windows until now. Empty where there is nothing to say."""
    opened_by_agent: bool
    """Whether an agent's token opened it: its trials are for that agent in mode lab alone."""
    measured_under: str | None
    """Under which loads what it handed over was measured, and that it was under no others; null before the handover and
    outside a lab."""
    verification: VerificationAnswer | None
    """How the configurations that it may hand over compare; null before its trials are done and outside a lab."""
    leaning: LeaningAnswer | None
    """Whether the past workloads that it uses help it; null before the first measured trial that used some."""
    events: list[EventAnswer]
    """Guards that fired, the newest first."""
    created_at: datetime
    """When it was opened."""
    ended_at: datetime | None
    """When it was completed or stopped."""


class SessionScoreAnswer(TypedDict):
    """What one past session says of a model version."""

    session: str
    """The session's id; of a data set that belongs to no database that of its workload, `wl_…`."""
    failed: NotRequired[str | None]
    """Why it could not be scored on this session; null where it could."""
    key: NotRequired[str | None]
    """A digest of the session as it was scored: equal where two versions were scored on the same."""
    n: NotRequired[int | None]
    """Readings that were predicted."""
    held_80: NotRequired[float | None]
    """The share of them that lay inside their 80 % interval."""
    width_80: NotRequired[float | None]
    """The intervals' mean width, as a share of the median."""
    held_90: NotRequired[float | None]
    """The same of 90 % intervals."""
    width_90: NotRequired[float | None]
    """Their mean width."""
    log_score: NotRequired[float | None]
    """The mean log density of what was measured; more is better."""
    error: NotRequired[float | None]
    """The mean error of the median, as a share of what was measured."""
    rank_correlation: NotRequired[float | None]
    """Of what was predicted of the trials left with what they gave, from -1 to 1."""
    regret: NotRequired[float | None]
    """By how much the best of the trials left is better than the one that it would have picked, as a share."""
    missed: NotRequired[float | None]
    """Played in a lab from its start, what the best that it tried missed on average: 0 is the best at once, 1 what most
    configurations are worth; null where the session measured too little."""
    missed_live: NotRequired[float | None]
    """The same played live, where each trial counts and not the best so far."""


class SettingAnswer(TypedDict):
    """A live setting, as its agent last reported it."""

    setting: str
    """Its name."""
    value: int | float | str
    """In the server's own unit."""
    text: str
    """The value as people write it."""
    unit: str
    """The server's own unit; empty where it has none."""
    applies: Literal["immediate", "reload", "restart", "reboot"] | Literal["fixed"]
    """How a new value becomes active; `fixed` for a setting that cannot be changed."""
    source: str
    """The source of the value."""
    persisted: str | None
    """Its text in the settings file that the agent writes; null where the file has none."""
    shadowed: str | None
    """What outranks that file, so that a change would have no effect."""
    unreached: str | None
    """Who has a value of their own, which a change does not reach: roles, databases, tablespaces; null for nobody."""
    pending_restart: bool
    """Whether another value becomes active at the next restart."""
    not_active: str | None
    """What the settings file has and the running server has not, with what makes it active; null where that is
    nothing."""
    range: str | None
    """Where it is searched now; null where it stays as it is."""


class ShadowScoreAnswer(TypedDict):
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


class ShareAnswer(TypedDict):
    """What so many of the settings that change give."""

    settings: int
    """How many: those of this line and of all lines before it."""
    added: list[str]
    """The settings that come in here; the first ones earn most."""
    share: float
    """What they are predicted to give, as a share of what all of them are. Above 1: fewer would do better."""
    low: float
    """The lower end of the share's 90 % interval, by the model."""
    high: float
    """The upper end."""


class StepAnswer(TypedDict):
    """What is executed for one setting: a statement for the server, or a line of a file that its agent keeps."""

    text: str
    """The statement, or the line."""
    file: str
    """The key under which the agent's own file names the line's file; empty for a statement."""
    section: str
    """The line's section in that file; empty for a statement."""


class SuiteAnswer(TypedDict):
    """What the conformance suite, which Lutra's own parts pass, found of the parts that packages bring."""

    state: Literal["passed", "failed", "not_run", "not_needed"]
    """`not_needed` where no package brings a part; `not_run` before a score. One that failed, or was not run, neither
    serves nor runs in the shadow."""
    faults: list[str]
    """What a part does not keep, or why the suite could not end; empty where it passed."""


class SymptomAnswer(TypedDict):
    """Something that the windows show."""

    name: str
    """Its name."""
    kind: Literal["outage", "danger", "fault", "elsewhere", "enough", "note"]
    """An outage, a danger, a setting at fault, time lost elsewhere, a setting that is large enough, or a note."""
    group: str
    """What it belongs to."""
    strength: float
    """From 0.3, where it begins, to 1; less than 1 at most where the evidence is indirect."""
    sentence: str
    """What was seen, with its numbers."""
    measured: float
    """The measure that `strength` comes from."""
    numbers: dict[str, int | float | str]
    """Numbers that the measure, the sentence and the cures are made of, in bytes, milliseconds or plain."""
    settings: list[str]
    """The settings that it speaks of."""
    cures: list[CureAnswer]
    """What it asks of them."""
    statements: list[str]
    """What a person would execute, where no cure may be offered."""
    threshold: str
    """Where its bounds come from."""
    source: str
    """The address of that."""
    follows: list[str]
    """Symptoms that bring this one about: their cures come first."""
    since: datetime | None
    """Since when it shows; null before the service's first look at it."""
    gone_at: datetime | None
    """Since when it does not show any more, where older windows of the time asked for still have it."""
    accepted: RiskAnswer | None
    """Where somebody accepts it; null where it counts."""


class SymptomsAnswer(TypedDict):
    """The symptoms of a database and the windows that they rest on."""

    start: datetime | None
    """The first moment of the windows; null where there are none."""
    end: datetime | None
    """The last one."""
    windows: int
    """How many windows they are."""
    seconds: float
    """How long they are together."""
    symptoms: list[SymptomAnswer]
    """Outages first, then dangers, then all others, the strongest first; at the end those that somebody accepts."""
    evaluated: int
    """How many symptoms could be judged."""
    not_judged: list[NotJudgedAnswer]
    """Symptoms of this server of which something that they read is missing."""


class TokenAnswer(TypedDict):
    """A token, without its secret."""

    id: str
    """Its id."""
    name: str
    """Whose it is, or what for."""
    scopes: list[Literal["agent", "read", "models", "operate", "admin"]]
    """What it may do."""
    database: str | None
    """The only database that it reaches; null where it reaches all."""
    created_at: datetime
    """When it was made."""
    revoked_at: datetime | None
    """Since when it is no longer valid; null while it is."""
    expires_at: datetime | None
    """Until when it is valid; null: until it is revoked."""
    last_used_at: datetime | None
    """When it was last used, to the minute; null where it never was."""


class TrialAnswer(TypedDict):
    """One configuration that was tried, and what came of it."""

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
    """What it changes; null while it is being computed."""
    reasons: list[ReasonAnswer] | None
    """Why each setting changes; null while it is being computed."""
    predictions: dict[str, PredictionAnswer]
    """By metric, what it was predicted to give; empty before there was anything to predict from."""
    curve: list[ShareAnswer]
    """What share of its predicted gain few settings give, from none on; empty where no gain was predicted."""
    measured: dict[str, float | str | None] | None
    """By metric, what it gave; null where nothing was measured."""
    ended_early: EndedEarlyAnswer | None
    """Where its window was ended early, the bound that it gave instead; null where it was not."""
    spent_s: float | None
    """The seconds from the directive to its end: change, warm-up and window; null before both."""
    failed: str | None
    """Why nothing was measured, once that is certain."""
    memory: MemoryAnswer | None
    """Its memory, line by line; null while it is being computed."""


class TurningDown(TypedDict):
    """Empty: without a reason."""

    reason: NotRequired[str | None]
    """Why. What was turned down is not proposed again until something that it depended on has changed."""


class VerificationAnswer(TypedDict):
    """The end of a lab's session: its finalists, measured in turns until it is known what to hand over."""

    rounds: int
    """How many were begun."""
    finalists: list[FinalistAnswer]
    """Each of another configuration."""
    verdict: Literal["best", "rule_based", "baseline"] | None
    """Which of them is handed over; null while it is not known."""
    sentence: str
    """What was found, with the gains and what three more rounds would read; empty while it is not known."""


class WindowAnswer(TypedDict):
    """An interval in which something was measured."""

    id: str
    """Its id."""
    start: datetime
    """Its first moment."""
    end: datetime
    """The first moment after it."""
    metrics: dict[str, float]
    """By name, in the unit of the name. What was not measured is absent."""
    p99_source: Literal["driver", "histogram", "prometheus", "estimated", "probe", "activity", "log"] | None
    """Where `p99_ms` comes from; `estimated` means computed, not measured."""
    p99_of: Literal["statement", "transaction", "command"] | None
    """What `p99_ms` is the latency of."""
    busy: float
    """The share of its processor time that something else on the host took (steal, throttling, waiting for a disk, a
    queue for its processors), beyond what is usual in the sixty windows before it. From 0.1 on judgements mark it; 0
    where the host shows nothing."""
    failure: str | None
    """Why nothing could be measured; null where something was."""
    agent: str
    """The agent that measured it."""
    session: str | None
    """The session whose trial it is."""
    recommendation: str | None
    """The recommendation whose settings it measured."""
    windows: int
    """How many windows it merges: more than one for old windows."""


class WorkloadAnswer(TypedDict):
    """What a session, or an imported data set, left for others to learn from."""

    id: str
    """Its id."""
    name: str
    """The database's name."""
    engine: str
    """The engine; only workloads of one engine are compared."""
    metric: str
    """The objective's metric."""
    database: str | None
    """The database; null for a data set that belongs to none."""
    session: str | None
    """The session that it comes from: its history is that of the workload."""
    observations: int
    """How many configurations were measured, or failed."""
    created_at: datetime
    """When it became known."""
    changed_at: datetime
    """When something changed of it last."""
    teaches: bool
    """Whether others learn from it: it was fitted, and was not merged into another one."""
    merged_into: str | None
    """The workload of the same database that says the same, and stays in its place."""
    signature: dict[str, list[float]]
    """Of each counter that tells workloads apart, the deciles from the least to the greatest reading; empty before
    it was fitted."""
    context: dict[str, int | float | str]
    """The circumstances: version, hardware, load and the like."""
    lessons: dict[str, LessonAnswer]
    """What it taught, by metric, the objective's first; empty before it was fitted."""


class WorkloadHistoryAnswer(TypedDict):
    """What was measured of a workload: `lutra_models.serial.history_from_dict` makes a `History` of it."""

    format: int
    """The version of this document's format."""
    knobs: list[dict[str, Any]]
    """The settings that are searched, each with its domain."""
    objective: dict[str, Any]
    """What is to become better."""
    limits: list[dict[str, Any]]
    """What must hold besides."""
    observations: list[dict[str, Any]]
    """Every measured or failed trial, in the order in which they were measured."""
    pending: list[dict[str, int | float | str]]
    """Configurations that are proposed and not yet measured."""
    current: dict[str, int | float | str] | None
    """The configuration that is active."""
    starts: list[dict[str, int | float | str]]
    """Configurations that are worth trying early."""
    context: dict[str, Any]
    """What was the same all along: version, hardware and the like."""
    answers: dict[str, list[list[Any]]]
    """By setting, pairs of a number that was asked for and the number that the server set."""
    baseline: dict[str, int | float | str] | None
    """The configuration that was active when the session began: changes are counted from it."""
    aim: dict[str, Any] | None
    """What `objective` is computed from, under several loads."""
