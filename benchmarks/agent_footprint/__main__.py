"""The memory and CPU of `lutra-agent run` in observe mode beside a real PostgreSQL, and what its wheel brings along."""

from __future__ import annotations

import subprocess
import tempfile
import time
from pathlib import Path

import click
import psutil
from lutra_lab.servers.postgresql import ScratchPostgres

from benchmarks.agent_footprint.stub import Handler, stub_service
from benchmarks.agent_footprint.wheel import UNWANTED, install, installed, size_mb

CONFIG = """[service]
url = "{url}"
database = "db_footprint"
token_file = "{folder}/token"
[database]
engine = "postgresql"
host = "{server.host}"
port = {server.port}
user = "{server.user}"
dbname = "{server.dbname}"
[agent]
mode = "observe"
interval_s = {interval}
state_dir = "{folder}/state"
"""


@click.command()
@click.option("--bin-dir", type=click.Path(path_type=Path), default=Path("/usr/lib/postgresql/15/bin"))
@click.option("--interval", default=10)
@click.option("--settle", default=40, help="Seconds before the agent counts as steady.")
@click.option("--seconds", default=120, help="Seconds over which CPU is counted.")
def main(bin_dir: Path, interval: int, settle: int, seconds: int) -> None:
    with tempfile.TemporaryDirectory(prefix="lutra-bench-") as name:
        folder = Path(name)
        python = install(folder)
        brought = installed(python)
        print(f"distributions: {', '.join(sorted(brought))} ({size_mb(python):.0f} MB)")
        print(f"unwanted: {', '.join(u for u in UNWANTED if u in brought) or 'none'}")
        options = {"shared_preload_libraries": "pg_stat_statements"}
        with stub_service() as url, ScratchPostgres(folder / "pg", programs=bin_dir, options=options) as server:
            server.sql("CREATE EXTENSION pg_stat_statements")
            server.fill(1)
            (folder / "token").write_text("lutra_footprint")
            (folder / "agent.toml").write_text(CONFIG.format(url=url, folder=folder, server=server, interval=interval))
            run(folder, server, python, settle, seconds)


def run(folder: Path, server: ScratchPostgres, python: Path, settle: int, seconds: int) -> None:
    where = ["-h", server.host, "-p", str(server.port), "-U", server.user, server.dbname]
    steady = ["-n", "-R", "100", "-c", "4", "-T", str(settle + seconds + 5)]
    load = subprocess.Popen(
        [server.bin_dir / "pgbench", *steady, *where], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    with (folder / "agent.log").open("wb") as log:
        agent = subprocess.Popen(
            [python.parent / "lutra-agent", "run", "--config", folder / "agent.toml"], stdout=log, stderr=log
        )
        try:
            watch(psutil.Process(agent.pid), settle, seconds)
        finally:
            for process in (agent, load):
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
