"""A live server's reported settings, read by its catalogue: beyond this module, no text is in the server's notation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property

from lutra_models.catalog.rows import UNITS, Catalog, KnobRow
from lutra_models.catalog.units import show
from lutra_models.catalog.values import Overlay, accepted, factor, fits, from_text, to_base
from lutra_models.errors import InvalidConfiguration
from lutra_models.knobs import Configuration, Value
from lutra_models.server import Server

DISK_UNKNOWN_BYTES = 64 * 2**30


@dataclass(frozen=True)
class ReportedSettings:
    """The settings that a live server reports, read when first asked for and kept.

    `catalog` describes the server's own, `others` those that further setting sources keep.
    """

    server: Server
    catalog: Catalog
    others: tuple[Catalog, ...] = ()

    @property
    def catalogs(self) -> tuple[Catalog, ...]:
        return (self.catalog, *self.others)

    def catalog_of(self, name: str) -> Catalog:
        """The catalogue that has the setting. Raises InvalidConfiguration."""
        source = self.row(name).source
        return next(c for c in self.catalogs if c.source == source)

    @cached_property
    def rows(self) -> Mapping[str, KnobRow]:
        """The catalogue's row of each setting of this version, by name; the server may not report all of them.

        Raises InvalidConfiguration if the version does not begin with a number.
        """
        return {row.name: row for c in self.catalogs for row in c.rows_for(self.server.version)}

    @cached_property
    def values(self) -> Configuration:
        """Every setting of the catalogue that the server reports, in the server's own unit.

        Raises InvalidConfiguration for a text that is not a value of its setting.
        """
        found = {n: (row, self.server.settings[n]) for n, row in self.rows.items() if n in self.server.settings}
        return Configuration({n: from_text(r, s.value, s, self.catalog_of(n).aliases) for n, (r, s) in found.items()})

    def row(self, name: str) -> KnobRow:
        """Raises InvalidConfiguration for a name that the catalogue does not have for this version."""
        found = self.rows.get(name)
        if found is None:
            hint = did_you_mean(name, self.rows)
            raise InvalidConfiguration(f"{name}: not in the catalogue of {self._engine_and_version}{hint}")
        return found

    def parse(self, name: str, value: str | int | float) -> Value:
        """ "1GB" → 131072 of 8kB. Raises InvalidConfiguration, which names the values that the server accepts."""
        row, setting = self.row(name), self.server.settings.get(name)
        if setting is None:
            raise InvalidConfiguration(f"{name}: this server ({self._engine_and_version}) does not report it")
        return accepted(row, value, setting, self.catalog_of(name).aliases)

    def text(self, name: str, value: Value) -> str:
        """131072 of 8kB → "1GB": readable for people, and read back by the server as exactly this value."""
        return show(value, self.server.settings[name].unit)

    @cached_property
    def overlay(self) -> Overlay:
        """The variables of formulas: host facts, units, and settings in bytes, milliseconds or plain numbers.

        Defaults replace settings that the server does not report, or not as a value of the catalogue's type.
        """
        values = self.values
        base: dict[str, float | str] = {**UNITS, **self._facts()}
        for name, default in (item for c in self.catalogs for item in c.defaults.items()):
            base[name] = default(base)
        factors = {
            n: factor(self._unit(row)) for n, row in self.rows.items() if n not in values or fits(row, values[n])
        }
        base.update({n: to_base(value, factors[n]) for n, value in values.items() if n in factors})
        return Overlay(base, factors)

    @property
    def defaults(self) -> Mapping[str, float | str]:
        """The variables of formulas with every setting at the server's default."""
        base = dict(self.overlay.base)
        return {**base, **{name: default(base) for c in self.catalogs for name, default in c.defaults.items()}}

    @property
    def _engine_and_version(self) -> str:
        return f"{self.server.engine} {self.server.version}"

    def _facts(self) -> dict[str, float]:
        host = self.server.host
        return {
            "memory": float(host.usable_bytes),
            "cores": host.cores,
            "disk": float(DISK_UNKNOWN_BYTES if host.disk_bytes is None else host.disk_bytes),
            "rotational": float(bool(host.rotational)),
            "solid_state": float(host.rotational is False),
            "peak_connections": float(self.server.peak_connections),
            "version": self.catalog.version_number(self.server.version),
        }

    def _unit(self, row: KnobRow) -> str:
        """The server's own; the catalogue's where the server does not report the setting."""
        setting = self.server.settings.get(row.name)
        return row.unit if setting is None else setting.unit


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """` (did you mean work_mem?)`, or an empty text if no name is similar, and none is the only one with this
    beginning.
    """
    names = list(known)
    begun = [n for n in names if n.startswith(f"{name.lower()}_")]
    near = get_close_matches(name.lower(), names, n=1, cutoff=0.75) or (begun if len(begun) == 1 else [])
    return f" (did you mean {near[0]}?)" if near else ""
