"""Whatever an agent says of a server's settings, the catalogue answers or refuses in words."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lutra_models.catalog import load, meet
from lutra_models.catalog.readable import readable
from lutra_models.errors import LutraError
from lutra_models.server import Host, Policy, Server, ServerSetting

pytestmark = pytest.mark.slow

DATA = Path(__file__).parents[2] / "support" / "data"
VERSIONS = {"postgresql": "18", "mysql": "9.7.0", "mariadb": "10.11.6"}
FILES = {"postgresql": "postgresql_18", "mysql": "mysql_9.7", "mariadb": "mariadb_10.11"}

ODD_VALUES = ("1e999", "-1e999", "9" * 190, "0", "-1", "", "on", "1e-999", "nan", "inf", "1GB", "²", "\u0663", "1 000")
ODD_UNITS = ("0kB", "1" + "0" * 5000 + "kB", "00000000000kB", "-1kB", "kB", "8kB", "ms", "min", "999999TB", "½kB")
number = st.none() | st.floats() | st.sampled_from([0.0, -1.0, 1e308, 5e-324])
text = st.text(max_size=12)
any_setting = st.builds(
    ServerSetting,
    value=st.sampled_from(ODD_VALUES) | text,
    unit=st.sampled_from(ODD_UNITS) | text,
    kind=st.sampled_from(["integer", "real", "bool", "enum", "string"]),
    low=number,
    high=number,
    options=st.lists(text, max_size=3).map(tuple),
    applies=st.sampled_from(["reload", "restart", "fixed"]),
    persisted=st.none() | text,
    shadowed=st.none() | text,
    pending_restart=st.booleans(),
)


def fresh(engine: str) -> dict[str, ServerSetting]:
    found: Mapping[str, Any] = json.loads((DATA / f"{FILES[engine]}.json").read_text(encoding="utf-8"))
    return {n: ServerSetting(**{**s, "options": tuple(s["options"])}) for n, s in found.items()}


@st.composite
def servers(draw: st.DrawFn) -> Server:
    """A real server with some settings exchanged for anything at all."""
    engine = draw(st.sampled_from(sorted(VERSIONS)))
    settings = fresh(engine)
    for name in draw(st.lists(st.sampled_from(sorted(settings)), min_size=1, max_size=4, unique=True)):
        changed = draw(any_setting)
        keep = draw(st.sampled_from(["all", "value", "unit", "kind", "limits"]))
        only = {"value": ("value",), "unit": ("unit",), "kind": ("kind", "options"), "limits": ("low", "high")}
        parts = {field: getattr(changed, field) for field in only.get(keep, ())}
        settings[name] = changed if keep == "all" else replace(settings[name], **parts)
    host = Host(draw(st.integers(1, 2**50)), draw(st.floats(1e-3, 1e5)))
    return Server(engine, VERSIONS[engine], settings, host, peak_connections=draw(st.integers(0, 10**7)))


POLICIES = (Policy(), Policy(durability=True, memory_fraction=0.01))


def everything(server: Server) -> Policy:
    names = frozenset(r.name for r in load(server.engine).rows_for(server.version))
    return Policy(movable=names, durability=True)


def ask_all(server: Server, policy: Policy) -> None:
    live = meet(server)
    active = live.values
    live.memory_refusal(policy, active)
    live.worst_case(active)
    for name, value in active.items():
        live.text(name, value)
    for target in (active, live.space(policy), live.rule_based(policy)):
        if isinstance(target, Mapping):
            live.changes(target)


QUESTIONS: tuple[Callable[[Server, Policy], object], ...] = (
    lambda s, p: meet(s).values,
    lambda s, p: meet(s).space(p),
    lambda s, p: meet(s).rule_based(p),
    lambda s, p: meet(s).memory_refusal(p, {}),
    lambda s, p: [meet(s).parse(n, v.value) for n, v in s.settings.items()],
    ask_all,
)


@pytest.mark.parametrize("question", QUESTIONS)
@given(server=servers(), data=st.data())
def test_every_question_about_an_arbitrary_server_has_an_answer_or_a_refusal(
    question: Callable[[Server, Policy], object], server: Server, data: st.DataObject
) -> None:
    policy = data.draw(st.sampled_from([*POLICIES, everything(server)]))
    with suppress(LutraError):
        question(server, policy)


@pytest.mark.parametrize("engine", sorted(VERSIONS))
def test_a_numeric_setting_that_turns_into_words_leaves_the_policys_range_refused(engine: str) -> None:
    settings = fresh(engine)
    numeric = next(
        r.name for r in load(engine).rows_for(VERSIONS[engine]) if r.kind == "integer" and r.name in settings
    )
    settings[numeric] = replace(settings[numeric], kind="string", value="many")
    server = Server(engine, VERSIONS[engine], settings, Host(2**33, 4))
    with pytest.raises(LutraError, match=numeric):
        meet(server).space(Policy(ranges={numeric: (1, 2)}))


@given(server=servers())
def test_settings_that_were_found_readable_can_be_read_and_summed(server: Server) -> None:
    found = readable(server.engine, server.settings)
    assert set(found.settings) | set(found.unreadable) == set(server.settings)
    kept = meet(replace(server, settings=found.settings))
    active = kept.values
    assert set(active) <= set(found.settings)
    kept.worst_case(active)
    for name, value in active.items():
        assert isinstance(kept.text(name, value), str)


@pytest.mark.parametrize("engine", sorted(VERSIONS))
def test_every_setting_of_a_real_server_is_readable(engine: str) -> None:
    settings = fresh(engine)
    found = readable(engine, settings)
    assert found.unreadable == {}
    assert found.settings == {n: s for n, s in settings.items() if n in {r.name for r in load(engine).rows}}


ODD = {
    "value": "x" * 201,
    "unit": "0kB",
    "persisted": "x" * 201,
    "options": ("x",) * 65,
    "kind": "string",
    "low": float("nan"),
}


@pytest.mark.parametrize("part", ODD)
def test_one_odd_setting_is_left_out_by_name_and_the_others_stay(part: str) -> None:
    settings = fresh("postgresql")
    settings["work_mem"] = replace(settings["work_mem"], **{part: ODD[part]})  # type: ignore[arg-type]
    found = readable("postgresql", {**settings, "no_row_of_ours": settings["jit"]})
    assert set(found.unreadable) == {"work_mem"}
    assert "work_mem" not in found.settings
    assert "no_row_of_ours" not in found.settings
    assert len(found.settings) == len(settings) - 1


def test_the_notes_of_a_setting_are_cut() -> None:
    jit = replace(fresh("postgresql")["jit"], source="s" * 1000, shadowed="f" * 1000)
    kept = readable("postgresql", {"jit": jit}).settings["jit"]
    assert (len(kept.source), len(kept.shadowed or "")) == (200, 200)
