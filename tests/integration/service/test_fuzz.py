"""Generated requests against a running service on either store: a short run of `python -m benchmarks attacks fuzz`."""

from __future__ import annotations

import pytest

from benchmarks.attacks import fuzzing
from benchmarks.attacks.fuzz_world import SCOPES
from benchmarks.attacks.fuzzing import fuzz
from benchmarks.attacks.stores import LIFTED, STORES, stored
from tests.support.servers.engines import installed
from tests.support.service.served import UNHURRIED
from tests.support.waiting import PATIENCE_S

pytestmark = [pytest.mark.slow, pytest.mark.engine, pytest.mark.thorough]

PER_SCOPE = 300


@pytest.mark.parametrize("store", STORES)
def test_no_generated_request_breaks_the_service_its_document_or_the_border_between_databases(
    store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fuzzing, "ANSWER_S", PATIENCE_S)
    if store == "postgresql":
        installed("postgres15")
    with stored(store, {**LIFTED, **UNHURRIED}) as made:
        findings = fuzz(made.served, SCOPES, PER_SCOPE, seed=7)
    assert findings.requests == PER_SCOPE * len(SCOPES)
    faults = [f"{f['kind']}: {f['where']}: {f['detail']} ({f['request']})" for f in findings.faults.values()]
    assert not faults, "\n".join(faults)
