"""Who took the port of a Redis that is down: an account of the host, which answers with what it likes.

As a program: `UID CONFIG_FILE EXECUTABLE PID redis-server`. By its last argument it is taken for a server.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

VALUES = {"maxmemory": "104857600", "dir": "/", "save": "3600 1", "appendonly": "no", "hz": "10"}


@contextmanager
def false_redis(
    config_file: Path, uid: int | None = None, executable: str = "/bin/true", pid: int | None = None
) -> Iterator[int]:
    """The port on which it listens; as another account where this process is root. It says that it is process `pid`."""
    account = os.geteuid() if uid is None else uid
    argv = [sys.executable, __file__, str(account), str(config_file), executable, str(pid or ""), "redis-server"]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield int(process.stdout.readline())
    finally:
        process.kill()
        process.communicate()


def bulk(text: str) -> bytes:
    return b"$%d\r\n%s\r\n" % (len(text.encode()), text.encode())


def info(config_file: str, executable: str, pid: str) -> str:
    return (
        f"redis_version:7.0.15\r\nprocess_id:{pid or os.getpid()}\r\nconfig_file:{config_file}\r\n"
        f"executable:{executable}\r\nmem_allocator:jemalloc-5.2.1\r\nused_memory:1000\r\nrole:master\r\n"
        "rdb_last_bgsave_status:ok\r\n"
    )


def answer(words: list[str], says: str) -> bytes:
    match [w.upper() for w in words[:2]]:
        case ["INFO", *_]:
            return bulk(says)
        case ["CONFIG", "GET"]:
            found = [bulk(word) for n, v in VALUES.items() if words[2] in ("*", n) for word in (n, v)]
            return b"*%d\r\n" % len(found) + b"".join(found)
        case ["CONFIG", "SET"]:
            VALUES.update(zip(words[2::2], words[3::2], strict=True))
    return b"+OK\r\n"


def serve(connection: socket.socket, says: str) -> None:
    with connection, connection.makefile("rb") as file:
        while line := file.readline():
            words = []
            for _ in range(int(line[1:])):
                words.append(file.read(int(file.readline()[1:])).decode())
                file.read(2)
            connection.sendall(answer(words, says))


def main(arguments: list[str]) -> None:
    account, *says = arguments[:4]
    if int(account) != os.geteuid():
        os.setgroups([])
        os.setgid(int(account))
        os.setuid(int(account))
    with socket.create_server(("127.0.0.1", 0)) as server:
        print(server.getsockname()[1], flush=True)
        while True:
            threading.Thread(target=serve, args=(server.accept()[0], info(*says)), daemon=True).start()


if __name__ == "__main__":
    main(sys.argv[1:])
