"""Histories of other tuners: OpenBox' history as JSON, and OtterTune's folders of settings and metrics."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from lutra_service.app.workloads.imports.raw import Broken, Cell, Place, RawRow, Within, as_text, place_at, text_of

KNOBS = "knobs.json"
SUMMARY, BEFORE, AFTER = "summary.json", "metrics_before.json", "metrics_after.json"


def openbox(file: Path) -> list[RawRow]:
    """Its settings by name, its objectives as `objectives.0` and so on, numbers of `extra_info` by name.

    Raises Broken. Format: `History.save_json` of OpenBox 0.8.
    """
    text = text_of(file)
    document = _document(file, text)
    found = document.get("observations")
    if not isinstance(found, list):
        place_at(file, text, 0).refuse("an OpenBox history has a list of `observations`")
    starts = _items(text, _value_of(text, "observations"))
    return [_observed(file, text, start, item) for start, item in zip(starts, found, strict=True)]


def _observed(file: Path, text: str, start: int, item: Any) -> RawRow:
    place = Within(file, text, start)
    if not isinstance(item, dict) or not isinstance(item.get("config"), dict):
        place.refuse("an observation has a `config`, the settings by name")
    objectives = item.get("objectives")
    if not isinstance(objectives, list):
        place.refuse("an observation has `objectives`, a list of numbers")
    failed = None if item.get("trial_state", 0) in (0, "SUCCESS", "success") else f"trial_state {item['trial_state']}"
    named = {**item["config"], **{f"objectives.{n}": v for n, v in enumerate(objectives)}, **_extra(item)}
    cells = {
        name: Cell(as_text(value), Within(file, text, start, name))
        for name, value in named.items()
        if not isinstance(value, dict | list | None)
    }
    return RawRow(cells, place, failed)


def _extra(item: Mapping[str, Any]) -> dict[str, float]:
    extra = item.get("extra_info") or {}
    return {n: v for n, v in extra.items() if isinstance(v, int | float)} if isinstance(extra, dict) else {}


def ottertune(folder: Path, known: Collection[str]) -> list[RawRow]:
    """Each `*knobs.json` with its `*summary.json`, `*metrics_before.json` and `*metrics_after.json`.

    A dump contains every setting of the server; only those in `known` are used. `<view>.<counter>_per_s` are the
    differences of counters per second, summed over tables and databases. Raises Broken. Format: OtterTune's controller,
    2020.
    """
    starts = [f.name.removesuffix(KNOBS) for f in folder.glob(f"*{KNOBS}")]
    if not starts:
        raise Broken(f"{folder}: there is no file *{KNOBS}")
    return [_measured(folder, start, known) for start in sorted(starts, key=_numbered)]


def _numbered(start: str) -> tuple[float, str]:
    number = start.partition("__")[0]
    return (float(number), start) if number.isdigit() else (math.inf, start)


def _measured(folder: Path, start: str, known: Collection[str]) -> RawRow:
    file = folder / f"{start}{KNOBS}"
    text = text_of(file)
    knobs = {name: value for _, name, value in _leaves(_document(file, text)) if name in known}
    told = folder / f"{start}{SUMMARY}"
    seconds = _document(told, text_of(told)).get("observation_time")
    if not isinstance(seconds, int | float) or seconds <= 0:
        place_at(told, text_of(told), 0).refuse(f"`observation_time` is seconds above 0, got {seconds!r}")
    before, after = (_counters(folder / f"{start}{name}") for name in (BEFORE, AFTER))
    cells = {name: Cell(as_text(value), Within(file, text, 0, name)) for name, value in knobs.items()}
    rates = {f"{n}_per_s": (after[n] - before[n]) / seconds for n in after if n in before}
    metrics = {
        n: Cell(repr(rate), Place(str(folder / f"{start}{AFTER}"), 1, 1)) for n, rate in rates.items() if rate >= 0
    }
    return RawRow({**metrics, **cells}, Within(file, text, 0))


def _counters(file: Path) -> dict[str, float]:
    """View and counter → its value, summed over what it is counted of."""
    sums: dict[str, float] = {}
    for view, name, value in _leaves(_document(file, text_of(file))):
        try:
            number = float(value)
        except (TypeError, ValueError):
            continue
        if math.isfinite(number):
            sums[f"{view}.{name}"] = sums.get(f"{view}.{name}", 0.0) + number
    return sums


def _leaves(document: Mapping[str, Any]) -> Iterator[tuple[str, str, Any]]:
    """(view, name, value) of global → view → name, and of local → kind → view → object → name."""
    for view, named in (document.get("global") or {}).items():
        yield from ((view, n, v) for n, v in (named.items() if isinstance(named, dict) else ()))
    for views in (document.get("local") or {}).values():
        for view, objects in (views or {}).items():
            for named in (objects or {}).values():
                yield from ((view, n, v) for n, v in (named.items() if isinstance(named, dict) else ()))


def _document(file: Path, text: str) -> dict[str, Any]:
    """Raises Broken with the line and the column."""
    try:
        found = json.loads(text)
    except json.JSONDecodeError as error:
        Place(str(file), error.lineno, error.colno).refuse(f"this is not JSON: {error.msg}")
    except RecursionError:
        Place(str(file), 1, 1).refuse("this is nested too deeply")
    except ValueError as error:  # a number of more digits than Python reads
        Place(str(file), 1, 1).refuse(f"this is not JSON: {error}")
    if not isinstance(found, dict):
        Place(str(file), 1, 1).refuse("expected a JSON object")
    return found


def _value_of(text: str, wanted: str) -> int:
    """Where the value of this key begins in the object that the text is; of the last one, as for a parser."""
    decoder, at, found = json.JSONDecoder(), _next(text, text.index("{") + 1), 0
    while text[at] != "}":
        name, at = decoder.raw_decode(text, at)
        at = _next(text, at)
        found = at if name == wanted else found
        _, at = decoder.raw_decode(text, at)
        at = _next(text, at)
    return found


def _items(text: str, opening: int) -> Iterator[int]:
    """Where each item of the list begins whose bracket is at `opening`."""
    decoder, at = json.JSONDecoder(), _next(text, opening + 1)
    while text[at] != "]":
        yield at
        _, at = decoder.raw_decode(text, at)
        at = _next(text, at)


def _next(text: str, at: int) -> int:
    """Where the next value, or the end of them, begins."""
    while text[at] in " \t\r\n,:":
        at += 1
    return at
