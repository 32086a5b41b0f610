"""What is read of outages, roles and accounts: words, lists and a server's two names for one thing."""

from __future__ import annotations

import pytest
from lutra_agent.engines.mysql.server.replica import channels
from lutra_agent.engines.mysql.telemetry.collectors.counters import REPLICATION
from lutra_agent.engines.mysql.telemetry.states import ACCOUNTS, CLUSTER, SEMI_SYNC, SWITCHED_SETTINGS, WAITING_SESSIONS
from lutra_agent.engines.mysql.telemetry.telemetry import EVERY
from lutra_agent.errors import CollectionFailed

from tests.support.fakes.mysql import FakeConnection

MARIADB = "5.5.5-10.11.6-MariaDB"


def switched(**variables: str | None) -> dict[str, float]:
    rows = [(name.upper(), value) for name, value in variables.items()]
    found = SWITCHED_SETTINGS.read(FakeConnection({"SELECT VARIABLE_NAME": rows}, version=MARIADB), {})  # type: ignore[arg-type]
    assert found is not None
    return dict(found.gauges)


@pytest.mark.parametrize(
    ("name", "text", "metric", "expected"),
    [
        ("sql_mode", "NO_ENGINE_SUBSTITUTION", "not_strict", 1),
        ("sql_mode", "", "not_strict", 1),
        ("sql_mode", "ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES", "not_strict", 0),
        ("sql_mode", "STRICT_ALL_TABLES,TRADITIONAL", "not_strict", 0),
        ("secure_file_priv", "", "files_anywhere", 1),
        ("secure_file_priv", "/var/lib/mysql-files/", "files_anywhere", 0),
        ("bind_address", "127.0.0.1", "listens_beyond", 0),
        ("bind_address", "127.0.0.1,::1", "listens_beyond", 0),
        ("bind_address", "*", "listens_beyond", 1),
        ("bind_address", "", "listens_beyond", 1),
        ("bind_address", "127.0.0.1,10.0.0.7", "listens_beyond", 1),
        ("slave_skip_errors", "OFF", "skips_errors", 0),
        ("slave_skip_errors", "1032,1062", "skips_errors", 1),
        ("slave_skip_errors", "ALL", "skips_errors", 1),
        ("tls_version", "TLSv1.2,TLSv1.3", "old_tls", 0),
        ("tls_version", "TLSv1.1,TLSv1.2", "old_tls", 1),
    ],
)
def test_a_word_or_a_list_is_told_as_one_or_none(name: str, text: str, metric: str, expected: float) -> None:
    assert switched(**{name: text})[metric] == expected


def test_what_the_server_does_not_tell_is_left_out() -> None:
    assert switched(sql_mode="", secure_file_priv=None) == {"not_strict": 1.0}


def test_a_redo_log_that_is_switched_off_is_seen() -> None:
    found = SWITCHED_SETTINGS.read(FakeConnection(), {"Innodb_redo_log_enabled": "OFF"})  # type: ignore[arg-type]
    assert found is not None
    assert found.gauges == {"redo_off": 1.0}


@pytest.mark.parametrize("word", ["source", "master"])
def test_both_plug_ins_of_semi_synchronous_replication_are_read(word: str) -> None:
    told = {"status": "ON", "clients": "0", "wait_sessions": "3", "no_tx": "7", "yes_tx": "9"}
    found = SEMI_SYNC.read(FakeConnection(), {f"Rpl_semi_sync_{word}_{n}": v for n, v in told.items()})  # type: ignore[arg-type]
    assert found is not None
    assert found.gauges == {"active": 1.0, "clients": 0.0, "waiting": 3.0}
    assert found.counters == {"not_acknowledged": 7.0, "acknowledged": 9.0}
    assert SEMI_SYNC.read(FakeConnection(), {}) is None  # type: ignore[arg-type]


def test_a_server_without_a_cluster_has_no_figures_of_one() -> None:
    alone = {"wsrep_ready": "OFF", "wsrep_provider_name": ""}
    assert CLUSTER.read(FakeConnection(), alone) is None  # type: ignore[arg-type]
    node = {**alone, "wsrep_provider_name": "Galera", "wsrep_cluster_status": "non-Primary", "wsrep_cluster_size": "1"}
    found = CLUSTER.read(FakeConnection(), node)  # type: ignore[arg-type]
    assert found is not None
    assert found.gauges == {"ready": 0.0, "primary": 0.0, "size": 1.0}


@pytest.mark.parametrize("version", ["9.7.4", MARIADB])
def test_accounts_that_the_agent_may_not_see_are_no_fault_of_a_sample(version: str) -> None:
    refused = FakeConnection({"SELECT": CollectionFailed("SELECT command denied to user [1142]")}, version=version)
    assert ACCOUNTS.read(refused, {}) is None  # type: ignore[arg-type]
    broken = FakeConnection({"SELECT": CollectionFailed("Lock wait timeout exceeded [1205]")}, version=version)
    with pytest.raises(CollectionFailed):
        ACCOUNTS.read(broken, {})  # type: ignore[arg-type]


def test_sessions_are_not_counted_where_nothing_is_instrumented() -> None:
    nothing = dict.fromkeys(("working", "global_lock", "most_of_account"))
    assert WAITING_SESSIONS.read(FakeConnection({"SELECT SUM": nothing}), {}) is None  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("version", "row", "expected"),
    [
        (
            "9.7.4",
            {
                "Replica_IO_Running": "Connecting",
                "Replica_SQL_Running": "Yes",
                "Last_IO_Errno": 2003,
                "Auto_Position": 0,
            },
            {"not_receiving": 1.0, "not_applying": 0.0, "io_error": 2003.0, "by_place": 1.0, "stopped": 1.0},
        ),
        (
            MARIADB,
            {"Slave_IO_Running": "Yes", "Slave_SQL_Running": "No", "Last_SQL_Errno": 1062, "Using_Gtid": "Slave_Pos"},
            {"not_receiving": 0.0, "not_applying": 1.0, "sql_error": 1062.0, "by_place": 0.0, "stopped": 1.0},
        ),
        (
            MARIADB,
            {"Slave_IO_Running": "Yes", "Slave_SQL_Running": "Yes", "Using_Gtid": "No", "Replicate_Do_DB": "shop"},
            {"stopped": 0.0, "by_place": 1.0, "filtered": 1.0},
        ),
    ],
)
def test_a_channel_says_which_half_stopped_and_why(
    version: str, row: dict[str, object], expected: dict[str, float]
) -> None:
    found = REPLICATION.read(FakeConnection({"SHOW": row}, version=version), {})  # type: ignore[arg-type]
    assert expected.items() <= found.gauges.items()  # type: ignore[union-attr]
    assert len(channels(FakeConnection({"SHOW": row}, version=version))) == 1  # type: ignore[arg-type]


def test_no_two_collectors_share_a_name() -> None:
    assert len({c.name for c in EVERY}) == len(EVERY)
