"""The `[guard]` table of the agent's file: the guardrails' limits, and how a change is confirmed."""

from __future__ import annotations

from lutra_models.guardrails import GUARDS, LONGEST_HOLD_S, Guard, Guardrail

from lutra_agent.config.section import Section
from lutra_agent.config.types import CONFIRM_S, GuardConfig
from lutra_agent.errors import ConfigError

DAY_S = 86_400.0


def read_guard(section: Section) -> GuardConfig:
    """Raises ConfigError."""
    tables = {g: table for g in GUARDS if (table := section.optional_table(g.name)) is not None}
    guardrails = {g.name: _guardrail(g, Section(f"guard.{g.name}", table)) for g, table in tables.items()}
    return section.finish(
        GuardConfig(
            guardrails,
            section.integer("confirm_windows", 3, low=1, high=100),
            section.number("confirm_s", CONFIRM_S, low=1.0, high=DAY_S),
            section.number("watch_s", 600.0, low=0.0, high=DAY_S),
            section.flag("service_may_loosen", False),
        )
    )


def confirmable(guard: GuardConfig, interval_s: float, warm_up: int) -> None:
    """Raises ConfigError where the agent would undo every change, because none can be confirmed in time."""
    # The first window of all begins up to an interval after the change.
    needed_s = (1 + warm_up + guard.confirm_windows) * interval_s
    if needed_s > guard.confirm_s:
        raise ConfigError(
            f"guard.confirm_s: {guard.confirm_s:g} is too short, every change would be undone: with "
            f"agent.interval_s = {interval_s:g}, {warm_up} windows of warm-up (agent.warmup_windows, "
            f"agent.restart_warmup_s) and guard.confirm_windows = {guard.confirm_windows} it takes up to "
            f"{needed_s:g} s; allow so much, or make one of these smaller"
        )


def _guardrail(guard: Guard, section: Section) -> Guardrail:
    return section.finish(
        Guardrail(
            section.number("limit", guard.default.limit, low=0.0, high=1e18),
            section.number("hold_s", guard.default.hold_s, low=0.0, high=LONGEST_HOLD_S),
            section.flag("enabled", True),
        )
    )
