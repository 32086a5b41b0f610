"""What every setting source must do, the server's own and any other.

A test class derives from SourceConformance, and from BackingConformance where the source has a file; it gives the
fixture `kept`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from lutra_agent.engines.common.source import Backing, SettingSource
from lutra_models.catalog import LiveSettings, load
from lutra_models.server import Host, Server

from tests.support.waiting import until

HOST = Host(memory_bytes=8 << 30, cores=4)


@dataclass(frozen=True)
class Kept:
    """A source, the version by which its catalogue describes it, and `new` values that need no restart."""

    source: SettingSource
    version: str
    new: Mapping[str, Any]

    @property
    def live(self) -> LiveSettings:
        """The settings as they are now, met with the source's own catalogue."""
        server = Server(self.source.catalogue, self.version, self.source.read(), HOST)
        return LiveSettings(server, load(self.source.catalogue))

    @property
    def backing(self) -> Backing:
        assert self.source.backing is not None
        return self.source.backing

    @property
    def content(self) -> bytes:
        path = self.backing.settings_file()
        return path.read_bytes() if path is not None and path.exists() else b""

    @property
    def said(self) -> Mapping[str, str]:
        return self.backing.says(self.content)

    def texts(self) -> dict[str, str | None]:
        return {name: setting.persisted for name, setting in self.source.read().items()}

    def settles_at(self, wanted: Mapping[str, Any]) -> bool:
        """A reload is asynchronous on some servers."""
        return until(lambda: self.source.activation.settled() and self.live.values.restrict(wanted) == wanted)

    @contextmanager
    def changed(self) -> Iterator[None]:
        """With the new values made active by the source's own steps, and undone by them afterwards."""
        before, changes = self.source.read(), self.live.changes(self.new)
        self.source.execute([step for c in changes for step in self.source.plan(c, restart=False)])
        self.source.activation.reload()
        try:
            yield
        finally:
            old = ((c.name, before[c.name]) for c in reversed(changes))
            undo = [step for n, s in old for step in self.source.undo(n, s.persisted, s.value, restart=False)]
            self.source.execute(undo)
            self.source.activation.reload()


class SourceConformance:
    def test_it_reports_its_catalogues_settings_alone_and_each_can_be_read(self, kept: Kept) -> None:
        reported = kept.source.read()
        assert reported
        assert set(reported) <= {r.name for r in load(kept.source.catalogue).rows_for(kept.version)}
        assert set(kept.live.values) == set(reported)

    def test_its_own_catalogue_takes_every_value_that_it_reports(self, kept: Kept) -> None:
        live = kept.live
        for name, value in live.values.items():
            assert live.parse(name, value) == value, name

    def test_the_settings_are_the_accounts_to_change(self, kept: Kept) -> None:
        permissions = kept.source.permissions(kept.new)
        assert permissions.changeable == set(kept.new)
        assert permissions.may_reload

    def test_its_steps_make_values_active_and_kept_and_its_undo_takes_them_back(self, kept: Kept) -> None:
        old, texts = kept.live.values.restrict(kept.new), kept.texts()
        with kept.changed():
            assert kept.settles_at(kept.new)
            assert all(kept.source.read()[name].persisted is not None for name in kept.new)
        assert kept.settles_at(old)
        assert kept.texts() == texts

    def test_a_step_names_its_setting_and_shows_what_it_does(self, kept: Kept) -> None:
        for change in kept.live.changes(kept.new):
            steps = kept.source.plan(change, restart=False)
            assert {step.setting for step in steps} == {change.name}
            assert all(change.name in step.text for step in steps)


class BackingConformance:
    def test_its_file_says_what_its_steps_changed_and_what_its_undo_took_back(self, kept: Kept) -> None:
        said = kept.said
        with kept.changed():
            assert kept.settles_at(kept.new)
            assert set(kept.new) <= set(kept.said)
        assert kept.said == said

    def test_a_rewritten_file_says_the_new_texts_and_says_the_others_as_before(self, kept: Kept) -> None:
        backing, before, texts = kept.backing, dict(kept.said), {n: str(v) for n, v in kept.new.items()}
        rewritten = backing.rewritten(kept.content, texts)
        assert backing.says(rewritten) == {**before, **texts}
        restored = backing.rewritten(rewritten, {n: before.get(n) for n in texts})
        assert backing.says(restored) == before
