"""HTTP with a bound on each exchange: the only package that makes requests."""
