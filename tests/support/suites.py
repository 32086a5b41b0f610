"""A plugin: which tests are left to `make thorough`.

A test that runs on several servers of a family is part of `make test` on the cheapest of them, and of `make thorough`
on the others. What takes long and shows little more carries the marker `thorough` itself.
"""

from __future__ import annotations

import re

import pytest

FAMILIES = (
    ("sqlite", "postgres18", "postgresql", "postgres15", "postgres16"),
    ("mariadb", "mysql"),
    ("redis", "redis8", "valkey"),
    ("pika", "real pika"),
)
"""Servers that one piece of code of ours talks to, the cheapest of each family first."""
FAMILY = {server: family for family in FAMILIES for server in family}
BETWEEN_WORDS = re.compile(r"[\[\]-]")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    further = left_to_thorough([item.nodeid for item in items])
    for item in items:
        if item.nodeid in further:
            item.add_marker(pytest.mark.thorough)


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
