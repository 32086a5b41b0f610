"""`lutra-host`: reads one request, executes it as root, and prints one answer. It takes no argument.

All steps of a request are checked before the first is executed. It may write the kernel's files of `kernel.SETTINGS`,
two files of Lutra's own, a drop-in of the unit that the administrator named, and its memory: values that the kernel
forgets, and the drop-in's unit. It runs `systemctl daemon-reload`, and no other program.
"""

from __future__ import annotations

import fcntl
import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from lutra_agent.files.atomic import make_folder, remove_unfinished
from lutra_agent.linux import allocators, kernel, lasting, requests, units
from lutra_agent.linux.allocators import Memory, Preload
from lutra_agent.linux.disks import with_id
from lutra_agent.linux.kernel import ALLOCATOR, RATIOS, REQUESTS, SCHEDULER, SYSTEM, Kernel, KernelSetting, Refused
from lutra_agent.linux.places import Places
from lutra_agent.linux.requests import Request

LONGEST_ERROR = 4000
TAKES_NONE = "lutra-host takes no argument: it reads its request"


@dataclass(frozen=True)
class Answer:
    """`done` steps were carried out; `error` is empty if all were. `settings` is what a probe found."""

    done: int
    error: str = ""
    settings: dict[str, str] | None = None

    def to_json(self) -> str:
        return json.dumps({"done": self.done, "error": self.error, "settings": self.settings or {}})


def main(arguments: Sequence[str] | None = None, places: Places | None = None) -> None:
    """Exit status 0 if all was done, 1 if the kernel or a disk refused a step, 2 if nothing was begun."""
    given = sys.argv[1:] if arguments is None else arguments
    try:
        if given:
            raise Refused(TAKES_NONE)
        steps = requests.parse(sys.stdin.buffer.read(requests.LONGEST + 1))
    except Refused as error:
        sys.stdout.write(Answer(0, str(error)).to_json())
        sys.exit(2)
    answer = carry_out(steps, places or Places())
    sys.stdout.write(answer.to_json())
    sys.exit(1 if answer.error else 0)


def carry_out(steps: Sequence[Request], places: Places) -> Answer:
    """Execute the steps in order. A step that fails does not prevent the others, which may be an undo."""
    errors, settings = list[str](), dict[str, str]()
    try:
        with _alone(places):
            for step in steps:
                try:
                    settings |= _Step(step, places).run()
                except (Refused, OSError) as error:
                    errors.append(_said(step, error))
    except OSError as error:
        return Answer(0, f"{places.memory}: {kernel.why(error)}")
    return Answer(len(steps) - len(errors), "; ".join(dict.fromkeys(errors))[:LONGEST_ERROR], settings)


def _said(step: Request, error: Refused | OSError) -> str:
    reason = kernel.why(error) if isinstance(error, OSError) else str(error)
    return reason if not step.name or reason.startswith(step.name) else f"{step.name}: {reason}"


@contextmanager
def _alone(places: Places) -> Iterator[None]:
    """One helper at a time."""
    make_folder(places.memory)
    descriptor = os.open(places.memory / "lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        remove_unfinished(places.memory)
        yield
    finally:
        os.close(descriptor)


class _Step:
    def __init__(self, step: Request, places: Places) -> None:
        self._step = step
        self._places = places
        self._kernel = Kernel(places.root, with_id(places.root, step.disk) if step.disk else None)
        self._memory = Memory(places.memory / "remembered.json")

    def run(self) -> dict[str, str]:
        """What a probe found. Raises Refused and OSError."""
        step = self._step
        match step.verb:
            case "set":
                self._set(step.setting, step.value)
            case "keep" | "forget" if step.setting.of_server:
                Preload(self._places, self._memory).last(step.value or SYSTEM)
            case "keep":
                self._last(step.value)
            case "forget":
                self._last(None)
            case "probe":
                own = {ALLOCATOR: Preload(self._places, self._memory).state()}
                return {name: self._kernel.state(setting) for name, setting in kernel.SETTINGS.items()} | own
            case "loaded":
                return {ALLOCATOR: self._loaded(int(step.process))}
            case "reload":
                units.reload(self._places)
            case "boot":
                self._boot()
        return {}

    def _loaded(self, process: int) -> str:
        unit = units.named(self._places)
        found = allocators.loaded(self._places.root, process)
        if found is None or units.of_process(self._places.root, process) != unit:
            raise Refused(f"{ALLOCATOR}: {unit} runs no process {process}")
        return found

    def _set(self, setting: KernelSetting, value: str) -> None:
        self._require_room(setting, value)
        now = self._kernel.read(setting)
        if setting.name == SCHEDULER:
            self._schedule(setting, now, value)
        elif setting.name in RATIOS:
            self._limit(setting, RATIOS[setting.name], now, value)
        elif now != value:
            self._kernel.write(setting, value)

    def _require_room(self, setting: KernelSetting, value: str) -> None:
        most = kernel.most_huge_pages(self._places.root) if setting.name == "vm.nr_hugepages" else None
        if most is not None and int(value) > most:
            raise Refused(
                f"{setting.name}: {value} pages are more than {kernel.MOST_OF_MEMORY:g} of the memory, {most}"
            )

    def _limit(self, setting: KernelSetting, ratio: KernelSetting, now: str, value: str) -> None:
        """A limit in bytes takes the ratio's place, and the kernel forgets the ratio; 0 bytes restores it."""
        if value != "0":
            self._remember(ratio, now)
            if now != value:
                self._kernel.write(setting, value)
            return
        if now != "0":
            before = self._memory.of(ratio)
            if before is None:
                raise Refused(f"{setting.name}: no {ratio.name} is stored that could replace it")
            self._kernel.write(ratio, before)
        self._memory.drop(ratio.name)

    def _remember(self, ratio: KernelSetting, bytes_now: str) -> None:
        """The ratio, while it counts."""
        if bytes_now == "0":
            self._memory.keep(ratio.name, self._kernel.read(ratio))

    def _schedule(self, setting: KernelSetting, now: str, value: str) -> None:
        """A scheduler comes with its own number of requests: what an earlier one had is restored with it."""
        if now != value:
            self._memory.keep(f"{REQUESTS.name} {self._step.disk} {now}", self._kernel.read(REQUESTS))
            self._kernel.write(setting, value)
        left = f"{REQUESTS.name} {self._step.disk} {value}"
        before = self._memory.of(REQUESTS, left)
        if before is not None:
            if self._kernel.read(REQUESTS) != before:
                self._kernel.write(REQUESTS, before)
            self._memory.drop(left)

    def _last(self, value: str | None) -> None:
        step, file = self._step, self._places.lasting(self._step.setting)
        if value is not None:
            self._require_room(step.setting, value)
            self._kernel.path(step.setting)  # of disks that are not there anybody could name any number
        if step.name in RATIOS:
            if value == "0":
                value = None  # no file can ask for it
            elif value is not None:  # at the host's next start the file takes the ratio's place
                self._remember(RATIOS[step.name], self._kernel.read(step.setting))
        lasting.remove_unfinished(file)
        before = lasting.read(file)
        place = (step.name, step.disk)
        after = {p: v for p, v in before.items() if p != place} | ({} if value is None else {place: value})
        if after != before:
            lasting.write(file, lasting.rendered(after))

    def _boot(self) -> None:
        """All that can be done; then raises Refused for what could not."""
        left = []
        kept = lasting.read(self._places.devices)
        for (name, disk), value in sorted(kept.items(), key=lambda item: item[0][0] != SCHEDULER):
            try:
                _Step(Request("set", name, disk, value), self._places).run()
            except (Refused, OSError) as error:
                left.append(_said(Request("set", name, disk, value), error))
        if left:
            raise Refused("; ".join(left))


if __name__ == "__main__":
    main()
