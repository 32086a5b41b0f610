"""An engine over several setting sources: one is the server's own, the others keep settings elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest
from lutra_agent.engines.common.engine import Engine
from lutra_agent.engines.common.source import by_source, permissions, source_of
from lutra_models.server import ServerSetting

from tests.support.fakes.engine import HOST, FakeEngine


def elsewhere(folder: Path) -> FakeEngine:
    """A source of its own catalogue beside the server."""
    settings = {"max_heap_table_size": ServerSetting("16777216", kind="integer", low=16384, high=1 << 40)}
    found = FakeEngine(folder / "elsewhere", family="mysql", name="elsewhere", scope="host")
    found.settings = found.defaults = settings
    return found


@pytest.fixture
def server(tmp_path: Path) -> FakeEngine:
    return FakeEngine(tmp_path / "postgresql.auto.conf")


@pytest.fixture
def other(tmp_path: Path) -> FakeEngine:
    return elsewhere(tmp_path)


def test_a_server_shows_the_settings_of_all_its_sources(server: FakeEngine, other: FakeEngine) -> None:
    engine = Engine("postgresql", server, server, (server, other))
    settings = engine.server(HOST).settings
    assert set(settings) == {*server.settings, "max_heap_table_size"}
    assert engine.own is server


def test_two_sources_never_report_the_same_setting(server: FakeEngine, other: FakeEngine) -> None:
    other.settings = {"work_mem": server.settings["work_mem"]}
    with pytest.raises(ValueError, match="'elsewhere' and a source before it both report work_mem"):
        Engine("postgresql", server, server, (server, other)).server(HOST)


def test_sources_begin_with_the_servers_own_and_differ_in_their_names(server: FakeEngine, other: FakeEngine) -> None:
    for sources in ((), (other,), (other, server), (server, server)):
        with pytest.raises(ValueError, match="sources must begin with 'server' and differ in their names, got"):
            Engine("postgresql", server, server, sources)


def test_each_setting_belongs_to_the_source_whose_catalogue_has_it(server: FakeEngine, other: FakeEngine) -> None:
    sources = (server, other)
    assert source_of(sources, "max_heap_table_size") is other
    assert by_source(sources, ["max_heap_table_size", "work_mem", "jit"]) == [
        (server, ["work_mem", "jit"]),
        (other, ["max_heap_table_size"]),
    ]
    assert by_source(sources, ["jit"]) == [(server, ["jit"])]
    with pytest.raises(ValueError, match="'swappiness' is a setting of none of these sources: server, elsewhere"):
        source_of(sources, "swappiness")


def test_permissions_are_those_of_each_settings_own_source(server: FakeEngine, other: FakeEngine) -> None:
    other.ungranted = {"max_heap_table_size"}
    found = permissions([(server, ["work_mem"]), (other, ["max_heap_table_size"])])
    assert (found.changeable, found.may_reload, found.remedies) == ({"work_mem"}, True, ("GRANT it;",))
    assert permissions([(server, ["work_mem"])]).remedies == ()
