"""The requests to the helper: one JSON document, which either has exactly this shape or is refused.

    {"steps": [{"verb": "set", "name": "data_disk.scheduler", "disk": "serial:S3X9", "value": "none"}, …]}

| verb     | does |
|----------|------|
| `set`    | make the value active |
| `keep`   | make the value last over a reboot |
| `forget` | remove the lasting value |
| `probe`  | report which settings this host has and accepts |
| `loaded` | report which allocator the named unit's process has loaded |
| `reload` | make systemd read its files again |
| `boot`   | make lasting values outside sysctl active, at the host's start |
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from lutra_agent.linux.disks import STABLE
from lutra_agent.linux.kernel import SETTINGS, KernelSetting, Refused

LONGEST = 1 << 16
MOST_STEPS = 200
PROCESS = re.compile(r"[1-9][0-9]{0,9}", re.ASCII)
KEYS = {
    "set": {"verb", "name", "disk", "value"},
    "keep": {"verb", "name", "disk", "value"},
    "forget": {"verb", "name", "disk"},
    "probe": {"verb", "disk"},
    "loaded": {"verb", "process"},
    "reload": {"verb"},
    "boot": {"verb"},
}


@dataclass(frozen=True)
class Request:
    """One step. `disk` is the data disk's id, empty if the setting is not a disk's, or the disk is unknown; `process`
    is the number of the database server's.
    """

    verb: str
    name: str = ""
    disk: str = ""
    value: str = ""
    process: str = ""

    @property
    def setting(self) -> KernelSetting:
        return SETTINGS[self.name]


def parse(document: bytes) -> list[Request]:
    """Raises Refused."""
    if len(document) > LONGEST:
        raise Refused(f"a request has {LONGEST} bytes at most")
    try:
        content = json.loads(document, object_pairs_hook=_distinct)
    except (ValueError, RecursionError):
        raise Refused("not a JSON document") from None
    if not isinstance(content, dict) or set(content) != {"steps"}:
        raise Refused("a request is an object with only `steps`")
    steps = content["steps"]
    if not isinstance(steps, list) or not 1 <= len(steps) <= MOST_STEPS:
        raise Refused(f"`steps` is a list of 1 to {MOST_STEPS}")
    return [_step(step) for step in steps]


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key twice")
    return found


def _step(step: object) -> Request:
    if not isinstance(step, dict) or not all(isinstance(value, str) for value in step.values()):
        raise Refused("a step is an object of texts")
    verb = step.get("verb", "")
    if verb not in KEYS or set(step) != KEYS[verb]:
        raise Refused(f"a step has a verb and its arguments: {', '.join(KEYS)}")
    request = Request(**step)
    if request.disk and not STABLE.fullmatch(request.disk):
        raise Refused(f"{request.disk[:40]!r} is not a disk id")
    if "process" in step and not PROCESS.fullmatch(request.process):
        raise Refused(f"{request.process[:40]!r} is not a process id")
    if "name" in step:
        _check(request)
    return request


def _check(request: Request) -> None:
    if request.name not in SETTINGS:
        raise Refused(f"{request.name[:40]!r} is not a setting that Lutra changes")
    if request.setting.of_disk != bool(request.disk):
        raise Refused(f"{request.name}: `disk` is required for settings of a disk, and not allowed for others")
    if request.setting.of_server and request.verb == "set":
        raise Refused(f"{request.name}: the server's next start makes it active")
    if request.verb != "forget":
        request.setting.check(request.value)
