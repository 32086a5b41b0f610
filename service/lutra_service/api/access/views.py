"""Tokens and the audit trail, as answers."""

from __future__ import annotations

from lutra_service.api.access.audit_schemas import AuditAnswer
from lutra_service.api.access.token_schemas import NewTokenAnswer, TokenAnswer
from lutra_service.db.schema.records import AuditEntry, Token


def token(record: Token) -> TokenAnswer:
    return TokenAnswer.model_validate({**vars(record), "database": record.database_id})


def new_token(record: Token, secret: str) -> NewTokenAnswer:
    return NewTokenAnswer.model_validate({**vars(record), "database": record.database_id, "token": secret})


def audit_entry(record: AuditEntry) -> AuditAnswer:
    return AuditAnswer.model_validate({**vars(record), "database": record.database_id, "token": record.token_id})
