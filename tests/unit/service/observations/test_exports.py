"""Files of what was measured: how wide, how many at once, how long, and which values they hold."""

from __future__ import annotations

import asyncio
import csv
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lutra_service.api.observations.export import Export
from lutra_service.app.errors import InvalidRequest
from lutra_service.app.observations import selection, sheet
from lutra_service.app.observations.selection import Columns, Observations
from lutra_service.app.observations.sheet import harmless
from lutra_service.app.observations.tables import encoded
from lutra_service.db.schema.records import Observed, Selection
from lutra_service.edge.limits import Busy, Places, TooManyRequests

from tests.support.pytest_plugins.suites import examples
from tests.support.service.hosted import Agent, Service, running

pytestmark = pytest.mark.slow

FLEET = "/v1/observations"
NOW = datetime(2026, 1, 1, tzinfo=UTC)
TABLES = pytest.mark.parametrize("table", ["csv", "parquet"])


def observed(number: int, **documents: Any) -> Observed:
    """A row whose `configuration`, `metrics` and `context` are what is given."""
    texts: Any = {name: json.dumps(documents.get(name, {})) for name in ("configuration", "metrics", "context")}
    nothing = (
        "session_id",
        "recommendation_id",
        "failure",
        "p99_source",
        "p99_of",
        "ended_early",
        "engine_version",
        "host",
    )
    moments = dict.fromkeys(("received_at", "window_start", "window_end"), NOW)
    told: Any = {"database_id": "db_1", "engine": "postgresql", "windows": 1, **dict.fromkeys(nothing), **moments}
    return Observed(id=number, **told, **texts)


class Given(Observations):
    """Rows that no store has, a few in a batch, and how many of them were taken."""

    def __init__(self, rows: Iterator[Observed] | list[Observed]) -> None:
        self.__dict__.update(rows=list(rows), taken=[], wanted=Selection())

    def batches(self) -> Iterator[list[Observed]]:
        for row in self.__dict__["rows"]:
            self.__dict__["taken"].append(row)
            yield [row]


@pytest.fixture
def wide(service: Service, agent: Agent, monkeypatch: pytest.MonkeyPatch) -> str:
    """A database whose agent makes up more metrics than a table has columns."""
    columns = len(agent.settings) + 20
    monkeypatch.setattr(sheet, "MOST_COLUMNS", columns)
    for report in range(3):
        agent.send(agent.report(**agent.window(qps=1.0, **{f"m{report}_{n}": 0.0 for n in range(10)})))
    return agent.database


@TABLES
def test_made_up_metrics_make_no_table_that_is_wider_than_allowed(service: Service, wide: str, table: str) -> None:
    other = service.agent(service.database("other"))
    other.observe(1)
    refused = service.ask("GET", f"{FLEET}?format={table}")
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid_request")
    assert f"of them by {wide}: select metrics (`metric`), a database" in refused.json()["detail"]
    assert service.ask("GET", FLEET).is_success
    assert service.ask("GET", f"{FLEET}?format={table}&metric=qps&metric=m1_1").is_success
    assert service.ask("GET", f"{FLEET}?format={table}&database={other.database}").is_success


@TABLES
def test_a_table_that_becomes_too_wide_is_looked_at_no_further(table: Any) -> None:
    rows = Given([observed(n, metrics={f"m{n}_{i}": 0.0 for i in range(1_000)}) for n in range(50)])
    with pytest.raises(InvalidRequest, match="at most 5,000 columns"):
        list(encoded(rows, table))
    assert len(rows.__dict__["taken"]) == 6


@TABLES
def test_a_wide_table_is_made_in_small_pieces(table: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sheet, "CELLS", 1_000)
    names = {f"m{i}": 0.0 for i in range(200)}
    rows = Given([observed(n, metrics=names) for n in range(40)])
    most, before = 0, 0
    for _ in encoded(rows, table):
        most, before = max(most, len(rows.__dict__["taken"]) - before), len(rows.__dict__["taken"])
    assert most * len(names) <= 1_000


def test_names_that_are_never_the_same_are_kept_once() -> None:
    found, size = Columns(), 40
    for n in range(1_000):
        metrics = {f"m{(n * 7 + i * i) % 997}": 0.0 for i in range(size)}
        found.see({"database": "db_1", "settings": {}, "metrics": metrics, "context": {}, "bounds": {}})
    assert len(found) <= 997
    assert sum(map(len, vars(found)["_shapes"])) <= selection.SHAPES * (2 * size + 1)


def test_large_rows_are_read_few_at_a_time(service: Service, agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(4):
        agent.send(agent.report(**agent.window(**{f"metric_{n}": 1.0 for n in range(500)})))
    assert [len(b) for b in selection.selected(service.store, Selection()).batches()] == [4]
    monkeypatch.setattr(selection, "TOGETHER_BYTES", 15_000)
    assert [len(b) for b in selection.selected(service.store, Selection()).batches()] == [2, 2]


@dataclass
class Reader:
    """Who asked for a file: leaves after so many pieces, if ever."""

    leaves_after: int | None = None
    got: list[bytes] = field(default_factory=list)
    left: asyncio.Event = field(default_factory=asyncio.Event)

    async def receive(self) -> Any:
        await self.left.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:
        self.got.append(message.get("body", b""))
        if len(self.got) == self.leaves_after:
            self.left.set()
            await asyncio.sleep(0)

    async def reads(self, export: Export) -> None:
        await export({"type": "http"}, self.receive, self.send)


def few() -> Places:
    return Places("exports", 1, waiting=1, each=1)


def test_a_file_is_written_no_further_once_its_reader_has_left() -> None:
    made = []

    def pieces() -> Iterator[bytes]:
        for n in range(1_000):
            made.append(n)
            yield b"x"

    async def tried() -> None:
        places = few()
        await Reader(leaves_after=3).reads(Export(pieces(), "text/csv", places, "a"))
        async with places.taken("a"):  # its place is free again
            pass

    asyncio.run(tried())
    assert len(made) < 10


def test_who_leaves_before_the_first_byte_ends_the_work_too() -> None:
    looked, reader, loop = [], Reader(), asyncio.new_event_loop()

    def pieces() -> Iterator[bytes]:
        for n in range(1_000):
            looked.append(n)
            if n == 3:
                loop.call_soon_threadsafe(reader.left.set)
            yield b""

    async def tried() -> None:
        await reader.reads(Export(pieces(), "text/csv", few(), "a"))

    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        runner.run(tried())
    assert reader.got == []
    assert len(looked) < 100


def test_few_files_are_written_at_once_and_one_for_each_token() -> None:
    async def tried() -> None:
        places, readers = few(), [Reader() for _ in range(2)]
        made: list[str] = []

        def pieces(name: str) -> Iterator[bytes]:
            made.append(name)
            yield b"x"

        held = places.taken("elsewhere")
        await held.__aenter__()
        waiting = asyncio.create_task(readers[0].reads(Export(pieces("a"), "text/csv", places, "a")))
        await asyncio.sleep(0)
        with pytest.raises(TooManyRequests, match="exports at once"):
            await Reader().reads(Export(pieces("again"), "text/csv", places, "a"))
        with pytest.raises(Busy):
            await Reader().reads(Export(pieces("b"), "text/csv", places, "b"))
        assert made == []
        await held.__aexit__(None, None, None)
        await waiting
        await readers[1].reads(Export(pieces("b"), "text/csv", places, "b"))
        assert made == ["a", "b"]

    asyncio.run(tried())


def test_every_file_takes_one_of_the_places(tmp_path: Path) -> None:
    with running(tmp_path) as service:
        database = service.database()
        agent = service.agent(database)
        agent.observe(1)
        body = {"objective": {"metric": "qps", "goal": "maximize"}}
        session = service.take("POST", f"/v1/databases/{database}/sessions", body)["id"]
        of = [FLEET, f"/v1/databases/{database}/observations", f"/v1/sessions/{session}/observations"]
        paths = [f"{path}?format={kind}" for path in of for kind in ("jsonl", "csv", "parquet")]
        paths.append(f"/v1/sessions/{session}/trials?format=csv")
        assert {agent.ask("GET", path).status_code for path in paths} == {200}
        found: Any = service.client
        found.app.state.entry.exports = Places("exports", 1, waiting=1, each=0)
        assert {agent.code("GET", path) for path in paths} == {(429, "too_many_requests")}


def test_one_agents_numbers_break_no_table_of_the_fleet(service: Service, agent: Agent) -> None:
    for value in (9007199254740993, 1.5, -1):
        agent.send(agent.report(context={"x": value, "y": value}, **agent.window(qps=1.0)))
    agent.send(agent.report(context={"x": 2, "y": "text"}, **agent.window(qps=1.0)))
    answer = service.ask("GET", f"{FLEET}?format=parquet")
    table = pyarrow.parquet.read_table(io.BytesIO(answer.content)).to_pydict()
    assert table["context.x"] == [9007199254740992.0, 1.5, -1.0, 2.0]
    assert table["context.y"] == ["9007199254740993", "1.5", "-1", "text"]


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 5),
    st.integers(2**53 - 2, 2**53 + 2),
    st.integers(2**63 - 2, 2**64),
    st.sampled_from([-(2**63), -(2**63) - 1, 10**308, 10**309, 10**400]),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=5),
)
SET = st.dictionaries(st.sampled_from("xyz"), VALUES)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False) | st.integers(0, 2**70)
MEASURED = st.dictionaries(st.sampled_from(["qps", "tps"]), NUMBERS)


@examples(60, 200)
def test_every_format_holds_whatever_values_come_together(examples: int) -> None:
    @settings(max_examples=examples)
    @given(st.lists(st.tuples(SET, SET, MEASURED), min_size=1, max_size=6))
    def every_format_holds_it(told: list[tuple[Any, Any, Any]]) -> None:
        comes_back(told)

    every_format_holds_it()


def comes_back(told: list[tuple[Any, Any, Any]]) -> None:
    """The same values come back: in a text column as texts, beside a float as floats."""
    rows = [observed(n, configuration=c, context=x, metrics=m) for n, (c, x, m) in enumerate(told)]
    flat = [
        {f"setting.{n}": v for n, v in c.items()}
        | {f"context.{n}": v for n, v in x.items()}
        | {f"metric.{n}": v for n, v in m.items()}
        for c, x, m in told
    ]
    lines = b"".join(encoded(Given(rows), "jsonl")).splitlines()
    assert [json.loads(line)["context"] for line in lines] == [x for _, x, _ in told]
    text = b"".join(encoded(Given(rows), "csv")).decode()
    table = list(csv.DictReader(io.StringIO(text, newline="")))
    packed = pyarrow.parquet.read_table(io.BytesIO(b"".join(encoded(Given(rows), "parquet")))).to_pylist()
    for wanted, cells, values in zip(flat, table, packed, strict=True):
        for name, value in wanted.items():
            assert cells[name] == ("" if value is None else str(harmless(value)))
            found = values[name]
            assert found == (value if value is None else type(found)(value))
            assert not isinstance(found, bool) or isinstance(value, bool)
