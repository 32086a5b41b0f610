"""How many statements a pgbench script sends per transaction, so that qps counts each of them.

BEGIN and END count: the client sends and waits for them, and pg_stat_statements counts them as well.
"""

from __future__ import annotations

import re

BUILTIN = {"tpcb-like": 7, "simple-update": 5, "select-only": 1}

_TOKEN = re.compile(
    r"""
      (?P<skipped> --[^\n]* | /\*.*?\*/ )
    | (?P<quoted> '(?:[^'\\]|''|\\.)*' | "(?:[^"]|"")*" | \$(?P<tag>\w*)\$.*?\$(?P=tag)\$ )
    | (?P<end> \\?; )
    | (?P<other> . )
    """,
    re.VERBOSE | re.DOTALL,
)


def count_statements(script: str) -> int | None:
    r"""The statements of one pass, `\;` counted too. None if `\if` makes their number depend on the pass."""
    meta = [line.split()[0] for line in script.splitlines() if line.lstrip().startswith("\\") and line.split()]
    if any(command.startswith("\\if") for command in meta):
        return None
    sql = "\n".join("" if re.match(r"\s*\\\w", line) else line for line in script.splitlines())
    statements, pending = 0, False
    for token in _TOKEN.finditer(sql):
        if token["end"]:
            statements += pending
            pending = False
        elif token["quoted"] or (token["other"] and not token["other"].isspace()):
            pending = True
    return statements + pending
