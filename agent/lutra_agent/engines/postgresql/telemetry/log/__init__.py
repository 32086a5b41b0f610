"""p99 from the durations that the server writes into its log, where its operator lets it and the agent may read it."""
