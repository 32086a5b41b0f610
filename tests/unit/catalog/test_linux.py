"""The Linux host's catalogue beside any engine's: off until a policy says so, and counted."""

from __future__ import annotations

import pytest
from lutra_models.catalog import engines, load, meet, of_engine
from lutra_models.errors import InvalidConfiguration
from lutra_models.server import Host, Policy, Server, ServerSetting

GB = 1 << 30
REPORTED = {
    "vm.swappiness": ServerSetting("60", "", "integer", 0, 200, applies="immediate"),
    "vm.dirty_bytes": ServerSetting("0", "B", "integer", 0, 2**63 - 1, applies="immediate"),
    "vm.dirty_background_bytes": ServerSetting("0", "B", "integer", 0, 2**63 - 1, applies="immediate"),
    "vm.nr_hugepages": ServerSetting("0", "2048kB", "integer", 0, 2**31 - 1, applies="immediate"),
}


@pytest.mark.parametrize("engine", engines())
def test_every_engine_may_stand_on_a_linux_host_and_moves_it_only_where_the_policy_says_so(engine: str) -> None:
    assert "linux" in {c.source for c in of_engine(engine)}
    since = load(engine).rows[0].since
    live = meet(Server(engine, ".".join(map(str, since)), REPORTED, Host(8 * GB, 4)))
    with pytest.raises(InvalidConfiguration, match="no setting may move"):
        live.space(Policy())
    with pytest.raises(
        InvalidConfiguration, match="swappiness: it concerns everything that runs on the machine; allow"
    ):
        live.space(Policy(movable=frozenset({"vm.swappiness"})))
    space = live.space(Policy(host=True))
    assert set(space.names) == {"vm.swappiness", "vm.dirty_bytes", "vm.dirty_background_bytes"}
    assert 0 in space["vm.dirty_bytes"].domain
    assert live.space(Policy(host=True, movable=frozenset({"vm.nr_hugepages"}))).names == ("vm.nr_hugepages",)


def test_explicit_huge_pages_are_a_part_of_the_memory() -> None:
    found = meet(Server("postgresql", "16", REPORTED, Host(8 * GB, 4)))
    before, after = (found.worst_case({"vm.nr_hugepages": n}) for n in (0, 1024))
    assert after.total_bytes - before.total_bytes == 2 * GB
    refusal = found.memory_refusal(Policy(), {"vm.nr_hugepages": 4000})
    assert refusal is not None
    assert "explicit huge pages" in refusal.message


def test_the_background_limit_stays_below_the_limit_where_both_are_in_bytes() -> None:
    found = meet(Server("postgresql", "16", REPORTED, Host(8 * GB, 4)))
    space, now = found.space(Policy(host=True)), found.values
    for background, limit, refused in ((0, 64 << 20, False), (64 << 20, 0, False), (64 << 20, 64 << 20, True)):
        values = {"vm.dirty_background_bytes": background, "vm.dirty_bytes": limit}
        assert (space.refusal(now.replace(values).restrict(space.names)) is not None) is refused


def test_steps_are_shown_as_people_type_them() -> None:
    found = meet(Server("postgresql", "16", REPORTED, Host(8 * GB, 4)))
    (made,) = found.steps(found.changes({"vm.dirty_bytes": "512MB"}))
    assert [s.text for s in made.do] == ["vm.dirty_bytes = 536870912", "sysctl -w vm.dirty_bytes=536870912"]
    assert [s.file for s in made.do] == ["/etc/sysctl.d/90-lutra.conf", ""]
    undone = ["sysctl -w vm.dirty_ratio=AS_BEFORE  # so that vm.dirty_bytes is 0", "# without vm.dirty_bytes"]
    assert [s.text for s in made.undo] == undone


def test_the_machine_is_a_circumstance_and_what_may_be_moved_of_it_is_not() -> None:
    host = Host(8 * GB, 4, kernel="6.18", memory_pages="madvise")
    alone = Server("postgresql", "16", {}, host).circumstances
    sizes = {"engine": "postgresql", "engine_version": "16", "memory_bytes": 8 * GB, "cores": 4}
    assert alone == {**sizes, "kernel": "6.18", "memory_pages": "madvise"}
    movable = {"transparent_hugepage.enabled": ServerSetting("madvise", options=("always", "madvise", "never"))}
    assert Server("postgresql", "16", movable, host).circumstances == {**sizes, "kernel": "6.18"}
    with pytest.raises(ValueError, match="kernel must have 1 to 100 characters, got 101"):
        Host(8 * GB, 4, kernel="6" * 101)
