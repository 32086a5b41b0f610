"""A session asks for its space after each trial: whatever it moves, settings that need others stay in it, or out."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from lutra_agent.admission.preconditions import within_ranges
from lutra_agent.errors import ApplyRefused
from lutra_models.catalog import meet
from lutra_models.errors import InvalidConfiguration
from lutra_models.knobs import Choice, Configuration, Knob, KnobSpace, Value
from lutra_models.server import Policy, Server

from tests.support.reported.mysql import a_mysqld
from tests.support.reported.postgresql import a_server
from tests.support.reported.redis import a_redis

SERVERS = (a_server("18"), a_mysqld("mysql"), a_mysqld("mariadb"), a_redis(), a_redis(engine="valkey"))
LRU = {"maxmemory": "1073741824", "maxmemory-policy": "allkeys-lru"}


def running_with(server: Server, values: Configuration) -> Server:
    """As it reports itself with these values."""
    settings = {n: replace(s, value=str(values[n])) if n in values else s for n, s in server.settings.items()}
    return replace(server, settings=settings)


def drawn(knob: Knob, rng: random.Random) -> Value:
    if isinstance(knob.domain, Choice):
        return rng.choice(knob.domain.options)
    return rng.choice((*knob.domain.special, knob.domain.low, knob.domain.high))


@pytest.mark.parametrize("server", SERVERS, ids=lambda s: s.engine)
@pytest.mark.parametrize("everything", [False, True], ids=["as searched", "all that can move"])
def test_the_space_of_a_session_stays_one_whatever_it_moves(server: Server, everything: bool) -> None:
    live, rng = meet(server), random.Random(1)
    policy = Policy(movable=frozenset(live.values) if everything else None, durability=True, host=True)
    before = live.space(policy)

    def needing(space: KnobSpace) -> set[str]:
        return {n for n in space.names if live.rows[n].needs is not None}

    for _ in range(20):
        # Availability only ever grows: at the end of its range it has no room.
        moved = Configuration({k.name: drawn(k, rng) for k in before if k.risk != "availability"})
        after = meet(running_with(server, moved)).space(policy, known=(live.values,))
        assert needing(after) == needing(before)


def test_what_a_setting_needs_may_be_moved_with_it() -> None:
    names = frozenset({"maxmemory", "maxmemory-policy", "maxmemory-samples"})
    for found in (a_redis(), a_redis(settings=LRU)):
        assert set(meet(found).space(Policy(movable=names, durability=True)).names) == names
    with pytest.raises(InvalidConfiguration, match="maxmemory-samples has no effect on this server: it needs"):
        meet(a_redis()).space(Policy(movable=frozenset({"maxmemory-samples"})))


def test_an_agent_takes_a_setting_with_what_it_needs_and_not_without() -> None:
    live = meet(a_redis())
    together = {"maxmemory": 1 << 30, "maxmemory-policy": "allkeys-lru", "maxmemory-samples": 10}
    within_ranges(live, live.changes(together), ())
    with pytest.raises(ApplyRefused, match="has no effect on this server"):
        within_ranges(live, live.changes({"maxmemory-samples": 10}), ())
