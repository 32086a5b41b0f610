"""How far a cure may go: the disk, the memory, and what the server can make use of."""

from __future__ import annotations

import pytest
from lutra_models.catalog import meet
from lutra_models.catalog.values import factor
from lutra_models.server import Policy, Server

from tests.unit.assessment.injected import GB, HOUR, MB, Seen, innodb, moves, postgresql

FORCED = {"checkpointer.requested": 38, "checkpointer.timed": 3, "wal.bytes": 22.0 * GB, "wal.full_page_images": 1e6}
REDO = {"redo.written_bytes": HOUR * 2 * MB}


def log(engine: str, disk_gb: float) -> tuple[Server, str, Seen]:
    """A server whose log is too small by far, the setting that says so, and what its windows bring."""
    if engine == "postgresql":
        server = postgresql(disk_gb=disk_gb, max_wal_size="1GB")
        return server, "max_wal_size", Seen(server, FORCED)
    setting = {"mysql": "innodb_redo_log_capacity", "mariadb": "innodb_log_file_size"}[engine]
    server = innodb(engine, disk_gb=disk_gb, **{setting: "100M"})
    return (
        server,
        setting,
        Seen(server, REDO, {"redo.checkpoint_age_bytes": 75.0 * MB, "redo.logical_bytes": 75.0 * MB}),
    )


@pytest.mark.parametrize("engine", ["postgresql", "mysql", "mariadb"])
@pytest.mark.parametrize("disk_gb", [1, 2, 4, 8, 15, 40])
def test_no_cure_and_no_rule_gives_a_log_more_than_a_tenth_of_the_disk_or_twice_the_least(
    engine: str, disk_gb: float
) -> None:
    server, setting, seen = log(engine, disk_gb)
    least = 256 * MB if engine == "postgresql" else 200 * MB
    unit = factor(server.settings[setting].unit)
    for move in moves(seen.evidence()):
        if move.setting == setting:
            assert float(move.after or 0) * unit <= max(least, disk_gb * GB / 10)
    began = float(meet(server).values[setting])
    ruled = float(meet(server).rule_based(Policy(), only={setting})[setting])
    assert ruled * unit <= max(began * unit, least, disk_gb * GB / 10)


@pytest.mark.parametrize("engine", ["postgresql", "mysql", "mariadb"])
def test_on_a_roomy_disk_the_log_gets_what_the_load_needs(engine: str) -> None:
    _, setting, seen = log(engine, 1000)
    (after,) = {m.after for m in moves(seen.evidence()) if m.setting == setting}
    unit = factor(seen.server.settings[setting].unit)
    assert float(after or 0) * unit > 6 * GB


def test_a_log_on_a_small_disk_that_cannot_grow_says_so_and_nothing_else_of_it_is_proposed() -> None:
    _, setting, seen = log("postgresql", 4)
    (found,) = (f for f in seen.evidence().findings if f.name == "checkpoints_forced")
    assert [(m.setting, m.after) for m in found.moves] == [(setting, None)]
    assert "as far as it may go" in str(found.moves[0].obstacle)
