"""What a hand does to the machine beneath a server: control groups, small disks, limits, and files of the kernel.

All of it is undone when the scene ends. What this machine does not let anybody change, or what would disturb others on
it, is laid over the kernel's files in a mount namespace of the look alone. Needs root.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from lutra_lab.servers.base import ScratchServer
from lutra_lab.servers.errors import LabError
from lutra_models.symptoms import Symptom

from benchmarks.faults.fault import Scene

GROUPS = Path("/sys/fs/cgroup")
NEW_MOUNTS = 0x00020000
PATIENCE_S = 60.0


def run(*argv: str) -> str:
    """Raises LabError."""
    done = subprocess.run(argv, capture_output=True, text=True)
    if done.returncode != 0:
        raise LabError(f"{' '.join(argv)}: {done.stderr.strip()}")
    return done.stdout


def pid(server: ScratchServer) -> int:
    found = server.pid
    if found is None:
        raise LabError("the server does not run")
    return found


def pids(server: ScratchServer) -> list[int]:
    """The server's process and those that it started."""
    first = pid(server)
    children = Path(f"/proc/{first}/task/{first}/children").read_text().split()
    return [first, *map(int, children)]


def limited(scene: Scene, **limits: str) -> None:
    """The soft limits of the server's process, set by its own account: those of its children come with their start."""
    words = [f"--{name}={value}:" for name, value in limits.items()]
    run(*scene.server.account.command(["prlimit", "--pid", str(pid(scene.server)), *words]))


def group(scene: Scene, controller: str, name: str = "lutra-faults", **values: int) -> Path:
    """A control group of version 1 with the server and its children in it."""
    folder = GROUPS / controller / name
    folder.mkdir(exist_ok=True)
    scene.ends.callback(_dissolved, folder)
    for file, value in values.items():
        write(folder / f"{controller}.{file}", str(value))
    joined(scene, folder)
    return folder


def joined(scene: Scene, folder: Path) -> None:
    for each in pids(scene.server):
        with suppress(OSError):  # one that has ended
            (folder / "cgroup.procs").write_text(str(each))


def _dissolved(folder: Path) -> None:
    """A group without members goes; those that it has move up."""
    ends = time.monotonic() + PATIENCE_S
    while time.monotonic() < ends:
        for each in (folder / "cgroup.procs").read_text().split():
            with suppress(OSError):
                (folder.parent / "cgroup.procs").write_text(each)
        with suppress(OSError):
            folder.rmdir()
            return
        time.sleep(0.2)


def write(path: Path, value: str) -> None:
    """Raises LabError."""
    try:
        path.write_text(value)
    except OSError as error:
        raise LabError(f"{path}: {error.strerror}") from error


def kernel(scene: Scene, values: Mapping[str, object]) -> None:
    """Settings of the whole machine, put back when the scene ends. Raises LabError."""
    for name, value in values.items():
        path = Path("/proc/sys") / name.replace(".", "/")
        before = path.read_text().strip()
        scene.ends.callback(write, path, before)
        write(path, str(value))


def small_disk(scene: Scene, size_mb: int, options: str = "", files: int = 0) -> Path:
    """The server's data on an ext4 of their own, of so many megabytes. Returns the mount point."""
    server, image = scene.server, scene.folder / "disk.img"
    server.stop()
    with image.open("wb") as file:
        file.truncate(size_mb << 20)
    run("mkfs.ext4", "-q", "-m", "0", *(("-N", str(files)) if files else ()), str(image))
    kept, data = server.directory / "data.kept", server.data_dir
    data.rename(kept)
    data.mkdir(mode=0o700)
    run("mount", "-o", ",".join(filter(None, ("loop", options))), str(image), str(data))
    scene.ends.callback(_unmounted, server, data)
    (data / "lost+found").rmdir()
    run("cp", "-a", f"{kept}/.", str(data))
    run("chown", "--reference", str(kept), str(data))
    run("chmod", "--reference", str(kept), str(data))
    run("rm", "-rf", str(kept))
    server.start()
    return data


def _unmounted(server: ScratchServer, data: Path) -> None:
    with suppress(LabError):
        server.stop()
    run("umount", "--lazy", str(data))


def filled(folder: Path, leave: int) -> Path:
    """A file in it that leaves so many bytes."""
    filler = folder / "filler"
    with filler.open("wb", buffering=0) as file:
        while (left := _free(folder) - leave) > 4096:
            os.posix_fallocate(file.fileno(), os.fstat(file.fileno()).st_size, min(left - 4096, 1 << 28) or 4096)
    return filler


def _free(folder: Path) -> int:
    found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize


def laid_over(scene: Scene, files: Mapping[str, str]) -> None:
    """These texts in place of the kernel's own, for this thread and whoever it starts."""
    own_mounts(scene)
    for number, (name, text) in enumerate(files.items()):
        copy = scene.folder / f"kernel-{number}"
        copy.write_text(text)
        run("mount", "--bind", str(copy), name)


def own_mounts(scene: Scene) -> None:
    """From here on, mounts of this thread and of whoever it starts are seen by nobody else."""
    before = os.open("/proc/thread-self/ns/mnt", os.O_RDONLY)
    where = Path.cwd()
    _must(lambda: _libc().unshare(NEW_MOUNTS))
    scene.ends.callback(_came_back, before, where)
    run("mount", "--make-rprivate", "/")


def taken_away(*names: str) -> Callable[[Scene, Symptom], object]:
    """The cure of what `laid_over` has made: the kernel's own files again."""
    return lambda _scene, _finding: [run("umount", name) for name in names]


def _came_back(namespace: int, where: Path) -> None:
    _must(lambda: _libc().setns(namespace, NEW_MOUNTS))
    os.close(namespace)
    os.chdir(where)


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _must(call: Callable[[], int]) -> None:
    if call() != 0:
        raise LabError(os.strerror(ctypes.get_errno()))
