"""The document for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from lutra_models.errors import printable
from lutra_models.symptoms.listed import lines as finding_lines

Document = Mapping[str, Any]


def lines(document: Document) -> Iterator[str]:
    """Unbroken and printable: the server, what is visible of it, the findings, and what is unknown."""
    for line in _parts(document):
        yield printable(line)


def _parts(document: Document) -> Iterator[str]:
    yield from server_lines(document)
    yield ""
    yield from finding_lines({**document["findings"], "not_judged": ()})
    if document["settings"]:
        yield ""
        yield "settings far from the rule for this hardware:"
    for setting in document["settings"]:
        yield f"  {setting['reason']}"
        yield from ([f"      against it: {setting['against']}"] if setting["against"] else [])
        yield from (f"      {line}" for line in setting["statements"])
    if document["deliberate"]:
        yield ""
        on_purpose = (f"{d['setting']} = {d['value']} ({d['source']})" for d in document["deliberate"])
        yield f"set on purpose, and not changed: {', '.join(on_purpose)}"
    yield ""
    yield from memory_lines(document["memory"])
    if document["unknown"]:
        yield ""
        yield "not judged, which does not mean that nothing is wrong:"
    for unknown in document["unknown"]:
        yield f"  {unknown['why']}{': ' if unknown['names'] else ''}{', '.join(unknown['names'])}"


def server_lines(document: Document) -> Iterator[str]:
    server, account = document["server"], document["account"]
    data = "" if server["data_bytes"] is None else f", {size(server['data_bytes'])} of data"
    yield f"{server['engine']} {server['version'] or 'of unknown version'}, {server['role']}{data}: {server['where']}"
    if server["role"] == "standby":
        yield "it is a replica: look at its primary as well, which has settings and findings of its own"
    if server["on_this_machine"]:
        at = [f"process {server['process']}"] if server["process"] else []
        at += [f"data in {server['folder']}"] if server["folder"] else []
        hardware = f"{size(server['memory_bytes'])} of memory and {server['cores']:g} cores to use"
        yield f"it runs on this machine ({', '.join(at)}), with {hardware}"
    else:
        yield "its memory and processors are unknown, because nothing shows that it runs on this machine"
    every = len(account["sees"]) + len(account["lacks"])
    yield f"account {account['name']} sees {len(account['sees'])} of {every} sources of figures"
    for lacks in account["lacks"]:
        yield f"  not {lacks['what']}: {lacks['detail']}" if lacks["detail"] else f"  not {lacks['what']}"
        yield from ([f"      {lacks['remedy']}"] if lacks["remedy"] else [])


def memory_lines(memory: Document) -> Iterator[str]:
    if memory["counted_bytes"] is None:
        yield "memory: unknown, because the server reports no settings to this account"
        return
    counted, worst = size(memory["counted_bytes"]), size(memory["worst_case_bytes"])
    limit = memory["limit_bytes"]
    bound = "the limit is unknown without the server's memory" if limit is None else f"the limit is {size(limit)}"
    yield f"memory: {counted} by the settings, {worst} in the worst case; {bound}"
    for line in sorted(memory["lines"], key=lambda entry: -entry["bytes"]):
        if line["bytes"]:
            yield f"  {size(line['bytes']):>9}  {line['name']}"


def size(count: float) -> str:
    unit, name = next(
        (u, n) for u, n in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"), (1, "B")) if count >= u or u == 1
    )
    return f"{count / unit:.1f} {name}" if unit > 2**20 else f"{count / unit:.0f} {name}"
