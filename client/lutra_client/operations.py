"""Each operation of the REST interface. Made of service/openapi.json by `python -m tests.contract.test_client`: change that, not this."""

# ruff: noqa: E501

from __future__ import annotations

import builtins
from datetime import date, datetime
from typing import Literal, Unpack

from lutra_client import schemas
from lutra_client.binding import D, Group, call, pages, rows
from lutra_client.requests import Request, given, key, path, prefer


class Databases(Group[D]):
    """Registered databases: their policy, settings and measured windows."""

    @call
    def register(
        self, *, idempotency_key: str | None = None, **body: Unpack[schemas.NewDatabase]
    ) -> Request[schemas.DatabaseAnswer]:
        """Register a database server. Its agent then needs its own token.

        name: The name, unique among databases.
        engine: The engine: one of those in the catalogue.
        policy: The operator's policy.
        label: Databases with the same label belong together, and so do those without a label."""
        return Request(
            "POST",
            path("/v1/databases"),
            headers=key(idempotency_key),
            body=body,
            once=True,
            answer=schemas.DatabaseAnswer,
        )

    @pages
    def list(
        self, *, name: str | None = None, retired: bool | None = None, limit: int | None = None
    ) -> Request[schemas.DatabaseAnswer]:
        """The databases that the token reaches, the oldest first.

        name: Only the database with exactly this name.
        retired: The retired databases instead of those in use.
        limit: The maximum number of items on a page. The others follow when they are looked at."""
        return Request(
            "GET",
            path("/v1/databases"),
            query=given(name=name, retired=retired, limit=limit),
            answer=schemas.DatabaseAnswer,
        )

    @call
    def get(self, database: str, /) -> Request[schemas.DatabaseAnswer]:
        """The database's policy, server and host, and its agent's newest status."""
        return Request("GET", path("/v1/databases/{database}", database=database), answer=schemas.DatabaseAnswer)

    @call
    def change(self, database: str, /, **body: Unpack[schemas.DatabasePatch]) -> Request[schemas.DatabaseAnswer]:
        """Change the policy: pins, ranges, which settings may move, durability, restart, host, the memory limit, the past.

        The label decides which databases learn from each other, so a token that is bound to one database cannot set it.

        policy: The parts of the policy that change.
        label: Databases with the same label belong together, and so do those without a label."""
        return Request(
            "PATCH", path("/v1/databases/{database}", database=database), body=body, answer=schemas.DatabaseAnswer
        )

    @call
    def delete(self, database: str, /) -> Request[schemas.DatabaseAnswer]:
        """Permanently delete a retired database with its windows, sessions, recommendations, models, memory and tokens. The
        audit trail keeps its entries and records the deletion. 409 for a database that is not retired."""
        return Request("DELETE", path("/v1/databases/{database}", database=database), answer=schemas.DatabaseAnswer)

    @call
    def retire(self, database: str, /) -> Request[schemas.DatabaseAnswer]:
        """Hide the database from lists, and refuse its agent's reports from now on. Stored data are kept. 409 while a
        session is open or an agent has a change in progress."""
        return Request(
            "PUT", path("/v1/databases/{database}/retired", database=database), answer=schemas.DatabaseAnswer
        )

    @call
    def unretire(self, database: str, /) -> Request[schemas.DatabaseAnswer]:
        """Put a retired database back into use. Its agent's reports are stored again."""
        return Request(
            "DELETE", path("/v1/databases/{database}/retired", database=database), answer=schemas.DatabaseAnswer
        )

    @pages
    def list_settings(self, database: str, /) -> Request[schemas.SettingAnswer]:
        """The settings as the agent last reported them, and which of them may move."""
        return Request(
            "GET", path("/v1/databases/{database}/settings", database=database), answer=schemas.SettingAnswer
        )

    @pages
    def list_windows(
        self,
        database: str,
        /,
        *,
        metric: builtins.list[str] | None = None,
        since: datetime | date | str | None = None,
        until: datetime | date | str | None = None,
        limit: int | None = None,
    ) -> Request[schemas.WindowAnswer]:
        """The measured windows, newest first: QPS, TPS, p99 with its source, counters, and the load of other programs on
        the host.

        metric: Only these metrics; can be repeated.
        since: Only windows that ended after this moment.
        until: Only windows that began before this moment.
        limit: The maximum number of items on a page. The others follow when they are looked at."""
        return Request(
            "GET",
            path("/v1/databases/{database}/windows", database=database),
            query=given(metric=metric, since=since, until=until, limit=limit),
            answer=schemas.WindowAnswer,
        )

    @call
    def list_symptoms(self, database: str, /, *, minutes: int | None = None) -> Request[schemas.SymptomsAnswer]:
        """The symptoms in the latest windows under the active settings, the most harmful first, with their cures.

        minutes: The number of minutes before now that the windows cover."""
        return Request(
            "GET",
            path("/v1/databases/{database}/symptoms", database=database),
            query=given(minutes=minutes),
            answer=schemas.SymptomsAnswer,
        )

    @pages
    def list_symptom_history(
        self,
        database: str,
        /,
        *,
        since: datetime | date | str | None = None,
        gone: bool | None = None,
        limit: int | None = None,
    ) -> Request[schemas.EpisodeAnswer]:
        """When each symptom was first seen, and when it was gone, newest first.

        since: Only symptoms that were seen after this moment.
        gone: True: only symptoms that are gone. False: only current symptoms.
        limit: The maximum number of items on a page. The others follow when they are looked at."""
        return Request(
            "GET",
            path("/v1/databases/{database}/symptoms/history", database=database),
            query=given(since=since, gone=gone, limit=limit),
            answer=schemas.EpisodeAnswer,
        )

    @pages
    def list_accepted_symptoms(self, database: str, /) -> Request[schemas.AcceptedAnswer]:
        """The accepted risks, including those whose time is over."""
        return Request(
            "GET", path("/v1/databases/{database}/symptoms/accepted", database=database), answer=schemas.AcceptedAnswer
        )

    @call
    def accept_symptom(
        self, database: str, symptom: str, /, **body: Unpack[schemas.AcceptBody]
    ) -> Request[schemas.AcceptedAnswer]:
        """Accept the risk, with a reason and an end; this replaces an earlier acceptance. The symptom then comes last and
        does not fail a check. It counts again when the time is over, when the acceptance is withdrawn, or when its kind
        becomes worse.

        because: The reason, shown beside the finding.
        until: The moment from which the finding counts again."""
        return Request(
            "PUT",
            path("/v1/databases/{database}/symptoms/accepted/{symptom}", database=database, symptom=symptom),
            body=body,
            answer=schemas.AcceptedAnswer,
        )

    @call
    def withdraw_accepted_symptom(self, database: str, symptom: str, /) -> Request[schemas.AcceptedAnswer]:
        """Withdraw the acceptance: the symptom counts again."""
        return Request(
            "DELETE",
            path("/v1/databases/{database}/symptoms/accepted/{symptom}", database=database, symptom=symptom),
            answer=schemas.AcceptedAnswer,
        )


class Sessions(Group[D]):
    """Tuning sessions: their objective, and every trial."""

    @call
    def open(
        self, database: str, /, *, idempotency_key: str | None = None, **body: Unpack[schemas.NewSession]
    ) -> Request[schemas.SessionAnswer]:
        """Open a tuning session. An agent can open one in mode lab for its own database (`lutra-agent tune`). Automatic
        approval needs the scope `operate`, or an agent in mode lab.

        objective: The metric and the direction of improvement.
        limits: Limits on other metrics.
        mode: The requested mode; the agent's own file limits it.
        approval: Whether each recommendation waits for a decision, or trials follow each other automatically.
        max_trials: The maximum number of trials.
        verification_rounds: In a lab, the maximum number of rounds of the final verification, in addition to `max_trials`; at least three are needed to detect a gain. 0 hands over the model's choice without verification.
        max_changes: The maximum number of settings that a recommendation may change, counted from the start of the session; null for any.
        exploration: On a live database, the number of trials whose only purpose is to learn. In a lab all trials may be.
        loads: In a lab, the loads under which each trial is measured, one after the other; empty for the driver's own load.
        aim: With `loads`, the quantity to improve: the weighted geometric mean of the objective's ratios to the baseline's readings under each load, or the worst of these ratios.
        seed: The same seed and the same measurements give the same recommendations."""
        return Request(
            "POST",
            path("/v1/databases/{database}/sessions", database=database),
            headers=key(idempotency_key),
            body=body,
            once=True,
            answer=schemas.SessionAnswer,
        )

    @pages
    def list(self, database: str, /, *, limit: int | None = None) -> Request[schemas.SessionAnswer]:
        """Newest first.

        limit: The maximum number of items on a page. The others follow when they are looked at."""
        return Request(
            "GET",
            path("/v1/databases/{database}/sessions", database=database),
            query=given(limit=limit),
            answer=schemas.SessionAnswer,
        )

    @call
    def get(self, session: str, /) -> Request[schemas.SessionAnswer]:
        """The session and its state."""
        return Request("GET", path("/v1/sessions/{session}", session=session), answer=schemas.SessionAnswer)

    @call
    def pause(self, session: str, /) -> Request[schemas.SessionAnswer]:
        """Pause the session: it takes no further step, and the step in progress is completed."""
        return Request("POST", path("/v1/sessions/{session}/pause", session=session), answer=schemas.SessionAnswer)

    @call
    def resume(self, session: str, /) -> Request[schemas.SessionAnswer]:
        """Continue the session. If the server has changed, the session starts over on the new server."""
        return Request("POST", path("/v1/sessions/{session}/resume", session=session), answer=schemas.SessionAnswer)

    @call
    def stop(self, session: str, /) -> Request[schemas.SessionAnswer]:
        """End the session permanently, and withdraw recommendations that are not yet applied."""
        return Request("POST", path("/v1/sessions/{session}/stop", session=session), answer=schemas.SessionAnswer)

    @pages
    def list_trials(self, session: str, /) -> Request[schemas.TrialAnswer]:
        """Every trial in order, as JSON or (`?format=csv`) as a table. In the table, a text that a spreadsheet would take
        for a formula has a leading apostrophe."""
        return Request("GET", path("/v1/sessions/{session}/trials", session=session), answer=schemas.TrialAnswer)

    @call
    def get_history(self, session: str, /) -> Request[schemas.HistoryAnswer]:
        """The input that `recommend` would use now. `lutra_models.serial.history_from_dict` turns it into a `History`."""
        return Request("GET", path("/v1/sessions/{session}/history", session=session), answer=schemas.HistoryAnswer)


class Recommendations(Group[D]):
    """The next settings to try: ask, read, approve, reject, roll back."""

    @call
    def ask(
        self,
        database: str,
        /,
        *,
        wait_s: float | None = None,
        idempotency_key: str | None = None,
        **body: Unpack[schemas.NewRecommendation],
    ) -> Request[schemas.RecommendationAnswer]:
        """Recommend the next settings, or check an operator's own (`settings`). 202 while the next recommendation is not
        available: it is being computed, or the previous one is still in progress and is returned. Then poll `Location`, or
        wait here with `Prefer: wait=N`.

        settings: An operator's own settings: texts with units, or numbers in the server's own unit.
        approve: With `settings`: approve the recommendation at once."""
        return Request(
            "POST",
            path("/v1/databases/{database}/recommendations", database=database),
            headers=key(idempotency_key) | prefer(wait_s),
            waits_s=wait_s or 0.0,
            body=body,
            once=True,
            answer=schemas.RecommendationAnswer,
        )

    @pages
    def list(
        self,
        database: str,
        /,
        *,
        state: Literal[
            "observing",
            "computing",
            "proposed",
            "approved",
            "applied",
            "confirmed",
            "reverted",
            "rejected",
            "refused",
            "failed",
            "expired",
            "unneeded",
        ]
        | None = None,
        since: datetime | date | str | None = None,
        limit: int | None = None,
    ) -> Request[schemas.RecommendationAnswer]:
        """Newest first.

        state: Only recommendations in this state.
        since: Only recommendations that were decided, applied or ended after this moment.
        limit: The maximum number of items on a page. The others follow when they are looked at."""
        return Request(
            "GET",
            path("/v1/databases/{database}/recommendations", database=database),
            query=given(state=state, since=since, limit=limit),
            answer=schemas.RecommendationAnswer,
        )

    @call
    def get(
        self,
        recommendation: str,
        /,
        *,
        until: Literal["computed", "decided", "applied", "measured", "ended"] | None = None,
        wait_s: float | None = None,
    ) -> Request[schemas.RecommendationAnswer]:
        """The settings, the exact change and its undo, reasons, predictions and the memory sum. `Prefer: wait=N` waits
        until the recommendation is computed, or has reached `until`: decided (approved, rejected or expired), applied (or
        refused), measured, ended. A recommendation that ended earlier is returned at once.

        until: The state for which `Prefer: wait=N` waits."""
        return Request(
            "GET",
            path("/v1/recommendations/{recommendation}", recommendation=recommendation),
            query=given(until=until),
            headers=prefer(wait_s),
            waits_s=wait_s or 0.0,
            answer=schemas.RecommendationAnswer,
        )

    @call
    def approve(
        self, recommendation: str, /, **body: Unpack[schemas.Approving]
    ) -> Request[schemas.RecommendationAnswer]:
        """Approve the recommendation; the agent then applies it. With `settings`, approve a new recommendation with only
        these changes, which is checked again.

        settings: Approve only these changes.
        reason: With `settings`: the reason for leaving out the others."""
        return Request(
            "POST",
            path("/v1/recommendations/{recommendation}/approve", recommendation=recommendation),
            body=body,
            answer=schemas.RecommendationAnswer,
        )

    @call
    def reject(
        self, recommendation: str, /, **body: Unpack[schemas.TurningDown]
    ) -> Request[schemas.RecommendationAnswer]:
        """Reject the recommendation: it is not applied, and not proposed again until the circumstances change.

        reason: The reason. A rejected change is not proposed again until the circumstances change."""
        return Request(
            "POST",
            path("/v1/recommendations/{recommendation}/reject", recommendation=recommendation),
            body=body,
            answer=schemas.RecommendationAnswer,
        )

    @call
    def roll_back(
        self, recommendation: str, /, *, idempotency_key: str | None = None, **body: Unpack[schemas.TurningDown]
    ) -> Request[schemas.RecommendationAnswer]:
        """Restore the settings from before the recommendation: the answer is the recommendation that does so. Never refused
        for memory.

        reason: The reason. A rejected change is not proposed again until the circumstances change."""
        return Request(
            "POST",
            path("/v1/recommendations/{recommendation}/rollback", recommendation=recommendation),
            headers=key(idempotency_key),
            body=body,
            once=True,
            answer=schemas.RecommendationAnswer,
        )


class Observations(Group[D]):
    """All observations, as data sets: JSON lines, CSV, Parquet."""

    @rows
    def list(
        self,
        *,
        engine: str | None = None,
        database: str | None = None,
        session: str | None = None,
        since: datetime | date | str | None = None,
        until: datetime | date | str | None = None,
        metric: builtins.list[str] | None = None,
    ) -> Request[schemas.ObservationAnswer]:
        """The observations of every database that the token reaches, as JSON lines, CSV or Parquet. The answer streams; an
        answer that breaks off is incomplete. A table has at most 5,000 columns: select metrics if there would be more.

        engine: Only databases of this engine.
        database: Only this database.
        session: Only this session.
        since: Only observations that ended, or failed, after this moment.
        until: Only observations that began, or failed, before this moment.
        metric: Only these metrics; can be repeated. Windows without any of them are left out; failures are kept."""
        return Request(
            "GET",
            path("/v1/observations"),
            query=given(engine=engine, database=database, session=session, since=since, until=until, metric=metric),
            answer=schemas.ObservationAnswer,
        )

    @rows
    def of_database(
        self,
        database: str,
        /,
        *,
        session: str | None = None,
        since: datetime | date | str | None = None,
        until: datetime | date | str | None = None,
        metric: builtins.list[str] | None = None,
    ) -> Request[schemas.ObservationAnswer]:
        """The observations of one database, in its sessions and between them.

        session: Only this session.
        since: Only observations that ended, or failed, after this moment.
        until: Only observations that began, or failed, before this moment.
        metric: Only these metrics; can be repeated. Windows without any of them are left out; failures are kept."""
        return Request(
            "GET",
            path("/v1/databases/{database}/observations", database=database),
            query=given(session=session, since=since, until=until, metric=metric),
            answer=schemas.ObservationAnswer,
        )

    @rows
    def of_session(
        self,
        session: str,
        /,
        *,
        since: datetime | date | str | None = None,
        until: datetime | date | str | None = None,
        metric: builtins.list[str] | None = None,
    ) -> Request[schemas.ObservationAnswer]:
        """The observations made while one session was open.

        since: Only observations that ended, or failed, after this moment.
        until: Only observations that began, or failed, before this moment.
        metric: Only these metrics; can be repeated. Windows without any of them are left out; failures are kept."""
        return Request(
            "GET",
            path("/v1/sessions/{session}/observations", session=session),
            query=given(since=since, until=until, metric=metric),
            answer=schemas.ObservationAnswer,
        )


class Summary(Group[D]):
    """The events and the load of the last days, of the fleet or of one database."""

    @call
    def get(self, *, days: int | None = None, database: str | None = None) -> Request[schemas.SummaryAnswer]:
        """A summary of the last days, against as many days before: load and p99, changes and their effect, guards,
        findings, proposals, sessions and silent agents, of the databases that the token reaches.

        days: The number of days up to now.
        database: Only this database, by its id; otherwise all that are in use."""
        return Request(
            "GET", path("/v1/summary"), query=given(days=days, database=database), answer=schemas.SummaryAnswer
        )


class Predictions(Group[D]):
    """What-if: the p99 and QPS of given settings."""

    @call
    def predict(self, database: str, /, **body: Unpack[schemas.NewPrediction]) -> Request[schemas.PredictionsAnswer]:
        """The predicted p99 and QPS of `settings` merged with the current ones, with the accuracy of past predictions. They
        apply to the current load, or to the given `rate`.

        settings: Merged with the current ones: texts with units, or numbers in the server's own unit.
        level: The probability with which each interval should contain the reading.
        rate: On a live database, the offered load per second, in the unit that `load` of an answer names; null for the current load. A rate outside the measured ones is refused."""
        return Request(
            "POST",
            path("/v1/databases/{database}/predictions", database=database),
            body=body,
            answer=schemas.PredictionsAnswer,
        )

    @call
    def get_memory(self, database: str, /) -> Request[schemas.MemoryAnswer]:
        """The server's memory under the active settings, line by line, as the policy counts it."""
        return Request("GET", path("/v1/databases/{database}/memory", database=database), answer=schemas.MemoryAnswer)


class Models(Group[D]):
    """Model versions: register, score, run in the shadow, promote, roll back."""

    @pages
    def list(
        self, *, state: Literal["candidate", "champion", "retired"] | None = None, limit: int | None = None
    ) -> Request[schemas.ModelAnswer]:
        """Every model version, newest first; the shipped version comes last.

        state: Only recommendations in this state.
        limit: The maximum number of items on a page. The others follow when they are looked at."""
        return Request("GET", path("/v1/models"), query=given(state=state, limit=limit), answer=schemas.ModelAnswer)

    @call
    def register(
        self, *, idempotency_key: str | None = None, **body: Unpack[schemas.NewModel]
    ) -> Request[schemas.ModelAnswer]:
        """Register an options document as a candidate. It does not serve until it is promoted. Parts from other packages
        are imported in a separate process; a package that cannot be imported is refused.

        name: A name for people.
        toml: The document as TOML, in the form that `lutra models options` prints.
        options: The document as JSON: each group of options is an object.
        note: The reason, in one sentence."""
        return Request(
            "POST", path("/v1/models"), headers=key(idempotency_key), body=body, once=True, answer=schemas.ModelAnswer
        )

    @call
    def roll_back(self) -> Request[schemas.ModelAnswer]:
        """Let the previous champion serve again; the current one is retired."""
        return Request("POST", path("/v1/models/rollback"), answer=schemas.ModelAnswer)

    @call
    def get(self, model: str, /) -> Request[schemas.ModelDetailAnswer]:
        """One model version with its options, its scorecard, and the accuracy of its shadow predictions beside the
        champion's."""
        return Request("GET", path("/v1/models/{model}", model=model), answer=schemas.ModelDetailAnswer)

    @call
    def get_options(self, model: str, /) -> Request[str]:
        """The options of the version as a TOML document, with the meaning and the range of each option."""
        return Request("GET", path("/v1/models/{model}/options", model=model))

    @call
    def score(self, model: str, /) -> Request[schemas.ScoringAnswer]:
        """Compute the version's scorecard from past sessions. The model version shows the progress."""
        return Request("POST", path("/v1/models/{model}/score", model=model), answer=schemas.ScoringAnswer)

    @call
    def shadow(self, model: str, /) -> Request[schemas.ModelAnswer]:
        """Let a candidate predict beside the champion, for each later recommendation, without changing it."""
        return Request("PUT", path("/v1/models/{model}/shadow", model=model), answer=schemas.ModelAnswer)

    @call
    def unshadow(self, model: str, /) -> Request[schemas.ModelAnswer]:
        """Stop the shadow of a candidate. Earlier predictions are kept."""
        return Request("DELETE", path("/v1/models/{model}/shadow", model=model), answer=schemas.ModelAnswer)

    @call
    def promote(self, model: str, /, **body: Unpack[schemas.Promoting]) -> Request[schemas.ModelAnswer]:
        """Let the version serve from now on, in every process of the service; the previous champion is retired. With
        `by_rule`, only if it is shown to be better.

        by_rule: Promote only if the version is shown to be better than the champion, according to its `beside_champion`; otherwise the answer is a conflict that names what is missing."""
        return Request("POST", path("/v1/models/{model}/promote", model=model), body=body, answer=schemas.ModelAnswer)

    @call
    def retire(self, model: str, /) -> Request[schemas.ModelAnswer]:
        """Retire a candidate. It can still be promoted later."""
        return Request("POST", path("/v1/models/{model}/retire", model=model), answer=schemas.ModelAnswer)


class Workloads(Group[D]):
    """The workloads of the fleet: signatures, lessons, similarity."""

    @pages
    def list(
        self, *, engine: str | None = None, database: str | None = None, limit: int | None = None
    ) -> Request[schemas.WorkloadAnswer]:
        """Every workload with its signature, its circumstances and its lessons, newest first.

        engine: Only workloads of this engine.
        database: Only workloads of this database.
        limit: The maximum number of items on a page. The others follow when they are looked at."""
        return Request(
            "GET",
            path("/v1/workloads"),
            query=given(engine=engine, database=database, limit=limit),
            answer=schemas.WorkloadAnswer,
        )

    @call
    def list_nearest(self, workload: str, /, *, count: int | None = None) -> Request[schemas.AlikeAnswers]:
        """The workloads of the same engine and metric that resemble this one most, by the rule that recommendations use.

        Here every workload counts. A recommendation uses only those that both databases' policies allow.

        count: The number of workloads to return."""
        return Request(
            "GET",
            path("/v1/workloads/{workload}/nearest", workload=workload),
            query=given(count=count),
            answer=schemas.AlikeAnswers,
        )

    @call
    def get_history(self, workload: str, /) -> Request[schemas.WorkloadHistoryAnswer]:
        """The measurements of the workload to which its model was fitted, including tables without a database."""
        return Request(
            "GET", path("/v1/workloads/{workload}/history", workload=workload), answer=schemas.WorkloadHistoryAnswer
        )


class Protection(Group[D]):
    """Guardrails, their events, and maintenance windows."""

    @call
    def get_guardrails(self, database: str, /) -> Request[schemas.GuardrailsBody]:
        """Every guard with its limit and hold time, and who set it."""
        return Request(
            "GET", path("/v1/databases/{database}/guardrails", database=database), answer=schemas.GuardrailsBody
        )

    @call
    def set_guardrails(
        self, database: str, /, **body: Unpack[schemas.GuardrailsBody]
    ) -> Request[schemas.GuardrailsBody]:
        """Replace the guardrails that were set here before. The agent keeps them on its own disk. You can edit the answer
        of GET and send it back whole: a guardrail with the `origin` agent or default and unchanged values keeps that
        origin.

        guardrails: The guards by name.
        firing: The guards that fire now, by the agent's newest report."""
        return Request(
            "PUT",
            path("/v1/databases/{database}/guardrails", database=database),
            body=body,
            answer=schemas.GuardrailsBody,
        )

    @pages
    def list_events(
        self, database: str, /, *, since: datetime | date | str | None = None, limit: int | None = None
    ) -> Request[schemas.EventAnswer]:
        """Guards that fired, with the figures, newest first.

        since: Only events after this moment.
        limit: The maximum number of items on a page. The others follow when they are looked at."""
        return Request(
            "GET",
            path("/v1/databases/{database}/events", database=database),
            query=given(since=since, limit=limit),
            answer=schemas.EventAnswer,
        )

    @call
    def get_maintenance_windows(self, database: str, /) -> Request[schemas.MaintenanceBody]:
        """The windows in which a restart is allowed, in mode restart_in_window."""
        return Request(
            "GET",
            path("/v1/databases/{database}/maintenance-windows", database=database),
            answer=schemas.MaintenanceBody,
        )

    @call
    def set_maintenance_windows(
        self, database: str, /, **body: Unpack[schemas.MaintenanceBody]
    ) -> Request[schemas.MaintenanceBody]:
        """Replace the maintenance windows. Without any, nothing is restarted in mode restart_in_window.

        windows: Every weekly window.
        open_until: The end of the window that is open now; null if none is.
        next: The start of the next window."""
        return Request(
            "PUT",
            path("/v1/databases/{database}/maintenance-windows", database=database),
            body=body,
            answer=schemas.MaintenanceBody,
        )


class Tokens(Group[D]):
    """Tokens and their scopes."""

    @call
    def create(
        self, database: str, /, *, idempotency_key: str | None = None, **body: Unpack[schemas.NewToken]
    ) -> Request[schemas.NewTokenAnswer]:
        """Create a token that reaches only this database. The secret is returned only in this answer.

        name: A name for people: the owner or the purpose.
        scopes: The scopes: `models` and `propose` include `read`, `operate` includes `propose`, `admin` all but `agent`.
        expires_at: When it expires; null: it is valid until it is revoked."""
        return Request(
            "POST",
            path("/v1/databases/{database}/tokens", database=database),
            headers=key(idempotency_key),
            body=body,
            once=True,
            answer=schemas.NewTokenAnswer,
        )

    @pages
    def list(self, database: str, /, *, limit: int | None = None) -> Request[schemas.TokenAnswer]:
        """List the tokens of this database, the oldest first, without their secrets.

        limit: The maximum number of items on a page. The others follow when they are looked at."""
        return Request(
            "GET",
            path("/v1/databases/{database}/tokens", database=database),
            query=given(limit=limit),
            answer=schemas.TokenAnswer,
        )

    @call
    def revoke(self, database: str, token: str, /) -> Request[schemas.TokenAnswer]:
        """Permanently revoke a token. Repeating the call has no effect."""
        return Request(
            "DELETE",
            path("/v1/databases/{database}/tokens/{token}", database=database, token=token),
            answer=schemas.TokenAnswer,
        )

    @call
    def get_own(self) -> Request[schemas.OwnTokenAnswer]:
        """The token of this request: what it may do, and for which database."""
        return Request("GET", path("/v1/token"), answer=schemas.OwnTokenAnswer)

    @pages
    def list_all(self, *, limit: int | None = None) -> Request[schemas.TokenAnswer]:
        """List every token, whether or not it is bound to a database, with its expiry and last use.

        limit: The maximum number of items on a page. The others follow when they are looked at."""
        return Request("GET", path("/v1/tokens"), query=given(limit=limit), answer=schemas.TokenAnswer)

    @call
    def create_global(
        self, *, idempotency_key: str | None = None, **body: Unpack[schemas.NewToken]
    ) -> Request[schemas.NewTokenAnswer]:
        """Create a token that reaches every database. The secret is returned only in this answer.

        name: A name for people: the owner or the purpose.
        scopes: The scopes: `models` and `propose` include `read`, `operate` includes `propose`, `admin` all but `agent`.
        expires_at: When it expires; null: it is valid until it is revoked."""
        return Request(
            "POST",
            path("/v1/tokens"),
            headers=key(idempotency_key),
            body=body,
            once=True,
            answer=schemas.NewTokenAnswer,
        )

    @call
    def revoke_any(self, token: str, /) -> Request[schemas.TokenAnswer]:
        """Revoke a token, whatever it is bound to."""
        return Request("DELETE", path("/v1/tokens/{token}", token=token), answer=schemas.TokenAnswer)

    @call
    def rotate_any(
        self, token: str, /, *, idempotency_key: str | None = None, **body: Unpack[schemas.Rotation]
    ) -> Request[schemas.NewTokenAnswer]:
        """Replace this token with a new one: the same name, scopes and database, and a new secret.

        grace_s: The number of seconds during which the old secret stays valid.
        expires_at: When the new token expires; null: with the lifetime of the old token."""
        return Request(
            "POST",
            path("/v1/tokens/{token}/rotate", token=token),
            headers=key(idempotency_key),
            body=body,
            once=True,
            answer=schemas.NewTokenAnswer,
        )

    @call
    def rotate(
        self, database: str, token: str, /, *, idempotency_key: str | None = None, **body: Unpack[schemas.Rotation]
    ) -> Request[schemas.NewTokenAnswer]:
        """Replace a token that is bound to this database with a new one.

        grace_s: The number of seconds during which the old secret stays valid.
        expires_at: When the new token expires; null: with the lifetime of the old token."""
        return Request(
            "POST",
            path("/v1/databases/{database}/tokens/{token}/rotate", database=database, token=token),
            headers=key(idempotency_key),
            body=body,
            once=True,
            answer=schemas.NewTokenAnswer,
        )

    @call
    def create_enrolment(
        self, database: str, /, *, idempotency_key: str | None = None, **body: Unpack[schemas.NewEnrolment]
    ) -> Request[schemas.NewTokenAnswer]:
        """Create a token by which one agent can enrol for this database, once. Only this answer has its secret.

        A token that nobody has used can be revoked like every other one.

        lifetime_s: The number of seconds during which the token is valid."""
        return Request(
            "POST",
            path("/v1/databases/{database}/enrolments", database=database),
            headers=key(idempotency_key),
            body=body,
            once=True,
            answer=schemas.NewTokenAnswer,
        )

    @call
    def enrol(self) -> Request[schemas.EnrolmentAnswer]:
        """Enrol an agent: exchange an enrolment's token, which ends with this call, for the agent's own token."""
        return Request("POST", path("/v1/enrolments"), answer=schemas.EnrolmentAnswer)


class Audit(Group[D]):
    """The audit trail."""

    @pages
    def list(
        self, *, action: str | None = None, since: datetime | date | str | None = None, limit: int | None = None
    ) -> Request[schemas.AuditAnswer]:
        """List all actions on databases and tokens with their actors, newest first.

        action: Only this action, such as `recommendation.approve`.
        since: Only entries after this moment.
        limit: The maximum number of items on a page. The others follow when they are looked at."""
        return Request(
            "GET", path("/v1/audit"), query=given(action=action, since=since, limit=limit), answer=schemas.AuditAnswer
        )

    @pages
    def of_database(
        self,
        database: str,
        /,
        *,
        action: str | None = None,
        since: datetime | date | str | None = None,
        limit: int | None = None,
    ) -> Request[schemas.AuditAnswer]:
        """List all actions on this database with their actors, newest first.

        action: Only this action, such as `recommendation.approve`.
        since: Only entries after this moment.
        limit: The maximum number of items on a page. The others follow when they are looked at."""
        return Request(
            "GET",
            path("/v1/databases/{database}/audit", database=database),
            query=given(action=action, since=since, limit=limit),
            answer=schemas.AuditAnswer,
        )


class Receivers(Group[D]):
    """Receivers of notifications, and the log of deliveries."""

    @pages
    def list(self, *, limit: int | None = None) -> Request[schemas.ReceiverAnswer]:
        """List the receivers of notices, the oldest first, without their secrets.

        limit: The maximum number of items on a page. The others follow when they are looked at."""
        return Request("GET", path("/v1/receivers"), query=given(limit=limit), answer=schemas.ReceiverAnswer)

    @call
    def create(
        self, *, idempotency_key: str | None = None, **body: Unpack[schemas.NewReceiver]
    ) -> Request[schemas.NewReceiverAnswer]:
        """Create a receiver. The secret that signs a webhook is returned only in this answer.

        kinds: The kinds of its notices; empty for all.
        databases: Only notices about these databases, or about those of `labels`; empty for no such limit.
        labels: Only notices about databases with one of these labels, or about `databases`; empty for no such limit.
        quiet_hours: The hours in which only urgent notices are sent; null for none.
        name: A name for people.
        kind: `webhook`: a signed HTTP request. `apprise`: a chat, e-mail or another service by an Apprise URL.
        target: The URL. It may hold a secret, so that no answer returns it."""
        return Request(
            "POST",
            path("/v1/receivers"),
            headers=key(idempotency_key),
            body=body,
            once=True,
            answer=schemas.NewReceiverAnswer,
        )

    @call
    def get(self, receiver: str, /) -> Request[schemas.ReceiverAnswer]:
        """One receiver, without its secrets."""
        return Request("GET", path("/v1/receivers/{receiver}", receiver=receiver), answer=schemas.ReceiverAnswer)

    @call
    def change(self, receiver: str, /, **body: Unpack[schemas.ReceiverPatch]) -> Request[schemas.ReceiverAnswer]:
        """Change the notices for a receiver, enable or disable it. For another URL or secret, create another receiver.

        kinds: The kinds of its notices; empty for all.
        databases: Only notices about these databases, or about those of `labels`; empty for no such limit.
        labels: Only notices about databases with one of these labels, or about `databases`; empty for no such limit.
        quiet_hours: The hours in which only urgent notices are sent; null for none.
        name: A name for people; null leaves it as it is.
        enabled: Whether it gets notices; null leaves that as it is. Messages that wait for a disabled receiver are dropped."""
        return Request(
            "PATCH", path("/v1/receivers/{receiver}", receiver=receiver), body=body, answer=schemas.ReceiverAnswer
        )

    @call
    def delete(self, receiver: str, /) -> Request[schemas.ReceiverAnswer]:
        """Delete a receiver, the log of its deliveries, and its waiting messages."""
        return Request("DELETE", path("/v1/receivers/{receiver}", receiver=receiver), answer=schemas.ReceiverAnswer)

    @call
    def test(self, receiver: str, /, *, wait_s: float | None = None) -> Request[schemas.DeliveryAnswer]:
        """Send a test at once, before all waiting messages, and try it once. Wait for the result here with
        `Prefer: wait=N`."""
        return Request(
            "POST",
            path("/v1/receivers/{receiver}/test", receiver=receiver),
            headers=prefer(wait_s),
            waits_s=wait_s or 0.0,
            answer=schemas.DeliveryAnswer,
        )

    @pages
    def list_deliveries(
        self,
        receiver: str,
        /,
        *,
        state: Literal["waiting", "delivered", "failed", "digested"] | None = None,
        limit: int | None = None,
    ) -> Request[schemas.DeliveryAnswer]:
        """List the messages for a receiver with their outcomes, newest first.

        state: Only messages in this state.
        limit: The maximum number of items on a page. The others follow when they are looked at."""
        return Request(
            "GET",
            path("/v1/receivers/{receiver}/deliveries", receiver=receiver),
            query=given(state=state, limit=limit),
            answer=schemas.DeliveryAnswer,
        )


class Knobs(Group[D]):
    """The catalogue of settings."""

    @pages
    def list(self, *, engine: str, version: str | None = None) -> Request[schemas.KnobAnswer]:
        """Every setting of an engine that Lutra knows: meaning, range, risk, restart or reload.

        engine: The engine.
        version: Only settings that this version has."""
        return Request("GET", path("/v1/knobs"), query=given(engine=engine, version=version), answer=schemas.KnobAnswer)


class Agents(Group[D]):
    """Reports from agents, and directives to them."""

    @call
    def send_report(self, database: str, /, **body: Unpack[schemas.Report]) -> Request[schemas.Receipt]:
        """Store a report. Idempotent by (agent, epoch, sequence); the answer contains the current directive.

        protocol: The agent's protocol.
        agent: The agent's name.
        epoch: The id of the agent's state: a new one when the agent has lost its state.
        sequence: The report's number in the epoch.
        sent_at: When the report was made.
        engine: The engine, as the database was registered.
        engine_version: The server's version.
        role: Whether the server accepts writes.
        identifier: The server's own identifier; empty if it has none.
        host: The resources that the server may use.
        peak_connections: The most connections seen at once; 0 if unknown.
        settings_hash: A digest of the active settings.
        settings: Every setting, if the digest is new or the service requested them.
        window: The interval in which the metrics were measured.
        metrics: The metrics by name, in the unit of the name. Unmeasured metrics are left out.
        texts: Names of database objects at the end of the window, by key; one line each.
        p99_source: The source of `p99_ms`.
        p99_of: The unit of work whose latency `p99_ms` is.
        context: The circumstances of the measurement, such as the load's threads.
        measures: The directive whose configuration this window measured.
        failure: Why that configuration could not be measured.
        ended_early: The bound that replaces a value because the window was ended early.
        outcomes: The results of directives.
        events: Guards that fired.
        rolled_back: Rollbacks on the host that no earlier report contained.
        status: The agent's status."""
        return Request(
            "POST", path("/v1/databases/{database}/reports", database=database), body=body, answer=schemas.Receipt
        )

    @call
    def get_directive(
        self, database: str, /, *, agent: str | None = None, epoch: str | None = None, wait_s: float | None = None
    ) -> Request[schemas.Directive | None]:
        """The directive to carry out now, for one agent at a time. With `Prefer: wait=N` the call waits for one.

        agent: The name of the requesting agent, as in its reports. Default: the agent that reported last.
        epoch: The epoch of its reports."""
        return Request(
            "GET",
            path("/v1/databases/{database}/directive", database=database),
            query=given(agent=agent, epoch=epoch),
            headers=prefer(wait_s),
            waits_s=wait_s or 0.0,
            answer=schemas.Directive,
        )


class Health(Group[D]):
    """For the operators of the service; no token is needed."""

    @call
    def check_alive(self) -> Request[schemas.Alive]:
        """Whether the service is alive."""
        return Request("GET", path("/healthz"), answer=schemas.Alive)

    @call
    def check_ready(self) -> Request[schemas.Readiness]:
        """503 while the database does not answer."""
        return Request("GET", path("/readyz"), answer=schemas.Readiness)

    @call
    def get_metrics(self) -> Request[str]:
        """Metrics for Prometheus, of this process and of all databases together. A token of the scope `read` adds the
        databases that it reaches, by name."""
        return Request("GET", path("/metrics"))


class Operations(Group[D]):
    """Every operation of the document, in its groups."""

    @property
    def databases(self) -> Databases[D]:
        """Registered databases: their policy, settings and measured windows."""
        return Databases(self.driver)

    @property
    def sessions(self) -> Sessions[D]:
        """Tuning sessions: their objective, and every trial."""
        return Sessions(self.driver)

    @property
    def recommendations(self) -> Recommendations[D]:
        """The next settings to try: ask, read, approve, reject, roll back."""
        return Recommendations(self.driver)

    @property
    def observations(self) -> Observations[D]:
        """All observations, as data sets: JSON lines, CSV, Parquet."""
        return Observations(self.driver)

    @property
    def summary(self) -> Summary[D]:
        """The events and the load of the last days, of the fleet or of one database."""
        return Summary(self.driver)

    @property
    def predictions(self) -> Predictions[D]:
        """What-if: the p99 and QPS of given settings."""
        return Predictions(self.driver)

    @property
    def models(self) -> Models[D]:
        """Model versions: register, score, run in the shadow, promote, roll back."""
        return Models(self.driver)

    @property
    def workloads(self) -> Workloads[D]:
        """The workloads of the fleet: signatures, lessons, similarity."""
        return Workloads(self.driver)

    @property
    def protection(self) -> Protection[D]:
        """Guardrails, their events, and maintenance windows."""
        return Protection(self.driver)

    @property
    def tokens(self) -> Tokens[D]:
        """Tokens and their scopes."""
        return Tokens(self.driver)

    @property
    def audit(self) -> Audit[D]:
        """The audit trail."""
        return Audit(self.driver)

    @property
    def receivers(self) -> Receivers[D]:
        """Receivers of notifications, and the log of deliveries."""
        return Receivers(self.driver)

    @property
    def knobs(self) -> Knobs[D]:
        """The catalogue of settings."""
        return Knobs(self.driver)

    @property
    def agents(self) -> Agents[D]:
        """Reports from agents, and directives to them."""
        return Agents(self.driver)

    @property
    def health(self) -> Health[D]:
        """For the operators of the service; no token is needed."""
        return Health(self.driver)
