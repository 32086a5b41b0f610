"""Arithmetic in the catalogue's text: ranges, rules and memory terms, shown to people exactly as they are computed.

A formula contains numbers, quoted texts, names, + - * /, comparisons, `a if c else b`, `and`, `or`, `not`, min, max,
ceil and floor. A name may have dots, as in `vm.swappiness`; one with hyphens is written in backticks. Nothing else
parses, so a catalogue file cannot run code.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from threading import Lock
from typing import Any

from lutra_models.errors import InvalidConfiguration
from lutra_models.knobs import Value

Scope = Mapping[str, Any]
Step = Callable[[Scope], Any]

FUNCTIONS: dict[str, Callable[..., Any]] = {"min": min, "max": max, "ceil": math.ceil, "floor": math.floor}
ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}

HYPHENATED = re.compile(r"`([a-z0-9]+(?:-[a-z0-9]+)*)`")
HYPHEN = "__"
"""The replacement of a hyphen while a formula is parsed; setting names do not contain it."""

PARSING = Lock()
"""CPython 3.11 counts the depth of its syntax trees for all threads together: two at once may fail each other."""


class Formula:
    """A parsed formula. `names` are the names that it reads. Pickles as its text. Raises ValueError on anything odd."""

    __slots__ = ("_step", "names", "text")

    def __init__(self, text: str | float) -> None:
        self.text = str(text)
        self._step, self.names = _compiled(self.text)

    def __call__(self, scope: Scope) -> Any:
        """The value in this scope. Raises InvalidConfiguration if the server's own values give none."""
        try:
            return self._step(scope)
        except KeyError as error:
            raise InvalidConfiguration(
                f"formula {self.text!r} needs {error.args[0]}, which is not known here"
            ) from None
        except ZeroDivisionError:
            raise InvalidConfiguration(f"formula {self.text!r} divides by zero") from None
        except (OverflowError, TypeError, ValueError) as error:
            raise InvalidConfiguration(f"formula {self.text!r} cannot be computed here: {error}") from None

    def number(self, scope: Scope) -> float:
        """The formula's value as a finite number. Raises InvalidConfiguration otherwise."""
        found = self(scope)
        try:
            number = float(found)
        except (OverflowError, TypeError, ValueError) as error:
            raise InvalidConfiguration(f"formula {self.text!r} gives no number: {error}") from None
        if not math.isfinite(number):
            raise InvalidConfiguration(f"formula {self.text!r} gives {number}, which is not a finite number")
        return number

    def value(self, scope: Scope) -> Value:
        """The formula's value for a setting: a finite number or a text."""
        found = self(scope)
        if isinstance(found, str):
            return found
        return found if isinstance(found, int) else self.number(scope)

    def __repr__(self) -> str:
        return f"Formula({self.text!r})"

    def __str__(self) -> str:
        return self.text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Formula) and other.text == self.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __reduce__(self) -> tuple[type[Formula], tuple[str]]:
        return Formula, (self.text,)


@lru_cache(maxsize=4096)
def _compiled(text: str) -> tuple[Step, frozenset[str]]:
    try:
        with PARSING:
            tree = ast.parse(HYPHENATED.sub(lambda found: found[1].replace("-", HYPHEN), text), mode="eval").body
    except (SyntaxError, ValueError, RecursionError):
        raise ValueError(f"not a formula: {text!r}") from None
    return _step(tree, text), frozenset(_names(tree))


def _names(node: ast.expr) -> Iterator[str]:
    """The names that a formula reads, functions left out."""
    if (name := _dotted(node)) is not None:
        yield name
        return
    called = node.func if isinstance(node, ast.Call) else None
    for inner in ast.iter_child_nodes(node):
        if isinstance(inner, ast.expr) and inner is not called:
            yield from _names(inner)


def _dotted(node: ast.expr) -> str | None:
    """The name that the node is, with its dots and hyphens."""
    if isinstance(node, ast.Name):
        return node.id.replace(HYPHEN, "-")
    before = _dotted(node.value) if isinstance(node, ast.Attribute) else None
    return None if before is None else f"{before}.{node.attr}"  # type: ignore[attr-defined]


def _step(node: ast.expr, text: str) -> Step:
    """One node as a closure over its compiled children."""
    match node:
        case ast.Constant(value=int() | float() | str() as constant) if not isinstance(constant, bool):
            return _constant(constant)
        case ast.Name() | ast.Attribute() if (name := _dotted(node)) is not None:
            return _reading(name)
        case ast.UnaryOp(op=ast.USub() | ast.Not() as unary, operand=inner):
            return _unary(unary, _step(inner, text))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in ARITHMETIC:
            return _binary(ARITHMETIC[type(op)], _step(left, text), _step(right, text))
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in COMPARISONS:
            return _binary(COMPARISONS[type(op)], _step(left, text), _step(right, text))
        case ast.BoolOp(op=ast.And() | ast.Or() as both, values=parts):
            steps = [_step(p, text) for p in parts]
            every = all if isinstance(both, ast.And) else any
            return lambda scope: every(s(scope) for s in steps)
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return _branch(_step(test, text), _step(body, text), _step(orelse, text))
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in FUNCTIONS and args:
            return _call(FUNCTIONS[name], [_step(a, text) for a in args])
    raise ValueError(f"not allowed in a formula: {ast.unparse(node)!r} in {text!r}")


@lru_cache(maxsize=4096, typed=True)
def _constant(value: Value) -> Step:
    """One for all formulas, as they have few constants and names: an agent keeps thousands of formulas."""
    return lambda _scope: value


@lru_cache(maxsize=4096)
def _reading(name: str) -> Step:
    return operator.itemgetter(name)


def _unary(op: ast.unaryop, inner: Step) -> Step:
    if isinstance(op, ast.Not):
        return lambda scope: not inner(scope)
    return lambda scope: -inner(scope)


def _binary(function: Callable[[Any, Any], Any], left: Step, right: Step) -> Step:
    return lambda scope: function(left(scope), right(scope))


def _branch(test: Step, body: Step, orelse: Step) -> Step:
    return lambda scope: body(scope) if test(scope) else orelse(scope)


def _call(function: Callable[..., Any], steps: list[Step]) -> Step:
    if len(steps) == 2:
        return _binary(function, steps[0], steps[1])
    return lambda scope: function(*[s(scope) for s in steps])
