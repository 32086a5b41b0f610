from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.service.served import UNHURRIED, Served


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """`lutra serve` as a process of its own, over a database in a folder of the module's: it takes long to start."""
    with Served(tmp_path_factory.mktemp("service"), **UNHURRIED) as served:
        yield served
