"""A service in a test's own database: the application, clients with tokens, a fake worker, and an agent's reports."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import numpy as np
from fastapi.testclient import TestClient
from lutra_models import serial
from lutra_models.gp.fitted.snapshot import Snapshot
from lutra_models.gp.kernels.covariance import matern52
from lutra_models.gp.space.encoding import Encoding
from lutra_models.gp.surrogate.posterior import GaussianProcess
from lutra_models.gp.surrogate.transforms import Transform
from lutra_models.lifecycle import NOT_COMPUTED
from lutra_models.serial import knob_from_dict
from lutra_models.server import ServerSetting
from lutra_service.app.access.tokens import create_token
from lutra_service.common.settings import Settings
from lutra_service.db.store import Store, UnitOfWork
from lutra_service.workers.maker import MakesWorker
from lutra_service.workers.protocol import opened, sealed

from tests.support.fakes.tasks import Document, Fakes
from tests.support.service.application import application, documented, migrated
from tests.support.service.direct import Direct
from tests.support.waiting import until

MEMORY_BYTES = 8 << 30
LONGEST_S = 60
LONGEST = f"wait={LONGEST_S}"
"""No request waits longer at the service: whoever has to wait on asks again."""
Task = Callable[[Mapping[str, Any]], Document]

POSTGRESQL: dict[str, ServerSetting] = {
    "shared_buffers": ServerSetting("16384", "8kB", "integer", 16, 1073741823, applies="restart"),
    "work_mem": ServerSetting("4096", "kB", "integer", 64, 2147483647),
    "maintenance_work_mem": ServerSetting("65536", "kB", "integer", 1024, 2147483647),
    "max_connections": ServerSetting("100", "", "integer", 1, 262143, applies="restart"),
    "max_wal_size": ServerSetting("1024", "MB", "integer", 2, 2147483647),
    "random_page_cost": ServerSetting("4", "", "real", 0, 1.79769e308),
    "checkpoint_completion_target": ServerSetting("0.9", "", "real", 0, 1),
    "effective_io_concurrency": ServerSetting("1", "", "integer", 0, 1000),
    "synchronous_commit": ServerSetting(
        "on", "", "enum", options=("local", "remote_write", "remote_apply", "on", "off")
    ),
    "fsync": ServerSetting("on", "", "bool"),
    "jit": ServerSetting("on", "", "bool"),
    "max_worker_processes": ServerSetting("8", "", "integer", 0, 262143, applies="restart"),
    "autovacuum_max_workers": ServerSetting("3", "", "integer", 1, 262143, applies="restart"),
}
"""A small PostgreSQL 16: some of its settings, at their defaults."""


def a_model(request: Mapping[str, Any]) -> Document:
    """The smallest model that answers `request`: of one setting, with one row."""
    (knob,) = (k for k in request["history"]["knobs"] if k["name"] == "work_mem")
    encoding = Encoding([knob_from_dict(knob)])
    row = np.full((1, encoding.d), 0.5)
    one, none = np.ones(1), Transform(log=True, shift=6.0, scale=0.1)
    gp = GaussianProcess(row, np.zeros(1), one, matern52(np.ones(encoding.d), 1.0), noise=0.1, transform=none)
    return Snapshot(encoding, {"qps": gp}, np.full(1, 0.5)).to_dict()


class FakeWorker:
    """Runs the fakes' tasks in the test's own process."""

    def __init__(self, fakes: Fakes) -> None:
        self._fakes = fakes

    def start(self) -> None:
        return

    def run(self, task: str, payload: Mapping[str, Any]) -> Document:
        return opened(sealed(lambda: getattr(self._fakes, task)(json.loads(json.dumps(payload)))))

    def pause(self, on: bool) -> None:
        return

    def kill(self) -> None:
        return

    def close(self) -> None:
        return


def fake_executor(fakes: Fakes | None = None) -> MakesWorker:
    return lambda: FakeWorker(fakes or Fakes())


class Api:
    """A client with a bearer token. `take` expects success and gives the JSON answer."""

    def __init__(self, client: httpx.Client, token: str) -> None:
        self.client = client
        self.headers = {"Authorization": f"Bearer {token}"}

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> httpx.Response:
        more = {} if body is None else {"json": body}
        return self.client.request(method, path, headers={**self.headers, **headers}, **more)

    def take(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        response = self.ask(method, path, body, **headers)
        assert response.is_success, f"{method} {path}: {response.status_code} {response.text}"
        return response.json() if response.content else None

    def code(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, str]:
        """Status and code of a refusal."""
        response = self.ask(method, path, body, **headers)
        assert response.headers["content-type"] == "application/problem+json", response.text
        return response.status_code, response.json()["code"]


class Service(Api):
    """The running application as its administrator sees it."""

    def __init__(self, client: httpx.Client, store: Store, token: str) -> None:
        super().__init__(client, token)
        self.store = store

    def as_bearer(self, token: str) -> Api:
        return Api(self.client, token)

    def database(self, name: str = "shop") -> str:
        id_: str = self.take("POST", "/v1/databases", {"name": name, "engine": "postgresql"})["id"]
        return id_

    def agent(self, database: str, **facts: Any) -> Agent:
        body = {"name": "agent", "scopes": ["agent"]}
        token = self.take("POST", f"/v1/databases/{database}/tokens", body)["token"]
        return Agent(self.client, token, database, **facts)

    def until(self, path: str, wanted: Callable[[Document], bool]) -> Document:
        """Ask until it is so; the answer then."""
        found: Document = {}

        def so() -> bool:
            nonlocal found
            found = self.take("GET", path)
            return wanted(found)

        until(so)
        return found

    def recommended(self, database: str) -> Document:
        """What the session's operator is given who asks for the next one and waits until it is computed."""
        made: Document = self.take("POST", f"/v1/databases/{database}/recommendations", Prefer=LONGEST)
        if made["state"] not in NOT_COMPUTED:
            return made
        return self.until(f"/v1/recommendations/{made['id']}", lambda r: r["state"] not in NOT_COMPUTED)

    def next_directive(self, agent: Agent, session: str) -> Document | None:
        """What `agent` is given next; None once the session at this path runs no longer."""
        given: Document | None = None

        def so() -> bool:
            nonlocal given
            if self.take("GET", session)["state"] != "running":
                return True
            given = agent.directive(wait=1)
            return given is not None

        until(so)
        return given


class Agent(Api):
    """An agent as the service sees one: numbered reports, directives carried out on a server that is a dictionary."""

    def __init__(
        self, client: httpx.Client, token: str, database: str, mode: str = "lab", epoch: str = "epoch1"
    ) -> None:
        super().__init__(client, token)
        self.database = database
        self.name = "agent1"
        self.mode = mode
        self.epoch = epoch
        self.sequence = 0
        self.settings = dict(POSTGRESQL)
        self.facts: Document = {}
        self.clock = datetime.now(UTC)
        self.brief = False
        self.told: set[str] = set()

    def report(self, **parts: Any) -> Document:
        """The next report's body."""
        self.sequence += 1
        self.clock += timedelta(seconds=10)
        settings = serial.settings_to_dict(self.settings)
        values = {n: s["value"] for n, s in settings.items()}
        return {
            "agent": self.name,
            "epoch": self.epoch,
            "sequence": self.sequence,
            "sent_at": self.clock.isoformat(),
            "engine": "postgresql",
            "engine_version": "16.4",
            "host": {"memory_bytes": MEMORY_BYTES, "cores": 4},
            "settings_hash": f"h{abs(hash(tuple(values.items()))):x}",
            "settings": settings,
            "status": {"mode": self.mode},
            **self.facts,
            **parts,
        }

    def observe(self, windows: int = 3, **metrics: float) -> None:
        """So many windows of the settings of now, the last of which ends about now."""
        self.clock -= timedelta(seconds=10 * windows)
        for _ in range(windows):
            self.send(self.report(**self.window(**{"p99_ms": 12.0, "qps": 900.0, **metrics})))

    def window(self, **metrics: float) -> Document:
        """Parts of a report that hold a window of the last ten seconds."""
        end = self.clock + timedelta(seconds=9)
        told: Document = {"window": {"start": (end - timedelta(seconds=9)).isoformat(), "end": end.isoformat()}}
        told["metrics"] = metrics
        if "p99_ms" in metrics:
            told |= {"p99_source": "driver", "p99_of": "transaction"}
        return told

    def send(self, body: Document | None = None, packed: bool = False) -> Document:
        path = f"/v1/databases/{self.database}/reports"
        body = body or self.report()
        if self.brief and body["settings_hash"] in self.told:  # a real agent sends its settings once
            del body["settings"]
        self.told.add(body["settings_hash"])
        if not packed:
            answer: Document = self.take("POST", path, body)
            return answer
        headers = {**self.headers, "Content-Encoding": "gzip", "Content-Type": "application/json"}
        response = self.client.post(path, content=gzip.compress(json.dumps(body).encode()), headers=headers)
        assert response.is_success, response.text
        unpacked: Document = response.json()
        return unpacked

    def directive(self, wait: int = 0) -> Document | None:
        path = f"/v1/databases/{self.database}/directive?agent={self.name}&epoch={self.epoch}"
        found: Document | None = self.take("GET", path, None, Prefer=f"wait={wait}")
        return found

    def next_directive(self) -> Document:
        """The one that comes, sooner or later."""
        found = until(lambda: self.directive(wait=10))
        assert found is not None
        return found

    def carry_out(self, directive: Document, **metrics: float) -> Document:
        """Apply it, measure, and report both at once, as an agent in lab mode does."""
        self.apply(directive["settings"])
        outcome = self.outcome(directive, "applied")
        metrics = metrics or {"qps": 1000.0, "tps": 200.0, "p99_ms": 12.0}
        return self.send(self.report(outcomes=[outcome], measures=directive["id"], **self.window(**metrics)))

    def apply(self, settings: Mapping[str, Any]) -> None:
        for name, value in settings.items():
            old = self.settings[name]
            if old.value != str(value):
                self.settings[name] = ServerSetting(**{**vars(old), "value": str(value), "persisted": str(value)})

    def outcome(self, directive: Document, state: str, **more: Any) -> Document:
        return {"directive": directive["id"], "state": state, "at": self.clock.isoformat(), **more}


def approved(service: Service, agent: Agent, **settings: object) -> Document:
    path = f"/v1/databases/{agent.database}/recommendations"
    made: Document = service.take("POST", path, {"settings": settings, "approve": True})
    return made


def applied(service: Service, agent: Agent) -> Document:
    """A change of work_mem that the agent has carried out provisionally."""
    agent.mode = "reload_only"
    agent.send()
    made = approved(service, agent, work_mem="8MB")
    directive = agent.directive()
    assert directive is not None
    agent.apply(directive["settings"])
    confirm_by = (agent.clock + timedelta(minutes=15)).isoformat()
    agent.send(agent.report(outcomes=[agent.outcome(directive, "applied", confirm_by=confirm_by)]))
    agent.clock += timedelta(seconds=60)
    return made


def guard_event(agent: Agent, made: Document | None = None, identifier: str = "ev_1") -> Document:
    return {
        "id": identifier,
        "guard": "p99",
        "metric": "p99_ms@histogram",
        "value": 60.0,
        "bound": 25.0,
        "limit": 2.0,
        "baseline": 12.5,
        "held_s": 30.0,
        "hold_s": 30.0,
        "since": agent.clock.isoformat(),
        "at": agent.clock.isoformat(),
        "directive": made and made["id"],
        "message": "p99: p99_ms@histogram is 60 for 30 s, bound 25, 12.5 before",
    }


def look(service: Service, made: Document) -> Document:
    found: Document = service.take("GET", f"/v1/recommendations/{made['id']}")
    return found


def some_minutes_later(service: Service, made: Document, minutes: int = 5) -> None:
    """As if all that happened to this recommendation had happened so long ago."""
    row, passed = service.store.read(lambda u: u.recommendations.get(made["id"])), timedelta(minutes=minutes)
    parts = {"decision": ("expires_at",), "delivery": ("handed_out_at", "withdrawn_at")}
    known = [(getattr(row, part), name) for part, names in parts.items() for name in names]
    moments = {name: getattr(part, name) for part, name in known if part is not None}
    happened(service, row.id, **{name: at - passed for name, at in moments.items() if at is not None})


def happened(service: Service, id_: str, **moments: datetime) -> None:
    """As if these moments of a recommendation had been others, each in the part that it belongs to."""

    def rewrite(unit: UnitOfWork) -> None:
        row = unit.recommendations.get(id_)
        for name in ("request", "decision", "delivery"):
            part = getattr(row, name)
            own = {n: at for n, at in moments.items() if hasattr(part, n)}
            if own:
                unit.recommendations.change(id_, **{name: replace(part, **own)})

    service.store.write(rewrite)


def silent_for(service: Service, agent: Agent, minutes: int = 5) -> None:
    """As if this agent's last report had come so long ago."""

    def earlier(unit: UnitOfWork) -> None:
        c = unit.reports.table.c
        of_agent = (c.database_id == agent.database, c.agent == agent.name, c.epoch == agent.epoch)
        last = unit.reports._one(*of_agent, c.sequence == agent.sequence)
        assert last is not None
        unit.reports.replace(last.id, received_at=last.received_at - timedelta(minutes=minutes))
        known = unit.databases.get(agent.database).last_report_at
        unit.databases.change(agent.database, last_report_at=known and known - timedelta(minutes=minutes))

    service.store.write(earlier)


@contextmanager
def running(
    directory: Path, url: str | None = None, executor: MakesWorker | None = None, **settings: Any
) -> Iterator[Service]:
    """The application over `url`, where the migrations have been, or over a file of its own in `directory`."""
    url = url or migrated(directory)
    made = Settings(database_url=url, **{"sweep_s": 0.2, **settings})
    app = application(made, executor or fake_executor())
    store: Store = app.state.store
    _, secret = store.write(lambda unit: create_token(unit, "test", ["admin"]))
    with TestClient(app) as started, Direct(started) as client:
        client.event_hooks["response"].append(documented().check)
        yield Service(client, store, secret)
    # FastAPI remembers functions of every application, and through them all of it: hundreds slow a collection down.
    vars(app).clear()
