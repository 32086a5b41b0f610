"""pgbench: one process for warm-up and window, its own log of every transaction, percentiles by us."""

from __future__ import annotations

import math
import re
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from lutra_agent.config.section import Section, read
from lutra_agent.config.values import Whole, a_list_of, within
from lutra_agent.drivers.base import Measurement, Moment, nothing, utc
from lutra_agent.drivers.ending import Progress, Watch
from lutra_agent.drivers.process import Finished, Span, ask, run
from lutra_agent.engines.common.database import Database, NamedDatabase
from lutra_agent.errors import ConfigError, DriverFailed
from lutra_models.ending import Level
from lutra_models.knobs import Value
from lutra_models.metrics import QPS, TPS, P99Of

from lutra_lab.drivers import progress
from lutra_lab.drivers.login import libpq_environment, require_named

BUILTIN = {"tpcb-like": 7, "simple-update": 5, "select-only": 1}

_TOKEN = re.compile(
    r"""
      (?P<skipped> --[^\n]* | /\*.*?\*/ )
    | (?P<quoted> '(?:[^'\\]|''|\\.)*' | "(?:[^"]|"")*" | \$(?P<tag>\w*)\$.*?\$(?P=tag)\$ )
    | (?P<end> \\?; )
    | (?P<other> . )
    """,
    re.VERBOSE | re.DOTALL,
)


def count_statements(script: str) -> int | None:
    r"""The statements of one pass, `\;` counted too. None if `\if` makes their number depend on the pass."""
    meta = [line.split()[0] for line in script.splitlines() if line.lstrip().startswith("\\") and line.split()]
    if any(command.startswith("\\if") for command in meta):
        return None
    sql = "\n".join("" if re.match(r"\s*\\\w", line) else line for line in script.splitlines())
    statements, pending = 0, False
    for token in _TOKEN.finditer(sql):
        if token["end"]:
            statements += pending
            pending = False
        elif token["quoted"] or (token["other"] and not token["other"].isspace()):
            pending = True
    return statements + pending


US_PER_MS = 1000.0


class Latencies:
    """A multiset of latencies in whole microseconds."""

    def __init__(self, latencies_us: Iterable[int] = ()) -> None:
        self._counts: Counter[int] = Counter(latencies_us)

    def add(self, latency_us: int) -> None:
        self._counts[latency_us] += 1

    def __len__(self) -> int:
        return self._counts.total()

    def percentile_ms(self, percent: float) -> float:
        """Nearest rank: the smallest latency that `percent` % of all do not exceed. Raises ValueError if empty."""
        total = len(self)
        if not total or not 0 < percent <= 100:
            raise ValueError(f"no {percent}th percentile of {total} latencies")
        seen = 0
        for latency_us in sorted(self._counts):
            seen += self._counts[latency_us]
            if seen * 100 >= percent * total:
                break
        return latency_us / US_PER_MS

    def mean_ms(self) -> float:
        return sum(latency * n for latency, n in self._counts.items()) / len(self) / US_PER_MS

    def stddev_ms(self) -> float:
        """The standard deviation of the population."""
        mean_us = self.mean_ms() * US_PER_MS
        squares = sum(n * (latency - mean_us) ** 2 for latency, n in self._counts.items())
        return math.sqrt(squares / len(self)) / US_PER_MS


SETTLE = ("CHECKPOINT",)
"""Each trial begins right after a checkpoint, so that none inherits another's dirty pages. No vacuum (`-n`)."""
SETTLE_S = 600.0


@dataclass(frozen=True)
class Options(Section):
    """The driver's section. `statements` per transaction: with 0 they are counted, if the script allows it.

    `scale`, `rate`: 0 for none. `threads`: 0 for as many as the clients keep busy.
    """

    kind: str
    bin: str = "pgbench"
    script: str = "tpcb-like"
    clients: Annotated[Whole, within(1, 10_000)] = 8
    threads: Whole = 0
    warmup_s: Annotated[float, within(0, 86400)] = 10.0
    duration_s: Annotated[float, within(1, 86400)] = 60.0
    protocol: Literal["simple", "extended", "prepared"] = "simple"
    statements: Annotated[Whole, within(0, 10**6)] = 0
    scale: Annotated[Whole, within(0, 10**6)] = 0
    rate: Annotated[float, within(0, 1e9)] = 0.0
    sampling: Annotated[float, within(0.0001, 1)] = 1.0
    settle: Annotated[tuple[str, ...], a_list_of("texts, as in ['CHECKPOINT']")] = SETTLE

    def __post_init__(self) -> None:
        if not 0 <= self.threads <= self.clients:
            raise ValueError(f"threads: {self.threads} is outside [1, {self.clients}], the number of clients")

    @property
    def span(self) -> Span:
        return Span(self.warmup_s, self.duration_s)


class Pgbench:
    name = "pgbench"

    def __init__(self, options: Options, database: NamedDatabase) -> None:
        self.options = options
        self.database = database
        self.statements = options.statements or _counted(options.script)
        self.threads = options.threads or min(2, options.clients)

    @property
    def program(self) -> str:
        return self.options.bin

    def context(self) -> dict[str, Value]:
        o = self.options
        context: dict[str, Value] = {"driver": self.name, "script": self._script_name(), "protocol": o.protocol}
        context |= {"clients": o.clients, "threads": self.threads, "rate": o.rate}
        return context | ({"scale": o.scale} if o.scale else {})

    def run(
        self, on_window_start: Moment = nothing, on_window_end: Moment = nothing, must_reach: Level | None = None
    ) -> Measurement:
        watch = self._watch(must_reach)
        with tempfile.TemporaryDirectory(prefix="lutra-pgbench-") as name:
            folder = Path(name)
            env = libpq_environment(self.database, folder, self._version())
            self._settle(folder, env)
            argv = [*self._argv(folder), *(["-P", str(self._interval_s)] if watch else []), self.database.dbname]
            finished = run(argv, env, self.options.span, on_window_start, on_window_end, watch)
            if watch and watch.found:
                start_s = finished.started_s + self.options.warmup_s
                window = (utc(start_s), utc(finished.ended_s))
                return Measurement(*window, {}, self._of, self._script_name(), watch.found)
            return self._measurement(finished, _lines(folder))

    @property
    def _interval_s(self) -> int:
        return progress.interval_s(self.options.span.total_s)

    @property
    def _of(self) -> P99Of:
        return "statement" if self.statements == 1 else "transaction"

    def _watch(self, level: Level | None) -> Watch | None:
        """Of throughput alone: that is what pgbench prints as it goes."""
        factors = {TPS.name: 1, QPS.name: self.statements}
        factor = None if level is None else factors.get(level.metric)
        if level is None or factor is None:
            return None
        o = self.options

        def printed(_: str, err: str) -> Progress:
            return Progress([factor * tps for tps in progress.pgbench_rates(err, o.warmup_s)], self._interval_s)

        return Watch(level, o.duration_s, printed)

    def _version(self) -> int:
        """Of pgbench, whose libpq is never an older one; 0 if it does not say."""
        status, output = ask([self.options.bin, "--version"])
        found = re.search(r"\(PostgreSQL\) (\d+)", output)
        return int(found[1]) if status == 0 and found else 0

    def _settle(self, folder: Path, env: dict[str, str]) -> None:
        if not self.options.settle:
            return
        file = folder / "settle.sql"
        file.write_text("".join(f"{command.rstrip(';')};\n" for command in self.options.settle))
        argv = [*self._connection(), "-n", "-c", "1", "-t", "1", "-f", str(file), self.database.dbname]
        try:
            run(argv, env, Span(0.0, 0.0, SETTLE_S), nothing, nothing)
        except DriverFailed as error:
            raise DriverFailed(f"driver.settle ({'; '.join(self.options.settle)}): {error}") from error

    def _argv(self, folder: Path) -> list[str]:
        o = self.options
        argv = [*self._connection(), "-n", "-c", str(o.clients), "-j", str(self.threads), "-M", o.protocol]
        argv += ["-T", str(max(1, round(o.span.total_s + 0.5))), "--log", f"--log-prefix={folder / 'log'}"]
        argv += ["-b", o.script] if o.script in BUILTIN else ["-f", o.script]
        argv += [f"--sampling-rate={o.sampling}"] if o.sampling < 1 else []
        argv += [f"--rate={o.rate}"] if o.rate else []
        # A built-in script asks the tables for the scale; a script of one's own has no other way to know.
        argv += ["-s", str(o.scale)] if o.scale and o.script not in BUILTIN else []
        return argv

    def _connection(self) -> list[str]:
        return [self.options.bin, "-h", self.database.host, "-p", str(self.database.port), "-U", self.database.user]

    def _measurement(self, finished: Finished, lines: Iterable[str]) -> Measurement:
        o = self.options
        start_s = finished.started_s + o.span.warmup_s
        end_s = start_s + o.span.duration_s
        seconds: Counter[int] = Counter()
        latencies, failed = parse_log(lines, start_s, end_s, seconds)
        if not len(latencies):
            raise DriverFailed(f"pgbench completed no transaction within the window ({failed} failed)")
        tps = len(latencies) / o.sampling / o.span.duration_s
        metrics = {"tps": tps, "failed_tps": failed / o.sampling / o.span.duration_s, **summary(latencies)}
        metrics |= progress.low([seconds[i] / o.sampling for i in range(int(o.span.duration_s))])
        if self.statements is not None:
            metrics["qps"] = tps * self.statements
        return Measurement(utc(start_s), utc(end_s), metrics, self._of, self._script_name())

    def _script_name(self) -> str:
        return self.options.script if self.options.script in BUILTIN else Path(self.options.script).name


def summary(latencies: Latencies) -> dict[str, float]:
    percentiles = {f"p{p}_ms": latencies.percentile_ms(p) for p in (50, 95, 99)}
    return {**percentiles, "mean_ms": latencies.mean_ms()}


def parse_log(
    lines: Iterable[str], start_s: float, end_s: float, seconds: Counter[int] | None = None
) -> tuple[Latencies, int]:
    """The latencies of transactions that ended within `[start_s, end_s)`, and the number of failed or skipped ones.

    `seconds` counts the transactions that ended in each second of it.

    A line is `client transaction latency_us script epoch_s epoch_us …`; a transaction that failed has a word for its
    latency. With `--rate` the latency includes the wait for its turn. An incomplete last line is left out.
    """
    latencies, failed = Latencies(), 0
    for line in lines:
        fields = line.split()
        if len(fields) < 6 or not (fields[4].isdigit() and fields[5].isdigit()):
            continue
        ended_s = int(fields[4]) + int(fields[5]) / 1e6
        if start_s <= ended_s < end_s:
            if fields[2].isdigit():
                latencies.add(int(fields[2]))
                if seconds is not None:
                    seconds[int(ended_s - start_s)] += 1
            else:
                failed += 1
    return latencies, failed


def _lines(folder: Path) -> Iterable[str]:
    for path in sorted(folder.glob("log.*")):
        with path.open() as file:
            yield from file


def _counted(script: str) -> int | None:
    if script in BUILTIN:
        return BUILTIN[script]
    try:
        return count_statements(Path(script).read_text())
    except (OSError, UnicodeDecodeError) as error:
        known = ", ".join(BUILTIN)
        raise ConfigError(f"driver.script: {script!r} is not one of {known} and no readable file: {error}") from error


def build(table: Mapping[str, Any], database: Database) -> Pgbench:
    return Pgbench(read(Options, table, "driver"), require_named(database, Pgbench.name))


DRIVER = (Pgbench.name, build)
