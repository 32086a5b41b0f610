from __future__ import annotations

import gc
import pickle
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lutra_models.catalog.formula import Formula
from lutra_models.catalog.units import parse_bool, parse_number, show
from lutra_models.errors import InvalidConfiguration

UNITS = ("", "8kB", "kB", "MB", "B", "ms", "s", "min", "16MB")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("memory / 4", 256),
        ("min(10, memory, 30)", 10),
        ("1.1 if memory > 1000 else 4", 1.1),
        ("'off' if level == 'minimal' else 'on'", "on"),
        ("-(2 + 3) * 2", -10),
        ("memory > 1 and not level == 'x'", True),
        ("ceil(5 / 2) + floor(2.9)", 5),
    ],
)
def test_a_formula_computes(text: str, value: object) -> None:
    assert Formula(text)({"memory": 1024, "level": "replica"}) == value


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os')",
        "memory().real",
        "'text'.real",
        "[1]",
        "lambda: 1",
        "1 if",
        "2 ** 9",
        "open('x')",
        "max()",
        "f'{memory}'",
        "1 < 2 < 3",
    ],
)
def test_whatever_is_not_arithmetic_is_refused_with_its_text(text: str) -> None:
    with pytest.raises(ValueError, match="formula"):
        Formula(text)


def test_a_name_with_dots_is_a_name_and_no_attribute() -> None:
    formula = Formula("max(vm.dirty_bytes, net.ipv4.x) + memory.real")
    assert formula.names == {"vm.dirty_bytes", "net.ipv4.x", "memory.real"}
    assert formula({"vm.dirty_bytes": 4, "net.ipv4.x": 5, "memory.real": 1}) == 6
    with pytest.raises(InvalidConfiguration, match=r"needs memory\.real"):
        Formula("memory.real")({"memory": 7})


def test_a_missing_name_and_a_division_by_zero_are_named() -> None:
    with pytest.raises(InvalidConfiguration, match="needs disk"):
        Formula("disk / 2")({})
    with pytest.raises(InvalidConfiguration, match="divides by zero"):
        Formula("1 / disk")({"disk": 0})


def test_a_formula_pickles_as_its_text_and_knows_its_names() -> None:
    formula = Formula("min(memory, 4) / cores")
    copy = pickle.loads(pickle.dumps(formula))
    assert copy == formula
    assert copy.names == {"memory", "cores"}
    assert copy({"memory": 8, "cores": 2}) == 2


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("128MB", "8kB", 16384),
        ("1GB", "kB", 1048576),
        ("1.5GB", "MB", 1536),
        ("30s", "ms", 30000),
        ("5min", "s", 300),
        ("1h", "min", 60),
        ("-1", "8kB", -1),
        (" 64 MB ", "kB", 65536),
        ("200", "ms", 200),
    ],
)
def test_texts_are_read_as_the_server_reads_them(text: str, unit: str, value: int) -> None:
    assert parse_number("x", text, unit, integer=True) == value


@pytest.mark.parametrize(("text", "unit"), [("1gb", "8kB"), ("1KB", "kB"), ("5m", "s"), ("1GB", "ms"), ("5MB", "")])
def test_a_wrong_unit_is_refused_with_the_units_that_it_takes(text: str, unit: str) -> None:
    with pytest.raises(InvalidConfiguration, match="expected"):
        parse_number("x", text, unit, integer=True)


@given(st.integers(-1, 2**31 - 1), st.sampled_from(UNITS))
def test_what_is_shown_is_read_back_exactly(value: int, unit: str) -> None:
    assert parse_number("x", show(value, unit), unit, integer=True) == value


@given(st.floats(0.001, 1e6), st.sampled_from(("", "ms")))
def test_real_values_are_read_back_exactly(value: float, unit: str) -> None:
    assert parse_number("x", show(value, unit), unit, integer=False) == value


@given(st.text(max_size=30), st.sampled_from(UNITS), st.booleans())
def test_parsing_is_total_on_arbitrary_text(text: str, unit: str, integer: bool) -> None:
    with suppress(InvalidConfiguration):
        assert isinstance(parse_number("x", text, unit, integer), int | float)


def test_people_read_the_largest_unit_that_is_exact() -> None:
    assert show(131072, "8kB") == "1GB"
    assert show(20560, "kB") == "20560kB"
    assert show(300, "s") == "5min"
    assert show(2.5, "ms") == "2.5ms"
    assert show(-1, "kB") == "-1"
    assert show(1.1, "") == "1.1"


@pytest.mark.parametrize(
    ("word", "value"), [("true", "on"), ("ON", "on"), ("1", "on"), ("f", "off"), ("No", "off"), (0, "off")]
)
def test_truth_has_the_servers_spellings(word: str | int, value: str) -> None:
    assert parse_bool("jit", word) == value


def test_a_word_that_is_neither_is_refused() -> None:
    with pytest.raises(InvalidConfiguration, match="jit: 'maybe' is neither on nor off"):
        parse_bool("jit", "maybe")


@contextmanager
def threads_that_interrupt_each_other() -> Iterator[None]:
    """A collection of garbage after every object, in which Python code runs and threads change places."""
    thresholds, interval, callback = gc.get_threshold(), sys.getswitchinterval(), lambda _phase, _info: None
    gc.callbacks.append(callback)
    gc.set_threshold(1)
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        gc.callbacks.remove(callback)
        gc.set_threshold(*thresholds)
        sys.setswitchinterval(interval)


def test_threads_may_parse_formulas_at_once() -> None:
    def parsed(text: str, depth: int) -> float:
        return parsed(text, depth - 1) if depth else Formula(text)({"a": 1, "b": 2})

    texts = [f"a + b * min({n}, a if b > 3 else b, (1 + 2) * b)" for n in range(400)]
    with threads_that_interrupt_each_other(), ThreadPoolExecutor(4) as pool:
        found = list(pool.map(parsed, texts, [n % 4 * 30 for n in range(400)]))
    assert len(found) == 400
