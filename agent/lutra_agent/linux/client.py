"""Asks the helper, which has the rights that the agent's account has not."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from typing import Protocol

from lutra_agent.errors import ApplyRefused
from lutra_agent.linux.requests import Request

TIMEOUT_S = 60.0
LONGEST_ANSWER = 1 << 16


class Helper(Protocol):
    def ask(self, steps: Sequence[Request]) -> Mapping[str, str]:
        """What a probe found; nothing for steps that ask for none. Raises ApplyRefused for what was not done."""
        ...


class HelperProgram:
    """Runs `command` for each request: the program itself as root, or what gives it root's rights."""

    def __init__(self, command: Sequence[str]) -> None:
        self.command = tuple(command)

    def ask(self, steps: Sequence[Request]) -> Mapping[str, str]:
        request = json.dumps({"steps": [as_document(s) for s in steps]}).encode()
        environment = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"}
        try:
            ran = subprocess.run(
                self.command, input=request, capture_output=True, timeout=TIMEOUT_S, env=environment, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise ApplyRefused("insufficient_privilege", f"{self.command[0]}: {error}") from error
        try:
            answer = json.loads(ran.stdout[:LONGEST_ANSWER])
            refused, settings = str(answer["error"]), dict(answer["settings"])
        except (ValueError, KeyError, TypeError):
            said = ran.stderr.decode(errors="replace").strip()[-400:]
            message = f"{' '.join(self.command)} ended with {ran.returncode} and no answer: {said}"
            raise ApplyRefused("insufficient_privilege", message) from None
        if refused:
            raise ApplyRefused("invalid_value", refused)
        return settings


def as_document(step: Request) -> dict[str, str]:
    """The step as the helper reads it."""
    found = {"verb": step.verb}
    if step.verb != "boot":
        found["disk"] = step.disk
    if step.name:
        found["name"] = step.name
    if step.verb in ("set", "keep"):
        found["value"] = step.value
    return found
