"""A plugin: which tests are left to `make thorough`.

A test that runs on several servers of a family is part of `make test` on the cheapest of them, and of `make thorough`
on the others. What takes long and shows little more carries the marker `thorough` itself. `make check` has one case of
each quick test, and does not import a file that is marked as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

FAMILIES = (
    ("sqlite", "postgres18", "postgresql", "postgres15", "postgres16"),
    ("mariadb", "mysql"),
    ("redis", "redis8", "valkey"),
    ("pika", "real pika"),
)
"""Servers that one piece of code of ours talks to, the cheapest of each family first."""
FAMILY = {server: family for family in FAMILIES for server in family}
OF_A_WHOLE_FILE = re.compile(r"^pytestmark = .*pytest\.mark\.(slow|engine|thorough)\b", re.MULTILINE)
BETWEEN_WORDS = re.compile(r"[\[\]-]")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--one-case", action="store_true", help="of a test with parameters the first case alone")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """None leaves the answer to pytest."""
    if not config.option.one_case or collection_path.suffix != ".py":
        return None
    return True if OF_A_WHOLE_FILE.search(collection_path.read_text()) else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    further = left_to_thorough([item.nodeid for item in items])
    for item in items:
        if item.nodeid in further:
            item.add_marker(pytest.mark.thorough)
    if config.option.one_case:
        firsts = first_cases([item.nodeid for item in items])
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in firsts])
        items[:] = [item for item in items if item.nodeid in firsts]


def first_cases(nodeids: list[str]) -> set[str]:
    return set({nodeid.partition("[")[0]: nodeid for nodeid in reversed(nodeids)}.values())


def left_to_thorough(nodeids: list[str]) -> set[str]:
    """Of the cases that differ in their server alone, all but the one on the cheapest of each family."""
    alike: dict[tuple[str, str], list[tuple[int, str]]] = {}
    for nodeid in nodeids:
        for server in servers(nodeid)[:1]:
            family = FAMILY[server]
            name, _, parameters = nodeid.partition("[")
            case = (name, parameters.replace(server, family[0], 1))
            alike.setdefault(case, []).append((family.index(server), nodeid))
    return {nodeid for cases in alike.values() for _, nodeid in sorted(cases)[1:]}


def servers(nodeid: str) -> list[str]:
    return [word for word in parameters(nodeid) if word in FAMILY]


def parameters(nodeid: str) -> list[str]:
    """The words between the brackets of a case's name."""
    return BETWEEN_WORDS.split(nodeid.partition("::")[2])[1:]


def on_first(servers: Sequence[str]) -> list[Any]:
    """Parameters of a test of our own code that any server shows: `make test` has it on the first of them."""
    return [servers[0], *(pytest.param(server, marks=pytest.mark.thorough) for server in servers[1:])]


def examples(few: int, many: int) -> pytest.MarkDecorator:
    """How many examples of a property are tried: the test takes the number as `examples`."""
    return pytest.mark.parametrize("examples", [few, pytest.param(many, marks=pytest.mark.thorough)])
