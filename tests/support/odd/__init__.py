"""Servers that answer oddly: what real ones were heard to say, changed in any place, and an agent beside them."""
