"""What an agent sends and a service answers, through the very types that both import."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lutra_models.wire import Directive, Receipt, Report

from tests.support.service.hosted import Agent, Service, running

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)


def test_a_report_of_the_agents_type_is_taken_and_the_answer_is_a_receipt(tmp_path_factory) -> None:  # type: ignore[no-untyped-def]
    with running(tmp_path_factory.mktemp("service")) as service:
        agent = service.agent(service.database())
        report = Report.model_validate(agent.report(**agent.window(qps=5.0, p99_ms=2.0)))
        receipt = Receipt.model_validate(agent.send(report.model_dump(mode="json")))
        assert not receipt.settings_wanted
        path = f"/v1/databases/{agent.database}/recommendations"
        service.take("POST", path, {"settings": {"work_mem": "8MB"}, "approve": True})
        assert Directive.model_validate(agent.directive()).settings["work_mem"] == 8192


@pytest.mark.slow
def test_no_body_whatever_makes_the_service_fail(tmp_path_factory) -> None:  # type: ignore[no-untyped-def]
    with running(tmp_path_factory.mktemp("service")) as service:
        agent = service.agent(service.database())
        agent.send()
        _never_fails(service, agent)


def _never_fails(service: Service, agent: Agent) -> None:
    base = f"/v1/databases/{agent.database}"
    posts = [
        f"{base}/reports",
        f"{base}/sessions",
        f"{base}/recommendations",
        f"{base}/predictions",
        "/v1/databases",
        f"{base}/tokens",
    ]
    fields = list(Report.model_fields)

    @settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.sampled_from(posts), st.dictionaries(st.sampled_from(fields) | st.text(max_size=8), JSON, max_size=4))
    def any_body(path: str, parts: dict[str, object]) -> None:
        whole = path.endswith("reports")
        body = {**agent.report(), **parts} if whole else parts
        try:
            import json

            content = json.dumps(body).encode()
        except (ValueError, UnicodeEncodeError):
            return
        who = agent if whole else service
        headers = {**who.headers, "Content-Type": "application/json"}
        response = who.client.post(path, content=content, headers=headers)
        assert response.status_code < 500, response.text

    any_body()
