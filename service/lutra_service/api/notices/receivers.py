"""/v1/receivers: receivers of notices, tests, and the log of deliveries."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Response
from fastapi.concurrency import run_in_threadpool

from lutra_service.api.http.access import allow
from lutra_service.api.http.deps import (
    IdempotencyDep,
    NotifierDep,
    Page,
    PageQuery,
    StoreDep,
    WaitSeconds,
    paging,
)
from lutra_service.api.http.route import GuardedRoute
from lutra_service.api.notices import schemas
from lutra_service.app.notices import receivers
from lutra_service.common.documents import Document
from lutra_service.db.schema.notices import Delivery, DeliveryState, Receiver
from lutra_service.db.store import UnitOfWork

router = APIRouter(route_class=GuardedRoute, tags=["receivers"], prefix="/v1/receivers")
State = Annotated[DeliveryState | None, Query(description="Only messages in this state.")]


@router.get("")
@allow("admin", of="service")
def list_receivers(
    stored: StoreDep, page: Annotated[PageQuery, Depends(paging("rcv"))]
) -> Page[schemas.ReceiverAnswer]:
    """List the receivers of notices, the oldest first, without their secrets."""
    found = stored.read(lambda unit: unit.receivers.page(limit=page.limit + 1, after=page.after))
    return Page[schemas.ReceiverAnswer].model_validate(page.of([_receiver(r) for r in found]))


@router.post("", status_code=201, response_model=schemas.NewReceiverAnswer)
@allow("admin", of="service")
def create_receiver(body: schemas.NewReceiver, stored: StoreDep, once: IdempotencyDep, response: Response) -> Any:
    """Create a receiver. The secret that signs a webhook is returned only in this answer."""

    def create(unit: UnitOfWork) -> Document:
        made = receivers.create(unit, **body.model_dump(mode="json"))
        answer = schemas.NewReceiverAnswer(**_receiver(made).model_dump(), secret=made.secret)
        return answer.model_dump(mode="json")

    response.status_code, answer = stored.write(lambda unit: once(unit, 201, lambda: create(unit), secrets=("secret",)))
    return answer


@router.get("/{receiver}")
@allow("admin", of="service")
def get_receiver(receiver: str, stored: StoreDep) -> schemas.ReceiverAnswer:
    """One receiver, without its secrets."""
    return _receiver(stored.read(lambda unit: unit.receivers.get(receiver)))


@router.patch("/{receiver}")
@allow("admin", of="service")
def change_receiver(receiver: str, body: schemas.ReceiverPatch, stored: StoreDep) -> schemas.ReceiverAnswer:
    """Change the notices for a receiver, enable or disable it. For another URL or secret, create another receiver."""
    told = body.model_dump(mode="json", exclude_unset=True)
    wishes = {name: value for name, value in told.items() if value is not None or name == "quiet_hours"}
    return _receiver(stored.write(lambda unit: receivers.change(unit, receiver, **wishes)))


@router.delete("/{receiver}")
@allow("admin", of="service")
def delete_receiver(receiver: str, stored: StoreDep) -> schemas.ReceiverAnswer:
    """Delete a receiver, the log of its deliveries, and its waiting messages."""
    return _receiver(stored.write(lambda unit: receivers.delete(unit, receiver)))


@router.post("/{receiver}/test", status_code=202)
@allow("admin", of="service")
async def test_receiver(
    receiver: str, stored: StoreDep, notifier: NotifierDep, seconds: WaitSeconds
) -> schemas.DeliveryAnswer:
    """Send a test at once, before all waiting messages, and try it once. Wait for the result here with
    `Prefer: wait=N`.
    """
    made = await run_in_threadpool(lambda: stored.write(lambda unit: receivers.test(unit, receiver)))

    def look() -> Delivery | None:
        found = stored.read(lambda unit: unit.deliveries.get(made.id))
        return None if found.state == "waiting" else found

    return _delivery(await notifier.wait(made.id, look, seconds, "delivery") or made)


@router.get("/{receiver}/deliveries")
@allow("admin", of="service")
def list_deliveries(
    receiver: str, stored: StoreDep, page: Annotated[PageQuery, Depends(paging("msg"))], state: State = None
) -> Page[schemas.DeliveryAnswer]:
    """List the messages for a receiver with their outcomes, newest first."""

    def listed(unit: UnitOfWork) -> list[Delivery]:
        unit.receivers.get(receiver)
        return unit.deliveries.listed(receiver, page.limit + 1, page.after, state)

    found = stored.read(listed)
    return Page[schemas.DeliveryAnswer].model_validate(page.of([_delivery(d) for d in found]))


def _receiver(record: Receiver) -> schemas.ReceiverAnswer:
    hours = record.quiet_hours
    return schemas.ReceiverAnswer(
        id=record.id,
        name=record.name,
        kind=record.kind,
        address=receivers.address(record),
        kinds=record.kinds,
        databases=record.databases,
        labels=record.labels,
        quiet_hours=None if hours is None else schemas.QuietHoursAnswer(**hours),
        enabled=record.enabled,
        disabled_because=record.disabled_because,
        retry_at=record.retry_at,
        created_at=record.created_at,
    )


def _delivery(record: Delivery) -> schemas.DeliveryAnswer:
    return schemas.DeliveryAnswer(
        id=record.id,
        receiver=record.receiver_id,
        kind=record.kind,
        database=record.database_id,
        text=record.text,
        facts=record.facts,
        state=record.state,
        digest=record.digest_id,
        at=record.at,
        attempts=record.attempts,
        tried_at=record.tried_at,
        status=record.status,
        error=record.error,
        ended_at=record.ended_at,
    )
