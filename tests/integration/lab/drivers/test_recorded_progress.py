"""Which windows are ended early, by what real programs once printed inside theirs: 2 clients that ask for a row, 100
times a second."""

from __future__ import annotations

from pathlib import Path

import pytest
from lutra_agent.drivers import build
from lutra_models.ending import Level

from tests.support.servers.databases import Where

RECORDED = Path(__file__).parents[3] / "support" / "data" / "progress"
PLANNED_S, OFFERED = 48, 100.0
KINDS = {"pgbench": {"script": "select-only"}, "sysbench": {"script": "oltp_point_select"}}


@pytest.mark.parametrize("metric", ["tps", "qps"])
@pytest.mark.parametrize("file", sorted(RECORDED.iterdir()), ids=lambda file: file.stem)
def test_a_window_that_cannot_come_to_its_level_is_over_and_no_other(file: Path, metric: str) -> None:
    kind = file.name.partition("_")[0]
    driver = build({"kind": kind, "warmup_s": 1, "duration_s": PLANNED_S, **KINDS[kind]}, Where())
    printed = ("", file.read_text()) if kind == "pgbench" else (file.read_text(), "")
    hopeless, within_reach = (driver._watch(Level(metric, "maximize", value)) for value in (1e6, 0.9 * OFFERED))
    assert hopeless(*printed)
    assert OFFERED < hopeless.found.bound < 2 * OFFERED
    assert not within_reach(*printed)
    assert within_reach.found is None
    begun = tuple("".join(text.splitlines(keepends=True)[:6]) for text in printed)
    early = driver._watch(Level(metric, "maximize", 1e6))
    assert not early(*begun), "a few seconds tell nothing"
