"""The settings of a server of the family, which it reads from its file at the start and takes by CONFIG SET."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from lutra_models.catalog import Change, load
from lutra_models.catalog.rows import KnobRow
from lutra_models.catalog.statements import Step, renderer
from lutra_models.errors import ApplyCode
from lutra_models.server import SERVER, ServerSetting

from lutra_agent.engines.common.answers import understood
from lutra_agent.engines.common.place import Place
from lutra_agent.engines.common.source import Activation, Backing, Permissions, Scope
from lutra_agent.engines.redis.server.rights import missing
from lutra_agent.engines.redis.server.session import NO_CONFIG, Session
from lutra_agent.engines.redis.sources.changing import Changing
from lutra_agent.engines.redis.sources.conf import Format, same
from lutra_agent.errors import ApplyRefused, CollectionFailed
from lutra_agent.files.atomic import read_regular, real
from lutra_agent.files.saved_file import save_file

PLACES = frozenset({"dir", "dbfilename", "appenddirname", "appendfilename"})
"""The settings that name the location of the data."""
START_FROM = PLACES | {"appendonly"}
"""The settings that decide from which data a server starts."""
DEFRAGMENTS = "activedefrag"


def why_lost(live: Mapping[str, str], file: Mapping[str, str], state: Mapping[str, str]) -> str:
    """The reason why a restart would lose data; empty if it would not.

    `live` are the active values, `file` are the values in the server's file, `state` is the section "persistence" of
    INFO.
    """
    if (
        "appendonly" not in live or "db-path" in live
    ):  # pika writes all to its disk, and says "appendonly no" from 3.5 on
        return ""
    if moved := sorted(n for n in PLACES & file.keys() & live.keys() if _elsewhere(n, file[n], live[n])):
        return f"the server's file names different data than the running server: {', '.join(moved)}"
    if "include" in file:  # which may switch the append-only file on or off
        return _no_log(live, state) or _no_snapshot(live, state)
    if file.get("appendonly", "no").lower() == "yes":
        return _no_log(live, state)
    return _no_snapshot(live, state)


def _elsewhere(name: str, text: str, value: str) -> bool:
    if name == "dir":
        return Path(text).is_absolute() and Path(text).resolve() != Path(value).resolve()
    return text != value


def _no_log(live: Mapping[str, str], state: Mapping[str, str]) -> str:
    if live["appendonly"] != "yes":
        return "it would start from its append-only file, but appendonly is off in the running server"
    if state.get("aof_last_write_status", "ok") != "ok":
        return "its append-only file cannot be written (aof_last_write_status)"
    return ""


def _no_snapshot(live: Mapping[str, str], state: Mapping[str, str]) -> str:
    if not live.get("save"):
        return "it would start from a snapshot, but writes none at shutdown: save is empty"
    if state.get("rdb_last_bgsave_status", "ok") != "ok":
        return "its snapshot cannot be written (rdb_last_bgsave_status)"
    return ""


class ConfigFile(Backing):
    """The file with which the server was started. `catalogue` names the settings that are read there."""

    read_at_start_alone = True
    held_while_down = START_FROM

    def __init__(self, session: Session, form: Format, catalogue: str) -> None:
        self._session = session
        self._form = form
        self._catalogue = catalogue

    def settings_file(self) -> Path | None:
        return self._session.details().config_file

    def settings_file_in(self, data_dir: Path | None) -> Path | None:
        return self._session.database.config_file

    def rewritten(self, content: bytes, texts: Mapping[str, str | None]) -> bytes:
        return self._form.rewritten(content, texts)

    def says(self, content: bytes) -> Mapping[str, str]:
        return self._form.says(content, frozenset(r.name for r in load(self._catalogue).rows))

    def read(self, file: Path | None) -> Mapping[str, str]:
        """Setting → text. Raises CollectionFailed for an existing file that this account may not read."""
        if file is None:
            return {}
        try:
            return self.says(read_regular(real(file))[0])
        except (FileNotFoundError, PermissionError):
            return {}  # `permissions` lets nothing be changed then
        except OSError as error:
            raise CollectionFailed(f"{file}: {error.strerror or error}") from error


class TakenAtOnce(Activation):
    """The server takes each value with its step; a restart reads the data again from what it has written."""

    def __init__(self, session: Session, file: ConfigFile) -> None:
        self._session = session
        self._file = file

    def reload(self) -> None:
        """Settings that need no restart are active already."""
        self._session.info("server")

    def before_restart(self) -> None:
        live = self._session.connection.pairs("CONFIG", "GET", "*")
        written = self._file.read(self._session.details().config_file)
        if lost := why_lost(live, written, self._session.info("persistence")):
            raise ApplyRefused(ApplyCode.RESTART_NOT_ALLOWED, f"a restart would lose data: {lost}")


class RedisSource:
    name = SERVER
    scope: Scope = "server"

    def __init__(self, session: Session, form: Format) -> None:
        self.catalogue = session.product.name
        self._renderer = renderer(self.catalogue)
        self._session = session
        self._form = form
        self._changing = Changing(session, form)
        self.backing = ConfigFile(session, form, self.catalogue)
        self.activation = TakenAtOnce(session, self.backing)

    @understood("settings")
    def read(self) -> Mapping[str, ServerSetting]:
        details = self._session.details()
        live = self._session.settings()
        rows = {r.name: r for r in load(self.catalogue).rows_for(details.version) if r.name in live}
        written = self.backing.read(details.config_file)
        lost = why_lost(live, written, self._session.info("persistence"))
        waits = {n for n, r in rows.items() if r.applies == "restart"} if lost else set()
        fixed = waits if details.defragments else {*waits, DEFRAGMENTS}
        kilo = self._form.kilo
        return {n: _setting(r, live[n], written.get(n), n in fixed, kilo) for n, r in rows.items()}

    @understood("rights")
    def permissions(self, names: Iterable[str]) -> Permissions:
        details = self._session.details()
        if self._session.lacks_config:
            return Permissions(frozenset(), True, explanation=NO_CONFIG)
        remedy = missing(self._session)
        if remedy:
            how = "this account may not do all that the agent asks of the server"
            return Permissions(frozenset(), True, (remedy,), how)
        if not details.keeps_file:
            return self._without_file(names, details.place)
        file = details.config_file
        kept = save_file(file)
        if kept is None:
            what = file or "the server's file, which is not on this host,"
            how = f"the agent's operating-system account may not write {what} and its folder: it needs both"
            return Permissions(frozenset(), True, explanation=how)
        if objection := self._session.objection(kept.owner[0]):
            return Permissions(frozenset(), True, explanation=objection)
        return Permissions(frozenset(names), True)

    def plan(self, change: Change, restart: bool) -> tuple[Step, ...]:
        return self._renderer.change(change.name, change.value_text, restart or change.applies == "restart")

    def undo(self, name: str, text: str | None, active: str, restart: bool) -> tuple[Step, ...]:
        return self._renderer.undo(name, text, active, restart or self._restarts(name))

    def execute(self, steps: Sequence[Step]) -> None:
        self._changing.execute(steps)

    def _without_file(self, names: Iterable[str], place: Place) -> Permissions:
        """A server that has no file here takes what is live, and forgets it with its next start."""
        live = frozenset(n for n in names if not self._restarts(n))
        how = "the server's file is not on this host" if place.doubt else "the server was started without a file"
        how += ": its next start forgets every change"
        how += ", and changes that need a restart cannot be kept"
        return Permissions(live, True, explanation=how)

    def _restarts(self, name: str) -> bool:
        rows = load(self.catalogue).rows_for(self._session.details().version)
        return any(r.name == name and r.applies == "restart" for r in rows)


def _setting(row: KnobRow, value: str, text: str | None, fixed: bool, kilo: int) -> ServerSetting:
    """`text` are the values in the server's file, where 1k is `kilo`."""
    waits = row.applies == "restart"
    low, high = row.takes or (None, None)
    now = _number(value)
    return ServerSetting(
        value=value,
        unit=row.unit,
        kind=row.kind,
        # What was set by somebody else is a value that the server takes.
        low=low if now is None or low is None else min(low, now),
        high=high if now is None or high is None else max(high, now),
        applies="fixed" if fixed else row.applies,
        source="default" if text is None else "file",
        persisted=text,
        pending_restart=waits and text is not None and not same(text, value, kilo),
    )


def _number(value: str) -> float | None:
    """None for a text that is none, such as a share of another setting."""
    try:
        return float(value)
    except ValueError:
        return None
