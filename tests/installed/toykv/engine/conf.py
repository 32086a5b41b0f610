"""Files of lines `name = value`: the server's own, and its host's."""

from __future__ import annotations

from collections.abc import Mapping


def says(content: bytes) -> dict[str, str]:
    pairs = (line.partition(" = ") for line in content.decode(errors="replace").splitlines())
    return {name: value for name, equals, value in pairs if equals}


def rewritten(content: bytes, texts: Mapping[str, str | None]) -> bytes:
    """With these texts, nothing of a setting where None; every other line as it was."""
    kept = [line for line in content.decode().splitlines() if line.partition(" = ")[0] not in texts]
    new = [f"{name} = {text}" for name, text in texts.items() if text is not None]
    return "".join(f"{line}\n" for line in [*kept, *new]).encode()
