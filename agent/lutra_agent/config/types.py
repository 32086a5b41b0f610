"""The agent's configuration, in types. `section.read` makes them of the tables of a file, and checks each key."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from ipaddress import ip_address
from math import ceil
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from lutra_models.guardrails import DEFAULTS, GuardName, Guardrail
from lutra_models.history import Mode
from lutra_models.maintenance import WEEKDAYS, MaintenanceWindow, known_zone
from lutra_models.metrics import P99Of
from lutra_models.server import MemoryCount
from lutra_models.symptoms import Kind
from pydantic import AfterValidator, AwareDatetime, BeforeValidator, ValidationInfo

from lutra_agent.config.section import Section
from lutra_agent.config.values import (
    Argv,
    Bytes,
    OptionalPath,
    OptionalText,
    Url,
    Whole,
    a_list_of,
    at_home,
    required,
    shown,
    within,
)
from lutra_agent.errors import ConfigError, LoginRefused
from lutra_agent.files.secrets import secret

TOKEN_VARIABLE = "LUTRA_AGENT_TOKEN"  # noqa: S105
CONFIRM_S = 900.0
LOOPBACK = ("127.0.0.1", "localhost", "::1")
DAY_S = 86_400.0
STATE_DIR = Path("/var/lib/lutra-agent")
HOST_HELPER = ("sudo", "-n", "/usr/local/bin/lutra-host")


def _encrypted(url: str) -> str:
    host = urlsplit(url).hostname
    if not url.startswith("https://") and host not in LOOPBACK:
        raise ValueError(f"plain http is for loopback only, got host {host!r}: use https")
    return url


def _state_dir(text: object) -> object:
    return str(STATE_DIR) if text == "" else text


def _on_any_day(table: object) -> object:
    days = table.get("weekdays", list(WEEKDAYS)) if isinstance(table, dict) else None
    return {**table, "weekdays": tuple(days)} if isinstance(table, dict) and isinstance(days, list) else table


def _in_a_known_zone(window: MaintenanceWindow) -> MaintenanceWindow:
    if known_zone(window.zone) is None:
        raise ValueError(f"zone: this machine has no time zone {window.zone!r}")
    return window


def _completed(table: object, info: ValidationInfo) -> object:
    """What a guard's table leaves out, its default has."""
    default = next(rail for name, rail in DEFAULTS.items() if name == info.field_name)
    return {**asdict(default), **table} if isinstance(table, dict) else table


Window = Annotated[MaintenanceWindow, BeforeValidator(_on_any_day), AfterValidator(_in_a_known_zone)]
OneGuard = Annotated[Guardrail | None, BeforeValidator(_completed)]


@dataclass(frozen=True)
class ServiceConfig(Section):
    """The destination of reports. The token is read when it is needed: `check`, `rollback` and `pause` work without
    one.

    `ca_file`: the authority that signed the service's certificate, in place of those that the system trusts.
    """

    url: Annotated[Url, AfterValidator(_encrypted), required("the service's address: https://host[:port]")]
    database: Annotated[str, required("the database's id on the service, as in db_…")]
    token_file: OptionalPath = None
    ca_file: OptionalPath = None

    def token(self) -> str:
        """From the environment, else from `token_file`. Raises ConfigError if neither gives one.

        A text that does not fit into a header is refused here, because the HTTP library would show all of it in its
        error.
        """
        given = os.environ.get(TOKEN_VARIABLE, "").strip()
        text = given or secret(self.token_file)
        if not text:
            raise ConfigError(f"no token: set service.token_file or the environment variable {TOKEN_VARIABLE}")
        if not text.isascii() or not text.isprintable() or " " in text:
            place = TOKEN_VARIABLE if given else self.token_file
            raise ConfigError(f"{place} contains more than a token: expected a single word that begins with lutra_")
        return text

    @property
    def loopback(self) -> bool:
        return urlsplit(self.url).hostname in LOOPBACK


@dataclass(frozen=True)
class DatabaseConfig(Section):
    """The address of the database. Without `password_file` the engine's own sources apply: its environment or its file.

    An engine family adds its own keys in a dataclass of its own, which is one of these. `tls_ca`: a connection over the
    network is encrypted, and the server proves its name by this authority (`tls_verify` "ca": only that its certificate
    is one of this authority's).
    """

    engine: str
    host: Annotated[str, required("the server's socket or its folder, or a host's name")]
    port: Annotated[Whole, within(1, 65535)]
    user: str = "lutra"
    password_file: OptionalPath = field(default=None, kw_only=True)
    tls_ca: OptionalPath = field(default=None, kw_only=True)
    tls_verify: Literal["identity", "ca"] = field(default="identity", kw_only=True)

    def __str__(self) -> str:
        """The engine, the database's name where it has one, and where it is."""
        name = getattr(self, "dbname", "")
        return (
            f"{self.engine} {name} at {self.host}:{self.port}" if name else f"{self.engine} at {self.host}:{self.port}"
        )

    @property
    def by_socket(self) -> bool:
        """A folder or a file of this host, which only an account with write access there can occupy."""
        return self.host == "" or self.host.startswith("/")

    @property
    def proved(self) -> bool:
        """Whether what answers there is the server, so that it may be given the password itself."""
        return self.by_socket or self.tls_ca is not None

    def password(self) -> str | None:
        """Raises LoginRefused if the file contains none. Each connection reads the file, because it may be replaced."""
        try:
            return secret(self.password_file)
        except ConfigError as error:
            raise LoginRefused(str(error)) from error


@dataclass(frozen=True)
class AgentConfig(Section):
    """`mode` is the strongest mode in which the agent ever works. `memory_fraction` of the host's memory is its own
    limit, compared with the memory that can really be `memory_count` "in_use" at once, or against the "worst_case",
    with everything full at once. `durability`: settings that can lose committed data may move. `ranges` "catalogue": a
    new value lies in the catalogue's range; "server": anywhere in the server's own range. Outside a lab
    `changes_per_hour` are the most. Without `names` no name of a table, role, slot or host of the database's leaves the
    agent. `memory` (bytes) and `cores` are a server's that is not known to run on this host; of one that runs here they
    are read.

    Windows after a change are warm-up: `warmup_windows` of them, and for `restart_warmup_s` after a restart, which
    leaves the caches cold.
    """

    state_dir: Annotated[Path, BeforeValidator(_state_dir), AfterValidator(at_home)] = STATE_DIR
    mode: Mode = "observe"
    interval_s: Annotated[float, within(1, 3600)] = 10.0
    warmup_windows: Annotated[Whole, within(0, 1000)] = 1
    restart_warmup_s: Annotated[float, within(0, 3600)] = 60.0
    memory_fraction: Annotated[float, within(0.05, 1)] = 0.8
    memory_count: MemoryCount = "in_use"
    durability: bool = False
    name: OptionalText = None
    ranges: Literal["catalogue", "server"] = "catalogue"
    changes_per_hour: Annotated[Whole, within(1, 3600)] = 60
    names: bool = True
    memory: Annotated[Bytes, within(2**20, 2**50)] | None = None
    cores: Annotated[float, within(0.01, 4096)] | None = None

    def warm_up(self, restarted: bool) -> int:
        """The number of windows after a change that are left out."""
        return max(self.warmup_windows, ceil(self.restart_warmup_s / self.interval_s) if restarted else 0)


@dataclass(frozen=True)
class RestartConfig(Section):
    """The commands that restart a server and start one that is down: argument lists, run without a shell.

    Outside a lab directives restart it at most `per_hour` times, and within `maintenance_windows` if there are any.
    """

    command: Argv = ()
    start_command: Argv = ()
    timeout_s: Annotated[float, within(1, 3600)] = 60.0
    data_dir: OptionalPath = None
    per_hour: Annotated[Whole, within(1, 3600)] = 6
    maintenance_windows: Annotated[tuple[Window, ...], a_list_of("tables")] = ()


@dataclass(frozen=True)
class PrometheusConfig(Section):
    """An instant query that gives the 99th percentile, in `unit`; `$window` in it becomes the window, as in `30s`."""

    url: Annotated[Url, required("Prometheus's address: http(s)://host[:port]")]
    query: Annotated[str, required("a query that returns a single number: the 99th percentile")]
    unit: Literal["s", "ms"] = "s"
    of: P99Of = "transaction"


@dataclass(frozen=True)
class GuardConfig(Section):
    """The guards that the file names, and how a change is confirmed. `service_may_loosen`: the service's replace them.

    `confirm_windows` windows without a violation confirm a change; without them within `confirm_s` after it was applied
    the agent undoes it. A guardrail that fires within `watch_s` after the confirmation undoes it as well.
    """

    p99: OneGuard = None
    qps: OneGuard = None
    errors: OneGuard = None
    memory: OneGuard = None
    replication_lag: OneGuard = None
    disk: OneGuard = None
    unreachable: OneGuard = None
    confirm_windows: Annotated[Whole, within(1, 100)] = 3
    confirm_s: Annotated[float, within(1, DAY_S)] = CONFIRM_S
    watch_s: Annotated[float, within(0, DAY_S)] = 600.0
    service_may_loosen: bool = False

    @property
    def guardrails(self) -> dict[GuardName, Guardrail]:
        return {name: rail for name in DEFAULTS if (rail := getattr(self, name)) is not None}


@dataclass(frozen=True)
class HostConfig(Section):
    """`settings`: those of this host's kernel, which affect everything that runs here, may move. `helper` writes them,
    as root; it is run without a shell.
    """

    settings: bool = False
    helper: Argv = HOST_HELPER


def _moment(text: object) -> datetime:
    """A day is its first moment; without a zone it is one in UTC."""
    try:
        moment = datetime.fromisoformat(str(text))
    except ValueError:
        raise ValueError(f"expected a day such as 2027-03-31, got {shown(text)}") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


@dataclass(frozen=True)
class AcceptedConfig(Section):
    """The risk of a finding, accepted with a reason and for a limited time. If `kind` is given, a worse finding counts
    again.
    """

    because: Annotated[str, required("why the risk is taken")]
    until: Annotated[AwareDatetime, BeforeValidator(_moment), required("a day such as 2027-03-31")]
    kind: Kind | None = None


@dataclass(frozen=True)
class Config(Section):
    service: ServiceConfig
    database: DatabaseConfig
    agent: AgentConfig = field(default_factory=AgentConfig)
    restart: RestartConfig = field(default_factory=RestartConfig)
    guard: GuardConfig = field(default_factory=GuardConfig)
    host: HostConfig = field(default_factory=HostConfig)
    driver: dict[str, Any] | None = None
    prometheus: PrometheusConfig | None = None
    accepted: dict[str, AcceptedConfig] = field(default_factory=dict)


def is_loopback(host: str) -> bool:
    try:
        return host in LOOPBACK or ip_address(host).is_loopback
    except ValueError:
        return False
