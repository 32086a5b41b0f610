"""A file of measurements made a past workload: a completed session of a database of its own, and its fitted model.

What later sessions lean on sees it as any other past session. How it is stored is told in this module alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from lutra_models import __version__, serial
from lutra_models.catalog import LiveSettings, meet, of_engine
from lutra_models.digest import fingerprint
from lutra_models.errors import NotEnoughObservations
from lutra_models.history import History, Observation
from lutra_models.knobs import Choice, Knob, KnobSpace, Value
from lutra_models.lifecycle import Origin, SessionState
from lutra_models.lifecycle import RecommendationKind as Kind
from lutra_models.lifecycle import RecommendationState as State
from lutra_models.metrics import Objective
from lutra_models.server import Host, Policy, Server, ServerSetting

from lutra_service.app.access import audit
from lutra_service.app.access.quota import verify_size
from lutra_service.app.databases.registration import register
from lutra_service.app.errors import InvalidRequest
from lutra_service.app.memory import learned
from lutra_service.common.documents import Document
from lutra_service.common.ids import new_id
from lutra_service.common.limits import REPORT_BYTES
from lutra_service.db.schema.records import Recommendation, Session, Snapshot, StoredReport
from lutra_service.db.store import UnitOfWork

MODELLED = 200
"""Rows that the model is fitted to, spread over what was measured: more take the cube of their number in time."""
MOST = 2000
"""Rows that are kept, as the retention keeps so many recommendations of a database."""
LEAST = 3
AGENT = "import"


@dataclass(frozen=True)
class Workload:
    """Measurements of one server under one load. `source` says where they come from, for people.

    Raises NotEnoughObservations, and InvalidRequest or InvalidReport for more than is kept of any database.
    """

    name: str
    source: str
    live: LiveSettings
    objective: Objective
    observations: Sequence[Observation]
    label: str | None = None

    def __post_init__(self) -> None:
        measured = sum(o.completed for o in self.observations)
        if measured < LEAST:
            raise NotEnoughObservations(f"{self.source}: {measured} rows measured {self.objective.metric}, of {LEAST}")
        if len(self.observations) > MOST:
            raise InvalidRequest(
                f"{self.source} has {len(self.observations):,} rows, and {MOST:,} are kept: --sample {MOST} takes so "
                "many, spread over what was measured"
            )
        for observation in self.observations:
            told = {"configuration": dict(observation.configuration), "metrics": dict(observation.metrics)}
            verify_size(f"{self.source}: a row", told, REPORT_BYTES)

    @property
    def names(self) -> frozenset[str]:
        return frozenset(self.observations[0].configuration)

    @property
    def policy(self) -> Policy:
        return Policy(movable=self.names, durability=True, memory_fraction=1.0)

    @property
    def server(self) -> Server:
        """The server as its first row that measured something found it."""
        first = next(o for o in self.observations if o.completed).configuration
        reported = self.live.server.settings
        told = {n: replace(reported[n], value=str(first[n]), persisted=str(first[n])) for n in first}
        return replace(self.live.server, settings=told)

    @property
    def context(self) -> dict[str, Value]:
        return self.server.circumstances


def unread_server(engine: str, version: str, host: Host, names: Iterable[str] | None = None) -> LiveSettings:
    """A server of which only its version and host are known, with every setting that its catalogue has.

    Raises NotFound for an engine without a catalogue, InvalidConfiguration for a version that is none.
    """
    rows = [row for catalog in of_engine(engine) for row in catalog.rows_for(version)]
    settings = {
        row.name: ServerSetting("", row.unit, row.kind, options=(*row.options, *row.legal), applies=row.applies)
        for row in rows
        if names is None or row.name in names
    }
    return meet(Server(engine, version, settings, host))


def sampled(observations: Sequence[Observation], objective: Objective, most: int) -> list[Observation]:
    """At most `most` of them in their order: the first, and the rest spread evenly from the worst to the best."""
    if len(observations) <= most:
        return list(observations)
    ranked = sorted(
        range(1, len(observations)),
        key=lambda n: (observations[n].completed, observations[n].metrics.get(objective.metric, 0.0)),
    )
    step = (len(ranked) - 1) / max(most - 2, 1)
    return [observations[n] for n in sorted({0, *(ranked[round(i * step)] for i in range(most - 1))})]


def question(workload: Workload) -> Document:
    """What a worker is asked to fit."""
    return learned.request(serial.history_to_dict(history(workload, workload.context)))


def history(workload: Workload, context: Mapping[str, Value]) -> History:
    """What its model is fitted to. A setting's range holds all that was measured, as nothing is proposed from it."""
    seen = sampled(workload.observations, workload.objective, MODELLED)
    live = meet(workload.server)
    knobs = [_holding(knob, [o.configuration[knob.name] for o in seen]) for knob in live.space(workload.policy)]
    return History(KnobSpace(knobs), workload.objective, observations=seen, current=live.values, context=context)


def _holding(knob: Knob, values: Iterable[Value]) -> Knob:
    domain = knob.domain
    if isinstance(domain, Choice):
        return knob
    apart = domain.special
    numbers = [v for v in values if not isinstance(v, str) and v not in apart and not (domain.log and v <= 0)]
    low, high = min([domain.low, *numbers]), max([domain.high, *numbers])
    if (low, high) == (domain.low, domain.high):
        return knob
    return replace(knob, domain=replace(domain, low=low, high=high, step=1, serves=(domain.low, domain.high)))


def keep(unit: UnitOfWork, workload: Workload, model: Document, lesson: Document) -> Session:
    """Store all of it, or nothing, with the model that was fitted and what it says in short.

    Raises Conflict where the database's name is taken.
    """
    policy = serial.policy_to_dict(workload.policy)
    database = register(unit, workload.name, workload.server.engine, policy, workload.label)
    server = workload.server
    settings = serial.settings_to_dict(server.settings)
    unit.databases.add_settings(database.id, server.settings_hash, settings, {}, unit.now)
    facts: Document = {"memory_bytes": server.host.memory_bytes, "cores": server.host.cores}
    unit.databases.change(
        database.id, engine_version=server.version, role=server.role, host=facts, settings_hash=server.settings_hash
    )
    session = _session(unit, workload, database.id)
    unit.sessions.add(session)
    for number, observation in enumerate(workload.observations, 1):
        _keep_observation(unit, session, server.settings_hash, number, observation, len(workload.observations))
    id_ = unit.new_id("snap")
    unit.snapshots.add(Snapshot(id_, database.id, session.id, session.id, lesson["observations"], model, unit.now))
    learned.of_session(unit, session, database, lesson, id_)
    told = {"source": workload.source, "observations": len(workload.observations), "settings": sorted(workload.names)}
    audit.record(unit, "workload.import", session.id, None, told, database_id=database.id)
    return session


def _session(unit: UnitOfWork, workload: Workload, database_id: str) -> Session:
    return Session(
        id=unit.new_id("ts"),
        database_id=database_id,
        state=SessionState.COMPLETED,
        objective=workload.objective,
        limits=(),
        mode="lab",
        approval="automatic",
        max_trials=len(workload.observations),
        seed=0,
        baseline=dict(meet(workload.server).values),
        created_at=unit.now,
        ended_at=unit.now,
        message=f"imported from {workload.source}"[:1000],
        verification_rounds=0,
    )


def _keep_observation(
    unit: UnitOfWork, session: Session, settings_hash: str, number: int, observation: Observation, count: int
) -> None:
    """As a trial and its window. A file tells no times: windows of a second each end where the import begins."""
    end = unit.now - timedelta(seconds=count - number)
    trial = _trial(session, number, observation, end, unit.now)
    unit.recommendations.add(trial)
    unit.reports.add(
        StoredReport(
            database_id=session.database_id,
            session_id=session.id,
            recommendation_id=trial.id,
            agent=AGENT,
            epoch=session.id,
            sequence=number,
            sent_at=unit.now,
            received_at=unit.now,
            settings_hash=settings_hash,
            configuration=dict(observation.configuration),
            metrics=dict(observation.metrics),
            context={},
            outcomes=[],
            window_start=end - timedelta(seconds=1) if observation.completed else None,
            window_end=end if observation.completed else None,
            failure=observation.failure,
        )
    )


def _trial(session: Session, number: int, observation: Observation, at: datetime, now: datetime) -> Recommendation:
    measured = observation.completed
    return Recommendation(
        id=new_id("rec", at),  # ids are in the order of their moments
        database_id=session.database_id,
        session_id=session.id,
        kind=Kind.SEARCH,
        origin=Origin.MANUAL,
        trial=number,
        state=State.CONFIRMED if measured else State.FAILED,
        measured=dict(observation.metrics) if measured else None,
        error=observation.failure,
        key=fingerprint([session.id, number]),
        seed=0,
        package_version=__version__,
        before={},
        configuration=dict(observation.configuration),
        created_at=at,
        decided_at=now,
        ended_at=now,
    )
