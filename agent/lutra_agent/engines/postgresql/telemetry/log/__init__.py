"""p99 from the durations that the server writes into its log, if its operator enables that and the agent may
read it.
"""
