"""Signatures for `inspect.signature` and `help` of a client's methods: the parameters of a call, with the fields of its
body one by one, and the client's return type.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from inspect import Parameter, Signature
from inspect import signature as declared
from typing import Any, NotRequired, Unpack, get_args, get_origin, get_type_hints


class _LeftOut:
    """The default of a field that a body may leave out: the service's own."""

    def __repr__(self) -> str:
        return "..."


LEFT_OUT = _LeftOut()


@cache
def signature(describe: Callable[..., Any], comes_in: Any) -> Signature:
    """Of the method that carries out what `describe` describes. The answer comes in `comes_in`, a generic type or None.

    The first parameter is the client's, and is not named.
    """
    hints = get_type_hints(describe)
    _, *named = declared(describe).parameters.values()
    parameters = [p for one in named for p in _parameters(one, hints[one.name])]
    required_first = sorted(parameters, key=lambda p: (p.kind, p.default is not Parameter.empty))
    answer = get_args(hints["return"])[-1]
    return Signature(required_first, return_annotation=answer if comes_in is None else comes_in[answer])


def _parameters(one: Parameter, hint: Any) -> Iterator[Parameter]:
    if get_origin(hint) is not Unpack:
        yield one.replace(annotation=hint)
        return
    (body,) = get_args(hint)
    for name, kind in get_type_hints(body, include_extras=True).items():
        left_out = get_origin(kind) is NotRequired
        yield Parameter(
            name,
            Parameter.KEYWORD_ONLY,
            default=LEFT_OUT if left_out else Parameter.empty,
            annotation=get_args(kind)[0] if left_out else kind,
        )
