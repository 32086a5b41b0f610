"""The settings of one engine that several sources keep: one space, one sum, one change."""

from __future__ import annotations

from typing import Any

import pytest
from lutra_models.catalog import LiveSettings, engines, load, meet, of_engine
from lutra_models.catalog.files import beside, catalogues
from lutra_models.catalog.readable import readable
from lutra_models.catalog.rows import from_document, require_distinct
from lutra_models.errors import InvalidConfiguration, NotFound
from lutra_models.server import SERVER, Host, Policy, Server, ServerSetting

ABOUT = {"group": "g", "meaning": "m", "manual": "1"}
MB = 2**20
OWN: dict[str, Any] = {
    "shrink": ["room"],
    "defaults": {"room": "8 * MB"},
    "memory": [{"name": "room", "formula": "room", "assumption": "it is full"}],
    "setting": [
        {"name": "room", "kind": "integer", "applies": "restart", "unit": "MB", "low": "MB", "high": "GB", **ABOUT}
    ],
}
HOST: dict[str, Any] = {
    "source": "host",
    "booleans": ["no", "yes"],
    "plain_numbers": True,
    "unit_aliases": {"M": "MB"},
    "shrink": ["reserved"],
    "defaults": {"reserved": "MB"},
    "memory": [{"name": "reserved", "formula": "reserved", "assumption": "nobody else can use it"}],
    "coupling": [{"holds": "reserved >= MB", "message": "the host needs some"}],
    "setting": [
        {"name": "reserved", "kind": "integer", "applies": "immediate", "unit": "MB", "low": "MB", "high": "GB"}
        | ABOUT,
        {"name": "huge", "kind": "bool", "applies": "immediate", **ABOUT},
        {"name": "scheduler", "kind": "enum", "applies": "reboot", "options": ["one", "two"], **ABOUT},
    ],
}
REPORTED = {
    "room": ServerSetting("64", "MB", "integer", 1, 4096, applies="restart"),
    "reserved": ServerSetting("64", "MB", "integer", 1, 4096, applies="immediate", persisted="64"),
    "huge": ServerSetting("no", kind="bool", applies="immediate"),
    "scheduler": ServerSetting("one", kind="enum", options=("one", "two"), applies="reboot"),
}


def live(memory_bytes: int = 1 << 30, **reported: ServerSetting) -> LiveSettings:
    server = Server("small", "3.1", reported or REPORTED, Host(memory_bytes, cores=2))
    return LiveSettings(server, from_document("small", OWN), (from_document("small_host", HOST),))


def test_each_row_names_the_source_that_keeps_it() -> None:
    found = live()
    assert {n: r.source for n, r in found.rows.items()} == {
        "room": SERVER,
        "reserved": "host",
        "huge": "host",
        "scheduler": "host",
    }
    assert found.rows["huge"].to_dict()["setting_source"] == "host"


def test_the_space_spans_the_sources_and_leaves_out_what_needs_a_reboot() -> None:
    space = live().space(Policy())
    assert set(space.names) == {"room", "reserved", "huge"}
    assert space["huge"].applies == "immediate"
    with pytest.raises(InvalidConfiguration, match="scheduler needs a reboot of its host, which only"):
        live().space(Policy(movable=frozenset({"scheduler"})))


def test_each_setting_is_parsed_and_changed_in_its_own_sources_words() -> None:
    found = live()
    assert (found.parse("huge", "on"), found.parse("reserved", "96M")) == ("yes", 96)
    with pytest.raises(InvalidConfiguration, match="room: unknown unit 'M'"):
        found.parse("room", "96M")
    changes = found.changes({"reserved": 96, "huge": "yes", "room": 128})
    assert changes[0].name == "room"
    assert {c.name: (c.value_text, c.applies) for c in changes} == {
        "room": ("128MB", "restart"),
        "reserved": ("96", "immediate"),
        "huge": ("yes", "immediate"),
    }


def test_the_worst_case_counts_every_sources_terms_and_the_limit_holds_for_their_sum() -> None:
    found = live(memory_bytes=256 * MB)
    assert [t.name for t in found.worst_case({}).terms] == ["room", "reserved"]
    assert found.worst_case({"room": 100, "reserved": 28}).total_bytes == 128 * MB
    assert found.memory_refusal(Policy(memory_fraction=0.8), {"room": 100, "reserved": 100}) is None
    assert found.memory_refusal(Policy(memory_fraction=0.8), {"room": 110, "reserved": 100}) is not None
    ruled = found.rule_based(Policy(memory_fraction=0.8))
    assert found.space(Policy(memory_fraction=0.8)).refusal(ruled) is None


def test_an_agent_that_has_the_servers_own_source_alone_is_met_as_before() -> None:
    found = live(room=REPORTED["room"])
    assert set(found.space(Policy()).names) == {"room"}
    assert found.worst_case({}).total_bytes == 65 * MB


def test_two_catalogues_of_one_engine_contradict_each_other_neither_in_names_nor_in_sources() -> None:
    own, host = from_document("small", OWN), from_document("small_host", HOST)
    require_distinct((own, host))
    with pytest.raises(ValueError, match="two catalogues of one source, server, host, host"):
        require_distinct((own, host, host))
    with pytest.raises(ValueError, match="room is in the catalogues small and small_host"):
        require_distinct((own, from_document("small_host", {**OWN, "source": "host"})))


def test_the_catalogue_of_a_further_source_is_no_engine() -> None:
    of_sources = set(catalogues()) - set(engines())
    assert of_sources == {name for engine in engines() for name in beside(engine)}
    assert of_sources
    for name in of_sources:
        assert load(name).source != SERVER
        with pytest.raises(NotFound, match=f"unknown engine '{name}'"):
            of_engine(name)


@pytest.mark.parametrize("engine", [e for e in engines() if beside(e)])
def test_what_a_further_source_reports_is_kept_and_read(engine: str) -> None:
    row = next(r for r in load(beside(engine)[0]).rows if r.kind == "integer")
    reported = {row.name: ServerSetting("64", row.unit, "integer", 0, 1 << 20)}
    assert set(readable(engine, reported).settings) == {row.name}
    own = load(engine).rows[-1]
    version = ".".join(map(str, own.since)) or "1"
    server = Server(engine, version, reported, Host(1 << 30, 2))
    assert meet(server).values[row.name] == 64
