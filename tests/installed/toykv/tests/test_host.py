"""The host's settings pass the suite of every setting source; what the kernel does not take is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from lutra_agent.errors import ApplyRefused
from toykv.engine.host import ToykvHost

from tests.support.conformance.source import BackingConformance, Kept, SourceConformance


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    return Kept(ToykvHost(tmp_path / "host.conf"), "2.1", {"readahead": 256, "hugepages": "yes"})


class TestHost(SourceConformance, BackingConformance):
    pass


def test_a_part_of_a_page_is_refused_when_the_steps_before_it_are_done(kept: Kept) -> None:
    changes = kept.live.changes({"hugepages": "yes", "readahead": 255})
    with pytest.raises(ApplyRefused, match="readahead: 255 kB is no multiple of a page"):
        kept.source.execute([step for c in changes for step in kept.source.plan(c, restart=False)])
    assert dict(kept.live.values) == {"hugepages": "yes", "readahead": 128}


def test_an_undo_of_everything_leaves_no_file(kept: Kept, tmp_path: Path) -> None:
    with kept.changed():
        assert (tmp_path / "host.conf").read_bytes()
    assert not (tmp_path / "host.conf").exists()
