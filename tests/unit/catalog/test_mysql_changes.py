from __future__ import annotations

from dataclasses import replace

import pytest
from lutra_models.catalog import meet
from lutra_models.catalog.units import show

from tests.support.reported.mysql import a_mysqld
from tests.support.reported.shown import shown

ENGINES = ("mysql", "mariadb")
GB = 2**30


def test_people_write_units_as_the_servers_configuration_file_does() -> None:
    server = a_mysqld("mysql")
    for text in ("1G", "1GB", "1024M", "1024m", "1073741824"):
        assert meet(server).parse("innodb_redo_log_capacity", text) == GB
    assert show(GB, "B") == "1GB"


def test_mysqls_statements_persist_and_their_undo_forgets() -> None:
    made = shown(a_mysqld("mysql"), {"innodb_io_capacity_max": 4000, "innodb_adaptive_hash_index": "on"})
    assert made["innodb_io_capacity_max"] == (
        "SET PERSIST innodb_io_capacity_max = 4000",
        "RESET PERSIST IF EXISTS innodb_io_capacity_max; SET GLOBAL innodb_io_capacity_max = 20000",
    )
    assert made["innodb_adaptive_hash_index"][0] == "SET PERSIST innodb_adaptive_hash_index = 'on'"


def test_all_changes_wait_where_one_needs_a_restart() -> None:
    server = a_mysqld("mysql")
    assert shown(server, {"innodb_io_capacity_max": 4000, "innodb_read_io_threads": 8}) == {
        "innodb_io_capacity_max": (
            "SET PERSIST_ONLY innodb_io_capacity_max = 4000",
            "RESET PERSIST IF EXISTS innodb_io_capacity_max",
        ),
        "innodb_read_io_threads": (
            "SET PERSIST_ONLY innodb_read_io_threads = 8",
            "RESET PERSIST IF EXISTS innodb_read_io_threads",
        ),
    }
    assert shown(a_mysqld("mariadb"), {"key_buffer_size": "64M", "back_log": 100}) == {
        "key_buffer_size": (
            in_file("loose_key_buffer_size = 67108864"),
            in_file("# delete the line loose_key_buffer_size"),
        ),
        "back_log": (in_file("loose_back_log = 100"), in_file("# delete the line loose_back_log")),
    }


def test_the_undo_of_a_persisted_value_is_the_persisted_text_and_what_was_active() -> None:
    server = a_mysqld("mysql", tmp_table_size="32M")
    for persisted, undo in (
        ("33554432", "SET PERSIST tmp_table_size = 33554432"),
        ("16777216", "SET PERSIST tmp_table_size = 16777216; SET GLOBAL tmp_table_size = 33554432"),
    ):
        live = {**server.settings, "tmp_table_size": replace(server.settings["tmp_table_size"], persisted=persisted)}
        made = shown(replace(server, settings=live), {"tmp_table_size": "64M"})
        assert made == {"tmp_table_size": ("SET PERSIST tmp_table_size = 67108864", undo)}
    (change,) = meet(server).changes({"tmp_table_size": "64M"})
    assert (change.before_text, change.after_text, change.value_text) == ("32MB", "64MB", "67108864")


def test_mariadbs_changes_are_statements_and_the_lines_that_stand_in_its_file() -> None:
    made = shown(a_mysqld("mariadb"), {"key_buffer_size": "64M"})
    assert made["key_buffer_size"] == (
        "SET GLOBAL key_buffer_size = 67108864\n" + in_file("loose_key_buffer_size = 67108864"),
        "SET GLOBAL key_buffer_size = 134217728\n" + in_file("# delete the line loose_key_buffer_size"),
    )
    assert shown(a_mysqld("mariadb"), {"back_log": 100})["back_log"][0] == in_file("loose_back_log = 100")


def in_file(line: str) -> str:
    return f"# include_file\n[mariadbd]\n{line}"


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
