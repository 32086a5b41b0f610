from __future__ import annotations

import pytest
from lutra_models.errors import (
    LONGEST_MESSAGE,
    ApplyCode,
    ComputeCode,
    DecisionCode,
    Failure,
    FitFailed,
    LutraError,
    MeasureCode,
    Party,
    codes,
)


class Strange(LutraError):
    """Of an installed package."""

    code = "strange"


@pytest.mark.parametrize(
    ("reason", "code", "message"),
    [
        ("did_not_start", ApplyCode.DID_NOT_START, ""),
        ("invalid_value: jit: it is on: or off", ApplyCode.INVALID_VALUE, "jit: it is on: or off"),
        ("the driver: it died", MeasureCode.NOT_MEASURED, "the driver: it died"),
    ],
)
def test_a_reason_from_outside_is_read_once_and_told_as_it_came(reason: str, code: object, message: str) -> None:
    failure = Failure.told(reason)
    assert (failure.code, failure.message, failure.text) == (code, message, reason)


def test_an_error_of_any_type_is_told_with_its_code() -> None:
    known, other = (Failure.of(error("why"), Party.WORKER) for error in (FitFailed, Strange))
    assert (known.code, known.text) == (ComputeCode.FIT_FAILED, "fit_failed: why")
    assert (other.code, other.text) == (ComputeCode.OTHER, "strange: why")


def test_a_document_is_read_back_also_where_another_version_wrote_it() -> None:
    failure = Failure(ApplyCode.GUARDRAIL, "p99", Party.AGENT)
    assert Failure.from_dict(failure.to_dict()) == failure
    later = Failure.from_dict({"code": "of_a_later_version", "message": "why", "by": "service"})
    assert (later.code, later.message) == (DecisionCode.UNKNOWN, "of_a_later_version: why")


def test_a_message_is_bounded() -> None:
    assert len(Failure(ApplyCode.GUARDRAIL, "x" * 5000, Party.AGENT).text) == LONGEST_MESSAGE


def test_a_code_says_what_follows_from_it() -> None:
    assert {c for c in codes().values() if c.pauses} == {
        ApplyCode.SERVER_CHANGED,
        ApplyCode.NOT_PRIMARY,
        ApplyCode.GUARDRAIL,
        ApplyCode.DURABILITY_NOT_ALLOWED,
    }
    of_values = {c for c in ApplyCode if c.is_of_the_configuration}
    assert {c for c in ApplyCode if c.did_not_take} - of_values == {
        ApplyCode.DID_NOT_START,
        ApplyCode.NOT_ACTIVE_AFTER_APPLY,
    }
    assert {c for c in ApplyCode if c.is_about_values and not c.did_not_take} == {ApplyCode.DURABILITY_NOT_ALLOWED}
    assert [c for c in ApplyCode if not c.blames_configuration] == [ApplyCode.NOT_CONFIRMED]
