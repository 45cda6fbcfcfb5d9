"""The audit log's chain: each entry's hash covers the one before, so that none can be changed or taken out unseen."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

import msgspec

from fleetform.ports.store import AuditEntry, Deed


def chained(deeds: Sequence[Deed], number: int, previous: str) -> list[AuditEntry]:
    """Deeds as entries behind the one with that number and hash."""
    entries: list[AuditEntry] = []
    for deed in deeds:
        number += 1
        entry = AuditEntry(number, deed, previous, _hash(number, deed, previous))
        entries.append(entry)
        previous = entry.hash
    return entries


def first_broken(entries: Iterable[AuditEntry]) -> int | None:
    """The number of the first entry that does not follow from those before it; None if all do."""
    previous = ""
    for number, entry in enumerate(entries, 1):
        fits = entry.number == number and entry.previous == previous
        if not fits or entry.hash != _hash(number, entry.deed, previous):
            return number
        previous = entry.hash
    return None


def _hash(number: int, deed: Deed, previous: str) -> str:
    content = msgspec.json.encode([number, previous, deed], order="deterministic")
    return "sha256:" + hashlib.sha256(content).hexdigest()
