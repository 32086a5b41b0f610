"""What the loop is made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from lutra_models.server import Server

from lutra_agent.carry_out import CarryOut
from lutra_agent.clock import Clock
from lutra_agent.config import AgentConfig
from lutra_agent.drivers.base import Driver
from lutra_agent.engines.base import Engine
from lutra_agent.measure import Measure
from lutra_agent.reports import Reports
from lutra_agent.service_link import ServiceLink
from lutra_agent.state import State
from lutra_agent.told import Told
from lutra_agent.watch import Watch


class Shield(Protocol):
    """Holds back the signals that end the agent while a change is under way."""

    def __enter__(self) -> object: ...
    def __exit__(self, *error: object) -> None: ...


@dataclass(frozen=True)
class Parts:
    """What the loop is made of; the composition root is `lutra_agent.run`."""

    config: AgentConfig
    clock: Clock
    engine: Engine
    state: State
    measure: Measure
    carry_out: CarryOut
    reports: Reports
    service: ServiceLink
    look: Callable[[], Server]
    driver: Driver | None
    shield: Shield
    told: Told
    watch: Watch
