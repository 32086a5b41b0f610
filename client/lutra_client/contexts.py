"""The service that a program uses: contexts, which `lutra up` and `lutra login` save, and the environment, which takes
precedence.

Only the standard library is imported here: the service's and the agent's commands read and save contexts too.
"""

from __future__ import annotations

import json
import os
import re
import stat
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import mkstemp
from typing import Any

URL = "http://127.0.0.1:8000"
"""The service's address if nothing names another."""
ENVIRONMENT = "environment"
"""The name of a context that no file holds: LUTRA_URL names a service, or LUTRA_TOKEN a token, and nothing is saved."""
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class UnusableContexts(ValueError):
    """The file of contexts cannot be read, or there is none to use; the message names the way out."""


@dataclass(frozen=True)
class Context:
    """One service: its address, a token for it, and the authority that signed its certificate, if not a usual one."""

    name: str
    url: str
    token: str | None = field(default=None, repr=False)
    ca_file: str | None = None

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.name):
            raise ValueError(
                f"a context's name has 1 to 64 letters, digits, dots, dashes and underscores, got {self.name!r}"
            )
        for name, text in (("url", self.url), ("token", self.token or ""), ("ca_file", self.ca_file or "")):
            if not text.isprintable():
                raise ValueError(f"the {name} of context {self.name} contains a character that cannot be printed")


@dataclass(frozen=True)
class Contexts:
    """All saved contexts by their names, and the name of the one in use."""

    saved: Mapping[str, Context] = field(default_factory=dict)
    used: str | None = None


def file() -> Path:
    """`contexts.toml` in the user's configuration folder."""
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "lutra" / "contexts.toml"


def current() -> Context:
    """The service to talk to. LUTRA_URL, LUTRA_TOKEN and LUTRA_CA_FILE win over the saved context in use; a saved token
    is only for its own URL. `token` is None if nothing names one. Raises UnusableContexts.
    """
    url, token, ca_file = (os.environ.get(name) or None for name in ("LUTRA_URL", "LUTRA_TOKEN", "LUTRA_CA_FILE"))
    if url is not None and token is not None:
        return Context(ENVIRONMENT, url, token, ca_file)
    contexts = load()
    saved = contexts.saved.get(contexts.used or "")
    if url is not None and (saved is None or saved.url.rstrip("/") != url.rstrip("/")):
        saved = next((c for c in contexts.saved.values() if c.url.rstrip("/") == url.rstrip("/")), None)
    if saved is None:
        return Context(ENVIRONMENT, url or URL, token, ca_file)
    return Context(saved.name, url or saved.url, token or saved.token, ca_file or saved.ca_file)


def load() -> Contexts:
    """The saved contexts; none if there is no file. Raises UnusableContexts if it is unreadable, not private to the
    user, or not as `save` writes it.
    """
    at = file()
    try:
        with at.open("rb") as opened:
            mode = stat.S_IMODE(os.fstat(opened.fileno()).st_mode)
            document = tomllib.load(opened)
    except (FileNotFoundError, NotADirectoryError):
        return Contexts()
    except (OSError, ValueError) as error:
        raise UnusableContexts(f"{at} cannot be read: {error}; correct it, or delete it and log in again") from error
    if mode & 0o077:
        raise UnusableContexts(f"{at} contains tokens and other users can read it (mode {mode:o}): chmod 600 {at}")
    return _parsed(document, at)


def save(context: Context) -> None:
    """Add `context`, or replace the one of its name, and use it from now on. Raises UnusableContexts."""
    contexts = load()
    _write(Contexts({**contexts.saved, context.name: context}, context.name))


def use(name: str) -> Context:
    """Use the saved context of this name from now on. Raises UnusableContexts."""
    contexts = load()
    if name not in contexts.saved:
        raise _unknown(name, contexts)
    _write(Contexts(contexts.saved, name))
    return contexts.saved[name]


def forget(name: str) -> Context:
    """Delete a saved context with its token, and return it. If it was in use, none is. Raises UnusableContexts."""
    contexts = load()
    if name not in contexts.saved:
        raise _unknown(name, contexts)
    left = {known: saved for known, saved in contexts.saved.items() if known != name}
    _write(Contexts(left, contexts.used if contexts.used in left else None))
    return contexts.saved[name]


def _unknown(name: str, contexts: Contexts) -> UnusableContexts:
    known = f"there are {', '.join(sorted(contexts.saved))}" if contexts.saved else "none is saved"
    return UnusableContexts(f"there is no context {name!r}: {known}; `lutra login URL` saves one")


def _parsed(document: Mapping[str, Any], at: Path) -> Contexts:
    try:
        rows = document.get("contexts", {})
        saved = {name: Context(name, row["url"], row.get("token"), row.get("ca_file")) for name, row in rows.items()}
        return Contexts(saved, document.get("current"))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise UnusableContexts(
            f"{at} is not a file of contexts: {error!r}; correct it, or delete it and log in again"
        ) from error


def _write(contexts: Contexts) -> None:
    """In one step, and readable by this user alone. Without a context there is no file."""
    at = file()
    try:
        if not contexts.saved:
            at.unlink(missing_ok=True)
            with suppress(OSError):
                at.parent.rmdir()
            return
        at.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor, temporary = mkstemp(dir=at.parent, prefix=".contexts-")
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as opened:
                opened.write("\n".join(_lines(contexts)) + "\n")
            Path(temporary).replace(at)
        except OSError:
            with suppress(OSError):
                Path(temporary).unlink()
            raise
    except OSError as error:
        raise UnusableContexts(
            f"{at} cannot be written: {error.strerror}; set XDG_CONFIG_HOME to a folder of yours"
        ) from error


def _lines(contexts: Contexts) -> list[str]:
    lines = [] if contexts.used is None else [f"current = {_text(contexts.used)}"]
    for name, saved in contexts.saved.items():
        lines += ["", f"[contexts.{_text(name)}]", f"url = {_text(saved.url)}"]
        lines += [f"{key} = {_text(v)}" for key, v in (("token", saved.token), ("ca_file", saved.ca_file)) if v]
    return lines


def _text(text: str) -> str:
    """A basic string of TOML; printable text needs no other escapes than those of JSON."""
    return json.dumps(text, ensure_ascii=False)
