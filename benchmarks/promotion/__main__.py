"""`python -m benchmarks promotion sessions` measures versions on sessions, `report` compares them 200 times each."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click
import numpy as np
from lutra_models.scores.promotion import SourceName

from benchmarks.promotion.looks import Ended, looked
from benchmarks.promotion.versions import IN_ACQUISITION, SHIPPED, VERSIONS, measured
from benchmarks.tuning.rows import CODE, Results, read

FOLDER = Path(__file__).parent / "results"
FILE = "sessions.jsonl"
KEY = ("session", "version", "code")
COMPARISONS = 200
SESSIONS = 40
"""As many as the service scores a version on."""
PATIENCE = 1000

results_option = click.option(
    "--results", type=click.Path(file_okay=False, path_type=Path), default=FOLDER, show_default=True
)


@click.group()
def main() -> None:
    """Whether the rule promotes what is better, sees what is worse, and leaves alone what is equal."""


@main.command("sessions")
@click.option("--count", type=click.IntRange(1), default=SESSIONS, show_default=True)
@click.option("--version", "versions", type=click.Choice(list(VERSIONS)), multiple=True, help="Only these.")
@results_option
def sessions_command(count: int, versions: tuple[str, ...], results: Path) -> None:
    """Measure each version on so many sessions. What is in the results file is not measured again."""
    kept = Results(results / FILE, KEY)
    for number in range(count):
        for version in versions or VERSIONS:
            row = {"session": number, "version": version, "code": CODE}
            if row not in kept:
                kept.add({**row, **measured(number, version)})
                click.echo(f"session {number}, {version}")


@main.command("report")
@results_option
def report_command(results: Path) -> None:
    """Draw sessions from those that were measured, look after each, and count what the rule says."""
    known: dict[tuple[int, str], dict[str, float | None]] = {}
    for row in read(results / FILE):
        if row["code"] == CODE:
            known[row["session"], row["version"]] = row
    for version in (*IN_ACQUISITION, "rough"):
        source: SourceName = "past_sessions" if version == "rough" else "played"
        changed = "surrogate" if version == "rough" else "search"
        measure, sign = ("log_score", 1.0) if version == "rough" else ("missed", -1.0)
        numbers = [s for s, v in known if v == version and (s, SHIPPED) in known]
        if not numbers:
            continue
        pairs = [(known[s, version][measure], known[s, SHIPPED][measure]) for s in sorted(numbers)]
        worse = [sign * (mine - theirs) for mine, theirs in pairs if mine is not None and theirs is not None]
        better = [-d for d in worse]
        effect = np.mean(worse) / np.std(worse, ddof=1)
        click.echo(f"{version} beside {SHIPPED}, {source}, {len(worse)} sessions measured, effect {effect:.2f}")
        equal = _repeated(lambda rng: looked({source: worse}, changed, SESSIONS, rng, equal=True))  # noqa: B023
        seen = _repeated(lambda rng: looked({source: worse}, changed, SESSIONS, rng))  # noqa: B023
        taken = _repeated(lambda rng: looked({source: better}, changed, PATIENCE, rng))  # noqa: B023
        in_time = [e for e in taken if e.promoted is not None and e.told is not None and e.promoted <= e.told]
        click.echo(f"  equal: promoted {_share([e.promoted is not None for e in equal])}")
        click.echo(f"  worse: seen within {SESSIONS} sessions {_share([e.worse is not None for e in seen])}")
        click.echo(f"  better: promoted within the number that was told {_share([e in in_time for e in taken])}")
        middle = np.median([e.promoted or PATIENCE for e in taken]), np.median([e.told or PATIENCE for e in taken])
        click.echo(f"  better: promoted after {middle[0]:.0f} sessions (median), told {middle[1]:.0f}")


def _repeated(run: Callable[[np.random.Generator], Ended]) -> list[Ended]:
    return [run(np.random.default_rng(seed)) for seed in range(COMPARISONS)]


def _share(found: list[bool]) -> str:
    return f"{sum(found) / len(found):.1%} of {len(found)}"


if __name__ == "__main__":
    main(prog_name="python -m benchmarks promotion")
