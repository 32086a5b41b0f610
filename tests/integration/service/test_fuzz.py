"""Generated requests against a running service on either store: a short run of `python -m benchmarks attacks fuzz`."""

from __future__ import annotations

import pytest

from benchmarks.attacks.fuzz_world import SCOPES
from benchmarks.attacks.fuzzing import fuzz
from benchmarks.attacks.stores import LIFTED, STORES, stored
from tests.support.engines import installed

pytestmark = [pytest.mark.slow, pytest.mark.engine]

PER_SCOPE = 300


@pytest.mark.parametrize("store", STORES)
def test_no_generated_request_breaks_the_service_its_document_or_the_border_between_databases(store: str) -> None:
    if store == "postgresql":
        installed("postgres15")
    with stored(store, LIFTED) as made:
        findings = fuzz(made.served, SCOPES, PER_SCOPE, seed=7)
    assert findings.requests == PER_SCOPE * len(SCOPES)
    faults = [f"{f['kind']}: {f['where']}: {f['detail']} ({f['request']})" for f in findings.faults.values()]
    assert not faults, "\n".join(faults)
