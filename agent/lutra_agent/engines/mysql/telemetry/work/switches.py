"""The parts of optimizer_switch that are off, of those that the server has on by itself.

`off` counts the methods that the planner may not use, and each of them is a separate gauge; `waived` and its own are
those that are often switched off on purpose because of single queries.
"""

from __future__ import annotations

from dataclasses import dataclass

from lutra_agent.engines.common.answers import text
from lutra_agent.engines.common.telemetry import Reading
from lutra_agent.engines.mysql.server.connect import Connection
from lutra_agent.engines.mysql.telemetry.collectors.base import MARIADB, Status

SWITCHES = "SELECT @@GLOBAL.optimizer_switch"
METHODS = (
    "block_nested_loop",
    "condition_fanout_filter",
    "condition_pushdown_for_derived",
    "condition_pushdown_for_subquery",
    "condition_pushdown_from_having",
    "derived_condition_pushdown",
    "derived_merge",
    "derived_with_keys",
    "duplicateweedout",
    "exists_to_in",
    "extended_keys",
    "firstmatch",
    "hash_join",
    "in_to_exists",
    "index_condition_pushdown",
    "index_merge",
    "index_merge_sort_union",
    "index_merge_union",
    "join_cache_bka",
    "join_cache_hashed",
    "join_cache_incremental",
    "loosescan",
    "materialization",
    "orderby_uses_equalities",
    "outer_join_with_cache",
    "partial_match_rowid_merge",
    "partial_match_table_scan",
    "semijoin",
    "semijoin_with_cache",
    "subquery_cache",
    "table_elimination",
    "use_index_extensions",
)
ELSEWHERE_OFF = ("engine_condition_pushdown", "mrr")
"""Methods that MariaDB has off by itself."""
WAIVED = ("index_merge_intersection", "prefer_ordering_index", "rowid_filter", "skip_scan", "split_materialized")


@dataclass(frozen=True)
class Switches:
    name: str = "optimizer_switch"
    view: str = "optimizer_switch"

    def read(self, connection: Connection, status: Status) -> Reading | None:
        parts = (part.partition("=") for part in text(connection.row(SWITCHES)[0]).split(","))
        off = {name for name, _, word in parts if word == "off"}
        known = METHODS if MARIADB in connection.server_version.lower() else (*METHODS, *ELSEWHERE_OFF)
        found = {name: 1.0 for name in (*known, *WAIVED) if name in off}
        methods, waived = (float(len(off.intersection(names))) for names in (known, WAIVED))
        return Reading(gauges={"off": methods, "waived": waived, **found})


OPTIMIZER_SWITCH = Switches()
