"""The `[guard]` table of the agent's file: the guardrails' limits, and how a change is confirmed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from lutra_models.guardrails import GUARDS, LONGEST_HOLD_S, Guard, GuardName, Guardrail

from lutra_agent.toml import Section

CONFIRM_S = 900.0
DAY_S = 86_400.0


@dataclass(frozen=True)
class GuardConfig:
    """`rails` are the guardrails that the file names.

    A change is confirmed by `confirm_windows` windows in which no guard was crossed, within `confirm_s` of its
    application, else it is taken back. A guard that fires within `watch_s` after that takes it back as well.
    """

    rails: Mapping[GuardName, Guardrail] = field(default_factory=dict)
    confirm_windows: int = 3
    confirm_s: float = CONFIRM_S
    watch_s: float = 600.0


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
        )
    )


def _rail(guard: Guard, section: Section) -> Guardrail:
    return section.finish(
        Guardrail(
            section.number("limit", guard.default.limit, low=0.0, high=1e18),
            section.number("hold_s", guard.default.hold_s, low=0.0, high=LONGEST_HOLD_S),
            section.flag("enabled", True),
        )
    )
