"""The reported settings that the catalogue can read, bounded in size; the rest is named with its reason."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from lutra_models.catalog.rows import KnobRow, of_engine
from lutra_models.catalog.units import LONGEST_UNIT, scale
from lutra_models.catalog.values import LONGEST_TEXT, fits, from_text
from lutra_models.errors import InvalidConfiguration, printable
from lutra_models.server import ServerSetting

MOST_OPTIONS = 64
LONGEST_OPTION = 64
LONGEST_NOTE = 200
"""`source`, `shadowed` and `unreached` are words for people: they are cut if they are too long; the setting is kept."""


@dataclass(frozen=True)
class Readable:
    """The settings that can be kept and read later, and why each of the others cannot. Unknown names are in neither."""

    settings: dict[str, ServerSetting]
    unreadable: dict[str, str]


def readable(engine: str, settings: Mapping[str, ServerSetting]) -> Readable:
    """The settings that can be read, and the reason for each other setting of the catalogue. Raises NotFound.

    Rows of every version count: the same settings may be reported again after an upgrade.
    """
    rows: dict[str, list[KnobRow]] = {}
    aliases: dict[str, Mapping[str, str]] = {}
    for catalog in of_engine(engine):
        for row in catalog.rows:
            rows.setdefault(row.name, []).append(row)
            aliases[row.name] = catalog.aliases
    kept: dict[str, ServerSetting] = {}
    unreadable: dict[str, str] = {}
    for name in (n for n in settings if n in rows):
        try:
            kept[name] = _checked(rows[name], settings[name], aliases[name])
        except InvalidConfiguration as error:
            unreadable[name] = str(error)
    return Readable(kept, unreadable)


def _checked(rows: list[KnobRow], setting: ServerSetting, aliases: Mapping[str, str]) -> ServerSetting:
    """The setting with its notes cut. Raises InvalidConfiguration."""
    name = rows[0].name
    _verify_sizes(name, setting)
    if not "".join((setting.value, setting.persisted or "", setting.unit, *setting.options)).isprintable():
        raise InvalidConfiguration(f"{name}: the server's text about it contains unprintable characters")
    scale(setting.unit)
    for end in (setting.low, setting.high):
        if end is not None and not math.isfinite(end):
            raise InvalidConfiguration(f"{name}: {end} is not a valid end of a range")
    value = from_text(rows[0], setting.value, setting, aliases)
    if not any(fits(row, value) for row in rows):
        raise InvalidConfiguration(f"{name}: {value!r} is a {setting.kind}, and the catalogue has it as {rows[0].kind}")
    shadowed, unreached = (note and printable(note)[:LONGEST_NOTE] for note in (setting.shadowed, setting.unreached))
    return replace(setting, source=printable(setting.source)[:LONGEST_NOTE], shadowed=shadowed, unreached=unreached)


def _verify_sizes(name: str, setting: ServerSetting) -> None:
    texts = {"value": setting.value, "persisted": setting.persisted or ""}
    too_long = [f"{part} has {len(text)} characters" for part, text in texts.items() if len(text) > LONGEST_TEXT]
    if len(setting.unit) > LONGEST_UNIT:
        too_long.append(f"unit has {len(setting.unit)} characters")
    if len(setting.options) > MOST_OPTIONS or any(len(option) > LONGEST_OPTION for option in setting.options):
        too_long.append(f"options are more than {MOST_OPTIONS}, or longer than {LONGEST_OPTION} characters")
    if too_long:
        raise InvalidConfiguration(f"{name}: {'; '.join(too_long)}, which is more than any server reports")
