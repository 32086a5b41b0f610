"""InnoDB's buffer pool: what is in it, what had to be read, what had to wait."""

from __future__ import annotations

from lutra_agent.engines.mysql.telemetry.collectors.base import FromStatus

BUFFER_POOL = FromStatus(
    "buffer_pool",
    {
        "read_requests": "Innodb_buffer_pool_read_requests",
        "reads": "Innodb_buffer_pool_reads",
        "write_requests": "Innodb_buffer_pool_write_requests",
        "wait_free": "Innodb_buffer_pool_wait_free",
        "pages_flushed": "Innodb_buffer_pool_pages_flushed",
        "read_ahead": "Innodb_buffer_pool_read_ahead",
        "read_ahead_evicted": "Innodb_buffer_pool_read_ahead_evicted",
        "pages_created": "Innodb_pages_created",
        "pages_read": "Innodb_pages_read",
        "pages_written": "Innodb_pages_written",
    },
    {
        "pages_total": "Innodb_buffer_pool_pages_total",
        "pages_data": "Innodb_buffer_pool_pages_data",
        "pages_dirty": "Innodb_buffer_pool_pages_dirty",
        "pages_free": "Innodb_buffer_pool_pages_free",
        "pages_misc": "Innodb_buffer_pool_pages_misc",
        "page_bytes": "Innodb_page_size",
    },
)
