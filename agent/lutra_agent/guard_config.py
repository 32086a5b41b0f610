"""The `[guard]` table of the agent's file: the guardrails' limits, and how a change is confirmed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from lutra_models.guardrails import GUARDS, LONGEST_HOLD_S, Guard, GuardName, Guardrail

from lutra_agent.errors import ConfigError
from lutra_agent.toml import Section

CONFIRM_S = 900.0
DAY_S = 86_400.0


@dataclass(frozen=True)
class GuardConfig:
    """`rails` are the guardrails that the file names. `service_may_loosen`: the service's go before them.

    A change is confirmed by `confirm_windows` windows in which no guard was crossed, within `confirm_s` of its
    application, else it is taken back. A guard that fires within `watch_s` after that takes it back as well.
    """

    rails: Mapping[GuardName, Guardrail] = field(default_factory=dict)
    confirm_windows: int = 3
    confirm_s: float = CONFIRM_S
    watch_s: float = 600.0
    service_may_loosen: bool = False


def read_guard(section: Section) -> GuardConfig:
    """Raises ConfigError."""
    tables = {g: table for g in GUARDS if (table := section.optional_table(g.name)) is not None}
    rails = {g.name: _rail(g, Section(f"guard.{g.name}", table)) for g, table in tables.items()}
    return section.finish(
        GuardConfig(
            rails,
            section.integer("confirm_windows", 3, low=1, high=100),
            section.number("confirm_s", CONFIRM_S, low=1.0, high=DAY_S),
            section.number("watch_s", 600.0, low=0.0, high=DAY_S),
            section.flag("service_may_loosen", False),
        )
    )


def confirmable(guard: GuardConfig, interval_s: float, warm_up: int) -> None:
    """Raises ConfigError where every change would be taken back, because none can be confirmed in time."""
    # The first window of all begins up to an interval after the change.
    needed_s = (1 + warm_up + guard.confirm_windows) * interval_s
    if needed_s > guard.confirm_s:
        raise ConfigError(
            f"guard.confirm_s: {guard.confirm_s:g} is too short, every change would be undone: with "
            f"agent.interval_s = {interval_s:g}, {warm_up} windows of warm-up (agent.warmup_windows, "
            f"agent.restart_warmup_s) and guard.confirm_windows = {guard.confirm_windows} it takes up to "
            f"{needed_s:g} s; allow so much, or make one of these smaller"
        )


def _rail(guard: Guard, section: Section) -> Guardrail:
    return section.finish(
        Guardrail(
            section.number("limit", guard.default.limit, low=0.0, high=1e18),
            section.number("hold_s", guard.default.hold_s, low=0.0, high=LONGEST_HOLD_S),
            section.flag("enabled", True),
        )
    )
