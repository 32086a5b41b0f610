"""The effect of a change, compared and judged, as answers."""

from __future__ import annotations

from datetime import datetime

from lutra_models.evidence import Verdict
from lutra_models.judgement import Lasts
from pydantic import Field

from lutra_service.api.http.body import Answer


class ComparisonAnswer(Answer):
    """A comparison of windows after changes on a live database with windows before them, at comparable load."""

    metric: str
    """The compared metric: the session's objective; without a session, p99."""
    verdict: Verdict
    """Whether the metric improved or got worse, no difference was seen, or too few windows are at comparable load."""
    before: int
    """The number of windows from before the change that count."""
    after: int
    """The number of windows since the change that count."""
    left_out: int
    """The number of windows that are left out because no window on the other side has a comparable load."""
    busy: int
    """The number of counted windows in which the host was busy with something else; these have less weight."""
    ratio: float | None
    """The ratio of after to before, at comparable load; null if there are too few windows."""
    low: float | None
    """The interval's lower end."""
    high: float | None
    """The interval's upper end."""
    level: float
    """The probability that the interval contains the ratio."""
    rate_of: str | None
    """The metric that measures the offered load; null if there is none."""
    rate_low: float | None
    """The smallest rate among the windows that count."""
    rate_high: float | None
    """The largest one."""
    sentence: str
    """The comparison in words."""


class RatioAnswer(Answer):
    """A ratio of two readings at comparable load."""

    ratio: float
    """The ratio."""
    low: float
    """The lower end of its 90 % interval."""
    high: float
    """The upper end."""


class LookAnswer(Answer):
    """A reported gain, judged again by the windows of the last day, as long as nothing else changed."""

    at: datetime
    """When it was judged again."""
    hours: float
    """The hours since the change."""
    state: Lasts
    """Whether the gain holds, has decayed since the time just after the change, or nothing is known."""
    because: str
    """Why nothing is known; otherwise empty."""
    sentence: str
    """The result in words."""
    held: RatioAnswer | None
    """The ratio of the last day to the time before the change; null without windows at comparable load."""
    since: RatioAnswer | None
    """The ratio of the last day to the half day just after the change; null without windows at comparable load."""


class JudgementAnswer(ComparisonAnswer):
    """The effect of a change on a live database: windows after it compared with windows before, at comparable load."""

    follows: str = ""
    """The possible next step, in words: how to undo a loss, or the cost of a change without a visible difference. Empty
    if there is none.
    """
    together: ComparisonAnswer | None = None
    """The same comparison for all changes of its session up to this one; null if it is the only one."""
    lasting: list[LookAnswer] = Field(default=[])
    """If it is a gain: its later judgements, after a day and after a week. After a loss there are no more."""
