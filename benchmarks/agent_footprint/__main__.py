"""The memory and CPU of `lutra-agent run` in observe mode beside a real server, and what its wheel brings along.

All that the agent can look at is on: the host's counters and settings, and beside a Redis the agent's own probe.
"""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click
import psutil
from lutra_lab.servers.base import ScratchServer
from lutra_lab.servers.postgresql import ScratchPostgres
from lutra_lab.servers.redis import ScratchRedis

from benchmarks.agent_footprint.stub import Handler, stub_service
from benchmarks.agent_footprint.wheel import UNWANTED, install, installed, size_mb

CONFIG = """[service]
url = "{url}"
database = "db_footprint"
token_file = "{folder}/token"
[database]
engine = "{engine}"
host = "{server.host}"
port = {server.port}
user = "{server.user}"
{more}
[agent]
mode = "observe"
interval_s = {interval}
state_dir = "{folder}/state"
[host]
settings = true
"""
PROBES_PER_S = 10
DEBIAN = Path("/usr/lib/postgresql/15/bin")
Beside = tuple[ScratchServer, Sequence[str | Path], str]
"""A server, the command of its load, and what the agent's file says of it besides."""


@click.command()
@click.option("--engine", type=click.Choice(["postgresql", "redis"]), default="postgresql", show_default=True)
@click.option("--bin-dir", type=click.Path(path_type=Path), help="Of the server's programs.")
@click.option("--interval", default=10)
@click.option("--settle", default=40, help="Seconds before the agent counts as steady.")
@click.option("--seconds", default=120, help="Seconds over which CPU is counted.")
def main(engine: str, bin_dir: Path | None, interval: int, settle: int, seconds: int) -> None:
    with tempfile.TemporaryDirectory(prefix="lutra-bench-") as name:
        folder = Path(name)
        python = install(folder, engine)
        brought = installed(python)
        print(f"distributions: {', '.join(sorted(brought))} ({size_mb(python):.0f} MB)")
        print(f"unwanted: {', '.join(u for u in UNWANTED if u in brought) or 'none'}")
        with stub_service() as url, SERVERS[engine](folder / "server", bin_dir) as (server, load, more):
            (folder / "token").write_text("lutra_footprint")
            text = CONFIG.format(url=url, folder=folder, server=server, interval=interval, engine=engine, more=more)
            (folder / "agent.toml").write_text(text)
            run(folder, load, python, settle, seconds)


@contextmanager
def postgresql(folder: Path, programs: Path | None) -> Iterator[Beside]:
    """With a hundred transactions a second."""
    options = {"shared_preload_libraries": "pg_stat_statements"}
    with ScratchPostgres(folder, programs=programs or DEBIAN, options=options) as server:
        server.sql("CREATE EXTENSION pg_stat_statements")
        server.fill(1)
        where = ("-h", server.host, "-p", str(server.port), "-U", server.user, server.dbname)
        load = (server.bin_dir / "pgbench", "-n", "-R", "100", "-c", "4", "-T", "86400", *where)
        yield server, load, f'dbname = "{server.dbname}"'


@contextmanager
def redis(folder: Path, programs: Path | None) -> Iterator[Beside]:
    """With a hundred commands a second."""
    with ScratchRedis(folder, programs=programs) as server:
        where = ("-h", server.host, "-p", str(server.port))
        load = ("redis-cli", *where, "-r", "-1", "-i", "0.01", "INCR", "a_count")
        yield server, load, f"probe_per_s = {PROBES_PER_S}"


SERVERS = {"postgresql": postgresql, "redis": redis}


def run(folder: Path, load: Sequence[str | Path], python: Path, settle: int, seconds: int) -> None:
    clients = subprocess.Popen(load, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with (folder / "agent.log").open("wb") as log:
        agent = subprocess.Popen(
            [python.parent / "lutra-agent", "run", "--config", folder / "agent.toml"], stdout=log, stderr=log
        )
        try:
            watch(psutil.Process(agent.pid), settle, seconds)
        finally:
            for process in (agent, clients):
                process.terminate()
                process.wait(30)
            print((folder / "agent.log").read_text()[-600:])


def watch(agent: psutil.Process, settle: int, seconds: int) -> None:
    time.sleep(settle)
    before, reports = agent.cpu_times(), Handler.reports
    most = 0
    began = time.monotonic()
    while time.monotonic() < began + seconds:
        most = max(most, agent.memory_info().rss)
        time.sleep(1)
    took, after = time.monotonic() - began, agent.cpu_times()
    cpu_s = after.user + after.system - before.user - before.system
    print(f"reports in {took:.0f} s: {Handler.reports - reports}")
    print(f"RSS: at most {most / 2**20:.1f} MB; CPU: {cpu_s:.2f} s = {100 * cpu_s / took:.2f} % of a core")


if __name__ == "__main__":
    main(prog_name="python -m benchmarks agent_footprint")
