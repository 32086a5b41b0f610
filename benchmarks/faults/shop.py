"""An ordinary load: a shop with orders, a queue, reports and a hot counter, by ten clients at a gentle rate."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType

from lutra_lab.servers.base import ScratchServer, Session

CUSTOMERS = 2**12
ORDERS = 2**16
PAUSE_S = 0.25
"""A client's mean pause between two transactions."""
Client = Callable[[Session, random.Random], object]


@dataclass(frozen=True)
class Shop:
    """The statements that fill it, and its clients: what each does, and how many of it there are."""

    fill: Sequence[str]
    clients: Sequence[tuple[Client, int]]


TABLES = (
    "CREATE TABLE customers (id int PRIMARY KEY, name varchar(40), region int)",
    "CREATE TABLE orders (id int PRIMARY KEY, customer_id int, state varchar(10), total int, note varchar(200))",
    "CREATE INDEX orders_customer ON orders (customer_id)",
    "CREATE TABLE queue (id int PRIMARY KEY, order_id int)",
    "CREATE TABLE counters (name varchar(20) PRIMARY KEY, value bigint)",
    "INSERT INTO counters VALUES ('orders', 0), ('visits', 0)",
    "INSERT INTO customers VALUES (0, 'customer', 0)",
    "INSERT INTO orders VALUES (0, 0, 'new', 10, 'a note of some length that fills the row')",
    *(f"INSERT INTO customers SELECT id + {2**n}, 'customer', (id + {2**n}) % 50 FROM customers" for n in range(12)),
    *(
        f"INSERT INTO orders SELECT id + {2**n}, (id + {2**n}) % {CUSTOMERS}, state, id % 1000, note FROM orders"
        for n in range(16)
    ),
)


def _buy(run: Session, dice: random.Random) -> None:
    order = dice.randrange(ORDERS)
    run("BEGIN")
    run(f"UPDATE orders SET state = 'paid', total = {dice.randrange(1000)} WHERE id = {order}")
    run(f"INSERT INTO queue VALUES ({dice.randrange(2**31)}, {order})")
    run("UPDATE counters SET value = value + 1 WHERE name = 'orders'")
    run("COMMIT")


def _browse(run: Session, dice: random.Random) -> None:
    run(f"SELECT count(*), sum(total) FROM orders WHERE customer_id = {dice.randrange(CUSTOMERS)}")
    run(f"SELECT * FROM orders WHERE id = {dice.randrange(ORDERS)}")


def _deliver(run: Session, _: random.Random) -> None:
    row = run("SELECT id FROM queue ORDER BY id LIMIT 1")
    if row:
        run(f"DELETE FROM queue WHERE id = {row}")


def _report(run: Session, dice: random.Random) -> None:
    run(
        "SELECT c.region, count(*), sum(o.total) FROM customers c JOIN orders o ON o.customer_id = c.id"
        f" WHERE o.id BETWEEN {(low := dice.randrange(ORDERS))} AND {low + 5000} GROUP BY c.region ORDER BY 3"
    )


def _key(run: Session, dice: random.Random) -> None:
    order = dice.randrange(ORDERS)
    run(f"HSET order:{order} state paid total {dice.randrange(1000)}")
    run(f"LPUSH queue {order}")
    run("INCR counters:orders")


def _look_up(run: Session, dice: random.Random) -> None:
    run(f"HGETALL order:{dice.randrange(ORDERS)}")
    run(f"GET session:{dice.randrange(CUSTOMERS)}")


def _pop(run: Session, _: random.Random) -> None:
    run("RPOP queue")


KEYS = (
    f'EVAL \'for i = 0, {ORDERS - 1} do redis.call("HSET", "order:" .. i, "state", "new", "total", i) end\' 0',
    f'EVAL \'for i = 0, {CUSTOMERS - 1} do redis.call("SET", "session:" .. i, i, "EX", 86400) end\' 0',
)
SQL_CLIENTS: Sequence[tuple[Client, int]] = ((_buy, 3), (_browse, 4), (_deliver, 2), (_report, 1))
STORE_CLIENTS: Sequence[tuple[Client, int]] = ((_key, 3), (_look_up, 5), (_pop, 2))
SHOPS: Mapping[str, Shop] = {
    "postgresql": Shop((*TABLES, "VACUUM ANALYZE"), SQL_CLIENTS),
    "mysql": Shop((*TABLES, "ANALYZE TABLE customers, orders"), SQL_CLIENTS),
    "mariadb": Shop((*TABLES, "ANALYZE TABLE customers, orders"), SQL_CLIENTS),
    "redis": Shop(KEYS, STORE_CLIENTS),
    "valkey": Shop(KEYS, STORE_CLIENTS),
}


def fill(server: ScratchServer) -> None:
    """Raises LabError."""
    with server.session() as run:
        for statement in SHOPS[server.engine].fill:
            run(statement)


class Busy:
    """As a context manager: the clients work within, whatever the server answers, each on a connection of its own."""

    def __init__(self, server: ScratchServer, pause_s: float = PAUSE_S) -> None:
        self._server, self._pause_s = server, pause_s
        self._ended = threading.Event()

    def __enter__(self) -> Busy:
        every = [work for work, count in SHOPS[self._server.engine].clients for _ in range(count)]
        for number, work in enumerate(every):
            threading.Thread(target=self._client, args=(work, random.Random(number)), daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._ended.set()

    def _client(self, work: Client, dice: random.Random) -> None:
        while not self._ended.is_set():
            try:
                with self._server.session() as run:
                    while not self._ended.wait(dice.uniform(0, 2 * self._pause_s)):
                        work(run, dice)
            except Exception:  # a refused client comes back, as an application does
                self._ended.wait(1)
