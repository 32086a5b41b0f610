"""The demo's output: trials as they arrive, the verification, the record of the intervals, the statements."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import mean

from lutra_models.catalog import ChangeSteps
from lutra_models.catalog.statements import to_paste
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from lutra_lab.demo.tuning import Document, held, targets

LABELS = {"qps": "QPS", "p99_ms": "p99", "tps": "TPS"}
MAX_CHANGES = 6
SHARES = (0.5, 0.9, 0.95)
"""For each of these shares of the predicted gain, the demo prints the fewest settings that give it."""
ORIGINS = {
    "current": "the current settings",
    "rule_based": "the rules for this hardware",
    "space_filling": "an unexplored region, to learn",
    "improvement": "where the model expects more",
    "repeat": "a repetition, to estimate the noise",
    "shorter": "fewer changes, to see whether they are as good",
    "reference": "a repetition, to see whether the server has changed",
}
FINALISTS = {"baseline": "default", "rule_based": "rule-based", "best": "best"}
HOLDS = {
    "best": "The best configuration, verified",
    "rule_based": "The rule-based configuration: no trial is certainly better",
}


class Progress:
    """Prints a trial when it is proposed and again when it has been measured, then each reading of a finalist."""

    def __init__(self, console: Console, trials: int) -> None:
        self._console = console
        self._trials = trials
        self._announced: set[int] = set()
        self._first_qps: float | None = None

    def reading(self, name: str, round_: int, metrics: Document) -> None:
        told = "   ".join(f"{LABELS[m]} {number(metrics[m])}{_unit(m)}" for m in LABELS if m in metrics)
        self._console.print(f"\n[bold]verified, round {round_}[/]  [cyan]{FINALISTS[name]}[/]  {told}", soft_wrap=True)

    def trial(self, row: Document) -> None:
        if row["trial"] not in self._announced:
            self._announced.add(row["trial"])
            self._announce(row)
        if row["failed"]:
            self._console.print(f"        [red]failed[/]     {row['failed']}: the previous settings are active again")
        elif row["ended_early"]:
            self._ended(row)
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

    def _ended(self, row: Document) -> None:
        ended, after = row["ended_early"], row["measured"]["window_s"]
        bound = f"{LABELS[ended['metric']]} [bold]at most {number(ended['bound'])}[/]{_unit(ended['metric'])}"
        told = f"{bound}, after {after:.0f} of {ended['planned_s']:.0f} s"
        self._console.print(f"        ended      {told}", soft_wrap=True)

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


def comparison(console: Console, found: Document) -> None:
    """The session's verification: every round, the gains with the interval for three more rounds, and the verdict."""
    shown = Table(title="Measured alternately", title_style="bold", title_justify="left", box=SIMPLE_HEAD, padding=0)
    shown.add_column("configuration", no_wrap=True)
    for heading in ("QPS, each round", "on the default", "on the rule-based", "p99, ms"):
        shown.add_column(f"   {heading}", justify="right", no_wrap=not heading.startswith("QPS"))
    for finalist in in_order(found):
        readings, gains = finalist["readings"], finalist["gains"]
        p99 = [r["p99_ms"] for r in readings if "p99_ms" in r]
        shown.add_row(
            FINALISTS[finalist["name"]],
            " ".join(number(r["qps"]) for r in readings),
            *(_gain(gains.get(over)) for over in ("baseline", "rule_based")),
            f"{mean(p99):.1f}" if p99 else "",
        )
    console.print()
    console.print(shown)
    console.print(found["sentence"], soft_wrap=True)


def in_order(found: Document) -> list[Document]:
    """The finalists as the table has them: the default first."""
    by_name = {f["name"]: f for f in found["finalists"]}
    return [by_name[name] for name in FINALISTS if name in by_name]


def as_table(found: Document) -> list[Document]:
    """The content of `--json`."""
    return [
        {
            "name": FINALISTS[f["name"]],
            "configuration": f["configuration"],
            "measured": [targets(r) for r in f["readings"]],
            "gains": {FINALISTS[over]: gain for over, gain in f["gains"].items()},
            "failed": f["failed"],
        }
        for f in in_order(found)
    ]


def _gain(gain: Document | None) -> str:
    return "" if gain is None else f"{gain['median']:+.0%} ({gain['low']:+.0%} to {gain['high']:+.0%})"


def record(console: Console, trials: list[Document]) -> None:
    """The number of 90 % intervals that contained the measured value."""
    told = []
    for metric in ("qps", "p99_ms"):
        inside, of = held(trials, metric)
        told.append(f"{LABELS[metric]} {inside} of {of}")
    console.print(f"90 % intervals that contained the measured value: {', '.join(told)}")


def curve(console: Console, points: list[Document]) -> None:
    """The smallest number of settings that give most of the predicted gain."""
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


def statements(console: Console, verdict: str, changes: Sequence[ChangeSteps]) -> None:
    """The statements to paste, for values that last: statements for the server, lines for the file that its agent
    keeps.
    """
    if verdict not in HOLDS or not changes:
        console.print("\n[bold]No statements:[/] no trial is certainly better than the default.")
        return
    console.print(f"\n[bold]{HOLDS[verdict]}[/]", soft_wrap=True)
    for line in to_paste(step for made in changes for step in made.do_by_hand):
        console.print(line, highlight=False, markup=False, soft_wrap=True)
    if any(made.change.applies == "restart" for made in changes):
        console.print("[dim]-- takes effect with a restart[/]")


def kept(console: Console, store: Path | None) -> None:
    """The folder of the service's database, and the commands to look at it."""
    if store is None or not store.exists():
        return
    console.print(f"\n[bold]The service's database is kept:[/] {store}", soft_wrap=True)
    for line in (
        f"export LUTRA_DATABASE_URL=sqlite:///{store}",
        "lutra serve &",
        "lutra notebook  # begin with 00_my_session",
    ):
        console.print(line, highlight=False, markup=False, soft_wrap=True)


def number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _interval(metric: str, p: Document) -> str:
    return f"{LABELS[metric]} {number(p['median'])}{_unit(metric)} ({number(p['low'])}–{number(p['high'])})"


def _unit(metric: str) -> str:
    return " ms" if metric.endswith("_ms") else ""
