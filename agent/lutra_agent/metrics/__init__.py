"""Measurement: samples of the database and its host, and the rates between two of them."""
