"""Other owners of the same settings: the other files of sysctl.d, TuneD's active profile, and the files of a server's
unit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from lutra_agent.linux.kernel import RATIOS, SETTINGS

SYSCTL_FOLDERS = ("etc/sysctl.d", "run/sysctl.d", "usr/local/lib/sysctl.d", "usr/lib/sysctl.d", "lib/sysctl.d")
"""A file of an earlier folder hides one of the same name in a later one (sysctl.d(5))."""
SYSCTL_FILE = "etc/sysctl.conf"
ACTIVE_PROFILE = "etc/tuned/active_profile"
PROFILE_FOLDERS = ("etc/tuned/profiles", "etc/tuned", "usr/lib/tuned/profiles", "usr/lib/tuned")
PROFILE_KEYS = {
    ("vm", "transparent_hugepages"): "transparent_hugepage.enabled",
    ("vm", "transparent_hugepage"): "transparent_hugepage.enabled",
    ("vm", "transparent_hugepage.defrag"): "transparent_hugepage.defrag",
    ("vm", "dirty_bytes"): "vm.dirty_bytes",
    ("vm", "dirty_ratio"): "vm.dirty_bytes",
    ("vm", "dirty_background_bytes"): "vm.dirty_background_bytes",
    ("vm", "dirty_background_ratio"): "vm.dirty_background_bytes",
    ("disk", "elevator"): "data_disk.scheduler",
    ("disk", "readahead"): "data_disk.read_ahead_kb",
}
"""The settings' names in TuneD's plugins; those of [sysctl] have the kernel's names."""
ALIASES = {ratio.name: name for name, ratio in RATIOS.items()} | {
    "vm.nr_hugepages_mempolicy": "vm.nr_hugepages",
}
UNIT_FOLDERS = (
    "etc/systemd/system.control",
    "run/systemd/system.control",
    "run/systemd/transient",
    "run/systemd/generator.early",
    "etc/systemd/system",
    "run/systemd/system",
    "run/systemd/generator",
    "usr/local/lib/systemd/system",
    "usr/lib/systemd/system",
    "lib/systemd/system",
    "run/systemd/generator.late",
)
"""A file of an earlier folder hides one of the same name in a later one (systemd.unit(5))."""
MANAGER = "etc/systemd/system.conf"
PRELOAD = "LD_PRELOAD"
ENVIRONMENT_FILE = re.compile(r"^\s*EnvironmentFile\s*=\s*-?(/\S+)", re.MULTILINE)
MOST_INCLUDES = 20
LONGEST = 1 << 20


def owners(system: Path, own: Path) -> dict[str, str]:
    """Setting → its owner other than Lutra's `own` file. Files that this account may not read are skipped."""
    found: dict[str, str] = {}
    for file in _sysctl_files(system):
        if file.resolve() != own.resolve():
            found |= {name: str(_shown(file, system)) for name in _set_by(_keys(file))}
    for profile in _text(system / ACTIVE_PROFILE).split():
        found |= dict.fromkeys(_of_profile(system, profile), f"TuneD's profile {profile}")
    return found


def preloads(system: Path, unit: str, own: Path) -> str | None:
    """Other places that set LD_PRELOAD for the unit's server, other than Lutra's `own` file: the unit's file, a
    drop-in, a file of its environment, or systemd's own. Files that this account may not read are skipped.
    """
    files = [file for file in _unit_files(system, unit) if file != own]
    named = [path for file in files for path in ENVIRONMENT_FILE.findall(_text(file))]
    environment = (system / _specified(path, unit).lstrip("/") for path in named)
    found = (file for file in (*files, *environment, system / MANAGER) if _says(file, PRELOAD))
    return next((str(_shown(file, system)) for file in found), None)


def _unit_files(system: Path, unit: str) -> Iterator[Path]:
    """The unit's file and its drop-ins, also those for its template, the words before a dash, and all services."""
    stem, dot, service = unit.rpartition(".")
    prefix, instantiated, _ = stem.partition("@")
    template = [f"{prefix}@{dot}{service}"] if instantiated else []
    parts = [f"{prefix[: n + 1]}{dot}{service}" for n, letter in enumerate(prefix) if letter == "-"]
    fragments = (system / folder / name for name in (unit, *template) for folder in UNIT_FOLDERS)
    yield from (file for file in fragments if file.is_file())
    for name in (unit, *template, *parts, service):
        yield from _first_of_each_name(system, [f"{folder}/{name}.d" for folder in UNIT_FOLDERS])


def _specified(path: str, unit: str) -> str:
    """With the commonest of systemd's specifiers: the unit's name, and the two halves of it."""
    stem = unit.rpartition(".")[0]
    prefix, _, instance = stem.partition("@")
    for specifier, text in (("%n", unit), ("%N", stem), ("%p", prefix), ("%i", instance)):
        path = path.replace(specifier, text)
    return path


def _says(file: Path, word: str) -> bool:
    return any(word in line and not line.lstrip().startswith(("#", ";")) for line in _text(file).splitlines())


def _sysctl_files(system: Path) -> Iterator[Path]:
    yield from _first_of_each_name(system, SYSCTL_FOLDERS)
    yield system / SYSCTL_FILE


def _first_of_each_name(system: Path, folders: Sequence[str]) -> Iterator[Path]:
    seen = set[str]()
    for folder in folders:
        for file in sorted((system / folder).glob("*.conf")):
            if file.name not in seen:
                seen.add(file.name)
                yield file


def _keys(file: Path) -> Iterator[str]:
    """`vm/swappiness`, `-vm.swappiness` and `net.ipv4.*` are keys, too."""
    for line in _text(file).splitlines():
        key, equals, _ = line.partition("=")
        if equals and not key.lstrip().startswith(("#", ";")):
            yield key.strip().removeprefix("-").strip().replace("/", ".")


def _set_by(keys: Iterator[str]) -> set[str]:
    known = {**{name: name for name in SETTINGS}, **ALIASES}
    return {own for key in keys for name, own in known.items() if name == key or fnmatchcase(name, key)}


def _of_profile(system: Path, profile: str, depth: int = 0) -> set[str]:
    folders = (system / folder / profile / "tuned.conf" for folder in PROFILE_FOLDERS)
    file = next((f for f in folders if f.is_file()), None)
    if file is None or depth > MOST_INCLUDES or "/" in profile:
        return set()
    found, section = set[str](), ""
    for line in _text(file).splitlines():
        if header := re.match(r"\s*\[(\w+)\]", line):
            section = header[1]
            continue
        key, equals, value = line.partition("=")
        key = key.strip()
        if not equals or key.startswith("#"):
            continue
        if (section, key) == ("main", "include"):
            for name in re.split(r"[\s,;]+", value.strip()):
                found |= _of_profile(system, name, depth + 1)
        elif section == "sysctl":
            found |= _set_by(iter((key,)))
        elif name := PROFILE_KEYS.get((section, key)):
            found.add(name)
    return found


def _shown(file: Path, system: Path) -> Path:
    return Path("/") / file.relative_to(system)


def _text(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            return opened.read(LONGEST).decode(errors="replace")
    except (OSError, ValueError):
        return ""
