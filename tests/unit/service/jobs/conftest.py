from __future__ import annotations

from collections.abc import Iterator

import pytest
from lutra_service.db.schema.engine import make_engine
from lutra_service.db.store import Store


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    store = Store(make_engine(url))
    yield store
    store.close()
