"""Knobs, their domains, and configurations over them. Values have no state: the live server does.

A knob is what an operator calls a setting. A domain says where to *search*; an observed value outside it is legal.
"""

from __future__ import annotations

import math
import numbers
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol, get_args, runtime_checkable

from lutra_models.digest import fingerprint
from lutra_models.errors import InvalidConfiguration

Value = int | float | str
Applies = Literal["immediate", "reload", "restart", "reboot"]
"""The step that makes a new value active: its statement, a reload, a restart of the server, a reboot of its host.

Only the host's operator reboots it: a setting that needs a reboot is shown, and does not move.
"""
Risk = Literal["none", "durability", "availability", "host"]
"""The possible cost of a new value: nothing, committed data, connections, or other programs on the machine."""

_BYTES = re.compile(r"\d*(B|[kMGT]B)")


STEPS = 100


@dataclass(frozen=True)
class Number:
    """A numeric domain `[low, high]`, in `unit`; `log` if it spans decades.

    `special` values ("auto", "off": often -1 or 0) are legal in addition to the range and have a meaning of their own,
    so they are searched as separate values and never as the end of the range. `step`: the server rounds to multiples of
    it, so only those are legal. `serves` is the part of the range (from, to) that suits a server on such a host, if the
    range was widened for measured values; None if all of it does. Proposals are round values that people can read,
    about `steps` over the domain; with `steps=None` they are the search's best values, to the last digit.
    """

    low: float
    high: float
    unit: str = ""
    log: bool = False
    integer: bool = False
    special: tuple[float, ...] = ()
    step: int = 1
    serves: tuple[float, float] | None = None
    steps: int | None = STEPS

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            number = getattr(self, name)
            if isinstance(number, bool) or not isinstance(number, numbers.Real):
                raise TypeError(f"{name} is a number, got {number!r}")
        if self.steps is not None and self.steps < 1:
            raise ValueError(f"steps must be at least 1, or None for no rounding, got {self.steps}")
        if not (math.isfinite(self.low) and math.isfinite(self.high)):
            raise ValueError(f"low and high must be finite, got {self.low} and {self.high}")
        if not self.low < self.high:
            raise ValueError(f"low must be below high, got {self.low} and {self.high}")
        if self.log and self.low <= 0:
            raise ValueError(f"a logarithmic domain needs low > 0, got {self.low}; put 0 or -1 into special")
        if self.integer and not (float(self.low).is_integer() and float(self.high).is_integer()):
            raise ValueError(f"an integer domain needs integer bounds, got {self.low} and {self.high}")
        if self.step < 1 or (self.step > 1 and (not self.integer or self.low % self.step or self.high % self.step)):
            raise ValueError(
                f"a step is positive, and an integer domain's bounds are its multiples; "
                f"got {self.step} for {self.low} to {self.high}"
            )
        object.__setattr__(self, "special", tuple(self.special))
        if self.serves is not None:
            low, high = self.serves
            if not self.low <= low < high <= self.high:
                raise ValueError(
                    f"the sensible range must lie in the range, got {low} to {high} of {self.low} to {self.high}"
                )
            object.__setattr__(self, "serves", (low, high))

    def __contains__(self, value: object) -> bool:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return False
        if value in self.special:
            return True
        whole = not self.integer or (float(value).is_integer() and int(value) % self.step == 0)
        return self.low <= value <= self.high and whole

    def clip(self, value: float) -> float:
        """The nearest legal value: special values stay, integers are rounded to whole steps."""
        if value in self.special:
            return value
        inside = min(max(value, self.low), self.high)
        if not self.integer:
            return inside
        return round(inside) if self.step == 1 else round(inside / self.step) * self.step

    def rounded(self, value: float) -> float:
        """The legal value near `value` that is readable: 192 MB for 199352 kB, 2.5 for 2.459988.

        Steps are powers of two if the unit counts bytes, and otherwise 1, 2 or 5 times a power of ten; none is coarser
        than the domain's share there, of which there are `steps`.
        """
        inside = self.clip(value)
        if value in self.special or self.steps is None:
            return inside
        room = inside * math.log(self.high / self.low) if self.log else self.high - self.low
        step = _readable_step(room / self.steps, binary=_BYTES.fullmatch(self.unit) is not None)
        step = max(step, 1.0) if self.integer else step
        near = float(f"{round(inside / step) * step:.12g}")
        return self.clip(max(near, self.low))  # never down to a special value below the range: 3 is not "off"

    def __str__(self) -> str:
        span = f"[{_plain(self.low)}, {_plain(self.high)}]{' ' + self.unit if self.unit else ''}"
        steps = f" in steps of {self.step}" if self.step > 1 else ""
        return span + steps + (f" or {', '.join(_plain(s) for s in self.special)}" if self.special else "")


@dataclass(frozen=True)
class Choice:
    """A domain of named options."""

    options: tuple[str, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "options", tuple(self.options))
        if len(self.options) < 2 or len(set(self.options)) != len(self.options):
            raise ValueError(f"a choice needs at least two distinct options, got {list(self.options)}")
        if not all(isinstance(o, str) for o in self.options):
            raise TypeError(f"options are strings, got {list(self.options)}")

    def __contains__(self, value: object) -> bool:
        return value in self.options

    def __str__(self) -> str:
        return "one of " + ", ".join(self.options)


Domain = Number | Choice


@dataclass(frozen=True)
class Knob:
    """A setting that the tuner may change, or one that is `fixed` here: a covariate, which a model learns from and
    never proposes.
    """

    name: str
    domain: Domain
    applies: Applies | Literal["fixed"] = "reload"
    risk: Risk = "none"

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise TypeError(f"a knob's name is a text, got {self.name!r}")
        if not self.name:
            raise ValueError("a knob needs a name")
        if not isinstance(self.domain, Number | Choice):
            raise TypeError(f"{self.name}: a knob's domain is a Number or a Choice, got {self.domain!r}")
        if self.applies not in (*get_args(Applies), "fixed") or self.risk not in get_args(Risk):
            raise ValueError(f"{self.name}: applies={self.applies!r}, risk={self.risk!r}")

    @classmethod
    def covariate(cls, name: str, values: Iterable[Value]) -> Knob:
        """A fixed setting over the measured values. Raises ValueError for fewer than two distinct values."""
        return cls(name, domain_of(name, values), "fixed")


def domain_of(name: str, values: Iterable[Value]) -> Domain:
    """A domain of all measured values: texts as options, numbers as a range, on a logarithm over two decades.

    Raises ValueError for fewer than two distinct values.
    """
    seen = sorted(set(values), key=lambda v: (isinstance(v, str), v))
    if len(seen) < 2:
        raise ValueError(f"{name}: a domain of what was measured takes two values or more, got {seen}")
    found = [v for v in seen if not isinstance(v, str)]
    if len(found) < len(seen):
        return Choice(tuple(map(str, seen)))
    low, high = found[0], found[-1]
    return Number(low, high, log=low > 0 and high >= 100 * low, integer=all(isinstance(v, int) for v in found))


class Configuration(Mapping[str, Value]):
    """Immutable, hashable name → value. Two configurations are equal when their items are, in any order.

    Python and numpy numbers are accepted. Raises TypeError for any other value, and ValueError for NaN and infinities.
    """

    __slots__ = ("_hash", "_values")

    def __init__(self, values: Mapping[str, Any] | Iterable[tuple[str, Any]]) -> None:
        self._values: dict[str, Value] = {str(k): value_of(k, v) for k, v in dict(values).items()}
        self._hash: int | None = None

    def __getitem__(self, name: str) -> Value:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self._values.items()))
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self._values == dict(other) if isinstance(other, Mapping) else NotImplemented

    def __repr__(self) -> str:
        return f"Configuration({self._values!r})"

    def replace(self, changes: Mapping[str, Any]) -> Configuration:
        """This configuration with `changes` merged into it."""
        return Configuration({**self._values, **changes})

    def restrict(self, names: Iterable[str]) -> Configuration:
        """Only the named settings, in the order of `names`; absent ones are left out."""
        return Configuration({n: self._values[n] for n in names if n in self._values})

    def changes_to(self, other: Mapping[str, Value]) -> dict[str, tuple[Value, Value]]:
        """Setting → (value here, value in `other`) wherever both have it and they differ."""
        return {n: (v, other[n]) for n, v in self._values.items() if n in other and other[n] != v}

    @property
    def digest(self) -> str:
        """A stable fingerprint of the content, the same in every process."""
        return fingerprint(dict(sorted(self._values.items())))


@dataclass(frozen=True)
class Refusal:
    """The reason why a rule refuses a configuration; `code` is stable, `message` carries the values."""

    code: str
    message: str


Rule = Callable[[Configuration], Refusal | None]


@runtime_checkable
class Bound(Protocol):
    """A rule that bounds a sum over several settings, and gives the way to get below it.

    `names` are the settings on which the sum depends. `least` are values of some of them: on the way from there to any
    configuration the sum never falls, so that what it allows is one piece of that way, from its beginning.
    """

    @property
    def names(self) -> frozenset[str]: ...

    @property
    def least(self) -> Mapping[str, Value]: ...

    def allows(self, candidate: Mapping[str, Value]) -> bool: ...

    def __call__(self, candidate: Configuration) -> Refusal | None: ...


class KnobSpace:
    """Ordered knobs with unique names, and rules that a configuration as a whole must keep.

    A rule is `rule(configuration) -> Refusal or None`: pure, and total over complete configurations.
    """

    def __init__(self, knobs: Iterable[Knob], rules: Iterable[Rule] = ()) -> None:
        self.knobs = tuple(knobs)
        self.rules = tuple(rules)
        for knob in self.knobs:
            if not isinstance(knob, Knob):
                raise TypeError(f"a knob space is made of Knob(name, domain), got {knob!r}")
        self._by_name = {k.name: k for k in self.knobs}
        if len(self._by_name) != len(self.knobs):
            names = [k.name for k in self.knobs]
            raise ValueError(
                f"knob names must be unique, got twice: {sorted({n for n in names if names.count(n) > 1})}"
            )
        if not self.knobs:
            raise ValueError("a knob space needs at least one knob")

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the knobs, in their order."""
        return tuple(self._by_name)

    @property
    def fixed(self) -> tuple[str, ...]:
        """The covariates."""
        return tuple(k.name for k in self.knobs if k.applies == "fixed")

    def __getitem__(self, name: str) -> Knob:
        return self._by_name[name]

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    def __iter__(self) -> Iterator[Knob]:
        return iter(self.knobs)

    def __len__(self) -> int:
        return len(self.knobs)

    def __repr__(self) -> str:
        return f"KnobSpace({', '.join(self.names)}; {len(self.rules)} rules)"

    @property
    def fingerprint(self) -> str:
        """A stable digest of the knobs (rules are code and are not part of it)."""
        return fingerprint([[k.name, k.applies, k.risk, _describe(k.domain)] for k in self.knobs])

    def normalise(self, configuration: Mapping[str, Any]) -> Configuration:
        """This space's part of a configuration, in its order, integral floats as integers if the domain is integer.

        Values outside a domain are accepted: observed values are legal history. Raises InvalidConfiguration if a knob
        is missing or its value has the wrong kind.
        """
        missing = [n for n in self.names if n not in configuration]
        if missing:
            raise InvalidConfiguration(f"missing settings: {', '.join(missing)}")
        return Configuration({k.name: _kind(k, value_of(k.name, configuration[k.name])) for k in self.knobs})

    def parse(self, configuration: Mapping[str, Any]) -> Configuration:
        """A configuration to be *proposed*: complete, without unknown settings, each value inside its domain, and
        allowed by each rule.
        """
        unknown = [n for n in configuration if n not in self]
        if unknown:
            raise InvalidConfiguration(
                f"unknown settings: {', '.join(map(str, unknown))}; known: {', '.join(self.names)}"
            )
        parsed = self.normalise(configuration)
        for knob in self.knobs:
            if parsed[knob.name] not in knob.domain:
                raise InvalidConfiguration(f"{knob.name}: {parsed[knob.name]} is outside {knob.domain}")
        refusal = self.refusal(parsed)
        if refusal:
            raise InvalidConfiguration(refusal.message)
        return parsed

    def refusal(self, configuration: Configuration) -> Refusal | None:
        """The first rule's objection, or None."""
        return next((r for rule in self.rules if (r := rule(configuration))), None)


def value_of(name: object, value: Any) -> Value:
    """Python's own number or text of a setting's value. Raises TypeError and ValueError."""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, numbers.Integral) and not isinstance(value, bool):
        return int(value)
    if isinstance(value, numbers.Real) and not isinstance(value, bool):
        if not math.isfinite(value):
            raise ValueError(f"{name}: {value} is not a finite number")
        return float(value)
    raise TypeError(f"{name}: a setting's value is a number or a string, got {value!r}")


def _kind(knob: Knob, value: Value) -> Value:
    if isinstance(knob.domain, Choice):
        if not isinstance(value, str):
            raise InvalidConfiguration(f"{knob.name}: {value!r} is a number, expected {knob.domain}")
        return value
    if isinstance(value, str):
        raise InvalidConfiguration(f"{knob.name}: {value!r} is not a number, expected {knob.domain}")
    return int(value) if knob.domain.integer and float(value).is_integer() else value


def _describe(domain: Domain) -> list[Any]:
    if isinstance(domain, Choice):
        return list(domain.options)
    told = [float(domain.low), float(domain.high), domain.unit, domain.log, domain.integer, list(domain.special)]
    told += [] if domain.step == 1 else [domain.step]
    told += [] if domain.serves is None else [list(domain.serves)]
    return told if domain.steps == STEPS else [*told, "steps", domain.steps]


def _readable_step(coarsest: float, *, binary: bool) -> float:
    """The largest round step that is not above `coarsest`."""
    if binary:
        return 2.0 ** math.floor(math.log2(coarsest))
    power = 10.0 ** math.floor(math.log10(coarsest))
    return max(factor * power for factor in (1, 2, 5) if factor * power <= coarsest * (1 + 1e-9))


def _plain(number: float) -> str:
    return str(int(number)) if float(number).is_integer() else f"{number:g}"
