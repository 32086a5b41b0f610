from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.served import Served


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    """`lutra serve` as a process of its own, over a database in the test's directory."""
    with Served(tmp_path) as served:
        yield served
