"""`lutra-advice`: the commands for a DBA, and their output on a terminal."""
