"""No result of a test depends on how fast the machine is: what the source of the tests shows of that."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
REAL = ("integration", "e2e")
"""Folders whose tests run real servers and programs; elsewhere a test that does carries the marker `engine`."""
SHORTEST_S = 60.0
LIMITS = frozenset({"timeout", "timeout_s", "within_s", "startup_timeout", "patience_s"})
WAITS = frozenset({"wait", "join", "result", "communicate"})
CLOCKS = frozenset({"monotonic", "perf_counter", "time"})

TOLERATED: dict[str, str] = {}
"""`file:function` whose tolerance is no claim about a server's speed, and why."""
PAUSE = "a pause between two looks, not a limit"
PASSES = "the test is about the limit, and what is waited for cannot come"
OWN_CLOCK = "seconds of a clock that the test moves"
SHORT: dict[str, str] = {
    "support/service/fleet.py:Steward.at_work": PAUSE,
    "support/servers/loads.py:Load._run": PAUSE,
    "support/servers/raw_server.py:dripping": PAUSE,
    "integration/agent/test_conformance.py:TestEngine.test_one_that_runs_and_does_not_listen_is_waited_for": PASSES,
    "integration/lab/test_mysqld.py:test_a_restart_kills_a_server_that_does_not_shut_down": PASSES,
    "integration/service/test_client.py:_session": PASSES,
    "integration/service/test_client.py:test_the_same_is_awaited": PASSES,
    "unit/agent/reporting/test_service_link.py:Hurried.wait": "a turn of the loop, of which there are many",
    "unit/agent/reporting/test_service_link.py:"
    "test_a_change_is_taken_back_while_the_service_holds_the_question_for_a_directive": "repeated until it is so",
    "unit/agent/reporting/test_service_link.py:test_a_service_that_never_waits_is_asked_once_per_wait": OWN_CLOCK,
    "unit/agent/reporting/test_service_link.py:test_a_backlog_gives_way_to_a_question_only_once_it_is_sent": OWN_CLOCK,
}
"""`file:function` with a limit below a minute that no slow machine reaches, and why."""


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(), str(path))


def files() -> list[Path]:
    return sorted(p for p in TESTS.rglob("*.py") if "__pycache__" not in p.parts)


def functions(path: Path) -> Iterator[tuple[str, ast.AST]]:
    """Each function at the top of a module or of a class, with what lies in it; the rest is called `module`."""
    for node in tree(path).body:
        if isinstance(node, ast.ClassDef):
            yield from ((f"{node.name}.{n.name}", n) for n in node.body if isinstance(n, ast.FunctionDef))
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, node
        else:
            yield "module", node


def name(path: Path, function: str) -> str:
    return f"{path.relative_to(TESTS)}:{function}"


def called(node: ast.AST) -> str:
    """The last name of what a call calls; empty for anything else."""
    if not isinstance(node, ast.Call):
        return ""
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def on_real_servers(path: Path) -> bool:
    return path.relative_to(TESTS).parts[0] in REAL or "mark.engine" in path.read_text()


def tolerances() -> Iterator[str]:
    """Functions beside a real server that compare with `approx` and a tolerance of their own."""
    for path in filter(on_real_servers, files()):
        for function, node in functions(path):
            for call in ast.walk(node):
                if called(call) == "approx" and {k.arg for k in call.keywords} & {"rel", "abs"}:  # type: ignore[attr-defined]
                    yield name(path, function)


def limits() -> Iterator[str]:
    """Functions that wait for something at most for a number of seconds below `SHORTEST_S`."""
    for path in files():
        known = dict(constants(path))
        for function, node in functions(path):
            if any(0 < s < SHORTEST_S for call in ast.walk(node) for s in seconds(call, known)):
                yield name(path, function)


def constants(path: Path) -> Iterator[tuple[str, float]]:
    for node in tree(path).body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            yield from ((t.id, number(node.value, {})) for t in node.targets if isinstance(t, ast.Name))


def seconds(node: ast.AST, known: dict[str, float]) -> Iterator[float]:
    """How long a call waits at most, or until when a sum with a clock's reading lies ahead."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) and called(node.left) in CLOCKS:
        yield number(node.right, known)
    if isinstance(node, ast.Call):
        yield from (number(k.value, known) for k in node.keywords if k.arg in LIMITS)
        if called(node) in WAITS and "clock" not in ast.unparse(node.func):
            yield from (number(a, known) for a in node.args[:1])


def number(node: ast.expr, known: dict[str, float]) -> float:
    """A number that is written out or a constant of its module; 0 for all else."""
    if isinstance(node, ast.Name):
        return known.get(node.id, 0.0)
    value = getattr(node, "value", None)
    return float(value) if isinstance(value, int | float) else 0.0


@pytest.mark.parametrize(("found", "reasons"), [(tolerances, TOLERATED), (limits, SHORT)])
def test_only_the_listed_tests_set_a_tolerance_or_a_short_limit_and_each_says_why(
    found: Callable[[], Iterator[str]], reasons: dict[str, str]
) -> None:
    assert set(found()) == set(reasons)
    assert all(reasons.values())


@pytest.mark.parametrize(
    ("code", "waits"),
    [
        ("process.wait(10)", [10.0]),
        ("process.communicate(timeout=SOON_S)", [2.0]),
        ("end = time.monotonic() + 30", [30.0]),
        ("clock.wait(10)", []),
        ("', '.join(words)", [0.0]),
    ],
)
def test_limits_are_found_by_what_waits(code: str, waits: list[float]) -> None:
    assert [s for node in ast.walk(ast.parse(code)) for s in seconds(node, {"SOON_S": 2.0})] == waits
