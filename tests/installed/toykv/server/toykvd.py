"""The server's program: `toykvd.py FILE` reads FILE and serves its port until SIGTERM.

A client sends a command a line. The answer is `OK n` and n lines, or `ERR code message`.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
import uuid
from collections.abc import Awaitable, Callable
from pathlib import Path

from settings import Refused, Settings, pairs
from store import Store

VERSION = "2.1"
MOST_ARENA_KB = 1 << 20

Command = Callable[..., Awaitable[list[str]]]


class Server:
    def __init__(self, file: Path) -> None:
        self.folder = file.parent
        self.data = self.folder / "data"
        self.settings = Settings(file, self.data / "kept.conf")
        if self.settings.number("arena") > MOST_ARENA_KB:
            raise Refused("memory", f"arena: {self.settings['arena']} kB cannot be reserved")
        self.store = Store(self.data / "values", self.settings)
        self.clients = self.most_clients = 0
        self.started = f"{time.time():.6f}"
        self._commands: dict[str, Command] = {
            "PING": self._ping,
            "GET": self._get,
            "PUT": self._put,
            "STATS": self._stats,
            "LATENCY": self._latency,
            "SETTINGS": self._settings,
            "ACTIVE": self._active,
            "SET": self._set,
            "UNSET": self._unset,
        }

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.clients >= self.settings.number("clients"):
            writer.write(b"ERR full no client more\n")
            writer.close()
            return
        self.clients += 1
        self.most_clients = max(self.most_clients, self.clients)
        try:
            while line := await reader.readline():
                writer.write(await self._answer(line.decode(errors="replace").split()))
                await writer.drain()
        except ConnectionError:
            pass
        finally:
            self.clients -= 1
            writer.close()

    async def _answer(self, words: list[str]) -> bytes:
        began_s = time.perf_counter()
        try:
            lines = await self._commands[words[0].upper()](*words[1:])
        except Refused as refused:
            self.store.counts["errors"] += 1
            return f"ERR {refused.code} {refused}\n".encode()
        except (IndexError, KeyError, TypeError):
            self.store.counts["errors"] += 1
            return b"ERR command no such command\n"
        finally:
            self.store.measured(began_s)
        return "".join(f"{line}\n" for line in (f"OK {len(lines)}", *lines)).encode()

    async def _ping(self) -> list[str]:
        return []

    async def _get(self, key: str) -> list[str]:
        value = await self.store.get(key)
        return [] if value is None else [value]

    async def _put(self, key: str, value: str) -> list[str]:
        await self.store.put(key, value)
        return []

    async def _stats(self) -> list[str]:
        facts = {"version": VERSION, "name": self._name(), "started": self.started, "pid": os.getpid()}
        facts |= {"data": self.data, "clients": self.clients, "most_clients": self.most_clients}
        return [f"{name} {value}" for name, value in {**facts, "keys": len(self.store), **self.store.counts}.items()]

    async def _latency(self) -> list[str]:
        return [f"{us} {count}" for us, count in sorted(self.store.latencies.items())]

    async def _settings(self) -> list[str]:
        return list(self.settings.lines())

    async def _active(self) -> list[str]:
        return [f"{name} {value}" for name, value in self.settings.active.items()]

    async def _set(self, name: str, value: str) -> list[str]:
        self.settings.set(name, value)
        return []

    async def _unset(self, name: str) -> list[str]:
        self.settings.unset(name)
        return []

    def _name(self) -> str:
        file = self.data / "name"
        if not file.exists():
            file.write_text(uuid.uuid4().hex)
        return file.read_text()


async def main(file: Path) -> None:
    os.chdir(file.parent / "data")
    server, stop = Server(file), asyncio.Event()
    pid_file = server.folder / "server.pid"
    pid_file.write_text(f"{os.getpid()}\n")
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    listening = await asyncio.start_server(server.serve, "127.0.0.1", int(dict(pairs(file))["port"]))
    await stop.wait()
    listening.close()
    pid_file.unlink(missing_ok=True)


if __name__ == "__main__":
    try:
        asyncio.run(main(Path(sys.argv[1])))
    except (Refused, OSError) as error:
        sys.exit(f"toykvd: {error}")
