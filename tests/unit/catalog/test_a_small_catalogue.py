"""A catalogue that says no more than it must, of a server that takes other words than SQL servers do."""

from __future__ import annotations

import pytest
from lutra_models.catalog import LiveSettings
from lutra_models.catalog.rows import from_document
from lutra_models.errors import InvalidConfiguration
from lutra_models.knobs import Choice
from lutra_models.server import Host, Policy, Server, ServerSetting

ABOUT = {"group": "g", "meaning": "m", "manual": "1"}
CATALOG = from_document(
    "small",
    {
        "booleans": ["no", "yes"],
        "plain_numbers": True,
        "setting": [
            {"name": "compress", "kind": "bool", "applies": "reload", "rule": "'yes'", **ABOUT},
            {"name": "room", "kind": "integer", "applies": "restart", "low": "1", "high": "4096", **ABOUT},
        ],
    },
)
SERVER = Server(
    "small",
    "3.1",
    {
        "compress": ServerSetting("no", kind="bool", persisted="no"),
        "room": ServerSetting("64", "kB", "integer", applies="restart"),
    },
    Host(memory_bytes=1 << 30, cores=2),
)
LIVE = LiveSettings(SERVER, CATALOG)


def test_booleans_are_the_servers_words_whichever_words_they_are_given_in() -> None:
    assert LIVE.values["compress"] == "no"
    assert [LIVE.parse("compress", text) for text in ("on", "TRUE", "yes", "0")] == [
        "yes",
        "yes",
        "yes",
        "no",
    ]
    assert CATALOG.rows[0].range_text == "yes or no"
    with pytest.raises(InvalidConfiguration, match="compress: 'perhaps' is neither yes nor no"):
        LIVE.parse("compress", "perhaps")


def test_they_are_searched_and_ruled_in_these_words() -> None:
    space = LIVE.space(Policy())
    assert space["compress"].domain == Choice(("no", "yes"))
    assert LIVE.rule_based(Policy()) == {"compress": "yes", "room": 64}


def test_a_change_is_written_without_quotes_and_units_where_the_server_knows_none() -> None:
    changes = LIVE.changes({"compress": "yes", "room": 2048})
    assert [c.value_text for c in changes] == ["yes", "2048"]


def test_without_terms_there_is_no_worst_case_and_nothing_is_refused_for_it() -> None:
    assert LIVE.worst_case({"room": 4096}).total_bytes == 0
    assert LIVE.space(Policy()).refusal(LIVE.values.replace({"room": 4096})) is None
