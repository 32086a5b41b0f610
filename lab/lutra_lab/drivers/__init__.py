"""Drivers of load generators, which an agent of mode `lab` finds as entry points of `lutra.drivers`."""
