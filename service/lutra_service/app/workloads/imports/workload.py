"""A past workload from a file of measurements: a completed session of a separate database, and its fitted model.

Later sessions learn from an imported workload as from any past session. Its storage is defined only in this module.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property

from lutra_models import __version__, serial
from lutra_models.catalog import LiveSettings, meet, of_engine
from lutra_models.catalog.rows import KnobRow
from lutra_models.digest import fingerprint
from lutra_models.errors import Failure, NotEnoughObservations
from lutra_models.history import CIRCUMSTANCE, History, Observation, same_context
from lutra_models.knobs import Choice, Configuration, Knob, KnobSpace, Value
from lutra_models.lifecycle import Origin, SessionState
from lutra_models.lifecycle import RecommendationKind as Kind
from lutra_models.lifecycle import RecommendationState as State
from lutra_models.metrics import Objective
from lutra_models.server import LARGEST_BYTES, Host, Policy, Server, ServerSetting

from lutra_service.app.access import audit
from lutra_service.app.access.quota import verify_size
from lutra_service.app.databases.registration import register
from lutra_service.app.errors import InvalidRequest
from lutra_service.app.workloads import lessons
from lutra_service.app.workloads.imports.exported import FACTS
from lutra_service.app.workloads.imports.mapping import Fates
from lutra_service.common.documents import Document
from lutra_service.common.ids import new_id
from lutra_service.common.limits import REPORT_BYTES
from lutra_service.db.schema.recommendation import Decision, Measurement, Proposal, Recommendation, Request
from lutra_service.db.schema.records import Session, Snapshot, StoredReport
from lutra_service.db.store import UnitOfWork

MODELLED = 200
"""The number of rows to which the model is fitted, spread over the readings: the time grows with the cube of the
number.
"""
MOST = 2000
"""The number of rows that are kept: the number of recommendations that the retention keeps for a database."""
LEAST = 3
MOST_OPTIONS = 12
"""The maximum number of texts of a circumstance: more of them only name the row, and give no information about the next
one.
"""
LEAST_VALUE = -1
"""For a setting whose catalogue does not give the server's range: -1 means automatic, and smaller values do not exist.
"""
AGENT = "import"


@dataclass(frozen=True)
class Workload:
    """Measurements of one kind of server under one load. `source` is their source, for people.

    An observation has all of its settings and, as its context, all its known circumstances. A varying setting that may
    move is learned as a setting. A varying setting or circumstance that cannot move here is a covariate of the model.
    Raises NotEnoughObservations, and InvalidRequest or InvalidReport for more than the limits of a database, for rows
    that teach nothing, and for a goal against its metric's direction.
    """

    name: str
    source: str
    live: LiveSettings
    objective: Objective
    observations: Sequence[Observation]
    label: str | None = None

    def __post_init__(self) -> None:
        measured = sum(o.completed for o in self.observations)
        if self.objective.refusal is not None:
            raise InvalidRequest(self.objective.refusal)
        if measured < LEAST:
            raise NotEnoughObservations(
                f"{self.source}: at least {LEAST} rows that measured {self.objective.metric} are required, "
                f"got {measured}"
            )
        if not self.varying:
            raise InvalidRequest(
                f"{self.source}: every setting has the same value in all rows, so nothing can be learned"
            )
        if len(self.observations) > MOST:
            raise InvalidRequest(
                f"{self.source} has {len(self.observations):,} rows, and {MOST:,} are kept: --sample {MOST} takes so "
                "many, spread over what was measured"
            )
        for observation in self.observations:
            told = {n: dict(getattr(observation, n) or {}) for n in ("configuration", "metrics", "context")}
            verify_size(f"{self.source}: a row", told, REPORT_BYTES)

    @property
    def names(self) -> frozenset[str]:
        return frozenset(self.observations[0].configuration)

    @cached_property
    def varying(self) -> frozenset[str]:
        """The settings that have more than one value."""
        first, *others = (o.configuration for o in self.observations)
        return frozenset(n for n, value in first.items() if any(c[n] != value for c in others))

    @property
    def policy(self) -> Policy:
        return Policy(movable=self.varying, durability=True, memory_fraction=1.0)

    @cached_property
    def knobs(self) -> tuple[Knob, ...]:
        """The settings that vary and may move.

        Raises InvalidConfiguration if there is none.
        """
        return tuple(meet(self.server).space(self.policy))

    @cached_property
    def covariates(self) -> tuple[Knob, ...]:
        """The settings that vary and cannot move, and the circumstances that vary, as `context.cores`."""
        rows = [o.configuration for o in self.observations]
        fixed = [n for n in rows[0] if n in self.varying - {k.name for k in self.knobs}]
        settings = [Knob.covariate(n, [c[n] for c in rows]) for n in fixed]
        values = {n: [c[n] for c in self._contexts] for n in self._contexts[0]}
        others = [n for n, seen in values.items() if not _same(seen) and not _too_many(seen)]
        return (*settings, *(Knob.covariate(CIRCUMSTANCE + n, values[n]) for n in others))

    @cached_property
    def constant(self) -> dict[str, Value]:
        """The circumstances that are the same in every row, with the value of the first row."""
        return {n: v for n, v in self._contexts[0].items() if _same([c[n] for c in self._contexts])}

    @property
    def load(self) -> dict[str, Value]:
        """The circumstances that are not facts of the server."""
        return {n: v for n, v in self.constant.items() if n not in FACTS}

    @cached_property
    def _contexts(self) -> list[Mapping[str, Value]]:
        return [o.context or {} for o in self.observations]

    def fates(self, ignored: Mapping[str, str]) -> Fates:
        """The use of each column; `ignored` are those that were not read, each with the reason."""
        moved, fixed = (tuple(k.name for k in knobs) for knobs in (self.knobs, self.covariates))
        constant = (*sorted(self.names - self.varying), *self.constant)
        metrics = dict.fromkeys(m for o in self.observations for m in (*o.metrics, *o.bounds))
        texts = [n for n in self._contexts[0] if n not in self.constant and CIRCUMSTANCE + n not in fixed]
        left = dict.fromkeys(texts, f"a text of more than {MOST_OPTIONS} values")
        return Fates(moved, fixed, constant, tuple(metrics), {**ignored, **left})

    @property
    def server(self) -> Server:
        """The server as in the first row with a measurement."""
        first = next(o for o in self.observations if o.completed).configuration
        reported = self.live.server.settings
        told = {n: replace(reported[n], value=str(first[n]), persisted=str(first[n])) for n in first}
        return replace(self.live.server, settings=told)

    @property
    def count(self) -> str:
        """Its size, for people."""
        failed = sum(not o.completed for o in self.observations)
        learned = f"{len(self.knobs)} settings and {len(self.covariates)} covariates"
        return f"{len(self.observations):,} observations of {learned}, {failed:,} of them failures"

    @property
    def context(self) -> dict[str, Value]:
        """The circumstances that all rows have in common."""
        return {**self.server.circumstances, **self.load}

    def under(self, observation: Observation) -> dict[str, Value]:
        """An observation's own circumstances, in addition to the common ones."""
        fixed = {k.name for k in self.covariates}
        return {n: v for n, v in (observation.context or {}).items() if n in self.load or CIRCUMSTANCE + n in fixed}


def unread_server(engine: str, version: str, host: Host, names: Iterable[str] | None = None) -> LiveSettings:
    """A server of which only its version and host are known, with every setting that its catalogue has.

    Raises NotFound for an engine without a catalogue, InvalidConfiguration for an invalid version.
    """
    rows = [row for catalog in of_engine(engine) for row in catalog.rows_for(version)]
    settings = {row.name: _unread(row) for row in rows if names is None or row.name in names}
    return meet(Server(engine, version, settings, host))


def _unread(row: KnobRow) -> ServerSetting:
    low, high = row.takes or (LEAST_VALUE, LARGEST_BYTES)
    return ServerSetting("", row.unit, row.kind, low, high, (*row.options, *row.legal), row.applies)


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
    """The worker's input for the fit."""
    return lessons.request(serial.history_to_dict(history(workload, workload.context)))


def history(workload: Workload, context: Mapping[str, Value]) -> History:
    """The history to which its model is fitted. A setting's range includes all measured values, because nothing is
    proposed from it.
    """
    seen = sampled(workload.observations, workload.objective, MODELLED)
    knobs = [_holding(knob, [o.configuration[knob.name] for o in seen]) for knob in workload.knobs]
    rows = [replace(o, configuration=_beside(o), context=None) for o in seen]
    current = _beside(next(o for o in workload.observations if o.completed))
    space = KnobSpace([*knobs, *workload.covariates])
    return History(space, workload.objective, observations=rows, current=current, context=context)


def _beside(observation: Observation) -> Configuration:
    """Its settings, and beside them its circumstances."""
    return observation.configuration.replace({CIRCUMSTANCE + n: v for n, v in (observation.context or {}).items()})


def _same(values: Sequence[Value]) -> bool:
    """A measured load never repeats exactly."""
    return all(same_context({"": values[0]}, {"": value}) for value in values)


def _too_many(values: Iterable[Value]) -> bool:
    return len({v for v in values if isinstance(v, str)}) > MOST_OPTIONS


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


def keep(unit: UnitOfWork, workload: Workload, model: Document, lesson: Document, fates: Fates) -> Session:
    """Store all of it, or nothing, with the fitted model, its summary, and its input.

    Raises Conflict if the database's name is taken.
    """
    policy = serial.policy_to_dict(workload.policy)
    database = register(unit, workload.name, workload.server.engine, policy, workload.label)
    server = workload.server
    settings = serial.settings_to_dict(server.settings)
    unit.databases.add_settings(database.id, server.settings_hash, settings, {}, unit.now)
    facts: Document = {"memory_bytes": server.host.memory_bytes, "cores": server.host.cores}
    unit.databases.change(
        database.id,
        engine_version=server.version,
        role=server.role,
        host=facts,
        context=workload.load,
        settings_hash=server.settings_hash,
    )
    session = _session(unit, workload, database.id, fates)
    unit.sessions.add(session)
    for number, observation in enumerate(workload.observations, 1):
        _keep_observation(unit, session, workload, number, observation)
    id_ = unit.new_id("snap")
    unit.snapshots.add(Snapshot(id_, database.id, session.id, session.id, lesson["observations"], model, unit.now))
    lessons.of_session(unit, session, database, lesson, id_)
    told = {
        "source": workload.source,
        "observations": len(workload.observations),
        "settings": sorted(workload.names),
        "covariates": list(fates.covariates),
    }
    audit.record(unit, "workload.import", session.id, None, told, database_id=database.id)
    return session


def _session(unit: UnitOfWork, workload: Workload, database_id: str, fates: Fates) -> Session:
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
        message=f"imported from {workload.source}: {fates.sentence}"[:1000],
        verification_rounds=0,
        exploration=0,
    )


def _keep_observation(
    unit: UnitOfWork, session: Session, workload: Workload, number: int, observation: Observation
) -> None:
    """As a trial and its window. A file tells no times: windows of a second each end where the import begins."""
    end = unit.now - timedelta(seconds=len(workload.observations) - number)
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
            settings_hash=workload.server.settings_hash,
            configuration=dict(observation.configuration),
            metrics=dict(observation.metrics),
            context=workload.under(observation),
            outcomes=[],
            window_start=end - timedelta(seconds=1) if observation.completed else None,
            window_end=end if observation.completed else None,
            failure=observation.failure,
            ended_early=_ended_early(observation),
        )
    )


def _ended_early(observation: Observation) -> Document | None:
    """The bound of a window of a second, as all of them are here."""
    found = next(iter(observation.bounds.items()), None)
    return None if found is None else {"metric": found[0], "bound": found[1], "planned_s": 1.0}


def _trial(session: Session, number: int, observation: Observation, at: datetime, now: datetime) -> Recommendation:
    measured = observation.completed
    return Recommendation(
        id=new_id("rec", at),  # ids are in the order of their moments
        database_id=session.database_id,
        session_id=session.id,
        kind=Kind.SEARCH,
        state=State.CONFIRMED if measured else State.FAILED,
        trial=number,
        request=Request(fingerprint([session.id, number]), 0, __version__, {}, at),
        proposal=Proposal(dict(observation.configuration), Origin.MANUAL),
        decision=Decision(now),
        measurement=Measurement(dict(observation.metrics)) if measured else None,
        failure=None if observation.failure is None else Failure.told(observation.failure),
        ended_at=now,
    )
