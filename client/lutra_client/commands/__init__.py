"""`lutra-advice`: what a DBA types, and how answers read on a terminal."""
