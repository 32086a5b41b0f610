"""What is asked of a directive before the first statement: every refusal is of the wire's closed set."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from lutra_models.catalog import Catalog, Change, Policy, load
from lutra_models.catalog.facts import Server, ServerSetting
from lutra_models.errors import InvalidConfiguration
from lutra_models.guardrails import GuardName
from lutra_models.history import Mode
from lutra_models.identity import identity
from lutra_models.knobs import Value
from lutra_models.maintenance import MaintenanceWindow, closed
from lutra_models.memory import check as memory_check
from lutra_models.wire import Directive

from lutra_agent.control import Control
from lutra_agent.engines.base import Engine
from lutra_agent.errors import ApplyRefused, NotYet
from lutra_agent.guard import Snapshot
from lutra_agent.guard_config import CONFIRM_S
from lutra_agent.judge import BASELINE_WINDOWS
from lutra_agent.saved_file import save_file


@dataclass(frozen=True)
class Bounds:
    """What the agent's own file allows, and the state of things.

    `firing` are guards that fire, `unconfirmed` is the directive whose change is provisional. A change has `confirm_s`
    to be confirmed. `baseline`: enough was measured before it that one can tell what it did. `durability`: settings may
    move that can lose committed data.
    """

    mode: Mode
    paused: bool
    memory_fraction: float
    windows: tuple[MaintenanceWindow, ...] = ()
    firing: tuple[GuardName, ...] = ()
    unconfirmed: str | None = None
    confirm_s: float = CONFIRM_S
    baseline: bool = True
    durability: bool = False


@dataclass(frozen=True)
class Plan:
    """A directive that may be carried out: the parsed target and what differs from the live server."""

    target: Mapping[str, Value]
    changes: tuple[Change, ...]

    @property
    def restart(self) -> bool:
        return any(c.applies == "restart" for c in self.changes)

    @property
    def names(self) -> list[str]:
        return [c.name for c in self.changes]


def plan(
    directive: Directive,
    server: Server,
    bounds: Bounds,
    now: datetime,
    good: Snapshot | None,
    baseline: Snapshot | None = None,
) -> Plan:
    """Everything that needs no further question to the server. Raises ApplyRefused."""
    _allowed(directive, server, bounds, now)
    unknown = [n for n in directive.settings if n not in server.settings]
    if unknown:
        raise ApplyRefused("unknown_setting", f"not settings of this server: {', '.join(unknown)}")
    catalog = load(server.engine)
    try:
        target = {n: catalog.parse(server, n, v) for n, v in directive.settings.items()}
        changes = tuple(c for c in catalog.changes(server, target) if not _stands(catalog, server, c))
    except InvalidConfiguration as error:
        raise ApplyRefused("invalid_value", str(error)) from error
    found = Plan(target, changes)
    _within_memory(directive, server, bounds, found, good)
    if not bounds.durability:
        _keeps_commits(server, found, [s for s in (good, baseline) if s is not None])
    shadowed = [f"{n} ({server.settings[n].shadowed})" for n in found.names if server.settings[n].shadowed]
    if shadowed:
        raise ApplyRefused("setting_shadowed", f"outranked, so a change would have no effect: {', '.join(shadowed)}")
    if found.restart:
        _may_restart(directive, found, bounds, now)
    return found


def due(directive: Directive, bounds: Bounds) -> None:
    """Raises NotYet where a change would be watched by guards that have nothing to compare it with.

    A lab measures its changes itself.
    """
    if not (bounds.baseline or bounds.mode == "lab" or directive.measure or directive.rollback):
        raise NotYet(
            f"{directive.id} waits: its effect is judged against {BASELINE_WINDOWS} windows measured before it"
        )


def able(found: Plan, engine: Engine, control: Control) -> None:
    """Whether the agent's account and host let it carry the plan out, and take it back. Raises ApplyRefused."""
    permissions = engine.permissions(found.names)
    missing = [n for n in found.names if n not in permissions.changeable]
    if missing or not permissions.may_reload:
        what = ", ".join(missing) or "the reload"
        how = " ".join(permissions.remedies) or permissions.explanation
        raise ApplyRefused("insufficient_privilege", f"not the agent's to change: {what}. {how}")
    if found.restart and not control.may_restart:
        raise ApplyRefused("restart_not_allowed", "restart.command is not configured")
    if found.restart and save_file(engine.settings_file()) is None:
        message = "a restart needs a way back: the agent's account must be able to read and write the settings file"
        raise ApplyRefused("insufficient_privilege", message)


def verify(
    target: Mapping[str, Value], names: Iterable[str], server: Server, rounds: bool
) -> tuple[list[str], list[str]]:
    """What is not active as asked, and what the server has rounded, in words.

    A value of 0 or below may ask the server for one of its own choice.
    """
    active = load(server.engine).read(server)
    unmet, rounded = [], []
    for name in names:
        setting, wanted = server.settings[name], target[name]
        own_choice = isinstance(wanted, int | float) and wanted <= 0 and setting.persisted is not None
        said = f"{name} is {active[name]}, not {wanted}"
        if setting.pending_restart:
            unmet.append(f"{name} waits for a restart")
        elif setting.shadowed:
            unmet.append(f"{name} is outranked by {setting.shadowed}")
        elif active[name] == wanted or own_choice:
            continue
        elif rounds and not isinstance(wanted, str):
            rounded.append(said)
        else:
            unmet.append(said)
    return unmet, rounded


def _allowed(directive: Directive, server: Server, bounds: Bounds, now: datetime) -> None:
    if bounds.paused:
        raise ApplyRefused("paused", "the agent is paused on its host")
    if now >= directive.expires_at:
        raise ApplyRefused("expired", f"the directive expired at {directive.expires_at.isoformat()}")
    if bounds.mode == "observe":
        raise ApplyRefused("mode_forbids", "the agent's own file says mode = 'observe'")
    if server.role != "primary":
        raise ApplyRefused("not_primary", f"the server is a {server.role}")

    if directive.expects is not None and (changed := directive.expects.differences(identity(server))):
        raise ApplyRefused("server_changed", f"not the server that these settings are for: {'; '.join(changed)}")
    if directive.rollback:
        return
    if bounds.unconfirmed not in (None, directive.id):
        raise ApplyRefused("not_confirmed", f"{bounds.unconfirmed} is not confirmed yet: one change at a time")
    if bounds.firing and not directive.measure:
        raise ApplyRefused("guardrail", f"a guard fires already: {', '.join(bounds.firing)}")


def _may_restart(directive: Directive, found: Plan, bounds: Bounds, now: datetime) -> None:
    names = ", ".join(c.name for c in found.changes if c.applies == "restart")
    if not (directive.restart_allowed and bounds.mode in ("restart_in_window", "lab")):
        raise ApplyRefused("restart_not_allowed", f"needs a restart: {names}; the agent's mode is {bounds.mode}")
    why = None if bounds.mode == "lab" or directive.rollback else closed(bounds.windows, now)
    if why is not None:
        raise ApplyRefused("outside_maintenance_window", f"needs a restart: {names}; {why}")


def _within_memory(directive: Directive, server: Server, bounds: Bounds, found: Plan, good: Snapshot | None) -> None:
    if directive.restore or not found.changes or (good is not None and _is_good(server, found, good)):
        return
    refusal = memory_check(server, Policy(memory_fraction=bounds.memory_fraction), found.target)
    if refusal:
        raise ApplyRefused("memory_budget_exceeded", refusal.message)


def _keeps_commits(server: Server, found: Plan, known: Iterable[Snapshot]) -> None:
    """The service's word is not enough for these; a way back to what was active before is always open."""
    rows = load(server.engine).rows_for(server.version)
    risky = {r.name for r in rows if r.risk == "durability"}
    lossy = [
        c.name for c in found.changes if c.name in risky and not any(_had(server, s, c.name, c.after) for s in known)
    ]
    if lossy:
        raise ApplyRefused(
            "durability_not_allowed",
            f"may lose committed data: {', '.join(lossy)}; agent.durability = true in the agent's own file allows it",
        )


def _is_good(server: Server, found: Plan, good: Snapshot) -> bool:
    return all(_had(server, good, n, v) for n, v in found.target.items())


def _had(server: Server, snapshot: Snapshot, name: str, value: Value) -> bool:
    text = snapshot.active.get(name)
    return text is not None and load(server.engine).parse(server, name, text) == value


def _stands(catalog: Catalog, server: Server, change: Change) -> bool:
    """The file already says so, and the server made of it what it is (`-1`: a value of its own choice)."""
    setting: ServerSetting = server.settings[change.name]
    if setting.persisted is None or setting.pending_restart or setting.shadowed:
        return False
    return catalog.parse(server, change.name, setting.persisted) == change.after
