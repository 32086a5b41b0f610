"""Losses, retransmissions and nearly exhausted limits of the network stack in which the server listens."""

from __future__ import annotations

from pathlib import Path

from lutra_agent.linux.state.files import number, present, text

COUNTED = {
    "TcpExt": {
        "ListenOverflows": "listen_overflows",
        "SyncookiesSent": "syn_cookies",
        "TCPAbortOnMemory": "tcp_aborts_for_memory",
    },
    "Tcp": {"OutSegs": "tcp_segments", "RetransSegs": "tcp_segments_again"},
}

TRACKED = "proc/sys/net/netfilter"
"""Absent if connections are not tracked, because there is then no limit."""


def counters(root: Path, pid: int | None) -> dict[str, float]:
    """The counters of the server's own network, if its process is known."""
    folder = _folder(root, pid)
    found: dict[str, float] = {}
    for file in ("netstat", "snmp"):
        lines = [line.partition(": ") for line in text(folder / file).splitlines()]
        for (group, _, names), (_, _, values) in zip(lines[::2], lines[1::2], strict=False):
            wanted = COUNTED.get(group, {})
            pairs = zip(names.split(), values.split(), strict=False)
            found |= {wanted[name]: float(value) for name, value in pairs if name in wanted and value.isdecimal()}
    return found


def gauges(root: Path, pid: int | None) -> dict[str, float]:
    """Connections that wait, ports and sockets in use, and the ends of these tables. The limits are this account's."""
    sockets = _sockets(_folder(root, pid) / "sockstat")
    ports = text(root / "proc/sys/net/ipv4/ip_local_port_range").split()
    range_ = int(ports[1]) - int(ports[0]) + 1 if len(ports) == 2 and all(p.isdecimal() for p in ports) else None
    return present(
        {
            "listen_queue_most": number(root / "proc/sys/net/core/somaxconn"),
            "ports": None if range_ is None else float(max(range_, 0)),
            "tcp_sockets": sockets,
            "connections_tracked": number(root / TRACKED / "nf_conntrack_count") or 0.0,
            "connections_tracked_most": number(root / TRACKED / "nf_conntrack_max") or 0.0,
        }
    )


def _folder(root: Path, pid: int | None) -> Path:
    own = root / "proc" / str(pid) / "net"
    return own if pid is not None and (own / "snmp").exists() else root / "proc/net"


def _sockets(path: Path) -> float | None:
    """In use and in TIME-WAIT: of `TCP: inuse 15 orphan 0 tw 3 alloc 16 mem 2`."""
    for line in text(path).splitlines():
        words = line.split()
        if words[:1] == ["TCP:"]:
            pairs = dict(zip(words[1::2], words[2::2], strict=False))
            held = [pairs.get(name, "") for name in ("inuse", "tw")]
            return float(sum(int(word) for word in held if word.isdecimal()))
    return None
