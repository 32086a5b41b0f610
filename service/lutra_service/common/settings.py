"""The service's settings: read once from the environment (`LUTRA_…`), then handed down."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import BeforeValidator, Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from lutra_service.common.limits import DAILY_BYTES

PREFIX = "LUTRA_"
ALIKE = 0.75
STORE, LOG = "lutra.db", "service.log"


def own_folder() -> Path:
    """The folder of `lutra up`: `lutra` in the user's data folder."""
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "lutra"


def _store() -> str:
    """`lutra.db` in this folder, or else the store of `lutra up` if there is one."""
    own = own_folder() / STORE
    return f"sqlite:///{own}" if own.exists() and not Path(STORE).exists() else f"sqlite:///{STORE}"


def _lower(text: object) -> object:
    return text.lower() if isinstance(text, str) else text


class Settings(BaseSettings):
    """Sizes are in bytes and times in seconds."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, extra="ignore", frozen=True)

    database_url: str = Field(default_factory=_store, repr=False)
    host: str = "127.0.0.1"
    port: int = 8000
    tls_cert: Path | None = None
    tls_key: Path | None = None
    behind_tls_proxy: bool = False
    log_level: Annotated[Literal["debug", "info", "warning", "error"], BeforeValidator(_lower)] = "info"

    max_body_bytes: int = 2 << 20
    max_expanded_bytes: int = 16 << 20
    max_small_body_bytes: int = Field(default=256 << 10, ge=1)
    body_s: float = Field(default=5.0, gt=0)
    min_body_bytes_per_s: float = Field(default=64 << 10, gt=0)
    large_bodies: int = Field(default=2, ge=1)
    exports: int = Field(default=4, ge=1)

    requests_per_s: float = Field(default=200.0, gt=0)
    anonymous_per_s: float = Field(default=20.0, gt=0)
    metrics_databases: int = Field(default=1000, ge=0)
    polls_per_token: int = Field(default=200, ge=1)
    polls_per_item: int = Field(default=16, ge=1)

    client_connections: int = Field(default=4096, ge=8)
    client_connections_per_address: int = Field(default=2048, ge=4)
    head_s: float = Field(default=10.0, gt=0)
    idle_s: int = Field(default=5, ge=1)
    write_s: float = Field(default=30.0, gt=0)

    dask_scheduler: str | None = None
    dask_tls_ca: Path | None = None
    dask_tls_cert: Path | None = None
    dask_tls_key: Path | None = None
    workers: int = Field(default_factory=lambda: max(1, (os.cpu_count() or 2) // 2), ge=1)
    lease_s: float = Field(default=60.0, gt=0)
    max_attempts: int = Field(default=3, ge=1)
    fit_timeout_s: float = Field(default=600.0, gt=0, le=86400)
    fit_memory_bytes: int = Field(default=4 << 30, ge=512 << 20)
    sweep_s: float = Field(default=2.0, gt=0)
    train_s: float = Field(default=3600.0, gt=0)

    daily_bytes: int = Field(default=DAILY_BYTES, ge=1 << 20)
    retention_days: float = Field(default=14.0, gt=0, le=36500)
    prune_s: float = Field(default=3600.0, gt=0)

    def refusal_to_bind(self) -> str | None:
        """The reason why the service must not listen on `host`: tokens travel in clear text without TLS."""
        if (self.tls_cert is None) != (self.tls_key is None):
            return "LUTRA_TLS_CERT and LUTRA_TLS_KEY go together"
        if _loopback(self.host) or self.tls_cert is not None or self.behind_tls_proxy:
            return None
        return (
            f"{self.host} is not a loopback address: set LUTRA_TLS_CERT and LUTRA_TLS_KEY, or LUTRA_BEHIND_TLS_PROXY=1 "
            "if a proxy in front of the service ends TLS"
        )

    def refusal_of_scheduler(self) -> str | None:
        """The reason why the service must not use the Dask scheduler: histories are sent to it, and it runs any code
        that it is sent.
        """
        if self.dask_scheduler is None:
            return None
        scheme, host = urlsplit(self.dask_scheduler).scheme, urlsplit(self.dask_scheduler).hostname
        if scheme == "tls":
            files = (self.dask_tls_ca, self.dask_tls_cert, self.dask_tls_key)
            missing = "a tls:// scheduler needs LUTRA_DASK_TLS_CA, LUTRA_DASK_TLS_CERT and LUTRA_DASK_TLS_KEY"
            return missing if None in files else None
        if scheme == "tcp" and _loopback(host or ""):
            return None
        return (
            f"LUTRA_DASK_SCHEDULER is {self.dask_scheduler}: use tls://host:port with LUTRA_DASK_TLS_CA, "
            "LUTRA_DASK_TLS_CERT and LUTRA_DASK_TLS_KEY; tcp:// is for a scheduler on loopback alone"
        )


def misspelled(environment: Iterable[str]) -> list[str]:
    """A message for each variable without effect whose name resembles one of the service's."""
    names = [name.removeprefix(PREFIX).lower() for name in environment if name.startswith(PREFIX)]
    near = {n: get_close_matches(n, Settings.model_fields, n=1, cutoff=ALIKE) for n in names}
    return [
        f"{PREFIX}{n.upper()} has no effect: did you mean {PREFIX}{found[0].upper()}?"
        for n, found in near.items()
        if found and n not in Settings.model_fields
    ]


def _loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
