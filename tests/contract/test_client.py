"""The client is made of `service/openapi.json`. `python -m tests.contract.test_client` writes it anew."""

from __future__ import annotations

import json
from typing import get_args, get_type_hints

import pytest
from lutra_client import operations
from lutra_client.binding import Group, call, pages, rows
from lutra_client.moments import reader_of

from tests.contract.test_openapi import COMMITTED
from tests.support.service.client_source import method_of, sources, write

DOCUMENT = json.loads(COMMITTED.read_text())


GROUPS = [g for g in vars(operations).values() if isinstance(g, type) and issubclass(g, Group)]
METHODS = [(g, n, m) for g in GROUPS for n, m in vars(g).items() if isinstance(m, call | pages | rows)]


def test_the_committed_client_is_that_of_the_document() -> None:
    for file, source in sources(DOCUMENT).items():
        assert file.read_text() == source, f"{file.name}: run `python -m tests.contract.test_client`"


def test_every_operation_of_the_document_is_a_method_and_no_other_one_is() -> None:
    told = [operation for methods in DOCUMENT["paths"].values() for operation in methods.values()]
    wanted = sorted((o["tags"][0], method_of(o)) for o in told)
    assert sorted((group.__name__.lower(), name) for group, name, _ in METHODS) == wanted
    assert {n for n, p in vars(operations.Operations).items() if isinstance(p, property)} == {tag for tag, _ in wanted}
    assert len(set(wanted)) == len(wanted)


def test_each_answer_has_its_moments_in_one_way() -> None:
    kinds = [get_args(get_type_hints(method.describe)["return"])[0] for _, _, method in METHODS]
    assert sum(reader_of(kind) is not None for kind in kinds) > 30


def test_an_id_stays_within_its_part_of_the_path() -> None:
    get = operations.Databases.get
    assert get.request("../tokens?x=1").path == "/v1/databases/..%2Ftokens%3Fx%3D1"
    with pytest.raises(ValueError, match="database: an id must not be empty"):
        get.request("")


if __name__ == "__main__":
    write(DOCUMENT)
