"""What a hand does to a PostgreSQL to make it wrong: its files, its disks, its counters, a primary for it."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg
from lutra_lab.servers.base import ScratchServer
from lutra_lab.servers.errors import LabError
from lutra_lab.servers.ports import free_port
from lutra_lab.servers.postgresql import ScratchPostgres

from benchmarks.faults.fault import Make, Scene, Treat

RELOAD = "SELECT pg_reload_conf()"


def system(**values: str) -> Callable[..., None]:
    """ALTER SYSTEM, and a reload: a `make` or a `treat`."""

    def made(scene: Scene, *_: object) -> None:
        for name, value in values.items():
            scene.sql(f"ALTER SYSTEM SET {name} = '{value}'")
        scene.sql(RELOAD)

    return made


def statements(*those: str) -> Callable[..., None]:
    """A `make` or a `treat`."""

    def made(scene: Scene, *_: object) -> None:
        for statement in those:
            scene.sql(statement)

    return made


def restarted(change: Callable[[Scene], object]) -> Callable[..., None]:
    """What is done to the files of a server that is down."""

    def made(scene: Scene, *_: object) -> None:
        scene.server.stop()
        change(scene)
        scene.server.start()

    return made


def access(*lines: str) -> Make:
    """First lines of pg_hba.conf."""

    def make(scene: Scene) -> None:
        file = scene.server.data_dir / "pg_hba.conf"
        file.write_text("\n".join((*lines, file.read_text())))
        scene.sql(RELOAD)

    return make


def without_access(*lines: str) -> Treat:
    def treat(scene: Scene, _: object) -> None:
        file = scene.server.data_dir / "pg_hba.conf"
        file.write_text("\n".join(line for line in file.read_text().splitlines() if line not in lines) + "\n")
        scene.sql(RELOAD)

    return treat


def connect(scene: Scene, user: str, dbname: str = "postgres") -> psycopg.Connection[tuple[object, ...]]:
    server = scene.server
    opened = psycopg.connect(
        f"host={server.host} port={server.port} user={user} dbname={dbname} application_name=idler", autocommit=True
    )
    scene.ends.callback(opened.close)
    return opened


def idlers(user: str, count: int) -> Make:
    """So many sessions of an account that do nothing."""

    def make(scene: Scene) -> None:
        with suppress(LabError):
            scene.sql(f"CREATE ROLE {user} LOGIN")
        for _ in range(count):
            connect(scene, user)

    return make


def tell_to_write(scene: Scene, megabytes: int, dbname: str | None = None) -> None:
    scene.sql("CREATE TABLE IF NOT EXISTS filler (pad text)", dbname)
    for _ in range(megabytes):
        scene.sql("INSERT INTO filler SELECT repeat(md5(g::text), 32) FROM generate_series(1, 1000) g", dbname)


@contextmanager
def small_disk(scene: Scene, megabytes: int) -> Iterator[Path]:
    """A file system of its own. Raises LabError where this account may not mount one."""
    folder = Path(scene.server.directory).parent / "disk"
    folder.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(folder)], check=False)
    if done.returncode != 0:
        raise LabError("only root may mount a file system")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=False)


def disk_of_the_log(megabytes: int) -> Make:
    """pg_wal moves to a small file system."""

    def make(scene: Scene) -> None:
        disk = scene.ends.enter_context(small_disk(scene, megabytes))
        scene.server.stop()
        log = scene.server.data_dir / "pg_wal"
        subprocess.run(["cp", "-a", str(log), str(disk / "wal")], check=True)
        shutil.rmtree(log)
        log.symlink_to(disk / "wal")
        scene.server.start()

    return make


def age(program_options: str, segments: dict[str, int]) -> Make:
    """`pg_resetwal` moves the counters of a server that is down; it needs the files of what is skipped."""

    def change(scene: Scene) -> None:
        server = scene.server
        assert isinstance(server, ScratchPostgres)
        reset = [str(server.bin_dir / "pg_resetwal"), *program_options.split(), "-D", str(server.data_dir)]
        subprocess.run(server.account.command(reset), check=True, capture_output=True)
        for name, size in segments.items():
            file = server.data_dir / name
            if not file.exists():
                file.write_bytes(b"\0" * size)
                server.account.own(file)

    return restarted(change)


def damaged_page(scene: Scene) -> None:
    """A page of a table of its own, whose checksum is wrong from then on."""
    scene.sql("CREATE TABLE broken AS SELECT g, repeat('x', 500) AS pad FROM generate_series(1, 1000) g")
    file = scene.server.data_dir / scene.sql("SELECT pg_relation_filepath('broken')")
    scene.server.stop()
    with file.open("r+b") as pages:
        pages.seek(8192 + 4000)
        pages.write(b"damage")
    scene.server.start()
    with suppress(LabError):
        scene.sql("SELECT count(pad) FROM broken")


def crash_of_a_process(scene: Scene) -> None:
    """Signal 9 to one backend, as the kernel sends it when memory is short."""
    time.sleep(6)
    victim = connect(scene, "postgres")
    os.kill(victim.info.backend_pid, 9)
    until_it_answers(scene.server)


def until_it_answers(server: ScratchServer, limit_s: float = 60.0) -> None:
    end = time.monotonic() + limit_s
    while True:
        try:
            server.sql("SELECT 1")
            return
        except LabError:
            if time.monotonic() > end:
                raise
            time.sleep(0.3)


def primary(scene: Scene, *conninfo: str) -> Callable[[str], str]:
    """Makes the server a standby of a copy of its own; gives the copy's SQL. `conninfo` takes the standby's place."""
    server = scene.server
    assert isinstance(server, ScratchPostgres)
    server.stop()
    copy = server.directory.parent / "primary"
    subprocess.run(["cp", "-a", str(server.data_dir), str(copy)], check=True)
    port = free_port()
    with (copy / "postgresql.auto.conf").open("a") as file:
        file.write(f"port = {port}\nunix_socket_directories = ''\narchive_mode = off\n")
    control = [str(server.bin_dir / "pg_ctl"), "-D", str(copy), "-w", "-s"]
    end = server.account.command([*control, "stop", "-m", "immediate"])
    start = server.account.command([*control, "-l", str(server.log), "start"])
    subprocess.run(start, check=True, cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    scene.ends.callback(subprocess.run, end, check=False, cwd="/", capture_output=True)
    source = conninfo[0] if conninfo else f"host={server.host} port={port} user=postgres"
    signal = server.data_dir / "standby.signal"
    signal.touch()
    server.account.own(signal)
    with (server.data_dir / "postgresql.auto.conf").open("a") as file:
        file.write(f"primary_conninfo = '{source}'\n")
    server.start()

    def sql(statement: str) -> str:
        with psycopg.connect(f"host={server.host} port={port} user=postgres dbname=postgres", autocommit=True) as run:
            cursor = run.execute(statement.encode())
            return str(cursor.fetchall()) if cursor.description else ""

    return sql


def standby_of_nobody(scene: Scene) -> None:
    scene.server.stop()
    signal = scene.server.data_dir / "standby.signal"
    signal.touch()
    scene.server.account.own(signal)
    scene.server.start()


def paused_standby(scene: Scene) -> None:
    sql = primary(scene)
    sql("CREATE TABLE later AS SELECT generate_series(1, 1000) AS g")
    time.sleep(2)
    scene.sql("SELECT pg_wal_replay_pause()")
    sql("INSERT INTO later SELECT generate_series(1, 100000)")


def cancelled_on_standby(scene: Scene) -> None:
    """Long reads on the standby, and vacuum on the primary of what they read."""
    sql = primary(scene)
    sql("CREATE TABLE busy AS SELECT g AS id, 0 AS v FROM generate_series(1, 20000) g")
    time.sleep(2)

    def read() -> None:
        until = time.monotonic() + 200
        while time.monotonic() < until:
            with suppress(LabError), scene.server.session() as run:
                run("BEGIN ISOLATION LEVEL REPEATABLE READ")
                run("SELECT count(*) FROM busy")
                run("SELECT pg_sleep(3)")
                run("SELECT count(*) FROM busy")

    def write() -> None:
        until = time.monotonic() + 200
        while time.monotonic() < until:
            with suppress(psycopg.Error):
                sql("UPDATE busy SET v = v + 1")
                sql("VACUUM busy")
            time.sleep(0.5)

    for _ in range(3):
        scene.in_background(read)
    scene.in_background(write)


def second_server(scene: Scene, ready: Callable[[Callable[[str], str], str], object]) -> None:
    """A standby of the server, to which `ready` is done by its SQL."""
    server = scene.server
    assert isinstance(server, ScratchPostgres)
    copy = server.directory.parent / "standby"
    take = ["-h", server.host, "-p", str(server.port), "-U", "postgres", "-D", str(copy), "-R", "-X", "stream", "-c"]
    take = [str(server.bin_dir / "pg_basebackup"), *take, "fast"]
    server.account.own(server.directory.parent)
    subprocess.run(server.account.command(take), check=True, cwd="/", capture_output=True)
    port = free_port()
    with (copy / "postgresql.auto.conf").open("a") as file:
        file.write(f"port = {port}\nunix_socket_directories = ''\n")
    control = [str(server.bin_dir / "pg_ctl"), "-D", str(copy), "-w", "-s"]
    start = server.account.command([*control, "-l", str(server.log), "start"])
    end = server.account.command([*control, "stop", "-m", "immediate"])
    subprocess.run(start, check=True, cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    scene.ends.callback(subprocess.run, end, check=False, cwd="/", capture_output=True)

    def sql(statement: str) -> str:
        with psycopg.connect(f"host={server.host} port={port} user=postgres dbname=postgres", autocommit=True) as run:
            cursor = run.execute(statement.encode())
            return str(cursor.fetchall()) if cursor.description else ""

    ready(sql, (copy / "postmaster.pid").read_text().split()[0])


def standby_that_pauses(scene: Scene) -> None:
    second_server(scene, lambda sql, _: sql("SELECT pg_wal_replay_pause()"))
    tell_to_write(scene, 120)


def standby_that_hangs(scene: Scene) -> None:
    """All of its processes stand still."""

    def halt(_: object, pid: str) -> None:
        import psutil

        time.sleep(3)  # until its receiver runs
        main = psutil.Process(int(pid))
        family = [main, *main.children(recursive=True)]
        for process in family:
            process.suspend()
        for process in family:
            scene.ends.callback(process.resume)

    second_server(scene, halt)
    time.sleep(50)


def failing_subscription(scene: Scene) -> None:
    """Rows arrive that are there already."""
    scene.sql("CREATE TABLE told (id int PRIMARY KEY)")
    scene.sql("CREATE DATABASE reader")
    scene.sql("CREATE TABLE told (id int PRIMARY KEY)", "reader")
    scene.sql("INSERT INTO told VALUES (1)", "reader")
    scene.sql("CREATE PUBLICATION shop FOR TABLE told")
    scene.sql("SELECT pg_create_logical_replication_slot('reader', 'pgoutput')")
    where = f"host={scene.server.host} port={scene.server.port} user=postgres dbname=postgres"
    scene.sql(
        f"CREATE SUBSCRIPTION reader CONNECTION '{where}' PUBLICATION shop"
        " WITH (create_slot = false, slot_name = 'reader', copy_data = false)",
        "reader",
    )
    scene.sql("INSERT INTO told VALUES (1)")
