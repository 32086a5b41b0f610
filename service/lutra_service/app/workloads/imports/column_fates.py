"""The use of each column of a file, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from lutra_models.errors import printable


@dataclass(frozen=True)
class Fates:
    """The names of settings, circumstances and metrics, by their use; `ignored` is the reason, by column."""

    learned: tuple[str, ...]
    covariates: tuple[str, ...]
    same: tuple[str, ...]
    metrics: tuple[str, ...]
    ignored: Mapping[str, str]

    def lines(self) -> Iterator[str]:
        told = {
            "learned from": self.learned,
            "covariates (they cannot move here: learned from, never proposed)": self.covariates,
            "the same in every row (nothing to learn)": self.same,
            "metrics": self.metrics,
        }
        yield from (f"{what}: {', '.join(names)}" for what, names in told.items() if names)
        for why in dict.fromkeys(self.ignored.values()):
            yield f"ignored, {why}: {', '.join(printable(t) for t, w in self.ignored.items() if w == why)}"

    @property
    def sentence(self) -> str:
        """A summary, for the session."""
        told = [f"settings learned from: {len(self.learned)}"]
        told += [f"covariates: {', '.join(self.covariates)}"] if self.covariates else []
        told += [f"the same in every row: {len(self.same)}"] if self.same else []
        return "; ".join([*told, *([f"columns ignored: {len(self.ignored)}"] if self.ignored else [])])
