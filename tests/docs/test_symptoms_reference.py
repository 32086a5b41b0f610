"""docs/reference/symptoms.md is written from the symptoms' own rows: `python -m tests.docs.test_symptoms_reference`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from lutra_models.symptoms import KINDS, CureRow, SymptomRow, of_engine
from lutra_models.symptoms.rows import HARMS

from tests.docs.pages import ROOT

PAGE = ROOT / "docs" / "reference" / "symptoms.md"
FAMILIES = {
    "PostgreSQL": ("postgresql",),
    "MySQL and MariaDB": ("mysql", "mariadb"),
    "Redis and Valkey": ("redis", "valkey"),
}
INTRODUCTION = """# Symptoms

What `GET /v1/databases/{db}/symptoms` and `lutra-agent symptoms` look for. [Reading symptoms](../operate/symptoms.md)
says how to use them. This page is written from `models/lutra_models/symptoms/*.toml`.

A symptom shows where its condition holds and its measure has reached the first bound; at the second it has its full
strength. Formulas speak bytes and milliseconds. `count of` and `rate of` read a counter of all windows, `mean of`,
`most of` and `least of` a gauge, `newest of` its last value, and `text of` names that came with the last window;
`seconds` is the measured time, `solid_state` 1 where the host says that its disk does not spin. A symptom whose metrics
are missing stays silent.
"""


def page() -> str:
    families = [(title, engines, _of_family(engines)) for title, engines in FAMILIES.items()]
    told = [
        line
        for family in (*families, ("The Linux host beneath any engine", (), of_engine("")))
        for line in _family(*family)
    ]
    return "\n".join([INTRODUCTION, *told])


def _of_family(engines: Sequence[str]) -> Sequence[SymptomRow]:
    return list({row.name: row for engine in engines for row in of_engine(engine) if row.engines}.values())


def _family(title: str, engines: Sequence[str], rows: Sequence[SymptomRow]) -> Iterator[str]:
    yield f"## {title}\n"
    for row in rows:
        yield from _row(row, engines)


def _row(row: SymptomRow, engines: Sequence[str]) -> Iterator[str]:
    alone = "" if set(row.engines) == set(engines) else f" {', '.join(row.engines)} alone."
    first = "" if row.since == (0,) else f" Since version {'.'.join(map(str, row.since))}."
    last = "" if row.until is None else f" Until version {'.'.join(map(str, row.until))}."
    yield f"### {row.name}\n"
    yield f"{row.meaning} *{row.kind}: {KINDS[row.kind]}.*{first}{last}{alone}\n"
    read = sorted(row.names & row.measured.keys())
    yield from (f"- `{n}` = {row.measured[n].how} of `{row.measured[n].metric}`" for n in read)
    yield from (f"- `{name}` = `{formula}`" for name, formula in row.numbers.items())
    yield f"- at stake: {HARMS[row.harm][1]}" + ("" if row.share.text == "1" else f"; the share of it is `{row.share}`")
    if row.noted is not None:
        yield f"- a note from {row.noted:g} on"
    if row.follows:
        yield f"- may come of {', '.join(f'`{n}`' for n in row.follows)}"
    if row.said_by:
        yield f"- not shown while {' or '.join(f'`{n}`' for n in row.said_by)} shows, which says the same and more"
    if row.memory_short:
        yield "- while it shows, no setting that takes more memory is raised"
    condition = "" if row.given.text == "1" else f", where `{row.given}`"
    most = "" if row.most == 1 else f"; strength at most {row.most:g}"
    yield f"- shows by `{row.measure}`, from {row.begins:g} to {row.full:g}{condition}{most}"
    yield f"- bounds: {row.threshold} [source]({row.source})"
    yield from map(_cure, row.cures)
    if row.by_hand:
        yield f"- where no cure is offered: {_shown(row.by_hand)}"
    if row.statements:
        yield f"- to execute: {' '.join(f'`{s}`' for s in row.statements)}"
    if row.kind == "enough" and not row.cures:
        yield f"- needs no more: {', '.join(f'`{n}`' for n in row.settings)}"
    yield ""


def _shown(text: str) -> str:
    return re.sub(r"{(\w+):\w+}", r"`\1`", text)


def _cure(cure: CureRow) -> str:
    alone = f" ({', '.join(cure.engines)})" if cure.engines else ""
    when = f", where `{cure.when}`" if cure.when is not None else ""
    return f"- cure{alone}: {cure.way} `{cure.setting}` to `{cure.value}`{when}"


def test_the_page_is_what_the_rows_say() -> None:
    assert PAGE.read_text(encoding="utf-8") == page()


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
