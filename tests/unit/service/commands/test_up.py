"""`lutra up`, `down` and `logs`: a service of one's own on this machine, in a test's own folders."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from lutra_client import Client, contexts
from lutra_client.commands.program import main
from lutra_client.contexts import Context
from lutra_lab.servers.ports import free_port
from lutra_service.commands import local
from lutra_service.commands.local import Local, Record, Unusable, born

from tests.support.cli import faults_of_unit
from tests.support.waiting import PATIENCE_S, until

pytestmark = pytest.mark.slow
Run = Callable[..., Result]

SYSTEMCTL = """#!{python}
import json, os, pathlib, shlex, signal, subprocess, sys
folder, words = pathlib.Path(__file__).parent, sys.argv[2:]
kept = folder / "pid"
with (folder / "asked").open("a") as asked:
    asked.write(" ".join(words) + "\\n")
if words[0] == "start":
    unit = pathlib.Path(os.environ["XDG_CONFIG_HOME"], "systemd", "user", "lutra.service").read_text()
    said = dict(line.split("=", 1) for line in unit.splitlines() if "=" in line)
    own = dict([shlex.split(said["Environment"])[0].split("=", 1)])
    log = open(said["StandardOutput"].removeprefix("append:"), "ab")
    begun = subprocess.Popen(
        shlex.split(said["ExecStart"]), env={{**os.environ, **own}}, stdout=log, stderr=log, start_new_session=True
    )
    kept.write_text(str(begun.pid))
elif words[0] == "stop":
    os.kill(int(kept.read_text()), signal.SIGTERM)
    kept.unlink()
elif words[0] == "show":
    print(kept.read_text() if kept.exists() else 0)
"""
"""As much of systemd as `lutra up` asks for."""


@pytest.fixture(autouse=True)
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(local, "has_user_systemd", lambda: False)
    monkeypatch.setattr("lutra_service.commands.up.PATIENCE_S", PATIENCE_S)


@pytest.fixture
def run() -> Iterator[Run]:
    def said(*words: str, status: int = 0) -> Result:
        result = CliRunner().invoke(main, list(words))
        assert result.exit_code == status, result.output
        return result

    yield said
    running = Local.of_user().running()
    if running is not None:
        os.kill(running.pid, 9)


def test_one_command_starts_a_service_that_the_program_finds_and_another_ends_it(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = free_port()
    told = run("up", "--port", str(port)).output
    assert f"the service runs at http://127.0.0.1:{port}" in told
    assert "next:" in told
    folder = tmp_path / "data" / "lutra"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE((folder / name).stat().st_mode) for name in ("lutra.db", "service.log")} == {0o600}
    secret = contexts.current().token
    assert secret is not None
    assert secret not in told

    again = run("up")
    assert f"the service runs already at http://127.0.0.1:{port}" in again.output
    assert contexts.current().token == secret
    with Client.from_environment() as client:
        assert [t["name"] for t in client.tokens.list_all()] == ["lutra up"]
        client.databases.register(name="shop", engine="postgresql")
    status = run("status").output
    assert f"at http://127.0.0.1:{port} (context local)" in status
    assert "shop" in status
    assert '"path": "/v1/databases"' in run("logs").output
    (shipped,) = map(json.loads, run("models", "list", "--json").output.splitlines())
    assert set(shipped) == {"id", "name", "state", "shadow", "suite", "faults", "serves", "missing"}
    assert shipped["serves"], "the service's own verbs find its store as well"

    other = run("up", "--port", str(port + 1), status=1).output
    assert f"run `lutra down`, then `lutra up --port {port + 1}`" in other
    monkeypatch.setattr("lutra_service.commands.up.__version__", "9.9")
    assert "is version 0.1.0, and this program 9.9: run `lutra down`, then `lutra up`" in run("up", status=1).output

    contexts.save(Context("away", "https://away.example", "lutra_away"))
    monkeypatch.undo()
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert "`lutra contexts use local` switches to this service" in run("up").output
    assert contexts.current().name == "away"

    assert "the service has ended" in run("down").output
    assert "no service of `lutra up` is running" in run("down").output
    contexts.use("local")
    assert "start it (`lutra up` on this machine)" in run("status", status=1).output


def test_nothing_is_left_of_a_service_that_is_deleted(tmp_path: Path, run: Run) -> None:
    run("up", "--port", str(free_port()))
    agent = tmp_path / "data" / "lutra" / "databases" / "shop"
    agent.mkdir(parents=True)
    assert "agents run on: shop; `lutra remove NAME` ends one" in run("down").output
    assert "still set up here: shop" in run("down", "--delete", "--yes", status=1).output
    agent.rmdir()
    assert CliRunner().invoke(main, ["down", "--delete"], input="n\n").exit_code == 1
    assert (tmp_path / "data" / "lutra" / "lutra.db").exists()
    run("down", "--delete", "--yes")
    assert "no service of `lutra up` is on this machine" in run("down", "--delete").output
    assert sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*")) == [Path("config"), Path("data")]


def test_a_systemd_of_the_user_runs_it_where_there_is_one(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "systemctl").write_text(SYSTEMCTL.format(python=sys.executable))
    (programs / "systemctl").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.undo()
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert "the service runs at" in run("up", "--port", str(free_port())).output
    assert "the service runs already" in run("up").output
    unit = tmp_path / "config" / "systemd" / "user" / "lutra.service"
    assert faults_of_unit(unit) == ""
    assert "the service has ended" in run("down", "--delete", "--yes").output
    assert not unit.exists()
    asked = (programs / "asked").read_text().split("\n")
    assert [word for word in asked if word.startswith(("start", "stop", "daemon"))] == [
        "daemon-reload",
        "start lutra.service",
        "stop lutra.service",
        "daemon-reload",
    ]


def test_a_port_that_another_program_has_is_named_with_the_way_out(run: Run) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        told = run("up", "--port", str(port), status=1).output
        assert f"port {port} is in use by another program" in told
        assert "`lutra up --port`" in told
        Local.of_user().keep(Record(port))
        assert f"port {port} is in use" in run("up", status=1).output, "agents know the port of before"


def test_a_folder_that_cannot_be_made_is_named_with_the_way_out(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    with monkeypatch.context() as patched:
        patched.setenv("XDG_DATA_HOME", str(tmp_path / "file"))
        for verb in ("up", "logs"):
            told = run(verb, status=1).output
            assert f"the folder {tmp_path}/file/lutra cannot be used" in told
            assert "set XDG_DATA_HOME to a folder of yours" in told
        patched.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
        patched.setattr(os, "access", lambda *_: False)
        assert f"nothing can be written in {tmp_path}/data/lutra" in run("up", status=1).output


def test_a_process_that_only_has_the_number_of_ours_is_left_alone(run: Run) -> None:
    Local.of_user().keep(Record(8000, os.getpid(), "an earlier boot 1"))
    told = run("down").output
    assert f"process {os.getpid()} has ended, or the number belongs to another program now" in told
    assert born(os.getpid())


def test_a_damaged_record_counts_as_none(tmp_path: Path, run: Run) -> None:
    folder = Local.of_user().folder
    for text in ("", "[]", '{"port": 1, "colour": 2}'):
        (folder / "service.json").write_text(text)
        assert run("down").output == "no service of `lutra up` is running\n"


def test_a_service_that_ends_at_once_is_told_with_the_end_of_its_log() -> None:
    own = Local.of_user()
    own.log.write_text("first\nthe reason\n")
    process = subprocess.Popen([sys.executable, "-c", ""])
    record = Record(free_port(), process.pid, born(process.pid))
    process.wait(PATIENCE_S)
    with pytest.raises(Unusable, match=r"(?s)the service has ended:.*the reason.*`lutra logs`"):
        own.wait(record, PATIENCE_S)


def test_what_neither_answers_nor_ends_is_told_with_the_way_out() -> None:
    own = Local.of_user()
    ourselves = Record(free_port(), os.getpid(), born(os.getpid()))
    with pytest.raises(Unusable, match=r"does not answer .*`lutra logs`"):
        own.wait(ourselves, 0.0)
    process = subprocess.Popen(
        [sys.executable, "-c", "import signal, sys; signal.signal(15, signal.SIG_IGN); print(flush=True); input()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        assert process.stdout is not None
        process.stdout.readline()
        with pytest.raises(Unusable, match=f"`kill -9 {process.pid}`"):
            own.stop(replace(ourselves, pid=process.pid, born=born(process.pid)), 0.0)
    finally:
        process.kill()
        process.communicate()


def test_without_a_log_the_way_out_is_named(run: Run) -> None:
    assert "`lutra up` has started no service yet" in run("logs", status=1).output


def test_a_log_is_followed_over_its_emptying_until_ctrl_c() -> None:
    log = Local.of_user().log
    log.write_text("before\n" * 3)
    command = [sys.executable, "-m", "lutra_client.commands.program", "logs", "--follow"]
    following = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert following.stdout is not None
    assert [following.stdout.readline() for _ in range(3)] == ["before\n"] * 3

    def told(line: str) -> bool:
        """Written again and again: when the program begins to follow is its own affair."""
        with log.open("a") as opened:
            opened.write(f"{line}\n")
        ready, _, _ = select.select([following.stdout], [], [], 0.2)
        return bool(ready) and following.stdout.readline() == f"{line}\n"

    until(lambda: told("a new line"))
    os.truncate(log, 0)
    until(lambda: told("after"))
    following.send_signal(signal.SIGINT)
    _, said = following.communicate(timeout=PATIENCE_S)
    assert (following.returncode, said.strip()) == (130, "stopped following; the service goes on")


def test_ctrl_c_while_it_starts_leaves_no_service(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[Record] = []

    def interrupted(_: Local, record: Record, __: float) -> None:
        started.append(record)
        raise KeyboardInterrupt

    monkeypatch.setattr(Local, "wait", interrupted)
    told = run("up", "--port", str(free_port()), status=130)
    assert "the service is stopped again; `lutra up` starts it with the same data" in told.output
    assert born(started[0].pid) == ""
    assert Local.of_user().running() is None
    assert not contexts.load().saved
