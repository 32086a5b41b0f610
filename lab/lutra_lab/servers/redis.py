"""A scratch Redis or Valkey: this machine's, or one of another system's folder, run there by that system's own loader.

Debian's stable release of 2023 carries Redis 7.0 and no Valkey. `debootstrap --variant=minbase
--include=valkey-server,valkey-tools,redis-server,redis-tools sid DIR` makes a folder with Valkey 9 and Redis 8.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

from lutra_lab.servers.base import LabOptions, Session, lines
from lutra_lab.servers.binaries import called
from lutra_lab.servers.controlled import ControlledServer
from lutra_lab.servers.errors import LabError
from lutra_lab.servers.loads import Load

ROOT = Path(os.environ.get("LUTRA_VALKEY_ROOT", "/var/tmp/lutra-valkey"))  # noqa: S108 - made by the operator
BENCHMARK = "redis-benchmark"
KEYS_PER_SCALE, VALUE_BYTES = 10_000, 512
BATCH = 1000
LAB = LabOptions(
    scale="Fill the server with 10,000 times this many keys of 512 bytes.",
    example=20,
    needs=BENCHMARK,
    programs=("--root", "The root folder of a system with the server."),
)


class ScratchRedis(ControlledServer):
    """`options` go into the server's own file, in which an agent keeps its changes. `programs` is a system's folder."""

    engine = "redis"
    title = "Redis"
    user = "default"
    dbname = ""
    files = (*ControlledServer.files, ".server.conf.*")
    lab = LAB
    program: ClassVar[str] = "usr/bin/redis-server"
    version_line: ClassVar[str] = "redis_version"
    package: ClassVar[str] = "redis-server"

    @classmethod
    def find(cls, programs: Path | None = None) -> Path:
        for root in (programs,) if programs else (Path("/"), ROOT):
            if (root / cls.program).exists():
                return root
        raise LabError(
            f"{cls.title} is not installed: apt-get install {cls.package}, or if the release has none: debootstrap "
            f"--variant=minbase --include={cls.package} sid {ROOT} (another folder: LUTRA_VALKEY_ROOT)"
        )

    @property
    def argv(self) -> list[str]:
        return self.account.command([*called(self.programs, self.program), str(self.file)])

    @property
    def version(self) -> str:
        said = dict(line.split(":", 1) for line in self.sql("INFO server").splitlines() if ":" in line)
        return said[self.version_line].strip()

    @contextmanager
    def session(self, dbname: str | None = None) -> Iterator[Session]:
        import redis

        try:
            # It dials here already.
            client = redis.Redis(self.host, self.port, protocol=2, decode_responses=True, single_connection_client=True)
            client.ping()
        except redis.RedisError as error:
            raise LabError(str(error)) from error
        client.response_callbacks.clear()

        def run(command: str) -> str:
            try:
                return _rows(client.execute_command(*shlex.split(command)))  # type: ignore[no-untyped-call]
            except redis.RedisError as error:
                raise LabError(f"{command}: {error}") from error

        with client:
            yield run

    def fill(self, scale: int) -> None:
        """Under the names that the load asks for."""
        import redis

        value, keys = "x" * VALUE_BYTES, range(scale * KEYS_PER_SCALE)
        try:
            with redis.Redis(self.host, self.port, protocol=2) as client, client.pipeline(transaction=False) as batch:
                for key in keys:
                    batch.set(f"key:{key:012}", value)
                    if key % BATCH == BATCH - 1:
                        batch.execute()
        except redis.RedisError as error:
            raise LabError(f"the server could not be filled: {error}") from error

    def load(self, scale: int) -> Load:
        """Reads and some writes at random places, by 50 clients."""
        self.fill(scale)
        keys = scale * KEYS_PER_SCALE
        driver = {"kind": BENCHMARK, "clients": 50, "writes": 0.2, "keys": keys}
        driver |= {"data_size": VALUE_BYTES, "warmup_s": 2}
        return Load(f"{keys} keys of {VALUE_BYTES} bytes, {BENCHMARK} reading and writing them with 50 clients", driver)

    def _initialise(self) -> None:
        super()._initialise()
        self._own_folder(self.data_dir)
        ours = {
            "bind": self.host,
            "port": str(self.port),
            "dir": str(self.data_dir),
            "pidfile": str(self.pid_file),
            "daemonize": "no",
            # Processes are known by their arguments.
            "set-proc-title": "no",
            **self.options,
        }
        self.file.write_text("".join(f"{name} {value}\n" for name, value in ours.items()))
        self.file.chmod(0o644)
        self.account.own(self.file)
        # The server writes its own process-id file.
        self.account.own(self.directory)


class ScratchValkey(ScratchRedis):
    engine = "valkey"
    title = "Valkey"
    program = "usr/bin/valkey-server"
    version_line = "valkey_version"
    package = "valkey-server"


def _rows(answer: Any) -> str:
    """Lists of names and values in rows of two; everything else as it is."""
    if isinstance(answer, list):
        return lines(zip(answer[::2], answer[1::2], strict=False))
    return "" if answer is None else str(answer)
