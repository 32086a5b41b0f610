"""Preconditions of a directive before the first statement: every refusal is one of the wire's closed set."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from lutra_models.catalog import Change, LiveSettings
from lutra_models.catalog.statements import Step
from lutra_models.errors import ApplyCode, InvalidConfiguration
from lutra_models.identity import identity
from lutra_models.knobs import Choice, Configuration, Domain, Value
from lutra_models.server import Policy, Server
from lutra_models.wire import Directive

from lutra_agent.admission.bounds import Bounds
from lutra_agent.admission.past_configurations import (
    Active,
    PastConfigurations,
    had_value,
    leads_to,
    restored,
    values_of,
)
from lutra_agent.control.server import ServerControl
from lutra_agent.engines.common.source import SettingSource, by_source, lacks_copy, permissions
from lutra_agent.errors import ApplyRefused, Deferred
from lutra_agent.guardrails.evaluate import BASELINE_WINDOWS

REMEDY = "agent.ranges = 'server' in the agent's own file allows every value that the server accepts"


def within_ranges(live: LiveSettings, changes: Iterable[Change], known: Sequence[Active]) -> None:
    """Raises ApplyRefused. A range includes the active value, and those of earlier configurations."""
    references = [live.values, *(live.values.replace(values_of(live, active)) for active in known)]
    changes = tuple(changes)
    together = frozenset(c.name for c in changes)
    for change in changes:
        # The references differ in one setting's own value alone as far as its range is concerned.
        own = {r[change.name]: r for r in references}
        domains = [_domain(live, change.name, together, reference) for reference in own.values()]
        if not any(_inside(change.after, domain) for domain in domains):
            problem = f"{change.name}: {change.after_text} is outside {domains[0]}, the range of the catalogue"
            raise ApplyRefused(ApplyCode.INVALID_VALUE, f"{problem}; {REMEDY}")


def _domain(live: LiveSettings, name: str, together: frozenset[str], reference: Configuration) -> Domain:
    """What the setting needs may be changed with it: `together` are all that are."""
    needs = live.rows[name].needs
    movable = [{name} | (needs.names & together)] if needs else []
    try:
        for names in (*movable, {name}):
            space = live.space(Policy(movable=frozenset(names), durability=True, host=True), reference)
            if name in space:
                return space[name].domain
    except InvalidConfiguration as error:
        raise ApplyRefused(ApplyCode.INVALID_VALUE, f"{error}; {REMEDY}") from error
    raise AssertionError(f"{name} is the only setting")


def _inside(value: Value, domain: Domain) -> bool:
    """Steps do not count: the server rounds by itself."""
    if isinstance(value, str) or isinstance(domain, Choice):
        return value in domain
    return value in domain.special or domain.low <= value <= domain.high


@dataclass(frozen=True)
class Part:
    """The changes of one setting source."""

    source: SettingSource
    changes: tuple[Change, ...]

    @property
    def names(self) -> list[str]:
        return [c.name for c in self.changes]

    def steps(self, restart: bool) -> list[Step]:
        return [step for change in self.changes for step in self.source.plan(change, restart)]


@dataclass(frozen=True)
class Plan:
    """A directive that may be carried out: the parsed target and its differences from the live server.

    `bounds` hold for the whole directive. `parts` are the changes of each setting source that keeps some of them.
    `returns`: an operator restores a configuration that the agent knows, and with it every setting that guardrails
    still watch.
    """

    target: Mapping[str, Value]
    changes: tuple[Change, ...]
    bounds: Bounds
    parts: tuple[Part, ...]
    returns: bool = False

    @property
    def sources(self) -> list[SettingSource]:
        return [part.source for part in self.parts]

    @property
    def restart(self) -> bool:
        return any(c.applies == "restart" for c in self.changes)

    @property
    def names(self) -> list[str]:
        return [c.name for c in self.changes]

    @property
    def texts(self) -> dict[str, tuple[str, str]]:
        """The values before and after by setting, as people write them."""
        return {c.name: (c.before_text, c.after_text) for c in self.changes}


def make_plan(
    directive: Directive,
    live: LiveSettings,
    sources: Sequence[SettingSource],
    bounds: Bounds,
    now: datetime,
    past: PastConfigurations,
) -> Plan:
    """The checks that need no further query of the server. Raises ApplyRefused."""
    _allowed(directive, live.server, bounds, now)
    plan = _parsed(directive, live, sources, bounds, past)
    if not plan.returns:
        _one_at_a_time(directive, bounds)
    outranked = {n: live.server.settings[n].shadowed for n in plan.names}
    shadowed = [f"{n} ({by})" for n, by in outranked.items() if by]
    if shadowed:
        raise ApplyRefused(
            ApplyCode.SETTING_SHADOWED, f"overridden, so a change would have no effect: {', '.join(shadowed)}"
        )
    if rebooting := [c.name for c in plan.changes if c.applies == "reboot"]:
        message = f"needs a reboot of the host, which only its operator can do: {', '.join(rebooting)}"
        raise ApplyRefused(ApplyCode.RESTART_NOT_ALLOWED, message)
    alike = [a for a in past.configurations if leads_to(live, plan.changes, a)]
    # What others took meanwhile, a new proposal does not get back by being an old one.
    restores = directive.rollback or directive.restore or live.server.host.others_bytes is None
    _within_memory(live, bounds, plan, alike if restores else (), past.lasting)
    _within_limits(live, plan, alike, past.lasting)
    if not bounds.durability:
        _keeps_commits(live, plan, past.lasting)
    if bounds.by_catalogue and not alike:
        within_ranges(live, plan.changes, past.lasting)
    if plan.restart:
        _may_restart(directive, plan, bounds, now)
    return plan


def _parsed(
    directive: Directive,
    live: LiveSettings,
    sources: Sequence[SettingSource],
    bounds: Bounds,
    past: PastConfigurations,
) -> Plan:
    unknown = [n for n in directive.settings if n not in live.server.settings]
    if unknown:
        raise ApplyRefused(ApplyCode.UNKNOWN_SETTING, f"not settings of this server: {', '.join(unknown)}")
    try:
        target = {n: live.parse(n, v) for n, v in directive.settings.items()}
        changes = tuple(c for c in live.changes(target) if not _in_effect(live, c))
    except InvalidConfiguration as error:
        raise ApplyRefused(ApplyCode.INVALID_VALUE, str(error)) from error
    returns = directive.rollback and any(
        leads_to(live, changes, a) and restored(live, changes, a, past.watched) for a in past.configurations
    )
    by_name = {c.name: c for c in changes}
    parts = tuple(Part(source, tuple(by_name[n] for n in names)) for source, names in by_source(sources, by_name))
    return Plan(target, changes, bounds, parts, returns)


def require_baseline(directive: Directive, plan: Plan) -> None:
    """Raises Deferred if the guardrails would have nothing to compare the change with.

    A lab measures its changes itself.
    """
    if not (plan.bounds.baseline or plan.bounds.mode == "lab" or plan.returns):
        raise Deferred(
            f"{directive.id} waits: its effect is compared with {BASELINE_WINDOWS} windows measured before it"
        )


def require_able(plan: Plan, control: ServerControl) -> None:
    """Raises ApplyRefused unless the agent's account and host let it apply the plan, and undo it."""
    found = permissions((part.source, part.names) for part in plan.parts)
    missing = [n for n in plan.names if n not in found.changeable]
    if missing or not found.may_reload:
        what = ", ".join(missing) or "the reload"
        how = " ".join(found.remedies) or found.explanation
        raise ApplyRefused(ApplyCode.INSUFFICIENT_PRIVILEGE, f"the agent may not change this: {what}. {how}")
    if plan.restart and not control.may_restart:
        raise ApplyRefused(ApplyCode.RESTART_NOT_ALLOWED, "restart.command is not configured")
    if plan.restart and lacks_copy(plan.sources):
        message = (
            "a restart needs a copy to restore: the agent's account must be able to read and write the settings file"
        )
        raise ApplyRefused(ApplyCode.INSUFFICIENT_PRIVILEGE, message)


def _allowed(directive: Directive, server: Server, bounds: Bounds, now: datetime) -> None:
    if bounds.paused:
        raise ApplyRefused(ApplyCode.PAUSED, "the agent is paused on its host")
    if now >= directive.expires_at:
        raise ApplyRefused(ApplyCode.EXPIRED, f"the directive expired at {directive.expires_at.isoformat()}")
    if bounds.mode == "observe":
        raise ApplyRefused(ApplyCode.MODE_FORBIDS, "the agent's own file says mode = 'observe'")
    if server.role != "primary":
        raise ApplyRefused(ApplyCode.NOT_PRIMARY, f"the server is a {server.role}")

    if directive.expects is not None and (changed := directive.expects.differences(identity(server))):
        raise ApplyRefused(
            ApplyCode.SERVER_CHANGED, f"not the server for which these settings were chosen: {'; '.join(changed)}"
        )


def _one_at_a_time(directive: Directive, bounds: Bounds) -> None:
    if bounds.unconfirmed is not None:
        raise ApplyRefused(ApplyCode.NOT_CONFIRMED, f"{bounds.unconfirmed} is not confirmed yet: one change at a time")
    if bounds.firing and not bounds.measures(directive):
        raise ApplyRefused(ApplyCode.GUARDRAIL, f"a guard is firing: {', '.join(bounds.firing)}")


def _may_restart(directive: Directive, plan: Plan, bounds: Bounds, now: datetime) -> None:
    names = ", ".join(c.name for c in plan.changes if c.applies == "restart")
    if not (directive.restart_allowed and bounds.mode in ("restart_in_window", "lab")):
        raise ApplyRefused(
            ApplyCode.RESTART_NOT_ALLOWED, f"needs a restart: {names}; the agent's mode is {bounds.mode}"
        )
    why = None if bounds.mode == "lab" or plan.returns else bounds.closed(now)
    if why is not None:
        raise ApplyRefused(ApplyCode.OUTSIDE_MAINTENANCE_WINDOW, f"needs a restart: {names}; {why}")


def _within_memory(
    live: LiveSettings, bounds: Bounds, plan: Plan, alike: Sequence[Active], lasting: Sequence[Active]
) -> None:
    """`alike` are the configurations to which the plan leads back: no more memory than one of them is nothing new.

    What takes no more memory than a `lasting` one in any part is nothing new either.
    """
    if not plan.changes:
        return
    active = {**_waiting(live), **plan.target} if plan.restart else plan.target
    policy = Policy(memory_fraction=bounds.memory_fraction, memory_count=bounds.memory_count)
    refusal = live.memory_refusal(policy, active, [values_of(live, a) for a in lasting])
    if refusal is None:
        return
    needed = live.memory(policy, active).total_bytes
    if all(needed > live.memory(policy, values_of(live, a)).total_bytes for a in alike):
        raise ApplyRefused(ApplyCode.MEMORY_BUDGET_EXCEEDED, refusal.message)


def _within_limits(live: LiveSettings, plan: Plan, alike: Sequence[Active], lasting: Sequence[Active]) -> None:
    """What the host bounds beside memory. Going back to what ran is nothing new."""
    known = [values_of(live, a) for a in (*alike, *lasting)]
    refusal = live.limit_refusal(plan.target, known) if plan.changes else None
    if refusal is not None:
        raise ApplyRefused(ApplyCode.LIMIT_EXCEEDED, refusal.message)


def _waiting(live: LiveSettings) -> dict[str, Value]:
    """Larger values of the settings file that a restart may make active, besides those of the plan.

    A server may hold one below its file's value for now: because another setting bounds it, or it was not restarted.
    """
    waiting: dict[str, Value] = {}
    for name, now in live.values.items():
        setting = live.server.settings[name]
        if setting.persisted is None or setting.shadowed:
            continue
        try:
            value = live.parse(name, setting.persisted)
        except InvalidConfiguration:
            continue
        if not isinstance(value, str) and not isinstance(now, str) and value > now:
            waiting[name] = value
    return waiting


def _keeps_commits(live: LiveSettings, plan: Plan, lasting: Sequence[Active]) -> None:
    """The service alone may not allow these; restoring what was active before is always allowed."""
    moved = [c for c in plan.changes if live.rows[c.name].risk == "durability"]
    lossy = [c.name for c in moved if not any(had_value(live, a, c.name, c.after) for a in lasting)]
    if lossy:
        raise ApplyRefused(
            ApplyCode.DURABILITY_NOT_ALLOWED,
            f"can lose committed data: {', '.join(lossy)}; agent.durability = true in the agent's own file allows it",
        )


def _in_effect(live: LiveSettings, change: Change) -> bool:
    """The file already says so, and the server made of it what it is (`-1`: a value of its own choice)."""
    setting = live.server.settings[change.name]
    if setting.persisted is None or setting.pending_restart or setting.shadowed:
        return False
    return live.parse(change.name, setting.persisted) == change.after
