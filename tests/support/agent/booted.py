"""A systemd of one's own over this machine's files: in namespaces, so that nothing of it reaches the machine.

What it writes lies in memory. The kernel's settings are read-only there, as is all of /sys but its control group.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from tests.support.waiting import PATIENCE_S, until

SYSTEMD = Path("/lib/systemd/systemd")
PROGRAMS = ("unshare", "nsenter", "chroot", "systemctl", "systemd-notify")
TARGET = "lutra-test.target"
DENIED = ("Operation not permitted", "ermission denied", "wrong fs type", "unknown filesystem type")
PAUSE_S = 0.2
GROUP = """
mount -t cgroup2 none "$1/group"
mkdir -p "$1/group/$2"
"""
ENTER = f"""
set -e
{GROUP}
echo 0 > "$1/group/$2/cgroup.procs"
exec unshare --fork --kill-child --pid --uts --ipc --net --cgroup --mount sh "$0" "$@"
"""
LEAVE = f"""
{GROUP}
for attempt in $(seq {PATIENCE_S / PAUSE_S:.0f}); do
    find "$1/group/$2" -depth -type d -exec rmdir {{}} + 2>/dev/null && exit
    sleep {PAUSE_S}
done
"""
BOOT = f"""
set -e
umask 022
folder=$1; shift 2
root=$folder/memory/root
mount -t tmpfs tmpfs "$folder/memory"
mkdir "$folder/memory/upper" "$folder/memory/work" "$root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$folder/memory/upper,workdir=$folder/memory/work" "$root"
mount -t proc proc "$root/proc"
mount --bind "$root/proc/sys" "$root/proc/sys"
mount -o remount,bind,ro "$root/proc/sys"
mount -t sysfs sysfs "$root/sys" -o ro
mount -t cgroup2 none "$root/sys/fs/cgroup"
for path in run tmp dev; do mount -t tmpfs tmpfs "$root/$path" -o mode=755; done
for path in "$@"; do mkdir -p "$root$path"; mount --rbind "$path" "$root$path"; done
for device in null zero full random urandom; do
    : > "$root/dev/$device"
    mount --bind "/dev/$device" "$root/dev/$device"
done
cp "$folder"/units/* "$root/etc/systemd/system/"
exec chroot "$root" env -i container=lxc PATH=/usr/sbin:/usr/bin:/sbin:/bin \\
    {SYSTEMD} --system --unit={TARGET} --log-target=null --show-status=false
"""


@dataclass(frozen=True)
class Booted:
    """`process` is its first process, as this machine counts."""

    process: int

    def run(self, *command: str, **variables: str) -> subprocess.CompletedProcess[str]:
        within = ("nsenter", f"--target={self.process}", "-m", "-p", "-u", "-i", "-n", "-C", "--root", "--wd=/")
        given = ("env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", *(f"{n}={v}" for n, v in variables.items()))
        return subprocess.run([*within, *given, *command], capture_output=True, text=True, check=False)


def lacking() -> str | None:
    """Why no systemd can be started here."""
    if os.geteuid() != 0:
        return "needs root"
    if missing := [p for p in PROGRAMS if shutil.which(p) is None]:
        return f"needs {', '.join(missing)}"
    return None if SYSTEMD.exists() else f"needs {SYSTEMD}"


class NotAllowed(Exception):
    """This machine lets nobody make the namespaces and mounts."""


@contextmanager
def booted(folder: Path, units: Mapping[str, str]) -> Iterator[Booted]:
    """With these units started, whose names and texts they are. Raises NotAllowed, and RuntimeError."""
    name = f"lutra-test-{os.getpid()}"
    for part in ("group", "memory", "units"):
        (folder / part).mkdir()
    (folder / "boot").write_text(BOOT)
    wants = f"[Unit]\nDefaultDependencies=no\nWants={' '.join(units)}\n"
    for unit, text in {TARGET: wants, **units}.items():
        (folder / "units" / unit).write_text(text)
    seen = sorted({str(Path(__file__).parents[3]), sys.prefix, sys.base_prefix})
    enter = ["unshare", "--mount", "--propagation=private", "sh", "-c", ENTER, str(folder / "boot"), str(folder), name]
    with (folder / "said").open("w") as said:
        process = subprocess.Popen([*enter, *seen], stderr=said)
    try:
        yield _up(process, tuple(units), folder / "said")
    finally:
        process.kill()
        process.wait()
        leave = ["unshare", "--mount", "--propagation=private", "sh", "-c", LEAVE, "sh", str(folder), name]
        subprocess.run(leave, check=False)


def _up(process: subprocess.Popen[bytes], units: tuple[str, ...], said: Path) -> Booted:
    def come_up() -> Booted | None:
        if process.poll() is not None:
            why = said.read_text().strip()
            raise NotAllowed(why) if any(word in why for word in DENIED) else RuntimeError(why)
        made = [Booted(child.pid) for child in psutil.Process(process.pid).children()]
        wanted = ["active"] * len(units)
        return next((m for m in made if m.run("systemctl", "is-active", *units).stdout.split() == wanted), None)

    return until(come_up)
