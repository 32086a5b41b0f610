"""A live server's settings: read once, and asked from then on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import pytest
from lutra_models.catalog import meet
from lutra_models.errors import InvalidConfiguration, NotFound
from lutra_models.server import Policy, ServerSetting

from tests.support.servers import a_server


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
