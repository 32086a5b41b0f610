"""systemd's units: the one that runs a process, the one that the administrator names, and the state of one."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from lutra_agent.files.accounts import is_kept_by
from lutra_agent.files.atomic import read_regular
from lutra_agent.linux.kernel import Refused
from lutra_agent.linux.places import Places

SERVICE = ".service"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9:_.@\\-]{0,200}\.service", re.ASCII)
BOOTED = "run/systemd/system"
"""A folder that exists if systemd is the host's first process (sd_booted(3))."""
HIERARCHIES = ("name=systemd", "")
"""The control group hierarchies: systemd's own of version 1, and the one of version 2. systemd uses one of them, or
both.
"""
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C"}
TIMEOUT_S = 50.0
SHOWN_WITHIN_S = 5.0
LONGEST_NAME = 256
LONGEST_ERROR = 200


def named(places: Places) -> str:
    """The unit whose server may get another allocator. Raises Refused."""
    file = places.unit
    if not (places.system / BOOTED).is_dir():
        raise Refused("systemd does not run this host")
    try:
        content, _ = read_regular(file, LONGEST_NAME)
        if not is_kept_by(places.owner, file, places.system):
            raise Refused(f"{file}: accounts other than root can change it")
    except OSError as error:
        raise Refused(f"{file}: {error.strerror}") from None
    unit = content.decode(errors="replace").strip()
    if not NAME.fullmatch(unit):
        raise Refused(f"{file}: {unit[:40]!r} is not a service unit")
    return unit


def of_process(root: Path, pid: int) -> str | None:
    """The unit that runs the process, by its control group; None for one that no unit of the system runs."""
    managers, groups = (_groups(root / f"proc/{p}/cgroup") for p in ("1", pid))
    for hierarchy in HIERARCHIES:
        manager = managers.get(hierarchy, "/").removesuffix("/init.scope")
        within = groups.get(hierarchy, "").removeprefix(manager).split("/")
        unit = next((part for part in within if part and not part.endswith(".slice")), "")
        if unit.endswith(SERVICE):
            return unit
    return None


def reload(places: Places) -> None:
    """Make systemd read its files again. Raises Refused."""
    command = [str(places.systemctl), "daemon-reload"]
    try:
        ran = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, env=ENVIRONMENT, cwd="/", timeout=TIMEOUT_S
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Refused(f"{' '.join(command)}: {error}") from None
    if ran.returncode:
        said = ran.stderr.decode(errors="replace").strip()[:LONGEST_ERROR]
        raise Refused(f"{' '.join(command)} ended with {ran.returncode}: {said}")


def service_states(systemctl: str, unit: str) -> tuple[str, str, str]:
    """Whether a unit is loaded, whether it is active and how it ended last, in systemd's words; empty if unknown."""
    shown = ("LoadState", "ActiveState", "Result")
    command = [systemctl, "show", f"--property={','.join(shown)}", "--", unit]
    try:
        ran = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, env=ENVIRONMENT, cwd="/", timeout=SHOWN_WITHIN_S
        )
    except (OSError, subprocess.TimeoutExpired):
        return "", "", ""
    said = dict(line.split("=", 1) for line in ran.stdout.decode(errors="replace").splitlines() if "=" in line)
    loaded, active, result = (said.get(name, "").strip() for name in shown)
    return (loaded, active, result) if loaded != "not-found" else ("", "", "")


def _groups(file: Path) -> dict[str, str]:
    """The path of a process in each hierarchy."""
    try:
        lines = [line.split(":", 2) for line in file.read_text(errors="replace").splitlines()]
    except OSError:
        return {}
    return {controllers: path for _, controllers, path in (line for line in lines if len(line) == 3)}
