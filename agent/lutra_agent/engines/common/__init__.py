"""The interface of every engine family, and its shared parts."""
