from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lutra_agent.commands.agent_file import load, parse
from lutra_agent.engines.families import family
from lutra_agent.engines.mysql.server.section import MariadbDatabase
from lutra_agent.errors import ConfigError, LoginRefused
from lutra_models.guardrails import GUARDS, Guardrail

FULL: dict[str, dict[str, Any]] = {
    "service": {"url": "https://lutra.example", "database": "db_1", "token_file": "/etc/lutra/token"},
    "database": {"engine": "postgresql", "host": "/var/run/postgresql", "port": 5432, "user": "lutra", "dbname": "app"},
    "agent": {"mode": "lab", "interval_s": 10, "state_dir": "/var/lib/lutra-agent"},
    "restart": {"command": ["systemctl", "restart", "postgresql"], "timeout_s": 60},
    "guard": {"p99": {"limit": 2.5, "hold_s": 20}, "confirm_windows": 5},
    "driver": {"kind": "pgbench"},
    "prometheus": {"url": "http://127.0.0.1:9090", "query": "q[$window]"},
}


def changed(section: str, **values: Any) -> dict[str, Any]:
    return {**FULL, section: {**FULL[section], **values}}


def without(section: str, key: str) -> dict[str, Any]:
    return {**FULL, section: {k: v for k, v in FULL[section].items() if k != key}}


def test_a_full_file_is_parsed_into_types() -> None:
    config = parse(FULL)
    assert config.agent.mode == "lab"
    assert config.restart.command == ("systemctl", "restart", "postgresql")
    assert config.prometheus is not None
    assert config.prometheus.of == "transaction"


def test_what_is_left_out_is_the_cautious_choice() -> None:
    config = parse({"service": FULL["service"], "database": FULL["database"]})
    assert config.agent.mode == "observe"
    assert config.restart.command == ()
    assert config.driver is None


@pytest.mark.parametrize(
    ("document", "names"),
    [
        (changed("service", url="http://lutra.example"), "service.url"),
        (changed("service", url="https://user:secret@lutra.example"), "service.url"),
        (changed("service", url="ftp://x"), "service.url"),
        (without("service", "database"), "service.database"),
        (without("database", "port"), "database.port"),
        (changed("database", port=0), "database.port"),
        (changed("database", port="5432"), "database.port"),
        (changed("agent", mode="reckless"), "agent.mode"),
        (changed("guard", p98={"limit": 2}), "guard.p98"),
        (changed("guard", p99={"limit": -1}), "guard.p99.limit"),
        (changed("guard", p99={"limits": 2}), "guard.p99.limits"),
        (changed("guard", p99={"enabled": "no"}), "guard.p99.enabled"),
        (changed("guard", confirm_windows=0), "guard.confirm_windows"),
        (changed("agent", mode="observe"), "driver"),
        (changed("agent", interval_s=0), "agent.interval_s"),
        (changed("agent", intervall_s=3), "agent.intervall_s"),
        (changed("restart", command="systemctl restart x"), "restart.command"),
        ({**FULL, "servce": {}}, "servce"),
        ({**FULL, "agent": 3}, "agent"),
    ],
)
def test_a_mistake_is_named(document: dict[str, Any], names: str) -> None:
    with pytest.raises(ConfigError, match=names) as refused:
        parse(document)
    assert "secret" not in str(refused.value)


NIGHT = {"start": "02:30", "minutes": 60}


@pytest.mark.parametrize(
    ("document", "complaint"),
    [
        (without("service", "url"), "service.url is missing: the service's address"),
        (
            changed("agent", intervall_s=3),
            "unknown: agent.intervall_s (did you mean interval_s?); known here: ch",
        ),
        (
            changed("guard", p98={}),
            "unknown: guard.p98 (did you mean p99?); known here: confirm_s, confirm_wind",
        ),
        (changed("agent", interval_s="10s"), "agent.interval_s: expected a number of seconds, got '10s'"),
        (changed("agent", interval_s=float("nan")), "agent.interval_s: expected a number of seconds, got nan"),
        (changed("agent", durability=1), "agent.durability: expected true or false, got 1"),
        (changed("agent", memory_fraction=2), "agent.memory_fraction: 2.0 is outside [0.05, 1]"),
        (changed("agent", memory="2 GiB"), "agent.memory: expected a size such as '2GB'"),
        (changed("agent", memory="1kB"), "agent.memory: 1024 is outside"),
        (changed("database", port=5.5), "database.port: expected a whole number, got 5.5"),
        (changed("restart", command=["x", 3]), "restart.command[1]: expected text, got 3"),
        (changed("guard", p99={"hold_s": 4000}), "guard.p99.hold_s: must be within [0, 3600], got 4000.0"),
        (
            changed("service", token_file="~nobody-here/t"),
            "service.token_file: ~nobody-here/t names a home folder that",
        ),
        (
            changed("restart", maintenance_windows=[NIGHT, {**NIGHT, "start": "9"}]),
            "restart.maintenance_windows[1].start: must be a time such as 02:30, got '9'",
        ),
        (
            changed("restart", maintenance_windows=[{**NIGHT, "zone": "Mars/Phobos"}]),
            "restart.maintenance_windows[0].zone: this machine has no time zone 'Mars/Phobos'",
        ),
        (
            changed("restart", maintenance_windows=[{**NIGHT, "weekdays": ["monday"]}]),
            "restart.maintenance_windows[0].weekdays[0]: 'monday' is not one of mon, tue, wed, thu, fri, sat, sun",
        ),
        (
            changed("restart", maintenance_windows=[{**NIGHT, "minuts": 5}]),
            "unknown: restart.maintenance_windows[0].minuts (did you mean minutes?); known here: minutes, start",
        ),
    ],
)
def test_a_complaint_names_the_key_the_value_and_the_way_out(document: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ConfigError) as refused:
        parse(document)
    assert complaint in str(refused.value)


def test_all_the_faults_of_a_file_are_told_at_once() -> None:
    with pytest.raises(ConfigError) as refused:
        parse({**without("service", "url"), "agent": {"mode": "lab", "interval_s": 0, "nam": "x"}})
    told = [fault.split(":")[0] for fault in str(refused.value).split("; ")]
    assert told == ["service.url is missing", "agent.interval_s", "unknown", "known here"]


def test_empty_text_stands_for_a_key_that_is_left_out() -> None:
    made = parse({**changed("service", token_file=""), "agent": {"mode": "lab", "state_dir": "", "name": ""}})
    assert (made.service.token_file, made.agent.name) == (None, None)
    assert made.agent.state_dir == Path("/var/lib/lutra-agent")


def test_every_guard_has_its_table() -> None:
    tables = {g.name: {"limit": 7} for g in GUARDS}
    assert {n: g.limit for n, g in parse({**FULL, "guard": tables}).guard.guardrails.items()} == dict.fromkeys(
        tables, 7
    )


def test_a_guardrail_takes_what_is_left_out_from_its_default() -> None:
    guardrails = parse(changed("guard", p99={"limit": 3}, disk={"enabled": False})).guard.guardrails
    assert guardrails["p99"] == Guardrail(3.0, 30.0)
    assert not guardrails["disk"].enabled
    assert set(guardrails) == {"p99", "disk"}


def test_plain_http_is_for_loopback_alone() -> None:
    assert parse(changed("service", url="http://127.0.0.1:8000/")).service.url == "http://127.0.0.1:8000"


def test_a_file_that_is_missing_or_no_toml_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"agent\.toml"):
        load(tmp_path / "agent.toml")
    (tmp_path / "agent.toml").write_text("[service\n")
    with pytest.raises(ConfigError, match="not TOML"):
        load(tmp_path / "agent.toml")


def test_the_token_comes_from_the_environment_or_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "token").write_text("lutra_file\n")
    (tmp_path / "token").chmod(0o600)
    service = parse(changed("service", token_file=str(tmp_path / "token"))).service
    monkeypatch.delenv("LUTRA_AGENT_TOKEN", raising=False)
    assert service.token() == "lutra_file"
    monkeypatch.setenv("LUTRA_AGENT_TOKEN", "lutra_environment")
    assert service.token() == "lutra_environment"
    assert "lutra_" not in repr(service)
    monkeypatch.setenv("LUTRA_AGENT_TOKEN", "lutra_environment \r\n")
    assert service.token() == "lutra_environment"


@pytest.mark.parametrize(
    "text", ["lutra_secret\nlutra_secret", "lutra_secret # mine", "lutra_s\u00e9cret", "lutra_secret\x00"]
)
def test_what_no_header_can_hold_is_refused_and_not_told(text: str, tmp_path: Path) -> None:
    service = parse(changed("service", token_file=str(tmp_path / "token"))).service
    (tmp_path / "token").write_text(text.replace("\n", " "))
    (tmp_path / "token").chmod(0o600)
    with pytest.raises(ConfigError, match="contains more than a token") as refused:
        service.token()
    assert "cret" not in str(refused.value)


def of_engine(engine: str, **values: Any) -> dict[str, Any]:
    return {**FULL, "database": {"engine": engine, "host": "/run", "port": 1, **values}}


def test_a_database_is_named_where_a_connection_has_to_be_to_one() -> None:
    with pytest.raises(ConfigError, match=r"database\.dbname is missing: the one in which pg_stat_statements was"):
        parse(of_engine("postgresql"))
    with pytest.raises(ConfigError, match=r"database\.dbname: is empty: name the one in which pg_stat_statements was"):
        parse(of_engine("postgresql", dbname=""))
    for engine in ("mysql", "mariadb"):
        family(engine).open(parse(of_engine(engine)).database).health.close()


def test_each_engine_has_keys_of_its_own_in_the_database_section() -> None:
    file = "/etc/mysql/mariadb.conf.d/zz-lutra.cnf"
    made = parse(of_engine("mariadb", include_file=file)).database
    assert isinstance(made, MariadbDatabase)
    assert made.include_file == Path(file)
    for engine in ("postgresql", "mysql"):
        with pytest.raises(ConfigError, match=r"unknown: database\.include_file; known here: dbname, engine, host"):
            parse(of_engine(engine, dbname="shop", include_file=file))
    with pytest.raises(ConfigError, match=r"database\.engine: 'oracle' is not one of postgresql, mysql, mariadb"):
        parse(of_engine("oracle"))


def test_a_wrong_engine_hides_no_other_fault() -> None:
    wrong = of_engine("oracle", dbname="shop", include_file="/x", port="many", hots="h")
    wrong |= {"agent": {"mode": "brave", "interval_s": -1}}
    with pytest.raises(ConfigError) as found:
        parse(wrong)
    for fault in ("database.engine: 'oracle'", "database.port", "database.hots", "agent.mode", "agent.interval_s"):
        assert fault in str(found.value)
    assert not {"database.dbname", "include_file"} & set(str(found.value).replace(":", " ").split())


def test_all_that_contradicts_the_rest_of_the_file_is_told_at_once() -> None:
    wrong = of_engine("mariadb", host="db.example.com", tls_verify="ca")
    wrong |= {"agent": {"mode": "reload_only", "interval_s": 300}, "driver": {"kind": "command", "command": ["x"]}}
    with pytest.raises(ConfigError) as found:
        parse(wrong)
    for fault in ("database.host", "database.tls_verify", "driver: a driver needs", "guard.confirm_s"):
        assert fault in str(found.value)


def of_guard(agent: dict[str, Any], **guard: Any) -> dict[str, Any]:
    return {"service": FULL["service"], "database": FULL["database"], "agent": agent, "guard": guard}


@pytest.mark.parametrize(
    ("agent", "guard", "needed_s"),
    [
        ({"mode": "reload_only", "interval_s": 300}, {}, 1500),
        ({"mode": "reload_only", "interval_s": 10}, {"confirm_windows": 100}, 1020),
        ({"mode": "reload_only", "interval_s": 10, "warmup_windows": 100}, {}, 1040),
        ({"mode": "restart_in_window", "interval_s": 10, "restart_warmup_s": 865}, {}, 910),
        ({"mode": "lab", "interval_s": 1}, {"confirm_s": 63}, 64),
    ],
)
def test_a_time_in_which_no_change_could_be_confirmed_is_refused_with_the_one_that_is_needed(
    agent: dict[str, Any], guard: dict[str, Any], needed_s: int
) -> None:
    with pytest.raises(ConfigError, match=rf"guard\.confirm_s: .* takes up to {needed_s} s"):
        parse(of_guard(agent, **guard))
    assert parse(of_guard(agent, **{**guard, "confirm_s": needed_s})).guard.confirm_s == needed_s


@pytest.mark.parametrize("agent", [{"interval_s": 3600}, {"mode": "reload_only", "restart_warmup_s": 3600}])
def test_windows_that_no_change_of_this_mode_waits_for_need_no_time(agent: dict[str, Any]) -> None:
    assert parse(of_guard(agent)).guard.confirm_s == 900


@pytest.mark.parametrize("content", [None, b"", b"\n", b"\xff\xfe"])
def test_a_password_that_is_being_replaced_is_a_login_that_is_refused(tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "password"
    if content is not None:
        file.write_bytes(content)
    for engine in ("postgresql", "mysql", "mariadb"):
        with pytest.raises(LoginRefused, match=str(file)):
            family(engine).open(parse(of_engine(engine, dbname="app", password_file=str(file))).database).health.ping()
    file.write_text("hush\n")
    file.chmod(0o600)
    assert parse(changed("database", password_file=str(file))).database.password() == "hush"


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
)


@pytest.mark.slow
@given(st.sampled_from(sorted(FULL)), st.sampled_from(["url", "port", "mode", "command", "timeout_s", "kind"]), values)
def test_parsing_is_total(section: str, key: str, value: Any) -> None:
    try:
        parse(changed(section, **{key: value}))
    except ConfigError:
        return


def test_how_far_a_server_is_checked_is_said_beside_the_authority_alone() -> None:
    made = parse(changed("database", tls_ca="/etc/lutra/ca.pem")).database
    assert (str(made.tls_ca), made.tls_verify) == ("/etc/lutra/ca.pem", "identity")
    assert parse(changed("database", tls_ca="/etc/lutra/ca.pem", tls_verify="ca")).database.tls_verify == "ca"
    with pytest.raises(ConfigError, match=r"'ca' needs database\.tls_ca"):
        parse(changed("database", tls_verify="ca"))
    with pytest.raises(ConfigError, match="tls_verify"):
        parse(changed("database", tls_ca="/etc/lutra/ca.pem", tls_verify="none"))
