"""Every row held against what real servers say of themselves: Debian's PostgreSQL 15 and the embedded 16 and 18."""

from __future__ import annotations

import json
import math
import subprocess
from collections.abc import Iterator, Mapping

import pytest
from lutra_lab.servers.account import account
from lutra_lab.servers.base import environment
from lutra_lab.servers.postgresql import ScratchPostgres
from lutra_models.catalog import load, meet
from lutra_models.catalog.statements import as_text
from lutra_models.knobs import Number, Value
from lutra_models.server import Host, Policy, Server, ServerSetting

from tests.support.servers.engines import scratch
from tests.support.waiting import until

CATALOG = load("postgresql")
SETTINGS = """
select json_agg(json_build_object('name', name, 'value', setting, 'unit', coalesce(unit, ''), 'kind', vartype,
  'low', min_val, 'high', max_val, 'options', enumvals, 'context', context, 'default', boot_val))::text
from pg_settings"""

LOADED = "select pg_conf_load_time()"
KEPT = "select setting from pg_file_settings where name = '{}' order by seqno desc limit 1"
"""What the file says of a setting."""

pytestmark = pytest.mark.engine


def server_of(cluster: ScratchPostgres) -> Server:
    rows = json.loads(cluster.sql(SETTINGS))
    version = cluster.sql("show server_version")
    return Server("postgresql", version, {r["name"]: _setting(r) for r in rows}, Host(8 << 30, 4))


def _setting(row: dict[str, str]) -> ServerSetting:
    applies = {"postmaster": "restart", "internal": "fixed"}.get(row["context"], "reload")
    low, high = (None if row[n] is None else float(row[n]) for n in ("low", "high"))
    return ServerSetting(row["value"], row["unit"], row["kind"], low, high, tuple(row["options"] or ()), applies)  # type: ignore[arg-type]


@pytest.fixture(scope="module", params=["postgres15", "postgres16", "postgres18"])
def cluster(request: pytest.FixtureRequest) -> Iterator[ScratchPostgres]:
    with scratch(request.param) as server:
        yield server


def test_every_row_of_its_version_is_as_the_server_has_it(cluster: ScratchPostgres) -> None:
    server = server_of(cluster)
    wrong = []
    for row in CATALOG.rows_for(server.version):
        live = server.settings.get(row.name)
        applies = live.applies if live is not None and row.applies == "fixed" else row.applies
        if live is None or (row.kind, row.unit, applies) != (live.kind, live.unit, live.applies):
            wrong.append((row.name, row.kind, row.unit, row.applies, live))
        elif row.kind == "enum" and not set(row.options) - {"lz4"} <= set(live.options):  # not in every build
            wrong.append((row.name, row.options, live))
    assert wrong == []


def test_no_setting_of_an_older_or_newer_version_is_on_this_server(cluster: ScratchPostgres) -> None:
    server = server_of(cluster)
    elsewhere = {r.name for r in CATALOG.rows} - {r.name for r in CATALOG.rows_for(server.version)}
    assert elsewhere & set(server.settings) == set()


def test_the_server_takes_both_ends_of_every_range_and_prints_them_back(cluster: ScratchPostgres) -> None:
    server = server_of(cluster)
    everything = Policy(movable=frozenset(r.name for r in CATALOG.rows_for(server.version)), durability=True)
    with cluster.session() as run:
        for knob in meet(server).space(everything):
            unit = server.settings[knob.name].unit
            values = (
                [knob.domain.low, knob.domain.high, *knob.domain.special] if isinstance(knob.domain, Number) else []
            )
            for value in values or knob.domain.options:  # type: ignore[union-attr]
                for made in meet(server).steps(meet(server).changes({knob.name: value})):
                    run(as_text(made.do))
                    kept = run(KEPT.format(knob.name))
                    assert meet(server).parse(knob.name, kept) == made.change.after, (knob.name, kept, unit)
                    run(as_text(made.undo))
    assert "=" not in (cluster.data_dir / "postgresql.auto.conf").read_text().replace("# ", "")


def test_texts_mean_to_the_server_what_they_mean_here(cluster: ScratchPostgres) -> None:
    server = server_of(cluster)
    for text in ("1.5MB", "8192", "1GB", "65536kB", " 2 MB "):
        assert meet(server).parse("work_mem", text) == int(_as_read(cluster, "work_mem", text)), text
    read = float(_as_read(cluster, "random_page_cost", "1.23456789"))
    assert meet(server).parse("random_page_cost", 1.23456789) == read


@pytest.mark.slow
def test_shared_memory_terms_are_not_below_what_the_server_reserves(cluster: ScratchPostgres) -> None:
    server = server_of(cluster)
    cluster.stop()
    try:
        for megabytes, connections in ((128, 100), (1024, 100), (8192, 300), (256, 2000)):
            reserved = _reserved(cluster, {"shared_buffers": f"{megabytes}MB", "max_connections": str(connections)})
            candidate = {"shared_buffers": megabytes * 128, "max_connections": connections, "wal_buffers": -1}
            counted = _counted(server, candidate)
            assert reserved <= counted <= reserved * 1.3, (megabytes, connections, reserved >> 20, counted >> 20)
    finally:
        cluster.start()


@pytest.mark.slow
def test_the_memory_of_reads_under_way_is_as_much_as_the_server_reserves_for_them(cluster: ScratchPostgres) -> None:
    server = server_of(cluster)
    if "io_max_concurrency" not in server.settings:
        assert _term(server, {}, "asynchronous I/O") == 0
        return
    cluster.stop()
    try:
        reserved = [
            _reserved(cluster, {"io_max_concurrency": str(n), "io_max_combine_limit": "1MB"}) for n in (64, 256)
        ]
    finally:
        cluster.start()
    counted = [
        _term(server, {"io_max_concurrency": n, "io_max_combine_limit": 128}, "asynchronous I/O") for n in (64, 256)
    ]
    more, assumed = reserved[1] - reserved[0], counted[1] - counted[0]
    assert more <= assumed + (2 << 20)
    assert assumed <= 1.1 * more


def test_the_rule_based_configuration_starts_the_server(cluster: ScratchPostgres) -> None:
    server = server_of(cluster)
    ruled = meet(server).rule_based(Policy())
    for made in meet(server).steps(meet(server).changes(ruled)):
        cluster.sql(as_text(made.do))
    cluster.stop()
    cluster.start()
    active = meet(server_of(cluster)).values
    assert {n: active[n] for n in ruled if not math.isclose(_number(active[n]), _number(ruled[n]))} == {}


def _as_read(cluster: ScratchPostgres, name: str, text: str) -> str:
    """What the server makes of `text`: set, reloaded, read from a new connection."""
    cluster.sql(f"alter system set {name} = '{text}'")
    loaded = cluster.sql(LOADED)
    cluster.sql("select pg_reload_conf()")
    until(lambda: cluster.sql(LOADED) != loaded)
    read = cluster.sql(f"select setting from pg_settings where name = '{name}'")
    cluster.sql(f"alter system reset {name}")
    return read


def _term(server: Server, candidate: Mapping[str, Value], name: str) -> int:
    return next(t.bytes for t in meet(server).worst_case(candidate).terms if t.name == name)


def _counted(server: Server, candidate: Mapping[str, Value]) -> int:
    names = ("shared_buffers", "shared memory overhead", "asynchronous I/O", "wal_buffers")
    return sum(_term(server, candidate, name) for name in names)


def _reserved(cluster: ScratchPostgres, settings: dict[str, str]) -> int:
    """Bytes of shared memory that a stopped server says it would reserve."""
    given = [a for name, value in settings.items() for a in ("-c", f"{name}={value}")]
    argv = [str(cluster.bin_dir / "postgres"), "-D", str(cluster.data_dir), *given, "-C", "shared_memory_size"]
    done = subprocess.run(
        account().command(argv), env=environment(), cwd=cluster.directory, capture_output=True, text=True, check=True
    )
    return int(done.stdout.splitlines()[-1]) << 20


def _number(value: int | float | str) -> float:
    return float(hash(value)) if isinstance(value, str) else value
