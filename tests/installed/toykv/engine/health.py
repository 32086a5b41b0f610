from __future__ import annotations

from pathlib import Path

from lutra_agent.engines.common.health import ServerIdentity

from toykv.engine.client import Client


class ToykvHealth:
    programs: tuple[str, ...] = ("toykvd.py",)

    def __init__(self, client: Client) -> None:
        self._client = client

    def ping(self) -> None:
        self._client.ask("PING")

    def started(self) -> str:
        return self._client.pairs("STATS")["started"]

    def identity(self) -> ServerIdentity:
        facts = self._client.pairs("STATS")
        return ServerIdentity(facts["version"], "primary", facts["name"])

    def process_id(self) -> int | None:
        return int(self._client.pairs("STATS")["pid"])

    def data_dir(self) -> Path | None:
        return Path(self._client.pairs("STATS")["data"])

    def close(self) -> None:
        self._client.close()
