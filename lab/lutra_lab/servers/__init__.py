"""Scratch database servers for the demo, the benchmarks and the tests: on loopback, in one folder, gone afterwards."""

from __future__ import annotations
