"""The program: `recorded.py FILE` reads a pika.conf and serves its port until SIGTERM. It needs nothing but Python.

What it does was recorded from a pika 3.3.6 on RocksDB 5.9.2: its answers, its clamps, and these traps.

- Its file says `max-write-buffer-num`, CONFIG says `max-write-buffer-number`.
- Units in the file are cut: `4G` is 4.
- After the first CONFIG SET of max-cache-files or max-background-compactions each change of a memtable's setting is
  answered by ERR, although the engine has taken it.
- From 2^31 on it answers OK and keeps something else.
- CONFIG SET maxclients beyond the limit of open files ends the process.
- Where a block of the arena is above seven eighths of max-write-buffer-size, every write makes a memtable be written.

ENGINE, which no pika has, tells what RocksDB has been given.
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
import time
from pathlib import Path

VERSION = "3.3.6"
MOST_FILES = 20_000
STALL_S = 0.003
MEMTABLE = ("write-buffer-size", "arena-block-size", "max-write-buffer-number")
POISON = ("max-cache-files", "max-background-compactions")
IN_FILE = {"max-write-buffer-number": "max-write-buffer-num"}
DEFAULTS = {
    "port": "9221", "thread-num": "1", "thread-pool-size": "12", "sync-thread-num": "6", "log-path": "./log/",
    "db-path": "./db/", "write-buffer-size": "268435456", "arena-block-size": "", "max-write-buffer-number": "2",
    "timeout": "60", "requirepass": "", "masterauth": "", "userpass": "", "userblacklist": "",
    "instance-mode": "classic", "databases": "1", "daemonize": "no", "dump-path": "./dump/", "dump-expire": "0",
    "dump-prefix": "", "pidfile": "./pika.pid", "maxclients": "10000", "target-file-size-base": "20971520",
    "max-cache-statistic-keys": "0", "small-compaction-threshold": "5000", "max-background-flushes": "1",
    "max-background-compactions": "2", "max-cache-files": "5000", "max-bytes-for-level-multiplier": "10",
    "block-size": "4096", "block-cache": "8388608", "share-block-cache": "no", "cache-index-and-filter-blocks": "no",
    "optimize-filters-for-hits": "no", "level-compaction-dynamic-level-bytes": "no", "expire-logs-days": "7",
    "expire-logs-nums": "10", "root-connection-num": "2", "slowlog-write-errorlog": "no",
    "slowlog-log-slower-than": "10000", "slowlog-max-len": "128", "write-binlog": "yes",
    "binlog-file-size": "104857600", "max-write-buffer-size": "10737418240", "max-client-response-size": "1073741824",
    "compression": "snappy", "db-sync-path": "./dbsync/", "db-sync-speed": "1024", "compact-cron": "",
    "compact-interval": "", "network-interface": "", "slaveof": "", "slave-priority": "100",
    "sync-window-size": "9000", "max-conn-rbuf-size": "268435456", "replication-num": "0", "consensus-level": "0",
}  # fmt: skip
LIVE = frozenset({
    "timeout", "requirepass", "masterauth", "userpass", "userblacklist", "dump-prefix", "maxclients", "dump-expire",
    "expire-logs-days", "expire-logs-nums", "root-connection-num", "slowlog-write-errorlog",
    "slowlog-log-slower-than", "slowlog-max-len", "write-binlog", "max-cache-statistic-keys",
    "small-compaction-threshold", "max-client-response-size", "db-sync-speed", "compact-cron", "compact-interval",
    "slave-priority", "sync-window-size", "max-cache-files", "max-background-compactions", "write-buffer-size",
    "max-write-buffer-number", "arena-block-size",
})  # fmt: skip
WORDS = frozenset(n for n, v in DEFAULTS.items() if not v.lstrip("-").isdigit() and n != "arena-block-size")
BOUNDS = {
    "thread-num": (1, 24, "12"), "thread-pool-size": (1, 100, "12"), "sync-thread-num": (1, 24, "3"),
    "target-file-size-base": (1, 2**31 - 1, "1048576"), "max-background-flushes": (1, 4, ""),
    "max-background-compactions": (1, 8, ""), "max-write-buffer-size": (1, 2**63, "10737418240"),
    "write-buffer-size": (1, 2**63, "268435456"), "expire-logs-nums": (10, 2**31, "10"),
    "sync-window-size": (1, 90_000, ""), "small-compaction-threshold": (1, 100_000, "5000"),
    "binlog-file-size": (1024, 2**30, "104857600"),
}  # fmt: skip
"""What the loader makes of a number outside: the third, or the nearer end where that is empty."""


class Refused(Exception):
    """The text after `-`."""


def wrapped(number: int) -> int:
    """As 32 bits with a sign keep it."""
    return (number + 2**31) % 2**32 - 2**31


class Settings:
    def __init__(self, file: Path) -> None:
        self.file = file
        said = self._said()
        self.values = {name: self._loaded(name, said.get(IN_FILE.get(name, name), v)) for name, v in DEFAULTS.items()}
        if not self.values["arena-block-size"]:
            self.values["arena-block-size"] = str(int(self.values["write-buffer-size"]) // 8)
        for name, most in (("databases", 8), ("replication-num", 4)):
            if int(self.values[name]) > most:
                sys.exit(f"config {name} error, limit {most}, the actual is: {self.values[name]}")
        self.engine = {name: int(self.values[name]) for name in MEMTABLE}
        self.poisoned = False

    def set(self, name: str, text: str) -> None:
        if name not in LIVE:
            raise Refused(f"ERR Unsupported CONFIG parameter: {name}")
        if name in WORDS:
            self._set_word(name, text)
            return
        if not re.fullmatch(r"-?\d+", text) or (name == "maxclients" and int(text) <= 0):
            raise Refused(f"ERR Invalid argument '{text}' for CONFIG SET '{name}'")
        number = int(text)
        if name == "maxclients" and number > MOST_FILES - 5000:
            os.abort()
        if name == "sync-window-size" and not 1 <= number <= 90_000:
            raise Refused(f"ERR Argument exceed range '{text}' for CONFIG SET '{name}'")
        if name in MEMTABLE:
            self.engine[name] = number
            if self.poisoned:
                raise Refused(
                    f"ERR Set {name} wrong: Invalid argument: Unsupport option member: {name.replace('-', '_')}"
                )
        self.poisoned |= name in POISON
        kept = wrapped(number) if number >= 2**31 else number
        self.values[name] = str(min(kept, 1024) if name == "db-sync-speed" else kept)

    def get(self, pattern: str) -> list[str]:
        shown = {**self.values, "maxmemory": self.values["write-buffer-size"]}
        wanted = re.compile(re.escape(pattern).replace(r"\*", ".*"), re.IGNORECASE)
        return [item for name, value in shown.items() if wanted.fullmatch(name) for item in (name, value)]

    @property
    def stalls(self) -> bool:
        """Whether the engine writes a memtable after almost every write."""
        return self.engine["arena-block-size"] > int(self.values["max-write-buffer-size"]) * 7 / 8

    def _set_word(self, name: str, text: str) -> None:
        if DEFAULTS[name] in ("yes", "no") and text not in ("yes", "no"):
            raise Refused(f"ERR invalid {name} (yes or no)")
        self.values[name] = text

    def _said(self) -> dict[str, str]:
        pairs = (line.partition(":") for line in self.file.read_text().splitlines() if not line.startswith("#"))
        return {name.strip(): value.strip() for name, colon, value in pairs if colon}

    def _loaded(self, name: str, text: str) -> str:
        if name in WORDS:
            return ("yes" if text == "yes" else "no") if DEFAULTS[name] in ("yes", "no") else text
        if name == "arena-block-size" and not text:
            return ""
        number = int((re.match(r"-?\d+", text) or re.match("", "0") or ["0"])[0] or 0)
        if name == "max-bytes-for-level-multiplier" and number < 10:
            return "5"
        low, high, instead = BOUNDS.get(name, (None, None, ""))
        if low is None or high is None or low <= number <= high:
            return str(number)
        return instead or str(low if number < low else high)


class Server:
    def __init__(self, file: Path) -> None:
        self.settings = Settings(file)
        self.began_s = time.time()
        self.commands = self.clients = self.opened = 0
        self.values: dict[str, str] = {}
        self.disk = asyncio.Lock()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.clients, self.opened = self.clients + 1, self.opened + 1
        try:
            while words := await self._request(reader):
                self.commands += 1
                try:
                    answer = encoded(await self._answer(words[0].upper(), words[1:]))
                except Refused as refused:
                    answer = f"-{refused}\r\n".encode()
                writer.write(answer)
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            self.clients -= 1
            writer.close()

    async def _request(self, reader: asyncio.StreamReader) -> list[str]:
        head = await reader.readline()
        words = []
        for _ in range(int(head[1:]) if head else 0):
            length = int((await reader.readline())[1:])
            words.append((await reader.readexactly(length + 2))[:-2].decode(errors="replace"))
        return words

    async def _answer(self, command: str, words: list[str]) -> object:
        if command == "SET" and len(words) == 2:
            return await self._set(*words)
        if command == "GET" and len(words) == 1:
            return self.values.get(words[0])
        if command == "CONFIG":
            return self._config(words)
        if command == "INFO":
            return self._info(words[0].lower() if words else "")
        if command == "SLOWLOG" and words:
            return []
        if command == "PING":
            return True
        if command == "ENGINE":
            return [item for name, value in self.settings.engine.items() for item in (name, str(value))]
        raise Refused(f"ERR unknown or unsupported command '{command.lower()}\"")

    async def _set(self, key: str, value: str) -> bool:
        if self.settings.stalls:
            async with self.disk:
                await asyncio.sleep(STALL_S)
        self.values[key] = value
        return True

    def _config(self, words: list[str]) -> object:
        what = words[0].upper() if words else ""
        if what == "GET" and len(words) == 2:
            return self.settings.get(words[1])
        if what == "SET" and words[1:] == ["*"]:
            return sorted(LIVE)
        if what == "SET" and len(words) == 3:
            self.settings.set(words[1], words[2])
            return True
        if what in ("GET", "SET"):
            raise Refused(f"ERR Wrong number of arguments for CONFIG {what.lower()}")
        raise Refused("ERR CONFIG subcommand must be one of GET, SET, RESETSTAT, REWRITE")

    def _info(self, section: str) -> str:
        uptime = int(time.time() - self.began_s)
        sections = {
            "server": f"pika_version:{VERSION}\r\nprocess_id:{os.getpid()}\r\ntcp_port:{self.settings.values['port']}"
            f"\r\nuptime_in_seconds:{uptime}\r\nconfig_file:./{self.settings.file.name}\r\nserver_id:1",
            "data": "db_size:295579\r\nlog_size:4269502\r\ncompression:snappy\r\nused_memory:7312\r\n"
            "db_memtable_usage:7312\r\ndb_tablereader_usage:0\r\ndb_fatal:0",
            "clients": f"connected_clients:{self.clients}",
            "stats": f"total_connections_received:{self.opened}\r\ninstantaneous_ops_per_sec:0\r\n"
            f"total_commands_processed:{self.commands}\r\nis_bgsaving:No\r\nis_compact:No",
            "replication": "role:master\r\nconnected_slaves:0\r\ndb0 binlog_offset=0 69,safety_purge=none",
            "keyspace": "db0 Strings_keys=0, expires=0, invalid_keys=0",
        }
        asked = sections if section in ("", "all") else {section: sections[section]} if section in sections else {}
        return "".join(f"# {name.title()}\r\n{text}\r\n\r\n" for name, text in asked.items())


def encoded(answer: object) -> bytes:
    if answer is True:
        return b"+OK\r\n"
    if answer is None:
        return b"$-1\r\n"
    if isinstance(answer, list):
        return b"*%d\r\n" % len(answer) + b"".join(encoded(item) for item in answer)
    text = str(answer).encode()
    return b"$%d\r\n%s\r\n" % (len(text), text)


async def main(file: Path) -> None:
    os.chdir(file.parent)
    server, stop = Server(file), asyncio.Event()
    pid_file = file.parent / "server.pid"
    pid_file.write_text(f"{os.getpid()}\n")
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    listening = await asyncio.start_server(server.serve, "127.0.0.1", int(server.settings.values["port"]))
    await stop.wait()
    listening.close()
    pid_file.unlink(missing_ok=True)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
