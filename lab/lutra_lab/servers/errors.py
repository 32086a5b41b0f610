"""Errors of scratch servers."""

from __future__ import annotations

from lutra_models.errors import LutraError


class LabError(LutraError):
    """A scratch server that could not be made, started or stopped. The message contains its output."""

    code = "lab"
