"""A plugin: how tests are spread over several processes, and which are begun first.

The tests of a file stay together, so that they share what its fixtures start; those whose parameters name different
engines have servers of their own, and go to whichever process is free. Tests that wait for servers and tests that
compute are begun by turns, so that waiting leaves no processor idle. What is quick comes last and evens out the end.
"""

from __future__ import annotations

from typing import Any

import pytest
from xdist.scheduler import LoadFileScheduling

from tests.support.pytest_plugins.suites import parameters
from tests.support.servers.engines import VARIANTS


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadFileScheduling | None:
    return ByFileAndEngine(config, log) if config.option.dist == "loadfile" else None


class ByFileAndEngine(LoadFileScheduling):
    def _split_scope(self, nodeid: str) -> str:
        return unit(nodeid)


def unit(nodeid: str) -> str:
    """The file of a test, and the engine among its parameters."""
    engines = [word for word in parameters(nodeid) if word in VARIANTS]
    return "::".join([nodeid.partition("::")[0], *engines[:1]])


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    waiting, long = marked(items, "engine"), marked(items, "engine") | marked(items, "slow")
    places = by_turns([unit(item.nodeid) for item in items], waiting, long)
    items.sort(key=lambda item: places[unit(item.nodeid)])


def marked(items: list[pytest.Item], marker: str) -> set[str]:
    return {unit(item.nodeid) for item in items if item.get_closest_marker(marker)}


def by_turns(units: list[str], waiting: set[str], long: set[str]) -> dict[str, tuple[bool, float]]:
    """What each unit is sorted by: whether it is quick, and how far from the first of its kind it is."""
    places: dict[str, tuple[bool, float]] = {}
    for kind in (waiting, long - waiting, set(units) - long):
        queue = [name for name in dict.fromkeys(units) if name in kind]
        places |= {name: (name not in long, place / len(queue)) for place, name in enumerate(queue)}
    return places
