"""Queries of several setting sources at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

from lutra_models.catalog import load
from lutra_models.server import ServerSetting

from lutra_agent.engines.common.source import Permissions, SettingSource


def read_settings(sources: Iterable[SettingSource]) -> dict[str, ServerSetting]:
    """The settings of all sources. Raises ValueError if two of them report the same setting."""
    found: dict[str, ServerSetting] = {}
    for source in sources:
        settings = source.read()
        if twice := sorted(found.keys() & settings.keys()):
            raise ValueError(f"{source.name!r} and a source before it both report {', '.join(twice)}")
        found |= settings
    return found


def source_of(sources: Sequence[SettingSource], name: str) -> SettingSource:
    """The source that keeps a setting. Raises ValueError for a setting of no source's catalogue."""
    found = next((s for s in sources if name in _names(s.catalogue)), None)
    if found is None:
        raise ValueError(f"{name!r} is a setting of none of these sources: {', '.join(s.name for s in sources)}")
    return found


def by_source(sources: Sequence[SettingSource], names: Iterable[str]) -> list[tuple[SettingSource, list[str]]]:
    """Each source that keeps some of the settings, with those, both in the order given. Raises ValueError."""
    kept: dict[str, list[str]] = {s.name: [] for s in sources}
    for name in names:
        kept[source_of(sources, name).name].append(name)
    return [(s, kept[s.name]) for s in sources if kept[s.name]]


def permissions(kept: Iterable[tuple[SettingSource, Sequence[str]]]) -> Permissions:
    """The rights of the agent's account on these settings of each source."""
    asked = [source.permissions(names) for source, names in kept]
    return Permissions(
        frozenset[str]().union(*(p.changeable for p in asked)),
        all(p.may_reload for p in asked),
        tuple(dict.fromkeys(r for p in asked for r in p.remedies)),
        " ".join(dict.fromkeys(p.explanation for p in asked if p.explanation)),
    )


def lacks_copy(sources: Iterable[SettingSource]) -> bool:
    """Whether a file that keeps settings could not be restored: this account may not read it and write it back."""
    return any(s.backing is not None and s.backing.save() is None for s in sources)


@lru_cache(maxsize=16)
def _names(catalogue: str) -> frozenset[str]:
    return frozenset(r.name for r in load(catalogue).rows)
