"""The client is made of `service/openapi.json`. `python -m tests.contract.test_client` writes it anew."""

from __future__ import annotations

import json

import pytest
from lutra_client.binding import call, pages, rows
from lutra_client.operations import Operations

from tests.contract.test_openapi import COMMITTED
from tests.support.client_source import sources, write

DOCUMENT = json.loads(COMMITTED.read_text())


def operation_ids() -> set[str]:
    return {told["operationId"] for methods in DOCUMENT["paths"].values() for told in methods.values()}


def test_the_committed_client_is_that_of_the_document() -> None:
    for file, source in sources(DOCUMENT).items():
        assert file.read_text() == source, f"{file.name}: run `python -m tests.contract.test_client`"


def test_every_operation_of_the_document_is_a_method_and_no_other_one_is() -> None:
    methods = {n for n, m in vars(Operations).items() if isinstance(m, call | pages | rows)}
    assert methods == operation_ids()


def test_an_id_stays_within_its_part_of_the_path() -> None:
    assert Operations.get_database.request("../tokens?x=1").path == "/v1/databases/..%2Ftokens%3Fx%3D1"
    with pytest.raises(ValueError, match="database: an id must not be empty"):
        Operations.get_database.request("")


if __name__ == "__main__":
    write(DOCUMENT)
