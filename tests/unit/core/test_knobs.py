from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lutra_models import Choice, Configuration, Knob, KnobSpace, Number, Refusal
from lutra_models.errors import InvalidConfiguration

SPACE = KnobSpace(
    [
        Knob("buffers", Number(16, 1 << 20, unit="8kB", log=True, integer=True), applies="restart"),
        Knob("cost", Number(0.1, 10)),
        Knob("timeout", Number(1, 60, unit="s", integer=True, special=(-1, 0))),
        Knob("method", Choice(("worker", "sync"))),
    ]
)
GOOD = {"buffers": 16384, "cost": 4.0, "timeout": -1, "method": "sync"}


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Number(2, 1), "got 2 and 1"),
        (lambda: Number(0, 8, log=True), "low > 0"),
        (lambda: Number(0.5, 8, integer=True), "integer bounds"),
        (lambda: Number(1, float("inf")), "finite"),
        (lambda: Choice(("a",)), "at least two"),
        (lambda: Choice(("a", "a")), "distinct"),
        (lambda: KnobSpace([]), "at least one"),
        (lambda: KnobSpace([Knob("a", Number(0, 1)), Knob("a", Number(0, 1))]), "'a'"),
    ],
)
def test_a_domain_refuses_nonsense_at_birth_and_says_the_values(make, message) -> None:
    with pytest.raises(ValueError, match=message):
        make()


@given(st.floats(allow_nan=False, allow_infinity=False, width=32))
def test_clipping_gives_a_legal_value(value: float) -> None:
    for knob in SPACE:
        if isinstance(knob.domain, Number):
            assert knob.domain.clip(value) in knob.domain


@pytest.mark.parametrize(
    ("domain", "value", "readable"),
    [
        (Number(1 << 14, 12 << 20, unit="kB", log=True, integer=True), 199352, 192 << 10),
        (Number(2048, 12 << 17, unit="8kB", log=True, integer=True), 24919, 24576),
        (Number(1, 4), 2.459988, 2.46),
        (Number(100, 10_000, log=True, integer=True), 4321, 4300),
        (Number(0, 1), 0.123456, 0.12),
        (Number(1, 20, integer=True), 7.3, 7),
        (Number(1, 60, special=(-1,)), -1, -1),
    ],
)
def test_a_rounded_value_is_one_that_people_write(domain: Number, value: float, readable: float) -> None:
    assert domain.rounded(value) == readable


@given(st.floats(allow_nan=False, allow_infinity=False, width=32))
def test_rounding_gives_a_legal_value_near_by_and_leaves_it_there(value: float) -> None:
    for domain in (k.domain for k in SPACE if isinstance(k.domain, Number)):
        once = domain.rounded(value)
        assert once in domain
        assert domain.rounded(once) == once
        if not domain.log and value not in domain.special:
            assert abs(once - domain.clip(value)) <= (domain.high - domain.low) / 100


def test_rounding_never_makes_a_special_value_of_a_number() -> None:
    """Of 1 to 1024 workers, 3 are not rounded to 0, which turns parallel queries off."""
    domain = Number(1, 1024, integer=True, special=(0,))
    assert [domain.rounded(value) for value in (0, 1, 3, 5)] == [0, 1, 1, 1]


def test_special_values_are_legal_besides_the_range_and_clipping_keeps_them() -> None:
    domain = Number(1, 60, special=(-1,))
    assert -1 in domain
    assert domain.clip(-1) == -1
    assert -2 not in domain
    assert domain.clip(-2) == 1


def test_a_boolean_is_not_a_number() -> None:
    assert True not in Number(0, 5)
    with pytest.raises(TypeError, match="True"):
        Configuration({"a": True})


def test_numpy_numbers_become_python_numbers() -> None:
    c = Configuration({"i": np.int64(3), "f": np.float32(0.5), "s": np.str_("on")})
    assert [type(v) for v in c.values()] == [int, float, str]
    assert c == {"i": 3, "f": 0.5, "s": "on"}


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), np.float64("nan")])
def test_a_configuration_refuses_numbers_that_are_none(bad) -> None:
    with pytest.raises(ValueError, match="finite"):
        Configuration({"a": bad})


def test_configurations_are_equal_by_content_hashable_and_picklable() -> None:
    one, other = Configuration({"a": 1, "b": "x"}), Configuration({"b": "x", "a": 1.0})
    assert one == other
    assert len({one, other}) == 1
    assert pickle.loads(pickle.dumps(one)) == one


def test_the_digest_depends_on_content_alone() -> None:
    assert Configuration({"a": 1, "b": 2}).digest == Configuration({"b": 2, "a": 1}).digest
    assert Configuration({"a": 1}).digest != Configuration({"a": 2}).digest


def test_normalising_orders_completes_and_makes_integral_floats_integers() -> None:
    c = SPACE.normalise({"method": "sync", "timeout": -1.0, "cost": 4, "buffers": np.float64(16384.0), "other": 1})
    assert tuple(c) == SPACE.names
    assert isinstance(c["buffers"], int)


def test_an_observed_value_outside_its_domain_is_legal_history_but_no_proposal() -> None:
    outside = GOOD | {"cost": 11}
    assert SPACE.normalise(outside)["cost"] == 11
    with pytest.raises(InvalidConfiguration, match=r"cost: 11 is outside \[0.1, 10\]"):
        SPACE.parse(outside)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"nonsense": 1}, "unknown settings: nonsense"),
        ({"cost": "high"}, "'high' is not a number"),
        ({"method": 3}, "3 is a number, expected one of worker, sync"),
        ({"method": "io_uring"}, "io_uring is outside one of worker, sync"),
        ({"timeout": 1.5}, "timeout: 1.5 is outside"),
    ],
)
def test_a_proposal_is_refused_with_the_value_and_what_is_legal(changes, message) -> None:
    with pytest.raises(InvalidConfiguration, match=message):
        SPACE.parse(GOOD | changes)


def test_a_missing_setting_is_named() -> None:
    with pytest.raises(InvalidConfiguration, match="missing settings: method"):
        SPACE.normalise({k: v for k, v in GOOD.items() if k != "method"})


def test_the_first_rule_that_objects_refuses_a_proposal() -> None:
    space = KnobSpace(SPACE.knobs, rules=[lambda c: None, lambda c: Refusal("too_much", "does not fit")])
    with pytest.raises(InvalidConfiguration, match="does not fit"):
        space.parse(GOOD)


def test_a_spaces_fingerprint_changes_with_its_knobs_alone() -> None:
    assert SPACE.fingerprint == KnobSpace(SPACE.knobs, rules=[lambda c: None]).fingerprint
    assert SPACE.fingerprint != KnobSpace(SPACE.knobs[:2]).fingerprint


@given(st.dictionaries(st.text(), st.one_of(st.text(), st.floats(), st.integers(), st.none(), st.booleans())))
def test_parsing_is_total_on_arbitrary_input(values) -> None:
    try:
        SPACE.parse(values)
    except (InvalidConfiguration, ValueError, TypeError):
        pass


def test_changes_name_the_settings_that_differ() -> None:
    before = Configuration(GOOD)
    after = before.replace({"cost": 1.1})
    assert before.changes_to(after) == {"cost": (4.0, 1.1)}
