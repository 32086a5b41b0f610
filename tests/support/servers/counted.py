"""pgbench for so many transactions of each client, and not for as many seconds: the figures of any machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lutra_lab.servers.postgresql import ScratchPostgres

EACH = 100
"""Transactions of each client in a window of so many seconds: one a second, by the window's length."""
COUNTED = """#!/bin/sh
each={each}
{also}
for word; do
    shift
    [ "$before" = -T ] && word=$each
    before=$word
    [ "$word" = -T ] && word=-t
    set -- "$@" "$word"
done
PGOPTIONS="-c synchronous_commit=off {options}" exec {pgbench} "$@"
"""


def counted(server: ScratchPostgres, folder: Path, also: str = "", options: str = "") -> dict[str, Any]:
    """A driver's section, but for its clients; `also` is done before pgbench, its sessions have these `options`."""
    wrapper = folder / "pgbench"
    pgbench = server.bin_dir / "pgbench"
    wrapper.write_text(COUNTED.format(each=EACH, pgbench=pgbench, also=also, options=options))
    wrapper.chmod(0o755)
    return {"kind": "pgbench", "bin": str(wrapper), "warmup_s": 0, "duration_s": EACH, "settle": []}


def twice_as_many(server: ScratchPostgres) -> str:
    """To be done before: twice as many transactions where a setting was changed, whichever it is."""
    return f"grep -q '^[a-z_]* = ' {server.data_dir}/postgresql.auto.conf && each={2 * EACH}"
