"""The service of `lutra up`: its folder, its process, and how it is started and stopped on this machine."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import ProxyHandler, Request, build_opener

HOST = "127.0.0.1"
UNIT = "lutra.service"
PRIVATE = 0o700
ASK_S = 5.0
STEP_S = 0.1


class Unusable(Exception):
    """The local service cannot be started or stopped; the message says why and names the way out."""


@dataclass(frozen=True)
class Record:
    """The process that was started, kept beside the store. `born` tells it from a later one with the same number; it is
    empty for a service that has ended. `unit` says whether systemd runs it.
    """

    port: int
    pid: int = 0
    born: str = ""
    unit: bool = False

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}"


@dataclass(frozen=True)
class Local:
    """The folder of the local service."""

    folder: Path

    @classmethod
    def of_user(cls) -> Local:
        """`lutra` in the user's data folder, which is made private. Raises Unusable."""
        from lutra_service.common.settings import own_folder

        folder = own_folder()
        try:
            folder.mkdir(mode=PRIVATE, parents=True, exist_ok=True)
            folder.chmod(PRIVATE)
        except OSError as error:
            raise Unusable(
                f"the folder {folder} cannot be used: {error.strerror}; set XDG_DATA_HOME to a folder of yours"
            ) from error
        if not os.access(folder, os.W_OK | os.X_OK):
            raise Unusable(f"nothing can be written in {folder}; set XDG_DATA_HOME to a folder of yours")
        return cls(folder)

    @property
    def log(self) -> Path:
        from lutra_service.common.settings import LOG

        return self.folder / LOG

    @property
    def database_url(self) -> str:
        from lutra_service.common.settings import STORE

        return f"sqlite:///{self.folder / STORE}"

    def agents(self) -> list[str]:
        """The databases that `lutra add` set up on this machine."""
        added = self.folder / "databases"
        return sorted(path.name for path in added.iterdir()) if added.is_dir() else []

    def delete(self) -> None:
        """The folder and the unit of a service that has ended."""
        shutil.rmtree(self.folder)
        if _unit_file().exists():
            _unit_file().unlink()
            _systemctl("daemon-reload")

    @contextmanager
    def held(self) -> Iterator[None]:
        """Only one `lutra up` or `lutra down` at a time."""
        with (self.folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def record(self) -> Record | None:
        """The record of the newest start; None if there is none, or if it is damaged."""
        try:
            return Record(**json.loads(self._file.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            return None

    def keep(self, record: Record) -> None:
        whole = self._file.with_suffix(".new")
        whole.write_text(json.dumps(asdict(record)), encoding="utf-8")
        whole.replace(self._file)

    def running(self) -> Record | None:
        """The record of the service, if it runs: its process is verified to be the one that was started."""
        found = self.record()
        if found is None:
            return None
        if found.unit:
            pid = int(_systemctl("show", "--property=MainPID", "--value", UNIT).strip() or 0)
            return replace(found, pid=pid, born=born(pid)) if pid else None
        return found if found.born and born(found.pid) == found.born else None

    def start(self, port: int) -> Record:
        """Start `lutra serve` as a unit of the user's systemd if there is one, else as a detached process."""
        arguments = [
            sys.executable,
            "-m",
            "lutra_client.commands.program",
            "serve",
            "--host",
            HOST,
            "--port",
            str(port),
        ]
        own = {"LUTRA_DATABASE_URL": self.database_url}
        if has_user_systemd():
            self._write_unit(arguments, own)
            _systemctl("daemon-reload")
            _systemctl("start", UNIT)
            pid = int(_systemctl("show", "--property=MainPID", "--value", UNIT).strip() or 0)
            record = Record(port, pid, born(pid), unit=True)
        else:
            kept = {name: value for name, value in os.environ.items() if not name.startswith("LUTRA_")}
            with self.log.open("ab") as log:
                process = subprocess.Popen(
                    arguments,
                    env={**kept, **own},
                    cwd=self.folder,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )
            record = Record(port, process.pid, born(process.pid))
        self.log.chmod(0o600)
        self.keep(record)
        return record

    def stop(self, record: Record, patience_s: float) -> None:
        """Ask it to end, and wait. Raises Unusable if it has not ended after `patience_s`."""
        if record.unit:
            _systemctl("stop", UNIT)
        else:
            os.kill(record.pid, signal.SIGTERM)
        ends = time.monotonic() + patience_s
        while born(record.pid) == record.born:
            if time.monotonic() > ends:
                raise Unusable(
                    f"the service (process {record.pid}) has not ended after {patience_s:.0f} s: see `lutra logs`, or "
                    f"end it with `kill -9 {record.pid}`"
                )
            time.sleep(STEP_S)
        self.keep(Record(record.port))

    def wait(self, record: Record, patience_s: float) -> None:
        """Wait until it answers. Raises Unusable with the end of its log if it ends or does not answer."""
        ends = time.monotonic() + patience_s
        while answer(f"{record.url}/readyz")[0] != 200:
            if not record.born or born(record.pid) != record.born:
                raise Unusable(f"the service has ended:\n{self.tail(5)}\n`lutra logs` shows the rest")
            if time.monotonic() > ends:
                raise Unusable(
                    f"the service does not answer at {record.url} after {patience_s:.0f} s: see `lutra logs`"
                )
            time.sleep(STEP_S)

    def tail(self, lines: int) -> str:
        """The end of the log; empty without one."""
        try:
            with self.log.open("rb") as log:
                log.seek(max(0, self.log.stat().st_size - (64 << 10)))
                kept = log.read().decode(errors="replace").splitlines()[-lines:]
        except FileNotFoundError:
            return ""
        return "\n".join(kept)

    @property
    def _file(self) -> Path:
        return self.folder / "service.json"

    def _write_unit(self, arguments: list[str], environment: dict[str, str]) -> None:
        at = _unit_file()
        lines = [
            "[Unit]",
            "Description=Lutra's service, started by `lutra up`",
            "[Service]",
            *(f'Environment="{_escaped(name)}={_escaped(value)}"' for name, value in environment.items()),
            "ExecStart=" + " ".join(f'"{_escaped(word)}"' for word in arguments),
            f"WorkingDirectory={_escaped(str(self.folder))}",
            f"StandardOutput=append:{_escaped(str(self.log))}",
            f"StandardError=append:{_escaped(str(self.log))}",
            "Restart=on-failure",
            "[Install]",
            "WantedBy=default.target",
        ]
        try:
            at.parent.mkdir(parents=True, exist_ok=True)
            at.write_text("\n".join(lines) + "\n", encoding="utf-8")
            self.log.touch(0o600)
        except OSError as error:
            raise Unusable(
                f"{at} cannot be written: {error.strerror}; set XDG_CONFIG_HOME to a folder of yours"
            ) from error


def _unit_file() -> Path:
    base = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(base) / "systemd" / "user" / UNIT


def has_user_systemd() -> bool:
    """Whether a systemd of this user answers."""
    try:
        asked = subprocess.run(
            ["systemctl", "--user", "show-environment"], capture_output=True, timeout=ASK_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return asked.returncode == 0


def born(pid: int) -> str:
    """A text that no other process of this machine has or had: its boot and when it started. Empty if it has ended."""
    try:
        # The name in parentheses may contain anything; the state is the first field after it, the start the twentieth.
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return "" if Path("/proc/self").exists() else _born_without_proc(pid)
    return "" if fields[0] in "ZX" else f"{boot} {fields[19]}"


def answer(url: str, token: str | None = None) -> tuple[int, dict[str, object]]:
    """Status and document of a GET on this machine, past every proxy; 0 and nothing if nobody answers."""
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    try:
        with build_opener(ProxyHandler({})).open(Request(url, headers=headers), timeout=ASK_S) as response:  # noqa: S310  (loopback)
            document = json.loads(response.read())
            return response.status, document if isinstance(document, dict) else {}
    except HTTPError as error:
        return error.code, {}
    except (URLError, OSError, ValueError):
        return 0, {}


def _born_without_proc(pid: int) -> str:
    asked = subprocess.run(["ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return asked.stdout.strip()


def _systemctl(*arguments: str) -> str:
    done = subprocess.run(["systemctl", "--user", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise Unusable(
            f"systemctl --user {' '.join(arguments)}: {done.stderr.strip()}: see `systemctl --user status {UNIT}`"
        )
    return done.stdout


def _escaped(text: str) -> str:
    """For a quoted word of a unit file."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
