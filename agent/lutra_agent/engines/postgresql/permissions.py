"""Rights to change settings, and the GRANT statements that are missing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from lutra_agent.engines.common.source import Permissions
from lutra_agent.engines.postgresql.server.connect import Connection, grant_monitor, quoted
from lutra_agent.engines.postgresql.settings import tells

PARAMETER_GRANTS_SINCE = 15
ALTER_SYSTEM_SWITCH_SINCE = 17

ACCOUNT = """SELECT current_user, rolsuper, has_function_privilege('pg_reload_conf()', 'EXECUTE')
FROM pg_roles WHERE rolname = current_user"""


def read_permissions(connection: Connection, major: int, names: Sequence[str], file: Path | None) -> Permissions:
    """`file` is the settings file, if the account may see it."""
    account, superuser, may_reload = connection.row(ACCOUNT)
    if (
        major >= ALTER_SYSTEM_SWITCH_SINCE
        and connection.row("SELECT current_setting('allow_alter_system')")[0] == "off"
    ):
        return Permissions(frozenset(), may_reload, explanation="allow_alter_system is off: ALTER SYSTEM is refused")
    if superuser:
        return Permissions(frozenset(names), True)
    if major < PARAMETER_GRANTS_SINCE:
        explanation = (
            f"{account} is not a superuser, and PostgreSQL {major} has no GRANT … ON PARAMETER (15 and later have): "
            "give the agent a superuser account, or leave it in observe mode"
        )
        return Permissions(frozenset(), may_reload, explanation=explanation)
    granted = connection.rows(
        "SELECT n FROM unnest(%s::text[]) n WHERE has_parameter_privilege(n, 'ALTER SYSTEM')", (list(names),)
    )
    changeable = frozenset(row[0] for row in granted)
    missing = remedies(account, names, changeable, may_reload)
    if not tells(connection, file):
        return Permissions(frozenset(), may_reload, (grant_monitor(account), *missing))
    return Permissions(changeable, may_reload, missing)


def remedies(account: str, names: Sequence[str], granted: frozenset[str], may_reload: bool) -> tuple[str, ...]:
    """The statements that let the account change those of `names` that are not `granted`."""
    missing = sorted(n for n in names if n not in granted)
    found = []
    if missing:
        found.append(f"GRANT ALTER SYSTEM ON PARAMETER {', '.join(missing)} TO {quoted(account)};")
    if not may_reload:
        found.append(f"GRANT EXECUTE ON FUNCTION pg_reload_conf() TO {quoted(account)};")
    return tuple(found)
