"""A live server's settings: read once, and asked from then on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import pytest
from lutra_models.catalog import meet
from lutra_models.errors import InvalidConfiguration, NotFound
from lutra_models.server import Host, Policy, Server, ServerSetting

from tests.support.reported.postgresql import a_server


class Counted(Mapping[str, ServerSetting]):
    """A server's settings that count how often each was looked up."""

    def __init__(self, settings: Mapping[str, ServerSetting]) -> None:
        self._settings = settings
        self.lookups: dict[str, int] = {}

    def __getitem__(self, name: str) -> ServerSetting:
        self.lookups[name] = self.lookups.get(name, 0) + 1
        return self._settings[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._settings)

    def __len__(self) -> int:
        return len(self._settings)


def test_the_server_is_read_once_however_often_it_is_asked() -> None:
    settings = Counted(a_server().settings)
    live = meet(replace(a_server(), settings=settings))
    before = live.worst_case({})
    read = dict(settings.lookups)
    assert live.worst_case({}) == before
    assert live.worst_case({"work_mem": 8192}) != before
    assert live.memory_refusal(Policy(), {"work_mem": 8192}) is None
    assert settings.lookups == read


def test_a_text_that_is_no_value_spoils_the_sum_and_no_other_setting() -> None:
    server = a_server()
    odd = replace(server.settings["jit"], value="perhaps")
    live = meet(replace(server, settings={**server.settings, "jit": odd}))
    assert live.parse("work_mem", "8MB") == 8192
    with pytest.raises(InvalidConfiguration, match="jit: 'perhaps' is neither on nor off"):
        live.worst_case({})


def test_a_value_is_shown_in_the_unit_of_its_server() -> None:
    server = a_server()
    in_mb = replace(server.settings["work_mem"], unit="MB")
    assert meet(server).text("work_mem", 64) == "64kB"
    assert meet(replace(server, settings={**server.settings, "work_mem": in_mb})).text("work_mem", 64) == "64MB"


def test_a_policy_that_names_a_setting_nearly_right_is_told_the_right_name() -> None:
    with pytest.raises(InvalidConfiguration, match=r"shared_bufers: not in the catalogue .*did you mean shared_buff"):
        meet(a_server()).space(Policy(movable=frozenset({"shared_bufers"})))


def test_a_server_of_an_engine_without_a_catalogue_is_not_met() -> None:
    with pytest.raises(NotFound, match="unknown engine 'oracle'"):
        meet(replace(a_server(), engine="oracle"))


HOST = Host(memory_bytes=8 << 30, cores=4)
KB = ServerSetting("4096", "kB", "integer", 64, 2147483647)
RESTARTS = ServerSetting("16384", "8kB", "integer", 16, 1073741823, applies="restart")
BYTES = ServerSetting("134217728", "", "integer", 5242880, 2**63)


@pytest.mark.parametrize(
    ("engine", "name", "setting", "told"),
    [
        ("postgresql", "work_mem", replace(KB, persisted="4MB"), None),
        ("postgresql", "work_mem", KB, None),
        (
            "postgresql",
            "work_mem",
            replace(KB, persisted="5MB"),
            "5MB is in the file but not active: a reload (SELECT pg_reload_conf()) activates it",
        ),
        ("postgresql", "work_mem", replace(KB, persisted="5MB", shadowed="the command line"), None),
        ("postgresql", "work_mem", replace(KB, persisted="lots"), None),
        ("postgresql", "wal_buffers", replace(RESTARTS, persisted="-1", low=-1), None),
        (
            "postgresql",
            "shared_buffers",
            replace(RESTARTS, persisted="1GB"),
            "1GB is in the file but not active: a restart activates it",
        ),
        (
            "postgresql",
            "shared_buffers",
            replace(RESTARTS, pending_restart=True),
            "a different value is in the file but not active: a restart activates it",
        ),
        (
            "mysql",
            "innodb_buffer_pool_size",
            replace(BYTES, persisted=str(4 << 30)),
            "4294967296 is in the file but not active: setting it, or a restart, activates it",
        ),
        ("mysql", "innodb_buffer_pool_size", replace(BYTES, persisted="100000000"), None),  # the server rounds it
        ("mysql", "thread_cache_size", replace(BYTES, value="9", low=0, persisted="9"), None),
        (
            "redis",
            "maxmemory-policy",
            ServerSetting("noeviction", "", "enum", options=("noeviction", "allkeys-lru"), persisted="allkeys-lru"),
            "allkeys-lru is in the file but not active: setting it, or a restart, activates it",
        ),
    ],
)
def test_what_is_in_the_file_and_not_active_is_named_with_what_makes_it_active(
    engine: str, name: str, setting: ServerSetting, told: str | None
) -> None:
    version = {"postgresql": "16.4", "mysql": "8.4.0", "redis": "7.2.0"}[engine]
    assert meet(Server(engine, version, {name: setting}, HOST)).not_active(name) == told
