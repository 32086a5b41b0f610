"""p99 of transactions from pg_stat_activity: the ages of those that run, and the durations of those just ended."""
