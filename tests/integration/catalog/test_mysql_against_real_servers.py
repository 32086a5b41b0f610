"""Every row of the MySQL family held against what real servers make of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pytest
from lutra_lab.servers.base import Session
from lutra_lab.servers.errors import LabError
from lutra_lab.servers.mysqld import ScratchMysqld
from lutra_models.catalog import ChangeSteps, load, meet
from lutra_models.catalog.statements import Step, to_paste
from lutra_models.knobs import Knob, Number, Value
from lutra_models.server import Host, Policy, Server, ServerSetting

from tests.support.servers.engines import MYSQLDS, missing, scratch
from tests.support.waiting import until

SLOW_TO_MOVE = {"innodb_redo_log_capacity": 256 << 20, "innodb_log_file_size": 128 << 20}
"""Changing these rewrites files: one value does."""
ONE_WAY = frozenset({"innodb_log_file_buffering"})
"""Back to off only by a restart on some file systems; not searched by itself."""

pytestmark = [pytest.mark.engine, pytest.mark.slow]


@pytest.fixture(scope="module", params=MYSQLDS)
def server(request: pytest.FixtureRequest) -> Iterator[ScratchMysqld]:
    with scratch(request.param) as made:
        yield made


def facts_of(server: ScratchMysqld) -> Server:
    """The server's variables with the catalogue's word for what they are."""
    lines = (line.partition("|") for line in server.sql("SHOW GLOBAL VARIABLES").split("\n"))
    live = {name: value for name, _, value in lines}
    rows = {r.name: r for r in load(server.engine).rows_for(server.version)}
    settings = {n: ServerSetting(live[n], r.unit, r.kind, applies=r.applies) for n, r in rows.items() if n in live}
    return Server(server.engine, server.version, settings, Host(4 << 30, 4, 100 << 30, False))


def values_of(knob: Knob) -> list[Value]:
    domain = knob.domain
    if not isinstance(domain, Number):
        return list(domain.options)
    if knob.name in SLOW_TO_MOVE:
        return [SLOW_TO_MOVE[knob.name]]
    odd = [domain.clip(domain.low + (domain.high - domain.low) * share) for share in (0.137, 0.613)]
    return [domain.low, domain.high, *domain.special, *odd]


def carry_out(run: Session, steps: Sequence[Step]) -> None:
    for step in steps:
        if not step.file:
            run(step.text)
    if any(s.setting == "innodb_buffer_pool_size" for s in steps):
        _resized(run)


def _resized(run: Session) -> None:
    """The buffer pool grows and shrinks in the background."""
    over = ("", *(f"Innodb_buffer_pool_resize_status_code|{code}" for code in "07"))  # complete, failed
    until(lambda: run("SHOW STATUS LIKE 'Innodb_buffer_pool_resize_status_code'") in over)


def active(run: Session, facts: Server, name: str) -> Value:
    text = run(f"SHOW GLOBAL VARIABLES LIKE '{name}'").partition("|")[2]
    return meet(facts).parse(name, text)


def test_the_server_has_every_row_of_its_version_but_those_of_a_plugin(server: ScratchMysqld) -> None:
    facts = facts_of(server)
    missing = {r.name for r in load(server.engine).rows_for(facts.version)} - set(facts.settings)
    assert {n for n in missing if not n.startswith(("rocksdb_", "rpl_semi_sync_", "server_audit_"))} == set()


def test_what_is_said_to_need_a_restart_is_read_only_and_the_rest_is_not(server: ScratchMysqld) -> None:
    with server.session() as run:
        assert [w for name, s in facts_of(server).settings.items() if (w := _wrongly_described(run, name, s))] == []


def _wrongly_described(run: Session, name: str, setting: ServerSetting) -> tuple[str, str] | None:
    """The setting and what is wrong with how it is said to change."""
    if setting.applies == "fixed":
        return None
    # Set to what it is: only a read-only variable objects.
    bare = setting.value.replace(".", "").isdigit()
    value = setting.value if bare else f"'{setting.value}'"
    refusal = _refusal(run, f"SET GLOBAL {name} = {value}")
    if refusal is not None and "read only" not in refusal:
        return name, refusal
    return None if (refusal is not None) == (setting.applies == "restart") else (name, setting.applies)


def test_every_value_that_may_be_proposed_at_once_is_read_back_equal_and_undone(server: ScratchMysqld) -> None:
    facts, different = facts_of(server), []
    space = meet(facts).space(Policy(movable=frozenset(facts.settings), durability=True, restart=False))
    with server.session() as run:
        for knob in space:
            if knob.name in ONE_WAY or knob.name.startswith("innodb_io_capacity"):
                continue
            for value in values_of(knob):
                for made in steps_to(facts, {knob.name: value}):
                    different += _wrong(run, facts, made)
    assert different == []


def steps_to(facts: Server, target: Mapping[str, Value]) -> tuple[ChangeSteps, ...]:
    live = meet(facts)
    return live.steps(live.changes(target))


def _wrong(run: Session, facts: Server, made: ChangeSteps) -> list[tuple[str, Value, Value]]:
    """What is otherwise active than the change says, once it is made and once it is undone."""
    wrong, change = [], made.change
    for told, steps, meant in (("", made.do, change.after), ("undo of ", made.undo, change.before)):
        carry_out(run, steps)
        found = active(run, facts, change.name)
        if found != meant:
            wrong.append((f"{told}{change.name}", meant, found))
    return wrong


@pytest.mark.parametrize(("capacity", "most"), [(60000, 70000), (150, 200), (5000, 70000)])
def test_a_limit_and_what_it_limits_arrive_together_and_go_back(
    server: ScratchMysqld, capacity: int, most: int
) -> None:
    facts = facts_of(server)
    made = steps_to(facts, {"innodb_io_capacity": capacity, "innodb_io_capacity_max": most})
    changes = [m.change for m in made]
    with server.session() as run:
        for one in made:
            carry_out(run, one.do)
        assert {c.name: active(run, facts, c.name) for c in changes} == {c.name: c.after for c in changes}
        for one in reversed(made):
            carry_out(run, one.undo)
        assert {c.name: active(run, facts, c.name) for c in changes} == {c.name: c.before for c in changes}


@pytest.mark.parametrize("engine", MYSQLDS)
def test_the_rule_based_configuration_starts_the_server_and_is_read_back_equal(engine: str) -> None:
    with scratch(engine) as server:
        facts = facts_of(server)
        live = meet(facts)
        made = live.changes(live.rule_based(Policy()))
        assert len(made) > 5
        _keep(server, live.steps(made))
        server.stop()
        server.start()
        assert {c.name: active(server.sql, facts, c.name) for c in made} == {c.name: c.after for c in made}


def test_a_buffer_pool_kept_down_by_its_maximum_grows_with_it_at_a_restart() -> None:
    with scratch("mariadb", innodb_buffer_pool_size_max="128M") as server:
        facts = facts_of(server)
        if "innodb_buffer_pool_size_max" not in facts.settings:
            missing("a MariaDB of 10.11.12 or later")
        pool = frozenset({"innodb_buffer_pool_size", "innodb_buffer_pool_size_max"})
        live = meet(facts)
        made = live.changes(live.rule_based(Policy(movable=pool)))
        assert {c.name for c in made} == pool
        _keep(server, live.steps(made))
        server.stop()
        server.start()
        assert {c.name: active(server.sql, facts, c.name) for c in made} == {c.name: c.after for c in made}


def _refusal(run: Session, statement: str) -> str | None:
    try:
        run(statement)
    except LabError as error:
        return str(error)
    return None


def _keep(server: ScratchMysqld, made: tuple[ChangeSteps, ...]) -> None:
    """For the next start: as a person pastes it, statements to the server and lines into the include file."""
    steps = [s for m in made for s in m.do]
    for step in steps:
        if not step.file:
            server.sql(step.text)
    if server.include_file is not None:
        server.include_file.write_text("\n".join(to_paste(s for s in steps if s.file)) + "\n", encoding="utf-8")
        server.include_file.chmod(0o644)
