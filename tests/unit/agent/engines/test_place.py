"""What of this host is proven to be a server's, with processes, sockets and folders that tests make."""

from __future__ import annotations

import os
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest
from lutra_agent.engines.common.peer import OF_ANOTHER_NAMESPACE, Peer, peer_of
from lutra_agent.engines.common.place import Place, Told, place_of, sees
from lutra_agent.engines.mysql.engine import MARIADB, MYSQL
from lutra_agent.engines.mysql.server.session import Product, Session
from lutra_agent.engines.postgresql.server import place as postgresql
from lutra_agent.engines.postgresql.server.connect import grant_monitor
from lutra_agent.engines.redis.server.section import RedisDatabase
from lutra_agent.engines.redis.server.session import PRODUCTS
from lutra_agent.engines.redis.server.session import Session as RedisSession
from lutra_agent.errors import CollectionFailed

from tests.support.fakes.mysql import FakeConnection

OURS, THEIRS = 7711985954782165228, 7123
WRITTEN_S, STARTED_S, PORT = 1795595279, 1795595280, 5432
OWN = psutil.Process()
CALLED = (OWN.name(),)
DAY_S = 86_400.0


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """This process may stand still for a while between two looks at the clock."""
    monkeypatch.setattr("lutra_agent.engines.common.place.STARTED_ALIKE_S", DAY_S / 2)


@contextmanager
def connected() -> Iterator[socket.socket]:
    """To a server that is this process."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        client = socket.create_connection(listening.getsockname())
        with client, listening.accept()[0]:
            yield client


@pytest.fixture
def other() -> Iterator[subprocess.Popen[bytes]]:
    """Another process of the same program and account, of this host."""
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    yield process
    process.communicate()


def test_the_process_that_has_the_other_end_of_the_connection_is_the_server(tmp_path: Path) -> None:
    with connected() as client:
        told = Told(CALLED, peer_of(client), os.getpid(), folder=tmp_path)
        assert place_of(told) == Place(os.getpid(), tmp_path)


def test_a_number_that_is_another_process_here_is_not_the_servers(
    tmp_path: Path, other: subprocess.Popen[bytes]
) -> None:
    with connected() as client:
        began_s = psutil.Process(other.pid).create_time()
        told = Told(CALLED, peer_of(client), other.pid, started_s=began_s, up_since_s=began_s, folder=tmp_path)
        found = place_of(told)
    assert (found.process, found.folder, found.here) == (None, None, False)
    assert "nothing shows that the server that answers runs on this host" in found.doubt
    assert "run the agent where the server runs" in found.doubt


@pytest.mark.parametrize("off_s", [0.0, DAY_S])
def test_where_the_kernel_does_not_show_who_answers_the_begin_of_the_process_counts(
    tmp_path: Path, off_s: float
) -> None:
    began_s = OWN.create_time() + off_s
    told = Told(CALLED, Peer(os.geteuid()), os.getpid(), started_s=began_s, up_since_s=began_s, folder=tmp_path)
    assert (place_of(told).process is not None) is (off_s == 0.0)
    assert place_of(replace(told, peer=Peer(os.geteuid() + 1))).process is None
    assert place_of(replace(told, programs=("postgres",))).process is None


def test_who_made_the_sockets_file_is_the_server_whatever_number_it_tells(tmp_path: Path) -> None:
    told = Told(CALLED, Peer(os.geteuid(), os.getpid()), 1, folder=tmp_path)
    assert place_of(told).process == os.getpid()
    assert place_of(replace(told, peer=Peer(0, OF_ANOTHER_NAMESPACE), process=os.getpid())).process is None


def test_a_folder_that_holds_anothers_data_is_not_the_servers_even_where_its_process_is_known(tmp_path: Path) -> None:
    with connected() as client:
        found = place_of(Told(CALLED, peer_of(client), os.getpid(), folder=tmp_path, named=False))
    assert (found.process, found.folder) == (os.getpid(), None)
    assert f"{tmp_path} contains the data of a different server" in found.doubt


def test_a_folder_that_the_process_does_not_have_is_not_the_servers(tmp_path: Path) -> None:
    with connected() as client:
        found = place_of(Told(CALLED, peer_of(client), os.getpid(), folder=tmp_path / "elsewhere"))
    assert (found.process, found.folder) == (os.getpid(), None)


def test_a_copy_of_the_data_is_told_from_the_folder_in_which_another_server_works(tmp_path: Path) -> None:
    with worker(tmp_path) as process:
        began_s = psutil.Process(process).create_time()
        told = Told(("copied",), Peer(), up_since_s=began_s, folder=tmp_path, named=True)
        assert place_of(told) == Place(process, tmp_path)
        assert place_of(replace(told, up_since_s=began_s - DAY_S)).folder is None
    assert place_of(told).folder == tmp_path


@contextmanager
def worker(folder: Path) -> Iterator[int]:
    """A process called `copied` that works in the folder."""
    argv = [sys.executable, "-c", "print(flush=True); input()", "copied"]
    process = subprocess.Popen(argv, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    try:
        yield process.pid
    finally:
        process.communicate()


def test_links_lead_as_they_do_for_the_process(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "data")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    assert sees(os.getpid(), tmp_path / "link") is True
    assert sees(os.getpid(), tmp_path / "loop") is False


def test_the_folder_of_the_agents_file_counts_where_the_server_tells_none(tmp_path: Path) -> None:
    assert Place(os.getpid()).folder_or(tmp_path) == tmp_path
    assert Place().folder_or(tmp_path) is None
    assert Place(os.getpid(), tmp_path).folder_or(Path("/")) == tmp_path


class Postgres:
    """What a server tells; `backend` is the process that serves us."""

    pooled = False

    def __init__(self, identifier: int = OURS, written_s: int = WRITTEN_S, **more: Any) -> None:
        self.control: tuple[int, int] | None = (identifier, written_s)
        self.start = (float(STARTED_S), PORT)
        self.writes: Path | None = None
        vars(self).update(more)

    def row(self, query: str) -> tuple[Any, ...]:
        if query == postgresql.START:
            return self.start
        if query == postgresql.BACKEND:
            return (os.getpid(), time.time())
        if query == "SELECT current_user":
            return ("tuner",)
        if self.control is None:
            raise CollectionFailed("permission denied for function pg_control_system [42501]")
        if self.writes is not None:
            control_file(self.writes, OURS, self.control[1])
        return self.control

    def peer(self) -> Peer:
        return Peer(inode=1)  # which is no socket of this process


def control_file(folder: Path, identifier: int = OURS, written_s: int = WRITTEN_S) -> None:
    (folder / "global").mkdir(exist_ok=True)
    (folder / "global" / "pg_control").write_bytes(struct.pack("=Q16xq", identifier, written_s))


def postgres_folder(folder: Path, port: int = PORT, started_s: int = STARTED_S - 1) -> Path:
    control_file(folder)
    (folder / "postmaster.pid").write_text(f"1\n{folder}\n{started_s}\n{port}\n\n127.0.0.1\n")
    return folder


def of_postgres(server: Any, folder: Path | None) -> Place:
    return postgresql.place(server, folder, grant_monitor)


def test_postgresqls_folder_is_the_one_whose_control_file_says_what_the_server_says(tmp_path: Path) -> None:
    found = of_postgres(Postgres(), postgres_folder(tmp_path))
    assert (found.folder, found.process) == (tmp_path, None)
    assert "does not know the limits of its container" in found.doubt


@pytest.mark.parametrize(
    "server",
    [Postgres(THEIRS), Postgres(written_s=WRITTEN_S + 60), Postgres(start=(STARTED_S + 3600.0, PORT))],
    ids=["another cluster", "a copy of it", "a copy that started later"],
)
def test_postgresqls_folder_of_another_server_is_not_believed(tmp_path: Path, server: Postgres) -> None:
    found = of_postgres(server, postgres_folder(tmp_path))
    assert not found.here
    assert f"{tmp_path} contains the data of a different server" in found.doubt


def test_a_copy_of_a_cluster_on_another_port_is_told_by_it(tmp_path: Path) -> None:
    assert not of_postgres(Postgres(), postgres_folder(tmp_path, port=PORT + 1)).here


def test_a_control_file_that_is_written_just_now_is_looked_at_again(tmp_path: Path) -> None:
    server = Postgres(written_s=WRITTEN_S + 1, writes=postgres_folder(tmp_path))
    assert of_postgres(server, tmp_path).folder == tmp_path


def test_what_it_takes_to_know_postgresqls_folder_is_named(tmp_path: Path) -> None:
    refused = of_postgres(Postgres(control=None), postgres_folder(tmp_path))
    assert not refused.here
    assert 'GRANT EXECUTE ON FUNCTION pg_control_system() TO "tuner";' in refused.doubt
    (tmp_path / "global" / "pg_control").unlink()
    assert f"let the agent's account read {tmp_path}/global/pg_control" in of_postgres(Postgres(), tmp_path).doubt
    assert 'GRANT pg_monitor TO "tuner";' in of_postgres(Postgres(), None).doubt


def mysql_place(
    product: Product, folder: Path, thread: int | None, name: str = "a-b-c", peer: Peer | None = None
) -> Place:
    identity = "SELECT @@GLOBAL.server_uuid" if product is MYSQL else "SHOW GLOBAL VARIABLES LIKE 'server_uid'"
    up_s = time.time() - OWN.create_time()
    connection = FakeConnection(
        {
            "SELECT VERSION()": [("10.11.6-MariaDB" if product is MARIADB else "9.7.4",)],
            "SELECT @@GLOBAL.datadir, @@GLOBAL.pid_file": [(str(folder), "own.pid")],
            "SHOW GLOBAL STATUS LIKE 'Uptime'": [("Uptime", str(round(up_s)))],
            product.thread: [(thread,)],
            identity: [(name,)],
        }
    )
    connection.peer = lambda: peer or Peer()  # type: ignore[method-assign]
    found: Any = Session(connection, replace(product, programs=CALLED))  # type: ignore[arg-type]
    return found.details().place  # type: ignore[no-any-return]


@pytest.mark.parametrize("product", [MYSQL, MARIADB], ids=["mysql", "mariadb"])
def test_a_mysqlds_process_is_that_of_the_thread_which_serves_us(product: Product, tmp_path: Path) -> None:
    (tmp_path / "auto.cnf").write_text("[auto]\nserver-uuid=a-b-c\n")
    number, ended = [0], threading.Event()

    def run() -> None:
        number[0] = threading.get_native_id()
        ended.wait()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        assert mysql_place(product, tmp_path, number[0] or thread.native_id) == Place(os.getpid(), tmp_path)
        stranger = mysql_place(product, tmp_path, thread.native_id, peer=Peer(inode=1))
        assert stranger.process is None
    finally:
        ended.set()
        thread.join()


def test_mysqls_folder_has_the_servers_own_name(tmp_path: Path) -> None:
    (tmp_path / "auto.cnf").write_text("[auto]\nserver-uuid=a-b-c\n")
    assert mysql_place(MYSQL, tmp_path, None).folder == tmp_path
    assert "contains the data of a different server" in mysql_place(MYSQL, tmp_path, None, name="x-y-z").doubt
    (tmp_path / "auto.cnf").unlink()
    assert f"let the agent's account read {tmp_path}/auto.cnf" in mysql_place(MYSQL, tmp_path, None).doubt


def test_a_mariadb_whose_process_is_not_known_has_nothing_here(tmp_path: Path) -> None:
    (tmp_path / "own.pid").write_text(f"{os.getpid()}\n")
    assert mysql_place(MARIADB, tmp_path, None).process == os.getpid()
    assert not mysql_place(MARIADB, tmp_path, None, peer=Peer(inode=1)).here
    (tmp_path / "own.pid").write_text("1\n")
    assert not mysql_place(MARIADB, tmp_path, None).here


class Redis:
    generation = 1

    def __init__(self, told: dict[str, str], folder: Path, peer: Peer) -> None:
        self.told, self.folder, self.found = told, folder, peer

    def text(self, *words: str) -> str:
        return "".join(f"{name}:{value}\r\n" for name, value in self.told.items())

    def pairs(self, *words: str) -> dict[str, str]:
        return {"dir": str(self.folder)}

    def peer(self) -> Peer:
        return self.found


def redis_details(folder: Path, peer: Peer, **told: str) -> Any:
    database = RedisDatabase("redis", "127.0.0.1", 1, config_file=folder / "redis.conf")
    session = RedisSession(database, replace(PRODUCTS["redis"], programs=CALLED))
    own = {"redis_version": "7.0.15", "process_id": str(os.getpid())}
    own["uptime_in_seconds"] = str(round(time.time() - OWN.create_time()))
    session.connection = Redis({**own, **told}, folder, peer)  # type: ignore[assignment]
    return session.details()


def test_a_redis_has_its_file_here_where_its_process_and_the_begin_of_it_are_this_hosts(tmp_path: Path) -> None:
    own = redis_details(tmp_path, Peer(os.geteuid()))
    assert (own.place, own.config_file, own.keeps_file) == (Place(os.getpid(), tmp_path), tmp_path / "redis.conf", True)
    for peer, told in (
        (Peer(os.geteuid()), {"uptime_in_seconds": str(round(2 * DAY_S))}),
        (Peer(inode=1), {}),
        (Peer(0, 0), {}),
    ):
        found = redis_details(tmp_path, peer, **told)
        assert (found.place.here, found.config_file, found.keeps_file) == (False, None, False)
