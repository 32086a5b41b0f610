"""Tokens and the audit trail, as answers."""

from __future__ import annotations

from lutra_service.api.access.audit_schemas import AuditAnswer
from lutra_service.api.access.token_schemas import EnrolmentAnswer, NewTokenAnswer, OwnTokenAnswer, TokenAnswer
from lutra_service.app.access.tokens import SCOPES, Principal
from lutra_service.common.documents import Document
from lutra_service.db.schema.records import AuditEntry, Database, Token


def token(record: Token) -> TokenAnswer:
    return TokenAnswer.model_validate(_told(record))


def new_token(record: Token, secret: str) -> NewTokenAnswer:
    return NewTokenAnswer.model_validate({**_told(record), "token": secret})


def enrolment(database: Database, token: Token, secret: str) -> EnrolmentAnswer:
    return EnrolmentAnswer(
        database=database.id, name=database.name, engine=database.engine, token_id=token.id, token=secret
    )


def own_token(who: Principal) -> OwnTokenAnswer:
    held = [scope for scope in SCOPES if scope in who.held]
    return OwnTokenAnswer(id=who.token_id, name=who.name, scopes=held, database=who.database_id)


def _told(record: Token) -> Document:
    return {
        "id": record.id,
        "name": record.name,
        "scopes": record.scopes,
        "database": record.database_id,
        "created_at": record.created_at,
        "revoked_at": record.revoked_at,
        "expires_at": record.expires_at,
        "last_used_at": record.last_used_at,
    }


def audit_entry(record: AuditEntry) -> AuditAnswer:
    return AuditAnswer.model_validate(
        {
            "id": record.id,
            "at": record.at,
            "action": record.action,
            "target": record.target,
            "database": record.database_id,
            "token": record.token_id,
            "token_name": record.token_name,
            "address": record.address,
            "request_id": record.request_id,
            "before": record.before,
            "after": record.after,
        }
    )
