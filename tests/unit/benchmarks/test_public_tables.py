"""The public tables are what the benchmark's tables make them."""

from __future__ import annotations

import pytest

from benchmarks.memory.public_tables import PUBLIC, PUBLIC_TABLES, written

pytestmark = pytest.mark.thorough


@pytest.mark.slow
@pytest.mark.parametrize("name", ["dbtune-sysbench-5", "opadviser-twitter-18", "tuna-azure-tpch"])
def test_a_public_table_is_what_its_source_makes_it(name: str) -> None:
    assert (PUBLIC / f"{name}.csv").read_text() == written(PUBLIC_TABLES[name])


def test_every_public_table_is_made_by_the_benchmark() -> None:
    assert {file.stem for file in PUBLIC.glob("*.csv")} == set(PUBLIC_TABLES)
