"""Redis and Valkey."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress

from lutra_models.symptoms import Symptom

from benchmarks.faults.fault import Fault, Make, Scene
from tests.support.servers.engines import scratch

SESSIONS = 60
BIG = 1_000_000
EVERY_S = 0.5
LOOK_S = 8.0
"""Where settings, and what is true at one moment, say it."""
FULL = b"-ERR max number of clients"
LOG = {"appendonly": "yes"}
OFF = {"save": '""'}
CACHE = {"maxmemory": "1gb", "maxmemory-policy": "allkeys-lru"}


def executed(*commands: str) -> Make:
    """The commands by a hand, one after the other."""
    return lambda scene: [scene.sql(command) for command in commands]


def again_and_again(*commands: str, every_s: float = EVERY_S) -> Make:
    """By a client of its own, until the scene ends."""

    def make(scene: Scene) -> None:
        run, ended = scene.session(), threading.Event()
        scene.ends.callback(ended.set)

        def work() -> None:
            while not ended.wait(every_s):
                for command in commands:
                    run(command)

        scene.in_background(work)

    return make


def both(*makes: Make) -> Make:
    return lambda scene: [make(scene) for make in makes]


def dialled(scene: Scene) -> socket.socket:
    """A client without a library: it may send what it likes, and leave answers unread."""
    return scene.ends.enter_context(socket.create_connection((scene.server.host, scene.server.port), timeout=5))


def crowd(clients: int, seconds: float) -> Make:
    """Clients that come, stay for some time, and come again."""

    def make(scene: Scene) -> None:
        ended = threading.Event()
        scene.ends.callback(ended.set)

        def come_and_go() -> None:
            while not ended.is_set():
                with suppress(OSError), socket.create_connection((scene.server.host, scene.server.port), 5) as client:
                    client.sendall(b"PING\r\n")
                    client.recv(100)
                    ended.wait(seconds)

        for _ in range(clients):
            threading.Thread(target=come_and_go, daemon=True).start()
        time.sleep(1)

    return make


def idle(clients: int) -> Make:
    return lambda scene: [scene.session() for _ in range(clients)]


def every_connection(scene: Scene) -> None:
    """Clients that hold what they have, and take what becomes free."""
    for _ in range(60):
        dialled(scene)
        time.sleep(0.05)


def unread(scene: Scene) -> None:
    """A client that asks for a large value hundreds of times, and reads no answer."""
    scene.sql(f"SETRANGE big {BIG} x")
    client = dialled(scene)
    client.sendall(b"GET big\r\n" * 300)
    time.sleep(1)
    scene.ends.callback(client.close)


def published_in_vain(scene: Scene) -> None:
    """A subscriber that reads nothing of what is published for it."""
    scene.sql("CONFIG SET client-output-buffer-limit 'pubsub 0 0 0'")
    client = dialled(scene)
    client.sendall(b"SUBSCRIBE news\r\n")
    scene.ends.callback(client.close)
    time.sleep(1)
    scene.sql('EVAL \'for i = 1, 2000 do redis.call("PUBLISH", "news", string.rep("x", 10000)) end\' 0')


def watched(scene: Scene) -> None:
    """Somebody watches every command, and reads what comes."""
    client = dialled(scene)
    client.sendall(b"MONITOR\r\n")

    def read() -> None:
        with suppress(OSError):
            while client.recv(1 << 16):
                pass

    scene.in_background(read)


def ended(flag: str) -> Callable[[Scene, Symptom], None]:
    """The clients with this flag, as the finding says."""

    def treat(scene: Scene, _: Symptom) -> None:
        with socket.create_connection((scene.server.host, scene.server.port), timeout=5) as client:
            client.sendall(b"CLIENT LIST\r\n")
            time.sleep(0.5)
            lines = client.recv(1 << 20).decode().splitlines()
        about = [dict(part.partition("=")[::2] for part in line.split(" ")) for line in lines if " flags=" in line]
        for found in about:
            if flag in found["flags"] or (flag == "omem" and int(found["omem"]) > BIG):
                scene.sql(f"CLIENT KILL ID {found['id']}")

    return treat


def of_another(*commands: str, options: Iterable[tuple[str, str]] = (), name: str = "redis") -> Make:
    """The server becomes the replica of another one."""

    def make(scene: Scene) -> None:
        primary = scene.ends.enter_context(scratch(name, **dict(options)))
        for command in (*commands, f"REPLICAOF {primary.host} {primary.port}"):
            scene.sql(command)
        time.sleep(8)

    return make


def followed(*makes: Make, name: str = "redis") -> Make:
    """Another server becomes its replica."""

    def make(scene: Scene) -> None:
        replica = scene.ends.enter_context(scratch(name))
        replica.sql(f"REPLICAOF {scene.server.host} {scene.server.port}")
        for more in makes:
            more(scene)
        time.sleep(8)

    return make


def no_snapshot(scene: Scene) -> None:
    """What stands where the snapshot should is no file."""
    (scene.server.data_dir / "dump.rdb").unlink(missing_ok=True)
    (scene.server.data_dir / "dump.rdb" / "folder").mkdir(parents=True)
    scene.sql("BGSAVE")
    time.sleep(3)


def typed(scene: Scene, *commands: str) -> None:
    """As by a person, who tries until the server lets one in: a library begins by PING, which may be refused."""
    for command in commands:
        answer = FULL
        while answer.startswith(FULL):
            with socket.create_connection((scene.server.host, scene.server.port), timeout=5) as client:
                client.sendall(f"{command}\r\n".encode())
                answer = client.recv(1000)


def by_hand(scene: Scene, finding: Symptom) -> None:
    cures = [f"CONFIG SET {c.setting} {c.after}" for c in finding.cures if c.after is not None]
    typed(scene, *(cures or finding.statements))
    time.sleep(2)


def room_again(scene: Scene, finding: Symptom) -> None:
    (scene.server.data_dir / "dump.rdb" / "folder").rmdir()
    (scene.server.data_dir / "dump.rdb").rmdir()
    by_hand(scene, finding)


def copied(scene: Scene) -> None:
    """Somebody asks for a full copy again and again, and leaves."""
    ended = threading.Event()
    scene.ends.callback(ended.set)

    def ask() -> None:
        while not ended.wait(1):
            with suppress(OSError), socket.create_connection((scene.server.host, scene.server.port), 5) as client:
                client.sendall(b"SYNC\r\n")
                ended.wait(1)

    scene.in_background(ask)


def guesses(scene: Scene) -> None:
    """Somebody guesses passwords."""
    client, ended = dialled(scene), threading.Event()
    scene.ends.callback(ended.set)
    scene.sql("ACL SETUSER shop on >secret ~* +@all")

    def guess() -> None:
        with suppress(OSError):
            while not ended.wait(0.05):
                client.sendall(b"AUTH shop guess\r\n")
                client.recv(1000)

    scene.in_background(guess)


def half_the_memory(policy: str, share: float) -> Make:
    def make(scene: Scene) -> None:
        lines = dict(line.partition(":")[::2] for line in scene.sql("INFO memory").splitlines())
        limit = int(share * int(lines["used_memory"]))
        scene.sql(f"CONFIG SET maxmemory-policy {policy} maxmemory {limit}")

    return make


def scripts(scene: Scene) -> None:
    run = scene.session()
    for number in range(1500):
        run(f"EVAL 'return {number}' 0")


def _large(scene: Scene) -> None:
    client, ended = dialled(scene), threading.Event()
    scene.ends.callback(ended.set)
    value = b"x" * (48 << 20)

    def send() -> None:
        with suppress(OSError):
            while not ended.wait(0.2):
                client.settimeout(20)
                client.sendall(b"*3\r\n$3\r\nSET\r\n$5\r\nlarge\r\n$%d\r\n%s\r\n" % (len(value), value))
                client.recv(100)

    scene.in_background(send)


def endless(scene: Scene) -> None:
    scene.in_background(lambda: scene.sql("EVAL 'while true do end' 0"))
    time.sleep(4)


def many_scripts(scene: Scene) -> None:
    def call() -> None:
        for _ in range(1000):
            scripts(scene)

    scene.in_background(call)


def with_the_password(scene: Scene, _: Symptom) -> None:
    scene.sql("CONFIG SET masterauth secret")
    time.sleep(10)


def causes(*names: str) -> frozenset[str]:
    return frozenset(names)


HASH = 'EVAL \'for i = 1, 60000 do redis.call("HSET", "all", "field" .. i, i) end\' 0'
SETS = [f"SADD gone {' '.join(f'member{n}' for n in range(k, k + 5000))}" for k in range(0, 60_000, 5000)]
SLOW = "EVAL 'local t = 0 for i = 1, 3000000 do t = t + i end return t' 0"
WRITES = 'EVAL \'redis.call("SET", "page", string.rep("x", 300000)) return 1\' 0'

FAULTS: tuple[Fault, ...] = (
    # an outage
    Fault(
        "maxmemory reached, and nothing is evicted",
        "outage",
        causes("writes_refused_memory", "memory_full"),
        make=half_the_memory("noeviction", 0.9),
    ),
    Fault(
        "keys without an expiry under a volatile policy",
        "outage",
        causes("writes_refused_memory", "memory_full"),
        make=both(
            executed('EVAL \'for i = 0, 4095 do redis.call("PERSIST", "session:" .. i) end\' 0'),
            half_the_memory("volatile-lru", 0.9),
        ),
        server="valkey",
    ),
    Fault(
        "a snapshot that fails",
        "outage",
        causes("writes_refused_snapshot", "snapshot_fails"),
        make=no_snapshot,
        treat=room_again,
    ),
    Fault(
        "a snapshot that fails, and nobody notices",
        "safety",
        causes("snapshot_fails"),
        {"stop-writes-on-bgsave-error": "no"},
        no_snapshot,
        treat=room_again,
        server="redis8",
    ),
    Fault(
        "replicas are required, and none follows",
        "outage",
        causes("writes_refused_replicas"),
        make=executed("CONFIG SET min-replicas-to-write 1"),
        seconds=LOOK_S,
    ),
    Fault("writes go to a replica", "outage", causes("writes_refused_read_only"), make=of_another()),
    Fault(
        "a replica whose primary is gone",
        "replication",
        causes("replica_disconnected"),
        make=executed("REPLICAOF 127.0.0.1 1"),
        treatable=False,
        seconds=LOOK_S,
    ),
    Fault(
        "a replica that does not know the password",
        "replication",
        causes("replica_disconnected"),
        make=of_another(options=[("requirepass", "secret")]),
        treat=with_the_password,
        server="valkey",
    ),
    Fault(
        "a script that does not end",
        "outage",
        causes("server_busy", "commands_refused"),
        {"lua-time-limit": "2000"},
        endless,
        seconds=LOOK_S,
        treat=by_hand,
    ),
    Fault(
        "a script that does not end, on Valkey",
        "outage",
        causes("server_busy", "commands_refused"),
        {"lua-time-limit": "2000"},
        endless,
        server="valkey",
        seconds=LOOK_S,
        treat=by_hand,
    ),
    Fault(
        "clients are paused", "outage", causes("clients_paused"), make=executed("CLIENT PAUSE 600000 WRITE"), seconds=10
    ),
    Fault(
        "clients are paused, on Redis 8",
        "outage",
        causes("clients_paused"),
        make=executed("CLIENT PAUSE 600000 WRITE"),
        server="redis8",
        seconds=LOOK_S,
    ),
    Fault(
        "more clients than maxclients",
        "outage",
        causes("clients_refused"),
        {"maxclients": "40"},
        crowd(60, 0.2),
        treat=by_hand,
    ),
    Fault(
        "no connection is left",
        "outage",
        causes("no_connection_left", "clients_refused"),
        {"maxclients": "40"},
        every_connection,
        seconds=LOOK_S,
        treatable=False,
    ),
    Fault(
        "all clients are paused",
        "outage",
        causes("server_mute", "clients_paused"),
        make=executed("CLIENT PAUSE 600000 ALL"),
        seconds=LOOK_S,
        treatable=False,
    ),
    Fault(
        "nearly as many clients as maxclients",
        "capacity",
        causes("connections_near_limit"),
        {"maxclients": "100"},
        idle(80),
        seconds=LOOK_S,
    ),
    Fault(
        "a subscriber reads nothing",
        "work",
        causes("subscribers_stuck", "subscribers_slow"),
        make=published_in_vain,
        treat=lambda scene, finding: scene.sql(finding.statements[1]),
        server="valkey",
        seconds=30,
    ),
    Fault("somebody guesses passwords", "safety", causes("logins_refused"), make=guesses, treatable=False, seconds=30),
    # data in danger
    Fault("nothing is persisted", "safety", causes("nothing_persisted"), OFF, seconds=LOOK_S),
    Fault(
        "a primary without persistence has a replica",
        "safety",
        causes("restart_empties_replicas"),
        OFF,
        followed(),
        seconds=LOOK_S,
    ),
    Fault("appendfsync no", "safety", causes("log_not_synced"), {**LOG, "appendfsync": "no"}, seconds=LOOK_S),
    Fault(
        "open to the network",
        "safety",
        causes("open_to_the_network"),
        {"bind": "127.0.0.1 -192.0.2.1", "protected-mode": "no"},
        treat=lambda scene, finding: scene.sql(finding.statements[0]),
        seconds=LOOK_S,
    ),
    Fault(
        "open to the network, Valkey",
        "safety",
        causes("open_to_the_network"),
        {"bind": "127.0.0.1 -192.0.2.1", "protected-mode": "no"},
        treat=lambda scene, finding: scene.sql(finding.statements[0]),
        server="valkey",
        seconds=LOOK_S,
    ),
    Fault(
        "modules from anywhere",
        "safety",
        causes("dangerous_commands_allowed"),
        {"enable-module-command": "yes", "enable-protected-configs": "yes"},
        treatable=False,
        seconds=LOOK_S,
    ),
    Fault(
        "a replica that takes writes",
        "replication",
        causes("replica_takes_writes"),
        {"replica-read-only": "no"},
        of_another(),
        seconds=LOOK_S,
    ),
    Fault(
        "repl-timeout below the ping",
        "replication",
        causes("replication_breaks_by_itself"),
        {"repl-timeout": "5"},
        seconds=LOOK_S,
    ),
    Fault(
        "maxmemory beyond the host",
        "capacity",
        causes("memory_limit_beyond_host"),
        {**CACHE, "maxmemory": "100gb"},
        seconds=LOOK_S,
    ),
    Fault("answers that nobody reads", "capacity", causes("output_waits"), make=unread, treat=ended("omem")),
    Fault(
        "full copies again and again",
        "replication",
        causes("replicas_copied_again"),
        make=copied,
        seconds=60,
        treatable=False,
    ),
    Fault(
        "a backlog of a second",
        "replication",
        causes("backlog_short"),
        make=followed(again_and_again(WRITES, every_s=0.1)),
        seconds=30,
    ),
    # time
    Fault(
        "keys in use are evicted",
        "memory",
        causes("keys_evicted"),
        make=half_the_memory("allkeys-lru", 0.6),
        seconds=60,
    ),
    Fault(
        "evictions compare one key",
        "memory",
        causes("evictions_blind"),
        {**CACHE, "maxmemory-samples": "1"},
        seconds=LOOK_S,
    ),
    Fault("KEYS", "work", causes("keys_scanned"), make=again_and_again("KEYS order:1*"), treatable=False),
    Fault(
        "a large hash is read whole",
        "work",
        causes("collections_read_whole"),
        make=both(executed(HASH), again_and_again("HGETALL all")),
        treatable=False,
    ),
    Fault("slow scripts", "work", causes("scripts_slow"), make=again_and_again(SLOW), treatable=False),
    Fault("DEL of large sets", "work", causes("deletes_block"), make=again_and_again(*SETS, "DEL gone"), seconds=30),
    Fault("a script for each call", "work", causes("scripts_pile_up"), make=scripts),
    Fault(
        "a script for each call, on Valkey",
        "work",
        causes("scripts_pile_up"),
        make=many_scripts,
        server="valkey",
        treatable=False,
    ),
    Fault("values of 48 MB", "work", causes("answers_large"), make=_large, treatable=False, seconds=30),
    Fault("a connection for each command", "work", causes("connections_short"), make=crowd(4, 0.1), treatable=False),
    Fault("MONITOR", "watching", causes("somebody_monitors"), make=watched, treat=ended("O"), seconds=LOOK_S),
    Fault("events for nobody", "watching", causes("events_for_nobody"), {"notify-keyspace-events": "KEA"}),
    Fault("a log for developers", "watching", causes("log_chatty"), {"loglevel": "debug"}, seconds=LOOK_S),
    Fault(
        "everything is slow", "watching", causes("all_is_slow_logged"), {"slowlog-log-slower-than": "0"}, seconds=LOOK_S
    ),
    Fault(
        "no slow log",
        "watching",
        causes("slow_log_off"),
        {"slowlog-log-slower-than": "-1"},
        server="redis8",
        seconds=LOOK_S,
    ),
    Fault("a snapshot each second", "work", causes("snapshots_too_often"), {"save": "1 1"}, seconds=30),
    Fault("every write is synced", "work", causes("aof_synced_always"), {**LOG, "appendfsync": "always"}),
    Fault(
        "no rewrite of the append-only file",
        "capacity",
        causes("aof_not_rewritten", "aof_rewrite_off"),
        {**LOG, "auto-aof-rewrite-percentage": "0"},
        again_and_again(WRITES, every_s=0.02),
        seconds=30,
    ),
    Fault("hz 500", "work", causes("background_too_often"), {"hz": "500"}, seconds=LOOK_S),
    Fault(
        "hashes as blocks of 100,000 entries",
        "work",
        causes("compact_blocks_too_long"),
        {"hash-max-listpack-entries": "100000"},
        seconds=LOOK_S,
    ),
    Fault("eight threads on two cores", "work", causes("threads_beyond_cores"), {"io-threads": "8"}, seconds=LOOK_S),
    Fault(
        "eight threads on two cores, Valkey",
        "work",
        causes("threads_beyond_cores"),
        {"io-threads": "8"},
        server="valkey",
        seconds=LOOK_S,
    ),
    Fault("no keepalive", "work", causes("dead_clients_stay"), {"tcp-keepalive": "0"}, seconds=LOOK_S),
    Fault("idle clients are cut after a second", "work", causes("idle_clients_cut"), {"timeout": "1"}),
    Fault(
        "scripts that cannot be ended",
        "work",
        causes("scripts_cannot_be_ended"),
        {"lua-time-limit": "0"},
        seconds=LOOK_S,
    ),
    Fault("import mode", "work", causes("expired_keys_kept"), {"import-mode": "yes"}, server="valkey", seconds=LOOK_S),
    Fault(
        "snapshots without a checksum",
        "safety",
        causes("damage_is_not_seen"),
        {"rdbchecksum": "no"},
        treatable=False,
        seconds=LOOK_S,
    ),
)
