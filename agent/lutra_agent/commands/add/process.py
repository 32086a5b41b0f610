"""The agent's process on this machine: a unit of the user's systemd if there is one, or a detached process."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import psutil

from lutra_agent import __version__
from lutra_agent.commands.add.folder import Folder
from lutra_agent.config.types import TOKEN_VARIABLE
from lutra_agent.engines.families import password_variables
from lutra_agent.errors import ConfigError
from lutra_agent.files.atomic import read_json, write_atomically, write_json

ENDS_IN_S = 90.0
"""An agent first ends a change in progress, which may take longer: then it is left alone."""
LINES = 5
"""The number of lines of the log that are shown if an agent has ended."""
UNIT = """[Unit]
Description=Lutra's agent of {name}
Wants=network-online.target
After=network-online.target

[Service]
{environment}ExecStart={command}
WorkingDirectory={folder}
StandardOutput=append:{log}
StandardError=append:{log}
Restart=always
RestartSec=5
TimeoutStopSec=20min
KillMode=process

[Install]
WantedBy=default.target
"""


def running(folder: Folder) -> psutil.Process | None:
    """The agent of this folder: the process that was started for it, by its number, its start and its file."""
    kept = read_json(folder.process) or {}
    pid = _unit_pid(folder) if _unit_file(folder).exists() else kept.get("pid")
    try:
        found = psutil.Process(pid) if pid else None
        if found is None or str(folder.config) not in found.cmdline():
            return None
        another = kept.get("pid") == pid and kept["started"] != found.create_time()
        return None if another or found.status() == psutil.STATUS_ZOMBIE else found
    except psutil.Error:
        return None


def is_outdated(folder: Folder) -> bool:
    """Whether the agent's file was edited, or another version installed, since the agent was started."""
    kept = read_json(folder.process) or {}
    return (kept.get("config"), kept.get("version")) != (_version(folder), __version__)


def start(folder: Folder, variables: Mapping[str, str]) -> None:
    """`variables` of the environment are what the server's client library needs beside the agent's file."""
    command = [sys.executable, "-m", "lutra_agent", "run", "--config", str(folder.config)]
    if _has_systemd():
        _start_unit(folder, command, variables)
        write_json(folder.process, {"config": _version(folder), "version": __version__})
        return
    secret = {TOKEN_VARIABLE, "LUTRA_TOKEN", *password_variables()}
    environment = {name: value for name, value in os.environ.items() if name not in secret}
    with folder.log.open("ab") as log:
        started = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=folder.path,
            env={**environment, **variables},
            start_new_session=True,
        )
    since = psutil.Process(started.pid).create_time()
    kept = {"pid": started.pid, "started": since, "config": _version(folder), "version": __version__}
    write_json(folder.process, kept)


def stop(folder: Folder) -> bool:
    """Whether an agent ran. Raises ConfigError for one that does not end by itself: it is never killed."""
    found = running(folder)
    unit = _unit_file(folder)
    if unit.exists():
        _systemctl("disable", "--now", "--no-block", unit.name)
        unit.unlink()
        _systemctl("daemon-reload")
    elif found is not None:
        found.send_signal(signal.SIGTERM)
    if found is None:
        return False
    try:
        found.wait(ENDS_IN_S)
    except psutil.TimeoutExpired:
        raise ConfigError(
            f"the agent (process {found.pid}) has a change in progress and ends after it: try again in some minutes"
        ) from None
    return True


def last_lines(folder: Folder) -> str:
    with suppress(OSError):
        return "\n".join(folder.log.read_text(errors="replace").splitlines()[-LINES:])
    return ""


def lingers() -> bool:
    """Whether the user's systemd, and the agents that it keeps, outlive the user's last session."""
    if not _has_systemd() or shutil.which("loginctl") is None:
        return True
    asked = subprocess.run(["loginctl", "show-user", "--property=Linger"], capture_output=True, text=True, check=False)
    return asked.stdout.strip() == "Linger=yes"


def _version(folder: Folder) -> int:
    return folder.config.stat().st_mtime_ns


def _start_unit(folder: Folder, command: list[str], variables: Mapping[str, str]) -> None:
    unit = _unit_file(folder)
    unit.parent.mkdir(parents=True, exist_ok=True)
    environment = "".join(f"Environment={_quoted(f'{name}={value}')}\n" for name, value in variables.items())
    text = UNIT.format(
        name=folder.name,
        environment=environment,
        command=" ".join(map(_quoted, command)),
        folder=_escaped(str(folder.path)),
        log=_escaped(str(folder.log)),
    )
    write_atomically(unit, text.encode())
    _systemctl("daemon-reload")
    _systemctl("enable", unit.name)
    _systemctl("restart", unit.name)


def _unit_file(folder: Folder) -> Path:
    config = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(config) / "systemd" / "user" / f"lutra-agent-{folder.name}.service"


def _unit_pid(folder: Folder) -> int:
    told = _systemctl("show", "--property=MainPID", "--value", _unit_file(folder).name).strip()
    return int(told) if told.isdecimal() else 0


def _has_systemd() -> bool:
    """Whether this account has a systemd that answers."""
    if shutil.which("systemctl") is None:
        return False
    asked = subprocess.run(["systemctl", "--user", "show-environment"], capture_output=True, check=False)
    return asked.returncode == 0


def _systemctl(*words: str) -> str:
    done = subprocess.run(["systemctl", "--user", *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise ConfigError(f"systemctl --user {' '.join(words)}: {done.stderr.strip()}")
    return done.stdout


def _quoted(word: str) -> str:
    """One word of a line in a unit."""
    text = _escaped(word).replace("\\", "\\\\").replace('"', '\\"').replace("$", "$$")
    return f'"{text}"'


def _escaped(text: str) -> str:
    """A `%` begins a specifier in a unit."""
    return text.replace("%", "%%")
