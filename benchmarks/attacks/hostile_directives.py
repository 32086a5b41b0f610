"""Directives that no honest service would send, and modest ones between them so that changes do happen.

Each kind is a function in KINDS with its weight. All of them speak of the catalogue's settings of the live server; none
knows an engine.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from lutra_models.catalog import meet
from lutra_models.guardrails import GUARDS
from lutra_models.knobs import Choice, Number
from lutra_models.server import Policy, Server

Document = dict[str, Any]
FLAGS = ("restore", "rollback", "measure")
FOREIGN = (
    "port",
    "data_directory",
    "datadir",
    "archive_command",
    "restore_command",
    "shared_preload_libraries",
    "plugin_dir",
    "init_connect",
    "init_file",
    "general_log_file",
    "log_directory",
    "listen_addresses",
    "secure_file_priv",
    "ssl_library",
)
NONSENSE = (
    10**15,
    -(10**9),
    "1e999",
    "0x10",
    "'; DROP TABLE x; --",
    "4GB\n!include /etc/passwd",
    "",
    "\\'",
    1e300,
    True,
)
ALWAYS = {"weekdays": ["mon", "tue", "wed", "thu", "fri", "sat", "sun"], "start": "00:00", "minutes": 1440}


@dataclass
class Liar:
    """Makes directives for one server; `now` is the agents' simulated time."""

    server: Server
    rng: random.Random
    now: Callable[[], datetime]
    made: list[Document] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.live = meet(self.server)
        self.rows = {n: row for n, row in self.live.rows.items() if n in self.server.settings}
        self.initial = dict(self.live.values)
        terms = self.live.catalog.terms
        self.hungry = sorted({n for t in terms for n in t.formula.names if n in self.rows and self._numeric(n)})

    def directive(self) -> tuple[str, Document]:
        """The next one and its kind; now and then one that was handed out before, with other content."""
        kind, make, _ = self.rng.choices(KINDS, [weight for _, _, weight in KINDS])[0]
        fields = make(self)
        made = {"id": f"rec_{len(self.made)}", "recommendation": f"rec_{len(self.made)}", "restart_allowed": True}
        made |= {"expires_at": (self.now() + timedelta(hours=1)).isoformat(), **fields}
        self.made.append(made)
        return kind, made

    def flags(self) -> Document:
        return {flag: True for flag in FLAGS if self.rng.random() < 0.4}

    def rules(self) -> Document:
        """Every guard off, or far above what anybody would allow, and a maintenance window that never closes."""
        off = self.rng.random() < 0.5
        rails = {g.name: _lifted(g.default.limit, g.side == "at_most", off) for g in GUARDS}
        return {"guardrails": rails, "maintenance_windows": [ALWAYS] if self.rng.random() < 0.7 else []}

    def drawn(self, restart: bool) -> Document:
        """One to three settings at values that the catalogue's own search would try."""
        space = self.live.space(Policy(restart=restart))
        knobs = [k for k in space if not restart or self.rows[k.name].applies == "restart"] or list(space)
        chosen = self.rng.sample(knobs, min(len(knobs), self.rng.randint(1, 3)))
        return {k.name: _value(k.domain, self.rng) for k in chosen}

    def hogs(self) -> Document:
        """Settings of the memory sum, each at many times the host's memory."""
        names = self.rng.sample(self.hungry, min(len(self.hungry), self.rng.randint(1, 3)))
        return {n: self._huge(n) for n in names}

    def lossy(self) -> Document:
        names = [n for n, r in self.rows.items() if r.risk == "durability"]
        return {n: self._other(n) for n in self.rng.sample(names, min(len(names), 2))}

    def back(self, count: int) -> Document:
        names = self.rng.sample(sorted(self.initial), min(count, len(self.initial)))
        return {n: self.initial[n] for n in names}

    def _numeric(self, name: str) -> bool:
        return self.rows[name].kind in ("integer", "real")

    def _huge(self, name: str) -> Any:
        setting = self.server.settings[name]
        gb = self.rng.choice((2, 4, 16)) * self.server.host.memory_bytes // 2**30
        if setting.unit.endswith("B") or setting.unit == "B":
            return f"{gb}GB"
        now = self.initial.get(name, 1)
        high = setting.high if setting.high is not None else 1e9
        return int(min(high, (now if isinstance(now, (int, float)) else 1) * 1000 + 1000))

    def _other(self, name: str) -> Any:
        setting, now = self.server.settings[name], self.initial.get(name)
        if setting.kind == "bool":
            return "off" if now == "on" else "on"
        if setting.options:
            return self.rng.choice([o for o in setting.options if o != now] or [now])
        return self.rng.choice((0, 2, 1000))


def _lifted(limit: float, at_most: bool, off: bool) -> Document:
    return {"limit": limit * 1000 if at_most else 0.0, "hold_s": 3600, "enabled": not off}


def _value(domain: Choice | Number, rng: random.Random) -> Any:
    if isinstance(domain, Choice):
        return rng.choice(domain.options)
    low, high = float(domain.low), float(domain.high)
    drawn = math.exp(rng.uniform(math.log(low), math.log(high))) if domain.log else rng.uniform(low, high)
    return domain.clip(drawn)


def _any_values(liar: Liar, names: Iterable[str]) -> Document:
    return {n: liar.rng.choice(NONSENSE) for n in names}


def _again(liar: Liar) -> Document:
    """An id that was handed out before, with other content."""
    before = liar.rng.choice(liar.made) if liar.made else {}
    return {**{k: before[k] for k in ("id", "recommendation") if k in before}, "settings": liar.hogs()}


def _moment(liar: Liar) -> str:
    lapsed = (liar.now() - timedelta(days=liar.rng.choice((1, 3650)))).isoformat()
    return liar.rng.choice((lapsed, "9999-12-31T23:59:59+00:00", "0001-01-01T00:00:00+14:00"))


Make = Callable[[Liar], Document]
KINDS: tuple[tuple[str, Make, int], ...] = (
    ("modest", lambda liar: {"settings": liar.drawn(restart=False)}, 8),
    ("modest, guards lifted", lambda liar: {"settings": liar.drawn(restart=False), "rules": liar.rules()}, 8),
    ("modest, called a trial or a rollback", lambda liar: {"settings": liar.drawn(restart=False), **liar.flags()}, 5),
    ("needs a restart", lambda liar: {"settings": liar.drawn(restart=True), "rules": liar.rules()}, 5),
    ("needs a restart, flags", lambda liar: {"settings": liar.drawn(restart=True), **liar.flags()}, 4),
    ("more memory than there is", lambda liar: {"settings": liar.hogs()}, 3),
    ("more memory than there is, flags", lambda liar: {"settings": liar.hogs(), **liar.flags()}, 6),
    ("goes back in part, hogs in part", lambda liar: {"settings": liar.back(5) | liar.hogs(), "restore": True}, 4),
    ("durability off", lambda liar: {"settings": liar.lossy()}, 3),
    ("durability off, flags", lambda liar: {"settings": liar.lossy(), **liar.flags()}, 4),
    ("goes back", lambda liar: {"settings": liar.back(20), **liar.flags(), "restore": True}, 3),
    ("outside the catalogue", lambda liar: {"settings": _any_values(liar, liar.rng.sample(FOREIGN, 2))}, 3),
    ("nonsense values", lambda liar: {"settings": _any_values(liar, liar.rng.sample(sorted(liar.rows), 2))}, 4),
    ("500 settings", lambda _: {"settings": {f"made_up_{n}": n for n in range(500)}}, 1),
    ("expired, or without end", lambda liar: {"settings": liar.drawn(restart=False), "expires_at": _moment(liar)}, 3),
    ("an id again", _again, 3),
    ("for another server", lambda liar: {"settings": liar.drawn(restart=False), "expects": _elsewhere(liar)}, 2),
)


def _elsewhere(liar: Liar) -> Document:
    host = liar.server.host
    return {
        "role": "primary",
        "version": liar.server.version,
        "identifier": "another",
        "memory_bytes": host.memory_bytes,
        "cores": host.cores,
    }
