"""`lutra`: the program that people type. Its verbs are loaded by name, and other distributions plug theirs in."""
