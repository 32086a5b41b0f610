"""Lutra on real servers: a slow disk, little memory, a load, and what comes of ten and of twenty trials.

One study is one engine, workload, objective and stance on durability. Each measurement is one line of its results file:
interrupt whenever you like, and start the same command again to go on.
"""
