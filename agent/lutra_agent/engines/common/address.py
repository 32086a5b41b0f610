"""The URL of a server, as people write it; it becomes the table `[database]` of an agent's file."""

from __future__ import annotations

import re
import ssl
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from lutra_agent.errors import ConfigError

Table = dict[str, Any]
IN_AUTHORITY = re.compile(r"(?<=://)(?P<before>[^:@/?#]*):(?P<password>[^/?#]*)(?P<after>@)")
AS_OPTION = re.compile(r"(?P<before>[?&\s])password=(?P<password>[^&\s]*)(?P<after>[&\s]|$)")
ENCODE = "percent-encode special characters in names and passwords, as in %40 for @"


@dataclass(frozen=True)
class Addresses:
    """The URLs of a family's servers.

    They begin with one of `prefixes`. `table` makes the table `[database]` of one, without the engine, and raises
    ConfigError. A server whose refusal contains `no_password` was given none. `words` are the forms in the URL of keys
    of the agent's file, which messages use.
    """

    prefixes: tuple[str, ...]
    table: Callable[[str], Table]
    no_password: str
    words: Mapping[str, str]


@dataclass(frozen=True)
class Url:
    """A URL in its parts, decoded. `host` is empty, and `user` and `port` are None, if it does not name them."""

    scheme: str
    user: str | None
    host: str
    port: int | None
    path: str
    options: Mapping[str, str] = field(default_factory=dict)


def without_password(address: str) -> tuple[str, str | None]:
    """The address in a form that may be shown, and the password that was in it."""
    if found := IN_AUTHORITY.search(address):
        return f"{address[: found.end('before')]}{address[found.start('after') :]}", unquote(found["password"])
    if found := AS_OPTION.search(address):
        kept = found["before"] if found["after"] else ""
        return f"{address[: found.start()]}{kept}{address[found.end() :]}", unquote(found["password"])
    return address, None


def parsed(address: str, known: Collection[str]) -> Url:
    """`known` are the options that it may have; "-" and "_" are equivalent in them. Raises ConfigError."""
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError as error:
        raise ConfigError(f"{address} is not a URL ({error}): {ENCODE}") from None
    options = {name.replace("-", "_"): value for name, value in parse_qsl(parts.query, keep_blank_values=True)}
    options.pop("", None)
    if strange := [name for name in options if name not in known]:
        raise ConfigError(f"{address}: unknown option {strange[0]!r}; known: {', '.join(sorted(known))}")
    user = None if parts.username is None else unquote(parts.username)
    return Url(parts.scheme, user or None, unquote(parts.hostname or ""), port, unquote(parts.path), options)


def system_authorities() -> str:
    """The file of the authorities that this machine trusts. Raises ConfigError if there is none."""
    paths = ssl.get_default_verify_paths()
    found = next((p for p in (paths.cafile, "/etc/ssl/certs/ca-certificates.crt") if p and Path(p).is_file()), None)
    if found is None:
        raise ConfigError("this machine has no file of trusted authorities: name the server's own in the URL")
    return found
