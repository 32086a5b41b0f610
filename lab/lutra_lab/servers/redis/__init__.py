"""Scratch servers of the Redis family."""
