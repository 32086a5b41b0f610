"""What a person at a notebook sees of a method: its parameters, its name, its words."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable
from inspect import Parameter
from typing import Any

import pytest
from lutra_client import AsyncClient, Client, schemas
from lutra_client.binding import call, flow, pages, rows
from lutra_client.tables import AsyncPages, Pages, Rows
from lutra_client.waiting import Calls

METHODS = [n for c in Calls.__mro__ for n, m in vars(c).items() if isinstance(m, call | pages | rows | flow)]


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_every_method_shows_its_own_name_words_and_parameters(kind: Any) -> None:
    client = kind()
    for name in METHODS:
        method = getattr(client, name)
        shown = inspect.signature(method)
        assert method.__name__ == name
        assert inspect.getdoc(method)
        kinds = {p.kind for p in shown.parameters.values()}
        assert not kinds & {Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD}, name
        assert list(shown.parameters) == list(inspect.signature(getattr(kind, name)).parameters)


def test_the_fields_of_a_body_are_parameters_and_what_may_be_left_out_says_so() -> None:
    shown = inspect.signature(Client().register_database)
    assert list(shown.parameters) == ["name", "engine", "idempotency_key", "policy", "label"]
    assert shown.parameters["name"].default is Parameter.empty
    assert repr(shown.parameters["label"].default) == "..."
    assert shown.return_annotation is schemas.DatabaseAnswer
    assert str(shown).startswith("(*, name: str, engine: str, ")


def test_each_client_shows_what_it_gives() -> None:
    mine, awaited = Client(), AsyncClient()
    assert inspect.signature(awaited.get_database).return_annotation == Awaitable[schemas.DatabaseAnswer]
    assert inspect.signature(mine.list_databases).return_annotation == Pages[schemas.DatabaseAnswer]
    assert inspect.signature(awaited.list_databases).return_annotation == AsyncPages[schemas.DatabaseAnswer]
    assert inspect.signature(mine.list_observations).return_annotation == Rows[schemas.ObservationAnswer]
    assert inspect.signature(mine.wait_for_session).return_annotation is schemas.SessionAnswer


def test_help_on_the_class_lists_the_methods_with_their_parameters() -> None:
    import pydoc

    told = pydoc.plain(pydoc.render_doc(Client))
    assert "get_database(database: str, /) -> lutra_client.schemas.DatabaseAnswer" in told
