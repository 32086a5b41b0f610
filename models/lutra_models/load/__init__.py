"""The load that clients offer a live database, as a covariate of what is measured under it."""
