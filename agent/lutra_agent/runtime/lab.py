"""The load of a lab: what a directive's trial is measured under."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from lutra_models.ending import Level
from lutra_models.wire import Directive

from lutra_agent.drivers.base import Driver
from lutra_agent.errors import DriverFailed
from lutra_agent.metrics.measure import Measure
from lutra_agent.reporting.content import Content


@dataclass(frozen=True)
class Lab:
    """`driver` makes the load of `[driver]`, and `loads` those that have a name."""

    measure: Measure
    driver: Driver
    loads: Mapping[str, Driver] = field(default_factory=dict)

    def measured(self, directive: Directive) -> Content:
        """A trial under the loads that the directive names, or without any under the driver's own.

        Raises DriverFailed, DatabaseUnavailable and CollectionFailed.
        """
        if not directive.loads:
            return self.measure.driven(self.driver, _level(directive))
        if unknown := [name for name in directive.loads if name not in self.loads]:
            raise DriverFailed(f"the agent's file has no load named {', '.join(unknown)}")
        return self.measure.driven_under({name: self.loads[name] for name in directive.loads})


def _level(directive: Directive) -> Level | None:
    wanted = directive.must_reach
    return None if wanted is None else Level(wanted.metric, wanted.goal, wanted.value)
