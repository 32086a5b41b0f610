"""What a person at a notebook sees of a method: its parameters, its name, its words."""

from __future__ import annotations

import inspect
import pydoc
from collections.abc import Awaitable
from inspect import Parameter
from typing import Any

import pytest
from lutra_client import AsyncClient, Client, schemas
from lutra_client.binding import call, flow, pages, rows
from lutra_client.tables import AsyncPages, Pages, Rows
from lutra_client.waiting import Calls

GROUPS = [n for c in Calls.__mro__ for n, p in vars(c).items() if isinstance(p, property) and n != "url"]


def methods(group: Any) -> list[str]:
    kinds = call | pages | rows | flow
    return [n for c in type(group).__mro__ for n, m in vars(c).items() if isinstance(m, kinds)]


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_every_method_shows_its_own_name_words_and_parameters(kind: Any) -> None:
    client = kind()
    for group in (client, *(getattr(client, name) for name in GROUPS)):
        assert inspect.getdoc(group)
        for name in methods(group):
            method = getattr(group, name)
            shown = inspect.signature(method)
            assert method.__name__ == name
            assert inspect.getdoc(method)
            kinds = {p.kind for p in shown.parameters.values()}
            assert not kinds & {Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD}, name
            assert list(shown.parameters) == list(inspect.signature(getattr(type(group), name)).parameters)


def test_the_fields_of_a_body_are_parameters_and_what_may_be_left_out_says_so() -> None:
    shown = inspect.signature(Client().databases.register)
    assert list(shown.parameters) == ["name", "engine", "idempotency_key", "policy", "label"]
    assert shown.parameters["name"].default is Parameter.empty
    assert repr(shown.parameters["label"].default) == "..."
    assert shown.return_annotation is schemas.DatabaseAnswer
    assert str(shown).startswith("(*, name: str, engine: str, ")


def test_each_client_shows_what_it_gives() -> None:
    mine, awaited = Client(), AsyncClient()
    assert inspect.signature(awaited.databases.get).return_annotation == Awaitable[schemas.DatabaseAnswer]
    assert inspect.signature(mine.databases.list).return_annotation == Pages[schemas.DatabaseAnswer]
    assert inspect.signature(awaited.databases.list).return_annotation == AsyncPages[schemas.DatabaseAnswer]
    assert inspect.signature(mine.observations.list).return_annotation == Rows[schemas.ObservationAnswer]
    assert inspect.signature(mine.sessions.wait).return_annotation is schemas.SessionAnswer


def test_help_lists_the_groups_and_a_groups_methods_with_their_parameters() -> None:
    assert "Tuning sessions: their objective, and every trial." in pydoc.plain(pydoc.render_doc(Client))
    told = pydoc.plain(pydoc.render_doc(Client().databases))
    assert "get(database: str, /) -> lutra_client.schemas.DatabaseAnswer" in told
    assert "Registered databases: their policy, settings and measured windows." in told
    assert repr(Client().databases) == "<databases of http://127.0.0.1:8000>"


def test_a_call_is_a_request_without_being_sent() -> None:
    for client in (Client(), AsyncClient()):
        asked = client.databases.get.request("db_1")  # type: ignore[union-attr]
        assert (asked.method, asked.path, asked.answer) == ("GET", "/v1/databases/db_1", schemas.DatabaseAnswer)
