"""Every code block is run, parsed or validated; one that is not says why.

A block of `sh` runs in bash against a service of this module, and its variables (DB, SESSION, REC) name things that it
finds there. Programs that would run for ever or need a database server are only asked whether they know their
arguments.
"""

from __future__ import annotations

import configparser
import importlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from lutra_agent import drivers
from lutra_agent.commands.agent_file import parse
from lutra_agent.commands.cli import main as lutra_agent
from lutra_agent.config.types import DatabaseConfig
from lutra_agent.linux import allocators, lasting, requests
from lutra_client.commands.program import KNOWN
from lutra_models import extensions
from lutra_models.gp import documents
from lutra_models.gp.options import DEFAULT
from lutra_models.lifecycle import NOT_COMPUTED
from lutra_service.app.workloads.imports.mapping import ColumnMapping
from mcp import StdioServerParameters

from tests.docs.pages import ROOT, Block, blocks, pages
from tests.support.servers.engines import missing
from tests.support.service.hosted import LONGEST, Agent, Document
from tests.support.service.served import UNHURRIED, Served
from tests.support.service.sessions import tune
from tests.support.waiting import until

BLOCKS = [block for page in pages() for block in blocks(page)]
LANGUAGES = ("sh", "python", "toml", "json", "ini", "sql", "yaml", "text")
NOT_RUN = {
    "needs Docker": 4,
    "needs a database server": 12,
    "needs root": 2,
    "needs the network": 2,
    "it installs a package": 1,
    "nobody listens at this address": 1,
    "the URL belongs to a workspace of yours": 1,
}
"""Why a block is not run, and how many there are: one more is a decision to be made here."""

PRELUDE = """
set -euo pipefail
curl() { command curl --fail-with-body "$@"; }
make() { command make --dry-run "$@"; }
lutra-agent() { command lutra-agent "$@" --help; }
python() { [ "$1 $2" = "-m benchmarks" ]; }
lutra() { command lutra "$@" $(asks "$1 ${2-}"); }
asks() {
  case "$1" in
    up*|doctor*|login*|contexts*|watch*|serve*|demo*|notebook*|import*|"tokens rotate"|"tokens revoke") echo --help;;
  esac
}
"""
TABLES = {
    "service": {"url": "http://127.0.0.1:8000", "database": "db_1"},
    "database": {"engine": "postgresql", "host": "/var/run/postgresql", "port": 5432, "dbname": "postgres"},
}
"""What a part of an agent's file is completed with."""


DEFINES = re.compile(r"(\w+\(\) \{.*\}|\w+=\S+)")
"""A line of a block that only makes the abbreviations of the page's later blocks."""


def only_defines(block: Block) -> bool:
    return block.language == "sh" and all(DEFINES.fullmatch(line) for line in block.text.splitlines())


def abbreviations(block: Block) -> str:
    """What the page defined before this block."""
    return "".join(b.text for b in BLOCKS if b.page == block.page and b.line < block.line and only_defines(b))


def of(language: str, run: bool = True) -> list[Any]:
    """The blocks of a language as parameters."""
    return [pytest.param(b, id=b.place) for b in BLOCKS if b.language == language and bool(b.not_run) is not run]


class World:
    """A service with a finished session on one database, and new databases for whoever asks."""

    def __init__(self, served: Served) -> None:
        self.served, self.api = served, served.api
        self.tuned = tune(served, trials=3, name="tuned")
        self._made = 0

    def environment(self, text: str) -> dict[str, str]:
        """The variables that a block reads."""
        named: dict[str, str] = {"TOKEN": self.served.token, "DB": self.tuned[1]}
        if "/predictions" in text:
            self.tuned[0].clock = datetime.now(UTC)
            self.tuned[0].observe()
        else:
            agent = self._database()
            named["DB"] = agent.database
            if "$SESSION" in text:
                named["SESSION"] = self._session(agent)
            if "$REC" in text:
                named["REC"] = self._computed(agent) if "replay" in text else self._asked(agent, "/rollback" in text)
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        service = {"LUTRA_URL": str(self.served.client.base_url), "LUTRA_TOKEN": self.served.token}
        return {**self.served.env, **named, **service, "PATH": path}

    def _database(self) -> Agent:
        self._made += 1
        body = {"name": f"database {self._made}", "engine": "postgresql"}
        database = self.api.take("POST", "/v1/databases", body)["id"]
        token = self.api.take("POST", f"/v1/databases/{database}/tokens", {"name": "a", "scopes": ["agent"]})["token"]
        agent = Agent(self.served.client, token, database, mode="reload_only")
        agent.observe()
        return agent

    def _session(self, agent: Agent) -> str:
        body = {"objective": {"metric": "p99_ms", "goal": "minimize"}, "mode": "reload_only", "max_trials": 5}
        made: str = self.api.take("POST", f"/v1/databases/{agent.database}/sessions", body)["id"]
        return made

    def _computed(self, agent: Agent) -> str:
        self._session(agent)
        path = f"/v1/databases/{agent.database}/recommendations"
        made: str = self.api.take("POST", path)["id"]
        found = f"/v1/recommendations/{made}"
        until(lambda: self.api.take("GET", found, None, Prefer=LONGEST)["state"] not in NOT_COMPUTED)
        return made

    def _asked(self, agent: Agent, applied: bool) -> str:
        body = {"settings": {"work_mem": "8MB"}, "approve": applied}
        made: Document = self.api.take("POST", f"/v1/databases/{agent.database}/recommendations", body)
        if applied:
            agent.carry_out(agent.next_directive())
        return str(made["id"])


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Its folder has all that the project's has: commands read those files, and write their own beside them."""
    folder = tmp_path_factory.mktemp("documented")
    for entry in ROOT.iterdir():
        (folder / entry.name).symlink_to(entry)
    with Served(folder, **UNHURRIED) as served:
        yield World(served)


def here(world: World, text: str) -> str:
    """`text` for the service of this module."""
    return text.replace("http://127.0.0.1:8000", str(world.served.client.base_url).rstrip("/"))


@pytest.mark.slow
@pytest.mark.parametrize("block", of("sh"))
def test_a_block_of_commands_succeeds(block: Block, world: World) -> None:
    if "curl" in block.text and shutil.which("curl") is None:
        missing("curl")
    script = PRELUDE + here(world, abbreviations(block) + block.text)
    folder, environment = world.served.directory, world.environment(block.text)
    done = subprocess.run(
        ["bash", "-c", script], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{block.place}: {done.stdout[-2000:]}{done.stderr[-2000:]}"


@pytest.mark.slow
def test_a_benchmark_of_a_block_knows_its_arguments() -> None:
    lines = [line for b in BLOCKS if b.language == "sh" for line in b.text.splitlines()]
    asked = [shlex.split(line, comments=True)[3:] for line in lines if line.startswith("python -m benchmarks ")]
    assert asked
    for benchmark, *arguments in asked:
        program = importlib.import_module(f"benchmarks.{benchmark}.__main__").main
        ended = CliRunner().invoke(program, [*arguments, "--help"])
        assert ended.exit_code == 0, f"{benchmark} {arguments}: {ended.output}"


@pytest.mark.parametrize("block", of("sh", run=False))
def test_commands_that_are_not_run_are_well_formed(block: Block) -> None:
    done = subprocess.run(["bash", "-n", "-c", block.text], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{block.place}: {done.stderr}"


@pytest.mark.slow
@pytest.mark.parametrize("block", of("python"))
def test_a_block_of_python_runs(block: Block, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LUTRA_URL", str(world.served.client.base_url))
    monkeypatch.setenv("LUTRA_TOKEN", world.served.token)
    monkeypatch.setenv("LUTRA_SESSION", world.tuned[2])
    exec(compile(block.text, block.place, "exec"), {})


LOADED = {"redis-benchmark": {"database": {"engine": "redis", "host": "127.0.0.1", "port": 6379}}}
"""The database of a load that no other engine takes."""


@pytest.mark.parametrize("block", of("toml"))
def test_toml_is_what_its_reader_takes(block: Block) -> None:
    document = tomllib.loads(block.text)
    if "setting" in document:
        files = (*ROOT.glob("models/lutra_models/catalog/*.toml"), *ROOT.glob("tests/installed/*/catalogue/*.toml"))
        catalogues = [tomllib.loads(f.read_text()) for f in files]
        kept = [row for catalogue in catalogues for row in catalogue["setting"]]
        assert all(row in kept for row in document["setting"]), block.place
        return
    if document.keys() <= ColumnMapping.model_fields.keys():
        ColumnMapping.model_validate(document)
        return
    if "project" in document:
        groups = {extensions.KERNELS, extensions.SURROGATES, extensions.ACQUISITIONS}
        assert set(document["project"]["entry-points"]) <= groups, block.place
        return
    if set(document) <= set(DEFAULT.to_dict()):
        assert documents.read(block.text, "toml") != DEFAULT, block.place
        return
    mode = {"agent": {"mode": "lab"}} if "driver" in document else {}
    engine = LOADED.get(document.get("driver", {}).get("kind"), {})
    config = parse({**TABLES, **mode, **engine, **document})
    if config.driver is not None:
        drivers.build(config.driver, config.database)
        drivers.build_loads(config.driver, config.database)


def measured(text: str, tmp_path: Path) -> None:
    """What a driver's own command prints is a measurement."""
    database = DatabaseConfig("postgresql", str(tmp_path), 5432)
    section = {"kind": "command", "command": ["echo", text.strip()], "warmup_s": 0, "duration_s": 1}
    found = drivers.build(section, database).run()
    told = json.loads(text)
    assert found.metrics == {k: v for k, v in told.items() if isinstance(v, float)}
    assert (found.p99_of, found.statement) == (told["p99_of"], told["statement"])


def started(text: str, _: Path) -> None:
    """The program that an assistant starts has this name, and is one of ours."""
    server = StdioServerParameters.model_validate(json.loads(text)["mcpServers"]["lutra"], strict=True)
    assert server.command == "lutra"
    assert server.args[0] in KNOWN


JSON: dict[str, Callable[[str, Path], None]] = {"json: driver": measured, "json: assistant": started}


@pytest.mark.parametrize("block", of("json"))
def test_json_is_what_its_reader_takes(block: Block, tmp_path: Path) -> None:
    JSON[block.marker](block.text, tmp_path)


@pytest.mark.parametrize("block", of("yaml"))
def test_yaml_can_be_read(block: Block) -> None:
    assert yaml.safe_load(block.text)


@pytest.mark.parametrize("block", of("ini"))
def test_a_unit_starts_a_command_that_exists_and_entry_points_are_those_of_an_installed_package(
    block: Block, tmp_path: Path
) -> None:
    read = configparser.ConfigParser(interpolation=None)
    read.read_string(block.text)
    if "Service" not in read:
        for group, name, value in ((g, *item) for g in read.sections() for item in read[g].items()):
            assert [e.value for e in entry_points(group=group, name=name)] == [value]
        return
    if "ExecStop" in read["Service"]:
        pauses_the_agent(read["Service"], tmp_path)
        return
    if "ExecStart" not in read["Service"]:
        preload = read["Service"]["Environment"].removeprefix("LD_PRELOAD=")
        assert allocators.drop_in(preload).decode() == f"{lasting.HEADER}{block.text}"
        return
    program, *arguments = shlex.split(read["Service"]["ExecStart"])
    if Path(program).name == "lutra-host":
        assert not arguments
        assert [step.verb for step in requests.parse(read["Service"]["StandardInputText"].encode())] == ["boot"]
        return
    assert Path(program).name == "lutra-agent"
    assert CliRunner().invoke(lutra_agent, [*arguments, "--help"]).exit_code == 0


def pauses_the_agent(service: Mapping[str, str], folder: Path) -> None:
    """When the unit is stopped, and neither when it is restarted nor when its server crashes."""
    agent, said = "/usr/local/bin/lutra-agent", folder / "said"
    (folder / "systemctl").write_text('#!/bin/sh\necho "7 postgresql@16-main.service $JOB running"\n')
    (folder / "lutra-agent").write_text(f'#!/bin/sh\necho "$@" >> {said}\n')
    for program in ("systemctl", "lutra-agent"):
        (folder / program).chmod(0o755)
    for name, job in (("ExecStop", "restart"), ("ExecStop", "stop"), ("ExecStartPost", "start")):
        words = shlex.split(service[name].removeprefix("-+").replace(agent, str(folder / "lutra-agent")))
        subprocess.run(words, env={"PATH": f"{folder}:/usr/bin:/bin", "JOB": job})
    verbs = said.read_text().split()
    assert verbs == ["pause", "resume"]
    assert all(CliRunner().invoke(lutra_agent, [verb, "--help"]).exit_code == 0 for verb in verbs)


def test_every_block_names_a_language_that_is_tested() -> None:
    assert not [b.place for b in BLOCKS if b.language not in LANGUAGES]
    assert not [b.place for b in BLOCKS if b.language == "sql" and not b.not_run]


def test_each_block_that_is_not_run_says_why() -> None:
    assert Counter(b.not_run for b in BLOCKS if b.not_run) == NOT_RUN
