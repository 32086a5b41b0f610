"""What somebody probably meant."""

from __future__ import annotations

import pytest
from lutra_models.catalog import did_you_mean


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("work_men", " (did you mean work_mem?)"),
        ("p99", " (did you mean p99_ms?)"),
        ("P99", " (did you mean p99_ms?)"),
        ("work", " (did you mean work_mem?)"),
        ("io", ""),
        ("nothing_like_it", ""),
    ],
)
def test_a_name_that_is_alike_or_the_only_one_that_begins_so_is_offered(name: str, meant: str) -> None:
    assert did_you_mean(name, ["work_mem", "p99_ms", "io_reads", "io_writes"]) == meant
