"""The kernel's figures about the server's own process, and about its support for a server that forks."""

from __future__ import annotations

import re
from pathlib import Path

from lutra_agent.engines.common.telemetry import Reading

FILES = re.compile(r"^Max open files\s+(\d+)", re.MULTILINE)
ALWAYS = "[always]"
DELETED = " (deleted)"
"""The kernel's addition to the name of a folder that is gone."""


def read(pid: int | None, root: Path = Path("/")) -> Reading | None:
    """None if the server's process is not on this host. Figures that this account may not read are absent."""
    if pid is None:
        return None
    files = FILES.search(_text(root / f"proc/{pid}/limits"))
    huge = _text(root / "sys/kernel/mm/transparent_hugepage/enabled")
    fields = {
        "files": files[1] if files else "",
        "overcommit": _text(root / "proc/sys/vm/overcommit_memory").strip(),
        "huge_pages": str(int(ALWAYS in huge)) if huge else "",
        "folder_gone": _is_gone(root / f"proc/{pid}/cwd"),
    }
    gauges = {name: float(text) for name, text in fields.items() if text.isdecimal()}
    return Reading(gauges=gauges) if gauges else None


def _is_gone(folder: Path) -> str:
    """Whether the folder in which the process works was deleted: 1 or 0, and nothing where we may not look."""
    try:
        return str(int(str(folder.readlink()).endswith(DELETED)))
    except OSError:
        return ""


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""
