"""Table and statement caches, and that of MyISAM's indexes: hits, misses, overflows."""

from __future__ import annotations

from lutra_agent.engines.mysql.telemetry.collectors.base import FromStatus

CACHES = FromStatus(
    "caches",
    {
        "table_hits": "Table_open_cache_hits",
        "table_misses": "Table_open_cache_misses",
        "table_overflows": "Table_open_cache_overflows",
        "opened_tables": "Opened_tables",
        "opened_definitions": "Opened_table_definitions",
        "query_cache_hits": "Qcache_hits",
        "query_cache_inserts": "Qcache_inserts",
        "query_cache_prunes": "Qcache_lowmem_prunes",
        "adaptive_hash_searches": "Innodb_adaptive_hash_hash_searches",
        "tree_searches": "Innodb_adaptive_hash_non_hash_searches",
        "change_buffer_merges": "Innodb_ibuf_merges",
        "key_read_requests": "Key_read_requests",
    },
    {
        "open_tables": "Open_tables",
        "open_definitions": "Open_table_definitions",
        "prepared_statements": "Prepared_stmt_count",
        "key_blocks_used": "Key_blocks_used",
    },
)
