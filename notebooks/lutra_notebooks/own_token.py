"""A token that lives as long as JupyterLab does: made and revoked by `lutra token`, beside the service's database."""

from __future__ import annotations

import json
import secrets
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

Scope = Literal["read", "models"]
LONGEST = "7d"
"""How long the token is valid where nothing could revoke it: this machine lost power, say."""


class NoToken(RuntimeError):
    """None could be made; the message says why, in the words of `lutra token`."""


@contextmanager
def own_token(scope: Scope) -> Iterator[str]:
    """A new token's secret, revoked on exit. Raises NoToken."""
    name = f"lutra notebook {secrets.token_hex(4)}"
    secret = _lutra("token", "create", "--name", name, "--scope", scope, "--expires", LONGEST).strip()
    try:
        yield secret
    finally:
        for line in _lutra("token", "list", "--json").splitlines():
            found = json.loads(line)
            if found["name"] == name:
                _lutra("token", "revoke", found["id"])


def _lutra(*arguments: str) -> str:
    program = Path(sys.executable).with_name("lutra")
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise NoToken(done.stderr.strip().removeprefix("Error: "))
    return done.stdout
