"""The settings of this host's kernel: a setting source in addition to the server's own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from lutra_models.catalog import Change, KnobRow, load
from lutra_models.catalog.statements import FileLine, Statement, Step, renderer
from lutra_models.server import ServerSetting

from lutra_agent.engines.common.source import Activation, Permissions, Scope
from lutra_agent.errors import ApplyRefused, CollectionFailed, DatabaseUnavailable
from lutra_agent.linux import allocators, kernel, lasting, units
from lutra_agent.linux.client import Helper
from lutra_agent.linux.disks import disk_of, stable_id, with_id
from lutra_agent.linux.kernel import ALLOCATOR, RATIOS, SCHEDULER, SETTINGS, SYSTEM, Kernel, Refused
from lutra_agent.linux.lasting import Place
from lutra_agent.linux.owners import owners, preloads
from lutra_agent.linux.places import Places
from lutra_agent.linux.requests import Request

LEAST_BYTES = 8192
"""For a limit of dirty memory, two pages: never 0, because the ratio that it would mean is unknown."""
REMEDY = "give the agent's account the helper: docs/operate/host.md"
ELSEWHERE = "the server is not proven to run on this host: the agent does not change this host's kernel settings"


@dataclass(frozen=True)
class _Disk:
    id: str
    folder: Path | None


class LinuxHost:
    """Reads the kernel itself; the helper makes changes. It needs the server only to find the data's disk.

    The agent cannot write its two files, so it has no backing: its steps undo everything that they do. The kernel takes
    each value at once, and systemd its file with a step.
    """

    name = "linux"
    catalogue = "linux"
    scope: Scope = "host"
    backing = None
    activation = Activation()

    def __init__(
        self,
        helper: Helper,
        data_dir: Callable[[], Path | None],
        process: Callable[[], int | None],
        places: Places | None = None,
    ) -> None:
        self._helper = helper
        self._data_dir = data_dir
        self._process = process
        self._places = places or Places()
        self._renderer = renderer(self.catalogue)
        self._disk: _Disk | None = None
        self._seen: tuple[int, str | None] | None = None

    def read(self) -> Mapping[str, ServerSetting]:
        """This host's settings of the catalogue, with their other owners. Raises CollectionFailed."""
        disk = self._found_disk()
        live = Kernel(self._places.root, disk.folder if disk else None)
        kept, outranking = self._kept()
        found = dict[str, ServerSetting]()
        for row in load(self.catalogue).rows:
            place = (row.name, disk.id if disk and SETTINGS[row.name].of_disk else "")
            try:
                found[row.name] = self._setting(row, live, kept.get(place), outranking)
            except (OSError, Refused, ValueError):  # this host has no such setting
                continue
        return found

    def permissions(self, names: Iterable[str]) -> Permissions:
        if self._is_elsewhere():
            return Permissions(frozenset(), True, explanation=ELSEWHERE)
        disk = self._found_disk()
        try:
            state = self._helper.ask([Request("probe", disk=disk.id if disk else "")])
        except ApplyRefused as error:
            return Permissions(frozenset(), True, (REMEDY,), str(error))
        changeable = frozenset(n for n in names if state.get(n) == "writable")
        refused = sorted(f"{n} ({state.get(n, 'unknown')})" for n in set(names) - changeable)
        return Permissions(changeable, True, (), f"not on this host: {', '.join(refused)}" if refused else "")

    def plan(self, change: Change, restart: bool) -> tuple[Step, ...]:
        return self._renderer.change(change.name, change.value_text, restart)

    def undo(self, name: str, text: str | None, active: str, restart: bool) -> tuple[Step, ...]:
        return self._renderer.undo(name, text, active, restart)

    def execute(self, steps: Sequence[Step]) -> None:
        """Schedulers come first, because each has its own queue; the other steps keep their order."""
        if not steps:
            return
        ordered = sorted(steps, key=lambda step: step.setting != SCHEDULER)
        disk = self._found_disk() if any(SETTINGS[s.setting].of_disk for s in steps) else None
        self._helper.ask([_request(step, disk) for step in ordered])

    def _setting(self, row: KnobRow, live: Kernel, kept: str | None, outranking: Mapping[str, str]) -> ServerSetting:
        setting = SETTINGS[row.name]
        if setting.of_server:
            return self._allocator(row)
        server_setting = ServerSetting(
            value=live.read(setting),
            unit=self._unit(row),
            applies=row.applies,
            source="kernel" if kept is None else "file",
            persisted=kept,
            shadowed=outranking.get(row.name),
        )
        if setting.options is not None:
            return replace(server_setting, kind="enum", options=live.options(setting))
        nobody_remembers = row.name in RATIOS and int(server_setting.value) > 0 and kept is None
        low = LEAST_BYTES if nobody_remembers else setting.low
        return replace(server_setting, kind="integer", low=low, high=setting.high)

    def _allocator(self, row: KnobRow) -> ServerSetting:
        """Of a server that the unit runs which the administrator named. Raises Refused and OSError."""
        unit, places = units.named(self._places), self._places
        process = self._server_process()
        if process is None or units.of_process(places.root, process) != unit:
            raise Refused(f"{row.name}: {unit} does not run the server")
        loaded = self._loaded(process)
        if loaded is None:
            raise Refused(f"{row.name}: the library that process {process} has loaded is not visible to this account")
        active, file = SYSTEM if loaded == allocators.OWN else loaded, places.drop_in(unit)
        try:
            kept, owner = allocators.preloaded(file), preloads(places.system, unit, file)
        except Refused as error:
            kept, owner = None, str(error)
        if active not in (SYSTEM, kept):
            owner = owner or "the server's program, or what starts it"
        options = tuple(dict.fromkeys((SYSTEM, *allocators.installed(places), active)))
        if len(options) == 1 and kept is None:
            raise Refused(f"{row.name}: no other allocator is installed")
        return ServerSetting(
            value=active,
            kind="enum",
            options=options,
            applies=row.applies,
            source="default" if kept is None else "file",
            persisted=kept,
            shadowed=owner,
            pending_restart=owner is None and active != (kept or SYSTEM),
        )

    def _is_elsewhere(self) -> bool:
        """Whether the server answers, and nothing shows that it runs on this host."""
        try:
            return self._process() is None and self._data_dir() is None
        except (DatabaseUnavailable, CollectionFailed):
            return False

    def _server_process(self) -> int | None:
        try:
            return self._process()
        except (DatabaseUnavailable, CollectionFailed):
            return None

    def _loaded(self, process: int) -> str | None:
        """What the server's process has its memory from. The helper sees what this account may not; it is asked once of
        each process, which keeps what it has loaded at its start.
        """
        found = allocators.loaded(self._places.root, process)
        if found is not None:
            return found
        if self._seen is None or self._seen[0] != process:
            try:
                seen = self._helper.ask([Request("loaded", process=str(process))]).get(ALLOCATOR)
            except ApplyRefused:
                seen = None
            self._seen = process, seen
        return self._seen[1]

    def _unit(self, row: KnobRow) -> str:
        """The kernel's: explicit huge pages are as large as its default."""
        size = kernel.meminfo(self._places.root, "Hugepagesize") if row.name == "vm.nr_hugepages" else None
        return row.unit if size is None else f"{size}kB"

    def _kept(self) -> tuple[dict[Place, str], dict[str, str]]:
        """What Lutra's own files say, and who else sets what: whoever has edited these owns all that they may say."""
        kept = dict[Place, str]()
        outranking = owners(self._places.system, self._places.sysctls)
        for file in (self._places.sysctls, self._places.devices):
            try:
                kept |= lasting.read(file)
            except Refused as error:
                own = [s.name for s in SETTINGS.values() if self._places.lasting(s) == file]
                outranking |= dict.fromkeys(own, str(error))
            except OSError as error:
                raise CollectionFailed(f"{file}: {error.strerror}") from error
        return kept, outranking

    def _found_disk(self) -> _Disk | None:
        """The disk of the data. The server is asked once; where it does not answer, a file of Lutra's may name it."""
        if self._disk is not None:
            return self._disk
        try:
            folder = self._data_dir()
        except (DatabaseUnavailable, CollectionFailed):
            return self._kept_disk()
        device = None if folder is None else disk_of(self._places.root, folder)
        id_ = None if device is None else stable_id(device)
        named = id_ is not None and with_id(self._places.root, id_) is not None
        self._disk = _Disk(id_, device) if id_ is not None and named else None
        return self._disk

    def _kept_disk(self) -> _Disk | None:
        try:
            ids = {disk for _, disk in lasting.read(self._places.devices) if disk}
        except (OSError, Refused):
            return None
        return _Disk(id_, with_id(self._places.root, id_)) if len(ids) == 1 and (id_ := next(iter(ids))) else None


def _request(step: Step, disk: _Disk | None) -> Request:
    """Raises DatabaseUnavailable for a step of a disk that only the server could name."""
    setting = SETTINGS[step.setting]
    of_disk = setting.of_disk
    if of_disk and disk is None:
        raise DatabaseUnavailable(f"{step.setting}: the data's disk is not known, or has no stable id")
    id_ = disk.id if of_disk and disk is not None else ""
    if isinstance(step, Statement) and setting.of_server:
        return Request("reload")
    if isinstance(step, Statement):
        return Request("set", step.setting, id_, step.wanted or "")
    assert isinstance(step, FileLine)
    verb = "forget" if step.value is None else "keep"
    return Request(verb, step.setting, id_, step.value or "")
