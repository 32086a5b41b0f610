from __future__ import annotations

from pathlib import Path

from lutra_agent.engines.common.health import ServerIdentity, Traces, shut_down_by
from lutra_agent.engines.common.place import Place, Told, inode_of, place_of

from toykv.engine.client import Client


class ToykvHealth:
    programs: tuple[str, ...] = ("toykvd.py",)
    managers: tuple[str, ...] = ()

    def __init__(self, client: Client) -> None:
        self._client = client

    def ping(self) -> None:
        self._client.ask("PING")

    def started(self) -> str:
        return self._client.pairs("STATS")["started"]

    def identity(self) -> ServerIdentity:
        facts = self._client.pairs("STATS")
        return ServerIdentity(facts["version"], "primary", facts["name"])

    def place(self) -> Place:
        facts = self._client.pairs("STATS")
        return place_of(Told(self.programs, self._client.peer(), int(facts["pid"]), folder=Path(facts["data"])))

    def name_in(self, folder: Path) -> str:
        return inode_of(folder)

    def traces(self) -> Traces:
        return Traces((Path(self._client.pairs("STATS")["data"]).with_name("server.pid"),))

    def was_shut_down(self, traces: Traces) -> bool | None:
        return shut_down_by(traces)

    def close(self) -> None:
        self._client.close()
