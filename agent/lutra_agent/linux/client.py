"""Calls the helper, which has the rights that the agent's account lacks."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from subprocess import PIPE
from typing import Protocol

from lutra_models.errors import ApplyCode

from lutra_agent.errors import ApplyRefused
from lutra_agent.killing import kill_group
from lutra_agent.linux.requests import KEYS, Request

TIMEOUT_S = 60.0
LONGEST_ANSWER = 1 << 16


class Helper(Protocol):
    def ask(self, steps: Sequence[Request]) -> Mapping[str, str]:
        """The result of a probe; empty for other steps. Raises ApplyRefused for steps that were not done."""
        ...


class HelperProgram:
    """Runs `command` for each request: the program itself as root, or a command that runs it as root."""

    def __init__(self, command: Sequence[str]) -> None:
        self.command = tuple(command)

    def ask(self, steps: Sequence[Request]) -> Mapping[str, str]:
        request = json.dumps({"steps": [as_document(s) for s in steps]}).encode()
        environment = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"}
        try:
            process = subprocess.Popen(
                self.command, stdin=PIPE, stdout=PIPE, stderr=PIPE, env=environment, start_new_session=True
            )
        except OSError as error:
            raise ApplyRefused(ApplyCode.INSUFFICIENT_PRIVILEGE, f"{self.command[0]}: {error}") from error
        try:
            answered, said_by_it = process.communicate(request, TIMEOUT_S)
        except subprocess.TimeoutExpired as error:
            ended = kill_group(process)
            left = "" if ended else f" (process {process.pid} belongs to a different account and is still running)"
            message = f"{self.command[0]}: no answer within {TIMEOUT_S:g} s{left}"
            raise ApplyRefused(ApplyCode.INSUFFICIENT_PRIVILEGE, message) from error
        try:
            answer = json.loads(answered[:LONGEST_ANSWER])
            refused, settings = str(answer["error"]), dict(answer["settings"])
        except (ValueError, KeyError, TypeError):
            said = said_by_it.decode(errors="replace").strip()[-400:]
            message = f"{' '.join(self.command)} ended with {process.returncode} and no answer: {said}"
            raise ApplyRefused(ApplyCode.INSUFFICIENT_PRIVILEGE, message) from None
        if refused:
            raise ApplyRefused(ApplyCode.INVALID_VALUE, refused)
        return settings


def as_document(step: Request) -> dict[str, str]:
    """The step as the helper reads it."""
    return {key: getattr(step, key) for key in sorted(KEYS[step.verb])}
