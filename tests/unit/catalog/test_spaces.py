from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from lutra_models.catalog import load, meet
from lutra_models.catalog.rows import from_document
from lutra_models.catalog.statements import to_paste
from lutra_models.errors import InvalidConfiguration
from lutra_models.knobs import Choice, Configuration, Number
from lutra_models.server import Policy, Server

from tests.support.reported.postgresql import a_server
from tests.support.reported.shown import shown

CATALOG = load("postgresql")
VERSIONS = ("15", "16", "18")


def with_setting(server: Server, name: str, **facts: object) -> Server:
    return replace(server, settings={**server.settings, name: replace(server.settings[name], **facts)})  # type: ignore[arg-type]


def domain(server: Server, name: str, policy: Policy | None = None) -> Number:
    found = meet(server).space(policy or Policy(movable=frozenset({name})))[name].domain
    assert isinstance(found, Number)
    return found


def test_at_least_45_settings_are_described_and_every_version_has_its_own() -> None:
    assert len({r.name for r in CATALOG.rows}) >= 45
    for version in range(12, 19):
        names = [r.name for r in CATALOG.rows_for(str(version))]
        assert len(names) == len(set(names))
    names_of = {v: {r.name for r in CATALOG.rows_for(v)} for v in ("12", "13", "14", "16", "17", "18")}
    assert "hash_mem_multiplier" in names_of["13"] - names_of["12"]
    assert "vacuum_buffer_usage_limit" in names_of["16"] - names_of["14"]
    assert {"io_workers", "io_method"} <= names_of["18"] - names_of["17"]


def test_every_row_has_its_meaning_and_its_place_in_the_manual() -> None:
    for row in (row.to_dict() for row in CATALOG.rows):
        assert row["meaning"].endswith(".")
        assert row["manual"].startswith("19.")


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("gb", [1, 4, 64])
def test_every_range_holds_the_live_value_and_the_rule_based_one(version: str, gb: int) -> None:
    server = a_server(version, memory_gb=gb)
    everything = Policy(movable=frozenset(r.name for r in CATALOG.rows_for(version)), durability=True)
    for policy in (Policy(), everything):
        settings = meet(server)
        space, live, ruled = settings.space(policy), settings.values, settings.rule_based(policy)
        for knob in space:
            assert live[knob.name] in knob.domain, knob.name
            assert ruled[knob.name] in knob.domain, knob.name


def test_durability_is_kept_unless_the_operator_opts_in() -> None:
    server = a_server()
    risks = {k.risk for k in meet(server).space(Policy())}
    assert risks == {"none"}
    assert {"synchronous_commit", "wal_writer_delay"} <= set(meet(server).space(Policy(durability=True)).names)
    assert "fsync" not in meet(server).space(Policy(durability=True))
    for name in ("fsync", "wal_writer_delay"):
        with pytest.raises(
            InvalidConfiguration, match=f"{name}: it has values that can lose committed data; allow durability"
        ):
            meet(server).space(Policy(movable=frozenset({name})))


def test_connections_are_never_fewer_than_now_or_than_the_peak_and_a_margin() -> None:
    assert domain(a_server(), "max_connections").low == 100
    assert domain(a_server(peak_connections=400), "max_connections").low == 510
    assert domain(a_server(max_wal_senders=0), "max_wal_senders").special == (0,)
    assert domain(a_server(), "max_wal_senders").special == ()


def test_only_a_disk_that_is_known_not_to_spin_is_treated_as_one() -> None:
    for rotational, limit, cost in ((True, -1, 4), (None, -1, 4), (False, 1000, 1.1)):
        server = a_server(rotational=rotational, autovacuum_vacuum_cost_limit=200, random_page_cost=2)
        ruled = meet(server).rule_based(Policy())
        assert (ruled["autovacuum_vacuum_cost_limit"], ruled["random_page_cost"]) == (limit, cost)


def test_a_narrower_live_range_and_a_live_unit_win() -> None:
    server = with_setting(a_server(), "work_mem", unit="MB", value="4", low=1, high=32)
    assert domain(server, "work_mem") == Number(1, 32, "MB", log=True, integer=True)


def test_a_live_enum_list_wins() -> None:
    server = with_setting(a_server(), "io_method", value="sync", options=("sync", "io_uring"))
    with pytest.raises(InvalidConfiguration, match="io_method has only sync on this server"):
        meet(server).space(Policy(movable=frozenset({"io_method"})))


def test_an_option_that_is_active_stays_an_option() -> None:
    found = meet(a_server("15", wal_compression="zstd")).space(Policy())["wal_compression"].domain
    assert found == Choice(("off", "pglz", "lz4", "zstd"))


def test_a_setting_that_the_server_lacks_is_dropped() -> None:
    server = a_server()
    without = replace(server, settings={n: s for n, s in server.settings.items() if n != "jit"})
    assert "jit" not in meet(without).values
    assert "jit" not in meet(without).space(Policy())
    with pytest.raises(InvalidConfiguration, match=r"jit: this server .* does not report it"):
        meet(without).parse("jit", "on")


def test_pinned_shadowed_and_restart_settings_stay_out() -> None:
    server = with_setting(a_server(), "work_mem", shadowed="the command line")
    space = meet(server).space(Policy(pins={"jit": "off"}, restart=False))
    assert {"work_mem", "jit", "shared_buffers"} & set(space.names) == set()
    assert all(k.applies == "reload" for k in space)


def test_the_operator_narrows_a_range_in_words() -> None:
    found = domain(a_server(), "work_mem", Policy(ranges={"work_mem": ("4MB", "16MB")}))
    assert (found.low, found.high) == (4096, 16384)
    gather = domain(
        a_server(), "max_parallel_workers_per_gather", Policy(ranges={"max_parallel_workers_per_gather": (1, 3)})
    )
    assert (gather.low, gather.high, gather.special) == (1, 3, ())


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({"ranges": {"work_mem": ("16MB", "4MB")}}, "low end below its high one"),
        ({"ranges": {"work_mem": ("1TB", "1.5TB")}}, "does not overlap 512kB to 256MB"),
        ({"ranges": {"jit": ("on", "off")}}, "jit: it has options, not a range"),
        ({"ranges": {"work_mem": ("4mb", "16MB")}}, "unknown unit 'mb'"),
        ({"pins": {"work_mem": "1kB"}}, "work_mem: 1kB is outside what the server takes, 64kB to "),
        ({"pins": {"innodb_buffer_pool_size": 1}}, "innodb_buffer_pool_size: not in the catalogue"),
        ({"movable": frozenset({"shared_bufers"})}, "shared_bufers: not in the catalogue"),
        (
            {"movable": frozenset({"shared_buffers"}), "restart": False},
            "shared_buffers needs a restart, which is not allowed",
        ),
        ({"movable": frozenset()}, "no setting may move: the policy names none"),
    ],
)
def test_a_policy_that_cannot_be_is_refused_with_its_words(facts: Mapping[str, object], message: str) -> None:
    with pytest.raises(InvalidConfiguration, match=message):
        meet(a_server()).space(Policy(**facts))  # type: ignore[arg-type]


def test_couplings_are_rules() -> None:
    server = a_server()
    space = meet(server).space(Policy())
    good = meet(server).rule_based(Policy())
    refusal = space.refusal(good.replace({"min_wal_size": 4096, "max_wal_size": 1024}))
    assert refusal is not None
    assert refusal.code == "coupling"
    assert "min_wal_size must not be above max_wal_size" in refusal.message
    assert space.refusal(good.replace({"max_parallel_workers": 1, "max_parallel_workers_per_gather": 4})) is not None


@pytest.mark.parametrize(("name", "lower"), [("min_wal_size", "320MB"), ("max_wal_size", "2GB")])
def test_a_log_size_with_which_the_server_would_not_start_again_is_refused(name: str, lower: str) -> None:
    server = a_server(min_wal_size=lower, max_wal_size="1GB", wal_segment_size="64MB")
    space = meet(server).space(Policy(movable=frozenset({name, "wal_segment_size"})))
    assert space.names == (name,)
    refusal = space.refusal(Configuration({name: 96}))
    assert refusal is not None
    assert f"{name} below two log files" in refusal.message
    assert "wal_segment_size = 67108864" in refusal.message
    assert space.refusal(Configuration({name: 1024})) is None


def test_changes_are_exact_and_so_is_their_undo() -> None:
    server = with_setting(a_server(work_mem="64MB"), "work_mem", persisted="64MB")
    made = shown(server, {"work_mem": 131072, "random_page_cost": 1.1, "jit": "on"})
    assert set(made) == {"work_mem", "random_page_cost"}
    assert made["work_mem"] == (
        "ALTER SYSTEM SET work_mem = '128MB'; SELECT pg_reload_conf()",
        "ALTER SYSTEM SET work_mem = '64MB'; SELECT pg_reload_conf()",
    )
    assert made["random_page_cost"] == (
        "ALTER SYSTEM SET random_page_cost = '1.1'; SELECT pg_reload_conf()",
        "ALTER SYSTEM RESET random_page_cost; SELECT pg_reload_conf()",
    )
    (change,) = meet(server).changes({"work_mem": 131072})
    assert (change.before_text, change.after_text) == ("64MB", "128MB")


def test_a_quote_in_a_persisted_text_is_doubled() -> None:
    server = with_setting(a_server(), "work_mem", persisted="it's")
    assert shown(server, {"work_mem": 8192})["work_mem"][1].startswith("ALTER SYSTEM SET work_mem = 'it''s'; ")


def test_what_is_pasted_is_active_afterwards_with_one_reload_and_a_restart_needs_none() -> None:
    met = meet(a_server())
    reloaded = met.steps(met.changes({"work_mem": 131072, "random_page_cost": 1.1}))
    assert list(to_paste(step for made in reloaded for step in made.do_by_hand)) == [
        "ALTER SYSTEM SET work_mem = '128MB';",
        "ALTER SYSTEM SET random_page_cost = '1.1';",
        "SELECT pg_reload_conf();",
    ]
    (restarted,) = met.steps(met.changes({"shared_buffers": 32768}))
    assert list(to_paste(restarted.do_by_hand)) == ["ALTER SYSTEM SET shared_buffers = '256MB';"]


def test_real_values_keep_no_more_digits_than_the_server_prints() -> None:
    assert meet(a_server()).parse("random_page_cost", "1.23456789") == 1.23457
    assert meet(a_server()).changes({"random_page_cost": 1.23456789})[0].after_text == "1.23457"


@pytest.mark.parametrize(
    "value",
    [float("nan"), float("inf"), 1e308, 10**4000, "1e999", "9" * 5000, "", "nan", 4096.5],
    ids=lambda v: str(v)[:12],
)
def test_nonsense_is_no_value(value: str | int | float) -> None:
    with pytest.raises(InvalidConfiguration, match="work_mem: "):
        meet(a_server()).parse("work_mem", value)


def test_a_catalogue_that_reads_an_unknown_name_does_not_load() -> None:
    entry = {
        "name": "x",
        "group": "g",
        "kind": "integer",
        "low": "1",
        "high": "nonsense",
        "applies": "reload",
        "meaning": "It is.",
        "manual": "19.4",
    }
    document = {
        "setting": [entry],
        "memory": [],
        "coupling": [],
        "defaults": {},
        "shrink": [],
        "statements": {"set": "", "reset": ""},
    }
    with pytest.raises(ValueError, match="'nonsense' reads unknown names"):
        from_document("postgresql", document)
