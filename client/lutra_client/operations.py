"""Each operation of the REST interface. Made of service/openapi.json by `python -m tests.contract.test_client`: change that, not this."""

# ruff: noqa: E501

from __future__ import annotations

from datetime import datetime
from typing import Literal, Unpack

from lutra_client import schemas
from lutra_client.binding import call, pages, rows
from lutra_client.requests import Request, given, key, path, prefer


class Operations:
    """One method an operation, called as the document calls it."""

    @call
    def register_database(
        self, *, idempotency_key: str | None = None, **body: Unpack[schemas.NewDatabase]
    ) -> Request[schemas.DatabaseAnswer]:
        """Register a database server. Its agent then needs a token of its own.

        name: What people call it; no two databases have the same name.
        engine: Which kind of server it is: one of the engines that the catalogue has.
        policy: What the operator allows.
        label: Databases of one label belong together; those without any belong together too."""
        return Request("POST", path("/v1/databases"), headers=key(idempotency_key), body=body, once=True)

    @pages
    def list_databases(
        self, *, name: str | None = None, retired: bool | None = None, limit: int | None = None
    ) -> Request[schemas.DatabaseAnswer]:
        """Those that the token reaches, the oldest first.

        name: Only the one of exactly this name.
        retired: Those that are retired, in place of those in use.
        limit: How many items a page has at most. The others follow when they are looked at."""
        return Request("GET", path("/v1/databases"), query=given(name=name, retired=retired, limit=limit))

    @call
    def get_database(self, database: str, /) -> Request[schemas.DatabaseAnswer]:
        """Its policy, server and host, and its agent's newest status."""
        return Request("GET", path("/v1/databases/{database}", database=database))

    @call
    def change_database(
        self, database: str, /, **body: Unpack[schemas.DatabasePatch]
    ) -> Request[schemas.DatabaseAnswer]:
        """Change the policy: pins, ranges, which settings may move, durability, restart, host, the memory limit, the past.

        The label decides which databases share what was learned, so a token that is bound to one database cannot set it.

        policy: The parts of the policy that change.
        label: Databases of one label belong together; those without any belong together too."""
        return Request("PATCH", path("/v1/databases/{database}", database=database), body=body)

    @call
    def delete_database(self, database: str, /) -> Request[schemas.DatabaseAnswer]:
        """Delete a retired database for good: its windows, sessions, recommendations, models, memory and tokens.

        The audit trail keeps what was done to it, and that it was deleted. 409 for a database that is not retired."""
        return Request("DELETE", path("/v1/databases/{database}", database=database))

    @call
    def retire_database(self, database: str, /) -> Request[schemas.DatabaseAnswer]:
        """Hide it from lists, and refuse its agent's reports from now on. What was stored stays.

        409 while a session is open or an agent has a change in hand."""
        return Request("PUT", path("/v1/databases/{database}/retired", database=database))

    @call
    def unretire_database(self, database: str, /) -> Request[schemas.DatabaseAnswer]:
        """Put a retired database back into use. Its agent's reports are stored again."""
        return Request("DELETE", path("/v1/databases/{database}/retired", database=database))

    @call
    def create_token(
        self, database: str, /, *, idempotency_key: str | None = None, **body: Unpack[schemas.NewToken]
    ) -> Request[schemas.NewTokenAnswer]:
        """A token that reaches this database alone. The secret is in this answer and nowhere else.

        name: For people: whose it is, or what for.
        scopes: What it may do: `operate` and `models` include `read`, `admin` includes all of them.
        expires_at: Until when it is valid; null: until it is revoked."""
        return Request(
            "POST",
            path("/v1/databases/{database}/tokens", database=database),
            headers=key(idempotency_key),
            body=body,
            once=True,
        )

    @pages
    def list_tokens(self, database: str, /, *, limit: int | None = None) -> Request[schemas.TokenAnswer]:
        """The tokens of this database, the oldest first, without their secrets.

        limit: How many items a page has at most. The others follow when they are looked at."""
        return Request("GET", path("/v1/databases/{database}/tokens", database=database), query=given(limit=limit))

    @call
    def revoke_token(self, database: str, token: str, /) -> Request[schemas.TokenAnswer]:
        """End a token for good. Doing it twice is no error."""
        return Request("DELETE", path("/v1/databases/{database}/tokens/{token}", database=database, token=token))

    @pages
    def list_all_tokens(self, *, limit: int | None = None) -> Request[schemas.TokenAnswer]:
        """Every token, whether it is bound to a database or to none, with its expiry and last use.

        limit: How many items a page has at most. The others follow when they are looked at."""
        return Request("GET", path("/v1/tokens"), query=given(limit=limit))

    @call
    def create_global_token(
        self, *, idempotency_key: str | None = None, **body: Unpack[schemas.NewToken]
    ) -> Request[schemas.NewTokenAnswer]:
        """A token that reaches every database. The secret is in this answer and nowhere else.

        name: For people: whose it is, or what for.
        scopes: What it may do: `operate` and `models` include `read`, `admin` includes all of them.
        expires_at: Until when it is valid; null: until it is revoked."""
        return Request("POST", path("/v1/tokens"), headers=key(idempotency_key), body=body, once=True)

    @call
    def revoke_any_token(self, token: str, /) -> Request[schemas.TokenAnswer]:
        """Revoke a token, whatever it is bound to."""
        return Request("DELETE", path("/v1/tokens/{token}", token=token))

    @call
    def rotate_any_token(
        self, token: str, /, *, idempotency_key: str | None = None, **body: Unpack[schemas.Rotation]
    ) -> Request[schemas.NewTokenAnswer]:
        """A new token in place of this one: the same name, scopes and database, and another secret.

        grace_s: For so many seconds the old secret is valid too.
        expires_at: Until when the new one is valid; null: for as long as the old one was given."""
        return Request(
            "POST", path("/v1/tokens/{token}/rotate", token=token), headers=key(idempotency_key), body=body, once=True
        )

    @call
    def rotate_token(
        self, database: str, token: str, /, *, idempotency_key: str | None = None, **body: Unpack[schemas.Rotation]
    ) -> Request[schemas.NewTokenAnswer]:
        """The same, of a token that is bound to this database.

        grace_s: For so many seconds the old secret is valid too.
        expires_at: Until when the new one is valid; null: for as long as the old one was given."""
        return Request(
            "POST",
            path("/v1/databases/{database}/tokens/{token}/rotate", database=database, token=token),
            headers=key(idempotency_key),
            body=body,
            once=True,
        )

    @pages
    def list_audit(
        self, *, action: str | None = None, since: datetime | str | None = None, limit: int | None = None
    ) -> Request[schemas.AuditAnswer]:
        """Who did what, on every database and to every token, newest first.

        action: Only this action, such as `recommendation.approve`.
        since: Only what was done after it.
        limit: How many items a page has at most. The others follow when they are looked at."""
        return Request("GET", path("/v1/audit"), query=given(action=action, since=since, limit=limit))

    @pages
    def list_database_audit(
        self,
        database: str,
        /,
        *,
        action: str | None = None,
        since: datetime | str | None = None,
        limit: int | None = None,
    ) -> Request[schemas.AuditAnswer]:
        """Who did what to this database, newest first.

        action: Only this action, such as `recommendation.approve`.
        since: Only what was done after it.
        limit: How many items a page has at most. The others follow when they are looked at."""
        return Request(
            "GET",
            path("/v1/databases/{database}/audit", database=database),
            query=given(action=action, since=since, limit=limit),
        )

    @pages
    def list_settings(self, database: str, /) -> Request[schemas.SettingAnswer]:
        """The settings as the agent last reported them, and which of them may move now."""
        return Request("GET", path("/v1/databases/{database}/settings", database=database))

    @pages
    def list_windows(
        self,
        database: str,
        /,
        *,
        metric: list[str] | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        limit: int | None = None,
    ) -> Request[schemas.WindowAnswer]:
        """What was measured, newest first: QPS, TPS, p99 with its source, counters, and how busy the host was besides.

        metric: Only these of its metrics; may be repeated.
        since: Only windows that ended after it.
        until: Only windows that began before it.
        limit: How many items a page has at most. The others follow when they are looked at."""
        return Request(
            "GET",
            path("/v1/databases/{database}/windows", database=database),
            query=given(metric=metric, since=since, until=until, limit=limit),
        )

    @call
    def list_symptoms(self, database: str, /, *, minutes: int | None = None) -> Request[schemas.SymptomsAnswer]:
        """What the latest windows under the active settings show, the most harmful first, and what would cure it.

        minutes: How far back the windows reach."""
        return Request(
            "GET", path("/v1/databases/{database}/symptoms", database=database), query=given(minutes=minutes)
        )

    @pages
    def list_symptom_history(
        self,
        database: str,
        /,
        *,
        since: datetime | str | None = None,
        gone: bool | None = None,
        limit: int | None = None,
    ) -> Request[schemas.EpisodeAnswer]:
        """Since when each symptom shows or showed, and when it went, newest first.

        since: Only those that showed after it.
        gone: Only those that are gone, or only those that show.
        limit: How many items a page has at most. The others follow when they are looked at."""
        return Request(
            "GET",
            path("/v1/databases/{database}/symptoms/history", database=database),
            query=given(since=since, gone=gone, limit=limit),
        )

    @pages
    def list_accepted_symptoms(self, database: str, /) -> Request[schemas.AcceptedAnswer]:
        """The risks that somebody takes, also those whose time is over."""
        return Request("GET", path("/v1/databases/{database}/symptoms/accepted", database=database))

    @call
    def accept_symptom(
        self, database: str, symptom: str, /, **body: Unpack[schemas.AcceptBody]
    ) -> Request[schemas.AcceptedAnswer]:
        """Accept the risk for a reason and a time, in place of what was accepted before.

        The symptom then comes last and fails no check. It counts again when the time is over, when somebody withdraws this,
        or when its kind has become a worse one.

        because: Why; people read it beside the finding.
        until: From then on it counts again."""
        return Request(
            "PUT",
            path("/v1/databases/{database}/symptoms/accepted/{symptom}", database=database, symptom=symptom),
            body=body,
        )

    @call
    def withdraw_accepted_symptom(self, database: str, symptom: str, /) -> Request[schemas.AcceptedAnswer]:
        """Let it count again."""
        return Request(
            "DELETE", path("/v1/databases/{database}/symptoms/accepted/{symptom}", database=database, symptom=symptom)
        )

    @call
    def get_guardrails(self, database: str, /) -> Request[schemas.GuardrailsBody]:
        """Every guard with its limit and hold time, and who set it."""
        return Request("GET", path("/v1/databases/{database}/guardrails", database=database))

    @call
    def set_guardrails(
        self, database: str, /, **body: Unpack[schemas.GuardrailsBody]
    ) -> Request[schemas.GuardrailsBody]:
        """Set guardrails in place of those set here before. The agent keeps them on its own disk.

        What was read can be edited and put back whole: a guardrail that still has the `origin` agent or default, and the
        values that hold there, stays theirs.

        guardrails: The guards by name.
        firing: The guards that fire now, by the agent's newest report."""
        return Request("PUT", path("/v1/databases/{database}/guardrails", database=database), body=body)

    @pages
    def list_events(
        self, database: str, /, *, since: datetime | str | None = None, limit: int | None = None
    ) -> Request[schemas.EventAnswer]:
        """Guards that fired, with the figures, newest first.

        since: Only those that happened after it.
        limit: How many items a page has at most. The others follow when they are looked at."""
        return Request(
            "GET", path("/v1/databases/{database}/events", database=database), query=given(since=since, limit=limit)
        )

    @call
    def get_maintenance_windows(self, database: str, /) -> Request[schemas.MaintenanceBody]:
        """When a restart may be, in mode restart_in_window."""
        return Request("GET", path("/v1/databases/{database}/maintenance-windows", database=database))

    @call
    def set_maintenance_windows(
        self, database: str, /, **body: Unpack[schemas.MaintenanceBody]
    ) -> Request[schemas.MaintenanceBody]:
        """Set them in place of those before. With none, nothing is restarted in mode restart_in_window.

        windows: Every weekly window.
        open_until: The end of the window that is open now, null where none is.
        next: The next one to begin."""
        return Request("PUT", path("/v1/databases/{database}/maintenance-windows", database=database), body=body)

    @call
    def send_report(self, database: str, /, **body: Unpack[schemas.Report]) -> Request[schemas.Receipt]:
        """Take a report in. Idempotent by (agent, epoch, sequence); the answer holds the current directive.

        protocol: The protocol that the agent speaks.
        agent: The agent's name.
        epoch: The id of the agent's state: a new one when the agent has lost its state.
        sequence: The report's number in the epoch.
        sent_at: When the report was made.
        engine: Which kind of server it is; the one that the database was registered with.
        engine_version: The server's version.
        role: Whether the server accepts writes.
        identifier: The server's own identifier; empty where it has none.
        host: What the server may use of its host.
        peak_connections: The most connections seen at once; 0 where unknown.
        settings_hash: A digest of the settings that are active.
        settings: Every setting, where the digest is new or the service asked for them.
        window: The interval in which the metrics were measured.
        metrics: By name, in the unit of the name. What was not measured is left out.
        texts: By name, names of the database's objects at the end of the window; one line each.
        p99_source: Where `p99_ms` comes from.
        p99_of: What `p99_ms` is the latency of.
        context: The circumstances of the measurement, such as the load's threads.
        measures: The directive whose configuration this window measured.
        failure: Why nothing could be measured under it.
        ended_early: That its window was ended before its time, with the bound that it gave instead of a value.
        outcomes: What happened to directives.
        events: Guards that fired.
        rolled_back: Rollbacks on the host that no report held before.
        status: The agent's status."""
        return Request("POST", path("/v1/databases/{database}/reports", database=database), body=body)

    @call
    def get_directive(
        self, database: str, /, *, agent: str | None = None, epoch: str | None = None, wait_s: float | None = None
    ) -> Request[schemas.Directive | None]:
        """The directive to carry out now, to one agent at a time. With `Prefer: wait=N` the answer waits for one.

        agent: Who asks, as its reports say. Without it: who reported last.
        epoch: The epoch of its reports."""
        return Request(
            "GET",
            path("/v1/databases/{database}/directive", database=database),
            query=given(agent=agent, epoch=epoch),
            headers=prefer(wait_s),
            waits_s=wait_s or 0.0,
        )

    @call
    def ask_recommendation(
        self,
        database: str,
        /,
        *,
        wait_s: float | None = None,
        idempotency_key: str | None = None,
        **body: Unpack[schemas.NewRecommendation],
    ) -> Request[schemas.RecommendationAnswer]:
        """Suggest the next settings now, or check an operator's own (`settings`).

        202 while there is no next one yet: it is being computed, or the one before it is still under way and is the
        answer. Look at `Location` then, or wait here with `Prefer: wait=N` until the next one is there.

        settings: An operator's own settings: texts with units, or numbers in the server's own unit.
        approve: With `settings`: approve them at once."""
        return Request(
            "POST",
            path("/v1/databases/{database}/recommendations", database=database),
            headers=key(idempotency_key) | prefer(wait_s),
            waits_s=wait_s or 0.0,
            body=body,
            once=True,
        )

    @pages
    def list_recommendations(
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
        since: datetime | str | None = None,
        limit: int | None = None,
    ) -> Request[schemas.RecommendationAnswer]:
        """Newest first.

        state: Only those in this state.
        since: Only those that were decided, made active or ended after it.
        limit: How many items a page has at most. The others follow when they are looked at."""
        return Request(
            "GET",
            path("/v1/databases/{database}/recommendations", database=database),
            query=given(state=state, since=since, limit=limit),
        )

    @call
    def get_recommendation(
        self,
        recommendation: str,
        /,
        *,
        until: Literal["computed", "decided", "applied", "measured", "ended"] | None = None,
        wait_s: float | None = None,
    ) -> Request[schemas.RecommendationAnswer]:
        """The settings, the exact change and its undo, reasons, predictions and the memory sum.

        `Prefer: wait=N` waits until it is computed, or came as far as `until` says: decided (approved, rejected or
        expired), applied (or refused), measured, ended. What has ended before that is not waited for.

        until: What `Prefer: wait=N` waits for."""
        return Request(
            "GET",
            path("/v1/recommendations/{recommendation}", recommendation=recommendation),
            query=given(until=until),
            headers=prefer(wait_s),
            waits_s=wait_s or 0.0,
        )

    @call
    def approve_recommendation(
        self, recommendation: str, /, **body: Unpack[schemas.Approving]
    ) -> Request[schemas.RecommendationAnswer]:
        """Let the agent carry it out. With `settings`, a new recommendation of these changes alone, checked again.

        settings: Only these of its changes.
        reason: With `settings`: why the others are left out."""
        return Request(
            "POST", path("/v1/recommendations/{recommendation}/approve", recommendation=recommendation), body=body
        )

    @call
    def reject_recommendation(
        self, recommendation: str, /, **body: Unpack[schemas.TurningDown]
    ) -> Request[schemas.RecommendationAnswer]:
        """Turn it down: its settings are not made active, and not proposed again until something they depend on changes.

        reason: Why. What was turned down is not proposed again until something that it depended on has changed."""
        return Request(
            "POST", path("/v1/recommendations/{recommendation}/reject", recommendation=recommendation), body=body
        )

    @call
    def roll_back_recommendation(
        self, recommendation: str, /, *, idempotency_key: str | None = None, **body: Unpack[schemas.TurningDown]
    ) -> Request[schemas.RecommendationAnswer]:
        """Go back to the settings before it: the answer is the recommendation that does so. Never refused for memory.

        reason: Why. What was turned down is not proposed again until something that it depended on has changed."""
        return Request(
            "POST",
            path("/v1/recommendations/{recommendation}/rollback", recommendation=recommendation),
            headers=key(idempotency_key),
            body=body,
            once=True,
        )

    @call
    def predict(self, database: str, /, **body: Unpack[schemas.NewPrediction]) -> Request[schemas.PredictionsAnswer]:
        """Predicted p99 and QPS of `settings` merged with the current ones, with the record of past predictions.

        They are for the load of now, or for the `rate` that is named.

        settings: Merged with the current ones: texts with units, or numbers in the server's own unit.
        level: The probability that each interval is to hold the reading.
        rate: On a live database, what clients offer in a second, in the unit that `load` of an answer names; null for the load of now. A rate that was not measured is refused."""
        return Request("POST", path("/v1/databases/{database}/predictions", database=database), body=body)

    @call
    def open_session(
        self, database: str, /, *, idempotency_key: str | None = None, **body: Unpack[schemas.NewSession]
    ) -> Request[schemas.SessionAnswer]:
        """Open a tuning session. An agent may open one in mode lab for its own database (`lutra-agent tune`).

        objective: The metric, and which way is better.
        limits: What must hold besides.
        mode: The most that is asked for; the agent's own file caps it.
        approval: Whether each recommendation waits for somebody, or trials follow each other by themselves.
        max_trials: How many trials at most.
        verification_rounds: In a lab, how often each finalist is measured at most before the handover, after the trials and beside `max_trials`; it takes three to tell a gain. 0 hands over what the model names, unverified.
        max_changes: How many settings a recommendation may change at most, counted from the session's begin; null for any.
        exploration: On a live database, how many trials may be made only to learn what settings do. In a lab all of them may.
        loads: In a lab, the loads that each trial is measured under, one after the other; empty for the driver's own load.
        aim: With `loads`, what is to become better: the weighted geometric mean of the objective's ratios to the baseline's readings under each load, or the worst of these ratios.
        seed: The same seed and the same measurements give the same recommendations."""
        return Request(
            "POST",
            path("/v1/databases/{database}/sessions", database=database),
            headers=key(idempotency_key),
            body=body,
            once=True,
        )

    @pages
    def list_sessions(self, database: str, /, *, limit: int | None = None) -> Request[schemas.SessionAnswer]:
        """Newest first.

        limit: How many items a page has at most. The others follow when they are looked at."""
        return Request("GET", path("/v1/databases/{database}/sessions", database=database), query=given(limit=limit))

    @call
    def get_session(self, session: str, /) -> Request[schemas.SessionAnswer]:
        """Its state."""
        return Request("GET", path("/v1/sessions/{session}", session=session))

    @call
    def pause_session(self, session: str, /) -> Request[schemas.SessionAnswer]:
        """Take no further step; what is under way ends."""
        return Request("POST", path("/v1/sessions/{session}/pause", session=session))

    @call
    def resume_session(self, session: str, /) -> Request[schemas.SessionAnswer]:
        """Go on. On a server that became another one it begins again there."""
        return Request("POST", path("/v1/sessions/{session}/resume", session=session))

    @call
    def stop_session(self, session: str, /) -> Request[schemas.SessionAnswer]:
        """End it for good, and withdraw what is not yet applied."""
        return Request("POST", path("/v1/sessions/{session}/stop", session=session))

    @pages
    def list_trials(self, session: str, /) -> Request[schemas.TrialAnswer]:
        """Every trial in order, as JSON or (`?format=csv`) as a table.

        In the table a text that begins like a spreadsheet's formula has an apostrophe in front."""
        return Request("GET", path("/v1/sessions/{session}/trials", session=session))

    @call
    def get_history(self, session: str, /) -> Request[schemas.HistoryAnswer]:
        """What `recommend` would see now: `lutra_models.serial.history_from_dict` makes a `History` of it."""
        return Request("GET", path("/v1/sessions/{session}/history", session=session))

    @rows
    def list_observations(
        self,
        *,
        engine: str | None = None,
        database: str | None = None,
        session: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        metric: list[str] | None = None,
    ) -> Request[schemas.ObservationAnswer]:
        """What was measured on every database that the token reaches: JSON lines, CSV or Parquet.

        The answer streams. Where it breaks off, not all of it came. A table has at most 5,000 columns: name metrics where
        there would be more.

        engine: Only databases of this engine.
        database: Only this database.
        session: Only this session.
        since: Only what ended, or failed, after it.
        until: Only what began, or failed, before it.
        metric: Only these of its metrics; may be repeated. What measured none of them is left out, but for a failure."""
        return Request(
            "GET",
            path("/v1/observations"),
            query=given(engine=engine, database=database, session=session, since=since, until=until, metric=metric),
        )

    @rows
    def list_database_observations(
        self,
        database: str,
        /,
        *,
        session: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        metric: list[str] | None = None,
    ) -> Request[schemas.ObservationAnswer]:
        """What was measured on one database, in its sessions and between them.

        session: Only this session.
        since: Only what ended, or failed, after it.
        until: Only what began, or failed, before it.
        metric: Only these of its metrics; may be repeated. What measured none of them is left out, but for a failure."""
        return Request(
            "GET",
            path("/v1/databases/{database}/observations", database=database),
            query=given(session=session, since=since, until=until, metric=metric),
        )

    @rows
    def list_session_observations(
        self,
        session: str,
        /,
        *,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        metric: list[str] | None = None,
    ) -> Request[schemas.ObservationAnswer]:
        """What was measured while one session was open.

        since: Only what ended, or failed, after it.
        until: Only what began, or failed, before it.
        metric: Only these of its metrics; may be repeated. What measured none of them is left out, but for a failure."""
        return Request(
            "GET",
            path("/v1/sessions/{session}/observations", session=session),
            query=given(since=since, until=until, metric=metric),
        )

    @pages
    def list_knobs(self, *, engine: str, version: str | None = None) -> Request[schemas.KnobAnswer]:
        """Every setting that Lutra knows of an engine: meaning, range, risk, restart or reload.

        engine: Which kind of server.
        version: Only what this version has."""
        return Request("GET", path("/v1/knobs"), query=given(engine=engine, version=version))

    @pages
    def list_models(
        self, *, state: Literal["candidate", "champion", "retired"] | None = None, limit: int | None = None
    ) -> Request[schemas.ModelAnswer]:
        """Every model version, newest first; what the package ships comes last.

        state: Only those in this state.
        limit: How many items a page has at most. The others follow when they are looked at."""
        return Request("GET", path("/v1/models"), query=given(state=state, limit=limit))

    @call
    def register_model(
        self, *, idempotency_key: str | None = None, **body: Unpack[schemas.NewModel]
    ) -> Request[schemas.ModelAnswer]:
        """Register an options document as a candidate. It serves nothing until it is promoted.

        What it names of other packages is imported in a process of its own: a broken one is refused.

        name: For people: what is tried.
        toml: The document as TOML, such as `lutra models options` prints one.
        options: The document as JSON: a room of options is an object.
        note: Why, in a sentence."""
        return Request("POST", path("/v1/models"), headers=key(idempotency_key), body=body, once=True)

    @call
    def roll_back_model(self) -> Request[schemas.ModelAnswer]:
        """Let the champion before the present one serve again; the present one is retired."""
        return Request("POST", path("/v1/models/rollback"))

    @call
    def get_model(self, model: str, /) -> Request[schemas.ModelDetailAnswer]:
        """One model version with its options, its scorecard, and how it predicts in the shadow beside what serves."""
        return Request("GET", path("/v1/models/{model}", model=model))

    @call
    def get_model_options(self, model: str, /) -> Request[str]:
        """Its options as a TOML document: with each option what it means, and its range."""
        return Request("GET", path("/v1/models/{model}/options", model=model))

    @call
    def score_model(self, model: str, /) -> Request[schemas.ScoringAnswer]:
        """Compute its scorecard from past sessions. The model version itself says how far that is."""
        return Request("POST", path("/v1/models/{model}/score", model=model))

    @call
    def shadow_model(self, model: str, /) -> Request[schemas.ModelAnswer]:
        """Let a candidate predict beside what serves, for each recommendation from now on. It changes nothing of them."""
        return Request("PUT", path("/v1/models/{model}/shadow", model=model))

    @call
    def unshadow_model(self, model: str, /) -> Request[schemas.ModelAnswer]:
        """Let it predict beside what serves no longer. What it predicted stays."""
        return Request("DELETE", path("/v1/models/{model}/shadow", model=model))

    @call
    def promote_model(self, model: str, /, **body: Unpack[schemas.Promoting]) -> Request[schemas.ModelAnswer]:
        """Let it serve from now on, in every process of the service; the champion before it is retired.

        By the rule only where it is shown to be better.

        by_rule: Only where it is shown to be better than the champion, as `beside_champion` of the model version says; otherwise the answer is a conflict that names what is missing."""
        return Request("POST", path("/v1/models/{model}/promote", model=model), body=body)

    @call
    def retire_model(self, model: str, /) -> Request[schemas.ModelAnswer]:
        """Retire a candidate. It can still be promoted later."""
        return Request("POST", path("/v1/models/{model}/retire", model=model))

    @pages
    def list_workloads(
        self, *, engine: str | None = None, database: str | None = None, limit: int | None = None
    ) -> Request[schemas.WorkloadAnswer]:
        """Every workload with its signature, its circumstances and what it taught, newest first.

        engine: Only workloads of this engine.
        database: Only workloads of this database.
        limit: How many items a page has at most. The others follow when they are looked at."""
        return Request("GET", path("/v1/workloads"), query=given(engine=engine, database=database, limit=limit))

    @call
    def list_nearest_workloads(self, workload: str, /, *, count: int | None = None) -> Request[schemas.AlikeAnswers]:
        """The workloads of the same engine and metric that resemble this one most, by the rule that recommendations use.

        Here every workload counts. A recommendation uses only those that both databases' policies allow.

        count: How many are wanted."""
        return Request("GET", path("/v1/workloads/{workload}/nearest", workload=workload), query=given(count=count))

    @call
    def get_workload_history(self, workload: str, /) -> Request[schemas.WorkloadHistoryAnswer]:
        """What was measured of it, also of a table that belongs to no database: what its model was fitted to."""
        return Request("GET", path("/v1/workloads/{workload}/history", workload=workload))

    @call
    def check_alive(self) -> Request[schemas.Alive]:
        """Is the service there?"""
        return Request("GET", path("/healthz"))

    @call
    def check_ready(self) -> Request[schemas.Readiness]:
        """503 while the database does not answer."""
        return Request("GET", path("/readyz"))

    @call
    def get_metrics(self) -> Request[str]:
        """For Prometheus: of this process, and of all databases together; with a token of the scope `read` of each one
        that it reaches, by name."""
        return Request("GET", path("/metrics"))
