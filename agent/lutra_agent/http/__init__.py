"""HTTP with a bound on each exchange: the only room that makes requests."""
