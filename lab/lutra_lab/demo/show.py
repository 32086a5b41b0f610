"""What the demo prints: trials as they come, the three-way table, the record of the intervals, the statements."""

from __future__ import annotations

from statistics import mean, stdev

from lutra_models.catalog.statements import Step, to_paste
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from lutra_lab.demo.tuning import Document, held

LABELS = {"qps": "QPS", "p99_ms": "p99", "tps": "TPS"}
MAX_CHANGES = 6
SHARES = (0.5, 0.9, 0.95)
"""For each of these shares of the predicted gain, the fewest settings that give it are told."""
ORIGINS = {
    "current": "the settings as they are",
    "rule_based": "what the rules for this hardware suggest",
    "space_filling": "somewhere new, to learn",
    "improvement": "where the model expects more",
    "repeat": "once more, to know the noise",
}


class Progress:
    """Prints a trial when it is proposed and again when it has been measured."""

    def __init__(self, console: Console, trials: int) -> None:
        self._console = console
        self._trials = trials
        self._announced: set[int] = set()
        self._first_qps: float | None = None

    def __call__(self, row: Document) -> None:
        if row["trial"] not in self._announced:
            self._announced.add(row["trial"])
            self._announce(row)
        if row["failed"]:
            self._console.print(f"        [red]failed[/]     {row['failed']}: the settings before it are active again")
        elif row["measured"]:
            self._measured(row)

    def _announce(self, row: Document) -> None:
        number = f"[bold]trial {row['trial']}/{self._trials}[/]"
        self._console.print(f"\n{number}  [cyan]{ORIGINS.get(row['origin'], row['origin'])}[/]")
        reasons = {r["setting"]: r["sentence"] for r in row["reasons"] or () if r["effect"] is not None}
        changes = sorted(row["changes"] or (), key=lambda c: c["setting"] not in reasons)
        for change in changes[:MAX_CHANGES]:
            text = f"        {change['setting']}  {change['before_text']} → [bold]{change['after_text']}[/]"
            why = reasons.get(change["setting"], "")
            self._console.print(text + (f"  [dim]{why}[/]" if why else ""), soft_wrap=True)
        if len(changes) > MAX_CHANGES:
            self._console.print(f"        [dim]… and {len(changes) - MAX_CHANGES} more settings[/]")
        if row["predictions"]:
            told = "   ".join(_interval(m, row["predictions"][m]) for m in LABELS if m in row["predictions"])
            self._console.print(f"        predicted  {told}", soft_wrap=True)

    def _measured(self, row: Document) -> None:
        told = []
        for metric in (m for m in LABELS if m in row["measured"]):
            value, prediction = row["measured"][metric], (row["predictions"] or {}).get(metric)
            inside = prediction and prediction["low"] <= value <= prediction["high"]
            mark = "" if prediction is None else (" [green]✓[/]" if inside else " [yellow]outside[/]")
            told.append(f"{LABELS[metric]} [bold]{number(value)}[/]{_unit(metric)}{mark}")
        qps = row["measured"].get("qps")
        self._first_qps = self._first_qps or qps
        gain = f"   [dim]{qps / self._first_qps - 1:+.0%} on the default[/]" if qps and self._first_qps else ""
        self._console.print(f"        measured   {'   '.join(told)}{gain}", soft_wrap=True)


def comparison(console: Console, table: list[Document]) -> None:
    """The three-way table: every repetition, the mean with its spread, and the gain over the first row."""
    shown = Table(title="Measured again in turn", title_style="bold", title_justify="left", box=SIMPLE_HEAD, padding=0)
    shown.add_column("configuration", no_wrap=True)
    for heading in ("QPS, each time", "mean ± sd", "gain ± se", "p99, ms"):
        shown.add_column(f"   {heading}", justify="right", no_wrap=True)
    base = values(table[0], "qps")
    for row in table:
        qps, p99 = values(row, "qps"), values(row, "p99_ms")
        gain = f"{mean(qps) / mean(base) - 1:+.1%} ± {difference_error(qps, base) / mean(base):.1%}"
        shown.add_row(
            row["name"],
            " ".join(number(q) for q in qps),
            f"{number(mean(qps))} ± {number(_sd(qps))}",
            "" if row is table[0] else gain,
            f"{mean(p99):.1f} ± {_sd(p99):.1f}",
        )
    console.print()
    console.print(shown)


def record(console: Console, trials: list[Document]) -> None:
    """How often the 90 % intervals held what was then measured."""
    told = []
    for metric in ("qps", "p99_ms"):
        inside, of = held(trials, metric)
        told.append(f"{LABELS[metric]} {inside} of {of}")
    console.print(f"90 % intervals that held the measured value: {', '.join(told)}")


def curve(console: Console, points: list[Document]) -> None:
    """How few settings give most of the predicted gain."""
    told: dict[int, str] = {}
    for share in SHARES:
        first = next((p for p in points if p["share"] >= share), None)
        if first and first["settings"]:
            told.setdefault(first["settings"], f"{first['share']:.0%}")
    if told:
        parts = [f"{count} {'setting gives' if count == 1 else 'give'} {share}" for count, share in told.items()]
        if 1 not in told:
            parts[0] = parts[0].replace(" give ", " settings give ")
        console.print(f"{', '.join(parts)} of the predicted gain of all {points[-1]['settings']}")


def statements(console: Console, changes: list[Document]) -> None:
    """The best configuration to paste: statements for the server, lines for the file that its agent keeps."""
    if not changes:
        console.print("\nNo setting is worth changing: the default is the best found.")
        return
    console.print("\n[bold]The best configuration[/]")
    for line in to_paste(Step(c["setting"], **step) for c in changes for step in c["do_steps"]):
        console.print(line, highlight=False, markup=False, soft_wrap=True)
    if any(c["applies"] == "restart" for c in changes):
        console.print("[dim]-- takes effect with a restart[/]")


def values(row: Document, metric: str) -> list[float]:
    return [m[metric] for m in row["measured"]]


def difference_error(one: list[float], other: list[float]) -> float:
    """The standard error of the difference of two means."""
    return float((_sd(one) ** 2 / len(one) + _sd(other) ** 2 / len(other)) ** 0.5)


def number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _interval(metric: str, p: Document) -> str:
    return f"{LABELS[metric]} {number(p['median'])}{_unit(metric)} ({number(p['low'])}–{number(p['high'])})"


def _unit(metric: str) -> str:
    return " ms" if metric.endswith("_ms") else ""


def _sd(numbers: list[float]) -> float:
    return stdev(numbers) if len(numbers) > 1 else 0.0
