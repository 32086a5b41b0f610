"""The statements whose durations the server logs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lutra_models.metrics import P99Of

NAMES = (
    "log_min_duration_statement",
    "log_min_duration_sample",
    "log_statement_sample_rate",
    "log_transaction_sample_rate",
    "log_duration",
    "log_line_prefix",
)


@dataclass(frozen=True)
class Logged:
    """The statements whose durations the server logs. Times in ms; None if such a rule is off.

    `all_from` logs every statement that takes at least that time, `sampled_from` a share `statement_rate` of them; of a
    share `transaction_rate` of the transactions every statement is logged. `traced`: lines contain their process and
    time.
    """

    all_from: float | None
    sampled_from: float | None
    statement_rate: float
    transaction_rate: float
    bare: bool
    prefix: str
    traced: bool

    @property
    def of(self) -> P99Of:
        """Transactions if all statements of the logged ones are in the log, otherwise statements."""
        everything = self.all_from == 0 or (self.sampled_from == 0 and self.statement_rate == 1)
        chosen = self.transaction_rate > 0 and self.sampled_from is None
        return "transaction" if self.traced and (everything or chosen) else "statement"

    @property
    def least_ms(self) -> float | None:
        """The duration from which the log has a share of the statements; None if it has none."""
        if self.transaction_rate > 0:
            return 0.0
        return min((f for f in (self.all_from, self.sampled_from) if f is not None), default=None)

    def weight(self, ms: float) -> float:
        """The number of statements of this duration that one line represents."""
        if self.all_from is not None and ms >= self.all_from:
            return 1.0
        rate = self.statement_rate if self.sampled_from is not None and ms >= self.sampled_from else 0.0
        logged = 1 - (1 - rate) * (1 - self.transaction_rate)
        return 1 / logged if logged > 0 else 0.0


def parse(settings: Mapping[str, str], form: str) -> Logged:
    """Servers before 13 take no samples of statements."""
    prefix = settings.get("log_line_prefix", "")
    rate = float(settings.get("log_statement_sample_rate", 0))
    return Logged(
        _from(settings.get("log_min_duration_statement", "-1")),
        _from(settings.get("log_min_duration_sample", "-1")) if rate > 0 else None,
        rate,
        float(settings.get("log_transaction_sample_rate", 0)),
        settings.get("log_duration", "off") == "on",
        prefix,
        form != "stderr" or ("%p" in prefix and ("%m" in prefix or "%n" in prefix)),
    )


def _from(text: str) -> float | None:
    return None if float(text) < 0 else float(text)
