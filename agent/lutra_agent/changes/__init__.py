"""The making, verification and undo of a change."""
