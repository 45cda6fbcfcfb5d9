"""notifications: what people were told, the latest first."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import msgspec

from fleetform.app.errors import NotFoundError
from fleetform.model.answers.notifications import Notification, NotificationList
from fleetform.ports.store import StoreReader

_PAGE = 500
_notification = msgspec.json.Decoder(Notification)


def notifications(
    store: StoreReader,
    organization: str | None = None,
    events: Collection[str] = (),
    after: str = "",
    limit: int = 0,
    visible: frozenset[str] | None = None,
) -> tuple[NotificationList, bool]:
    """What was told before the one with an id, and whether there is more. visible are the organizations that somebody
    may know of; None: all. Numbers of the store are not told: they count what others were told, too."""
    told = _told(store, organization, visible)
    if after and not any(each.id == after for each in told):
        raise NotFoundError(f"there is no notification {after} here", "take it from the Link of the page before")
    items: list[Notification] = []
    for each in told:
        if events and each.event not in events:
            continue
        if limit and len(items) == limit:
            return NotificationList(items=items), True
        items.append(each)
    return NotificationList(items=items), False


def _told(store: StoreReader, organization: str | None, visible: frozenset[str] | None) -> Iterator[Notification]:
    """Read in pieces: who asks for the latest few of a long feed does not wait for all of it."""
    before = 0
    while found := store.feed(organization, before=before, limit=_PAGE):
        for each in found:
            if visible is None or each.message.organization in visible:
                yield _notification.decode(each.message.body)
        before = found[-1].number
