"""A scratch server that brings no control program: `lutra_lab.servers.daemon` starts, stops and restarts it."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from lutra_lab.servers.base import ScratchServer
from lutra_lab.servers.daemon import Daemon, command


class ControlledServer(ScratchServer):
    """The server reads `file`, and writes its number into `pid_file`; `control_file` says how it is started."""

    files: ClassVar[tuple[str, ...]] = ("data", "server.log", "server.conf", "server.json", "server.pid")

    @property
    @abstractmethod
    def argv(self) -> list[str]:
        """Runs the server in the foreground; the last argument is the one by which its process is known."""

    @property
    def file(self) -> Path:
        """The server's own file of settings."""
        return self.directory / "server.conf"

    @property
    def pid_file(self) -> Path:
        return self.directory / "server.pid"

    @property
    def control_file(self) -> Path:
        return self.directory / "server.json"

    @property
    def start_command(self) -> list[str]:
        return command("start", self.control_file)

    @property
    def restart_command(self) -> list[str]:
        return command("restart", self.control_file)

    @property
    def stop_command(self) -> list[str]:
        return command("stop", self.control_file)

    @property
    def arguments(self) -> tuple[str, str]:
        return self._daemon.argument, str(self.control_file)

    def stop(self) -> None:
        self._daemon.stop()

    def _start(self) -> None:
        self._daemon.start()

    def _initialise(self) -> None:
        self._daemon.write(self.control_file)

    @cached_property
    def _daemon(self) -> Daemon:
        return Daemon(tuple(self.argv), str(self.pid_file), str(self.log), self.port)
