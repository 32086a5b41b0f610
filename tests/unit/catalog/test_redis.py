"""The catalogues of Redis, Valkey and pika: what moves, what is locked, and the rule beyond pika's cliff."""

from __future__ import annotations

from typing import Any

import pytest
from lutra_models.catalog import load, meet
from lutra_models.catalog.formula import Formula
from lutra_models.server import Host, Policy, Server, ServerSetting

from tests.support.pika.recorded import DEFAULTS
from tests.support.reported.redis import a_redis

LOSES_DATA = {"appendonly", "appendfsync", "no-appendfsync-on-rewrite", "save", "maxmemory", "maxmemory-policy"}


def a_pika(**settings: str) -> Server:
    values = {**DEFAULTS, "arena-block-size": "33554432", **{n.replace("_", "-"): v for n, v in settings.items()}}
    rows = {r.name: r for r in load("pika").rows_for("3.3.6")}
    found = {
        n: ServerSetting(v, rows[n].unit, rows[n].kind, applies=rows[n].applies) for n, v in values.items() if n in rows
    }
    return Server("pika", "3.3.6", found, Host(8 << 30, 4, 100 << 30, False))


def test_a_formula_reads_names_with_hyphens_in_backticks() -> None:
    formula = Formula("`io-threads` * 2 + cores")
    assert formula.names == {"io-threads", "cores"}
    assert formula({"io-threads": 3, "cores": 4}) == 10
    with pytest.raises(ValueError, match="not a formula"):
        Formula("`Not a name` + 1")


@pytest.mark.parametrize(
    ("engine", "version"), [("redis", "6.2.14"), ("redis", "8.0"), ("valkey", "7.2"), ("valkey", "9.1")]
)
def test_each_version_has_its_settings(engine: str, version: str) -> None:
    names = [r.name for r in load(engine).rows_for(version)]
    assert len(names) == len(set(names)) >= 60
    assert ("hash-max-listpack-entries" in names) is (version != "6.2.14")


def test_valkey_has_the_settings_of_redis_and_changes_threads_live_from_9_on() -> None:
    applies = {v: next(r.applies for r in load("valkey").rows_for(v) if r.name == "io-threads") for v in ("8.1", "9.0")}
    assert applies == {"8.1": "restart", "9.0": "immediate"}


def test_what_loses_data_is_locked_unless_opted_in() -> None:
    live = meet(a_redis())
    assert not LOSES_DATA & set(live.space(Policy()).names)
    assert {r.name for r in live.rows.values() if r.risk == "durability"} >= LOSES_DATA
    opted: Any = live.space(Policy(durability=True)).names
    assert {"appendonly", "appendfsync", "save"} <= set(opted)


def test_memory_counts_what_a_fork_copies_where_anything_is_saved() -> None:
    gb = 2**30
    saved = meet(a_redis(settings={"maxmemory": str(gb)}))
    unsaved = meet(a_redis(settings={"maxmemory": str(gb), "save": "", "appendonly": "no"}))
    assert saved.worst_case({}).total_bytes - unsaved.worst_case({}).total_bytes == gb
    assert saved.memory(Policy(), {}).total_bytes - unsaved.memory(Policy(), {}).total_bytes == gb // 8


@pytest.mark.parametrize("restart", [True, False])
def test_the_rules_for_pika_lie_beyond_its_cliff(restart: bool) -> None:
    live = meet(a_pika(**{"max-write-buffer-size": "14045392"}))
    rules = {**live.values, **live.rule_based(Policy(restart=restart))}
    assert rules["arena-block-size"] < rules["max-write-buffer-size"] * 7 / 8
    assert live.values["arena-block-size"] > live.values["max-write-buffer-size"] * 7 / 8
