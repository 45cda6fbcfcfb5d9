"""audit: who did what, who was refused, and whether the log is as it was written."""

from __future__ import annotations

from collections.abc import Iterable

from fleetform.model.answers.access import AuditItem, AuditLog
from fleetform.ports.store import AuditEntry, Deed, StoreReader
from fleetform.syntax.times import parse_time, time_text


def audit(store: StoreReader, after: int, limit: int, visible: frozenset[str] | None = None) -> tuple[AuditLog, int]:
    """Entries behind a number; visible are the organizations whose entries are told. And the last one looked at."""
    entries = store.audit(after, limit)
    told = [each for each in entries if visible is None or each.deed.organization in visible]
    last = entries[-1].number if entries else after
    return AuditLog(whole=visible is None, items=[_item(each) for each in told]), last


def entries_of(items: Iterable[AuditItem]) -> list[AuditEntry]:
    """Entries again, from what was exported."""
    return [
        AuditEntry(
            each.number,
            Deed(
                parse_time(each.at),
                each.actor,
                each.verb,
                each.subject,
                each.outcome,
                each.organization,
                each.detail,
            ),
            each.previous,
            each.hash,
        )
        for each in items
    ]


def _item(entry: AuditEntry) -> AuditItem:
    deed = entry.deed
    return AuditItem(
        number=entry.number,
        at=time_text(deed.at),
        actor=deed.actor,
        verb=deed.verb,
        subject=deed.subject,
        outcome=deed.outcome,
        organization=deed.organization,
        detail=deed.detail,
        previous=entry.previous,
        hash=entry.hash,
    )
