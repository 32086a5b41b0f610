from __future__ import annotations

from dataclasses import replace

import pytest
from lutra_models.catalog import meet
from lutra_models.catalog.units import show

from tests.support.mysql_servers import a_mysqld

ENGINES = ("mysql", "mariadb")
GB = 2**30


def test_people_write_units_as_the_servers_configuration_file_does() -> None:
    server = a_mysqld("mysql")
    for text in ("1G", "1GB", "1024M", "1024m", "1073741824"):
        assert meet(server).parse("innodb_redo_log_capacity", text) == GB
    assert show(GB, "B") == "1GB"


def test_mysqls_statements_persist_and_their_undo_forgets() -> None:
    server = a_mysqld("mysql")
    target = {"innodb_io_capacity_max": 4000, "innodb_adaptive_hash_index": "on", "innodb_read_io_threads": 8}
    made = {c.name: c for c in meet(server).changes({**target, "innodb_io_capacity": 1000})}
    assert made["innodb_io_capacity_max"].do == "SET PERSIST innodb_io_capacity_max = 4000"
    assert (
        made["innodb_io_capacity_max"].undo
        == "RESET PERSIST IF EXISTS innodb_io_capacity_max; SET GLOBAL innodb_io_capacity_max = 20000"
    )
    assert made["innodb_adaptive_hash_index"].do == "SET PERSIST innodb_adaptive_hash_index = 'on'"
    assert made["innodb_read_io_threads"].do == "SET PERSIST_ONLY innodb_read_io_threads = 8"
    assert made["innodb_read_io_threads"].undo == "RESET PERSIST IF EXISTS innodb_read_io_threads"


def test_the_undo_of_a_persisted_value_is_the_persisted_text() -> None:
    server = a_mysqld("mysql", tmp_table_size="32M")
    live = {**server.settings, "tmp_table_size": replace(server.settings["tmp_table_size"], persisted="33554432")}
    change = meet(replace(server, settings=live)).changes({"tmp_table_size": "64M"})[0]
    assert (change.do, change.undo) == (
        "SET PERSIST tmp_table_size = 67108864",
        "SET PERSIST tmp_table_size = 33554432",
    )
    assert (change.before_text, change.after_text, change.literal) == ("32MB", "64MB", "67108864")


def test_mariadbs_statements_name_the_line_of_the_include_file() -> None:
    made = {c.name: c for c in meet(a_mysqld("mariadb")).changes({"key_buffer_size": "64M", "back_log": 100})}
    assert made["key_buffer_size"].do == (
        "SET GLOBAL key_buffer_size = 67108864; in the include file: key_buffer_size = 67108864"
    )
    assert made["key_buffer_size"].undo == (
        "SET GLOBAL key_buffer_size = 134217728; in the include file: without key_buffer_size"
    )
    assert made["back_log"].do == "in the include file: back_log = 100"


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("capacity", "most"), [(30000, 40000), (150, 200)])
def test_a_limit_and_what_it_limits_are_changed_in_the_order_that_no_clamp_sees(
    engine: str, capacity: int, most: int
) -> None:
    server = a_mysqld(engine, innodb_io_capacity=10000, innodb_io_capacity_max=20000)
    target = {"sort_buffer_size": "1M", "innodb_io_capacity": capacity, "innodb_io_capacity_max": most}
    for names_given in (list(target), list(reversed(target))):
        made = meet(server).changes({n: target[n] for n in names_given})
        pair = ["innodb_io_capacity", "innodb_io_capacity_max"]
        assert [c.name for c in made if c.name in pair] == (pair if capacity < 10000 else pair[::-1])
