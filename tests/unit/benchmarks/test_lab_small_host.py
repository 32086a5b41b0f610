"""The control groups of a small host, over a folder that stands for the kernel's."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from benchmarks.lab.small_host import Limits, SmallHost, device

pytestmark = pytest.mark.thorough


def groups(root: Path) -> Path:
    for controller in ("blkio", "memory", "cpu"):
        (root / controller).mkdir()
    return root


def test_a_disk_is_found_under_its_partition(tmp_path: Path) -> None:
    number = tmp_path.stat().st_dev
    disk = tmp_path / "sys/devices/disk"
    (disk / "part").mkdir(parents=True)
    (disk / "dev").write_text("8:0\n")
    (disk / "part/dev").write_text("8:1\n")
    (disk / "part/partition").write_text("1\n")
    entry = tmp_path / "sys/dev/block" / f"{os.major(number)}:{os.minor(number)}"
    entry.parent.mkdir(parents=True)
    entry.symlink_to(disk / "part")
    assert device(tmp_path, tmp_path / "sys") == "8:0"


def test_limits_are_lifted_for_what_is_not_measured_and_come_back(tmp_path: Path) -> None:
    with SmallHost("lab", "8:0", Limits(3000, 800, 1 << 30), groups(tmp_path)) as host:
        writes = tmp_path / "blkio/lab/blkio.throttle.write_iops_device"
        reads = tmp_path / "blkio/lab/blkio.throttle.read_iops_device"
        assert (tmp_path / "memory/lab/memory.limit_in_bytes").read_text() == str(1 << 30)
        assert [f.read_text().split()[1] for f in (reads, writes)] == ["3000", "800"]
        with host.unhurried():
            assert [f.read_text().split()[1] for f in (reads, writes)] == ["0", "0"]
        assert [f.read_text().split()[1] for f in (reads, writes)] == ["3000", "800"]
        assert int((tmp_path / "cpu/lab/cpu.shares").read_text()) > 1024
        assert (tmp_path / "cpu/lab/cgroup.procs").read_text() == str(os.getpid())
        for group in tmp_path.glob("*/lab"):
            for file in group.iterdir():
                file.unlink()
    assert not list(tmp_path.glob("*/lab"))
    assert (tmp_path / "cpu/cgroup.procs").read_text() == str(os.getpid())


def test_a_command_enters_the_groups_before_it_runs(tmp_path: Path) -> None:
    host = SmallHost("lab", "8:0", Limits(), groups(tmp_path))
    for controller in ("blkio", "memory"):
        (tmp_path / controller / "lab").mkdir()
    said = subprocess.run(host.command(["sh", "-c", "echo $$ is inside"]), capture_output=True, text=True, check=True)
    entered = {(tmp_path / c / "lab/cgroup.procs").read_text().strip() for c in ("blkio", "memory")}
    assert entered == {said.stdout.split()[0]}
