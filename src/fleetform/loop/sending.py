"""Sending: messages that are due go out beside the passes, and what came of them is stored by the one who writes.

Each endpoint has a thread of its own while something goes to it, so that one that is slow or dead holds up no pass and
nobody else's messages. A try whose outcome was not stored is made again: everything is sent at least once, under the
same id.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from queue import Empty, SimpleQueue
from threading import Thread
from typing import NamedTuple

import msgspec

from fleetform.app.telling.notices import id_of
from fleetform.loop.endpoints import Disabled, disabled_ref, is_disabled
from fleetform.model.answers.notifications import Notification
from fleetform.ports.clock import Clock
from fleetform.ports.notify import Endpoint, Letter, Notifier, Outcome
from fleetform.ports.store import Commit, Message, Outgoing, Put, Sent, Store
from fleetform.syntax.times import time_text

_FIRST_PAUSE, _LONGEST_PAUSE, _FACTOR = timedelta(seconds=5), timedelta(hours=6), 4
# With the pauses between them, about a day and a half.
MOST_TRIES = 12
_AT_ONCE = 20
_FAR = datetime.max.replace(tzinfo=UTC)
_notification = msgspec.json.Decoder(Notification)

# An endpoint of an organization, by both names.
_Where = tuple[str, str]


class _Tried(NamedTuple):
    """What came of a try; without an outgoing one, that the thread of an endpoint is done."""

    where: _Where
    outgoing: Outgoing | None = None
    outcome: Outcome = Outcome()


class Sending:
    """Called by the one who runs passes. wake is called when something came back; said gets lines for the log.

    endpoint_of is an endpoint as the files say now; None if nobody wants it, a text if something of it is missing.
    """

    def __init__(
        self,
        store: Store,
        notifier: Notifier,
        clock: Clock,
        endpoint_of: Callable[[str, str], Endpoint | str | None],
        wake: Callable[[], None],
        said: Callable[[str], None],
    ) -> None:
        self._store, self._notifier, self._clock = store, notifier, clock
        self._endpoint_of, self._wake, self._said = endpoint_of, wake, said
        self._tried: SimpleQueue[_Tried] = SimpleQueue()
        self._busy: set[_Where] = set()
        self._rests: dict[_Where, datetime] = {}

    def attend(self) -> datetime | None:
        """Stores what came back and hands out what is due; when to look again."""
        self._store_outcomes(self._come_back())
        return self._hand_out()

    def drain(self, seconds: float) -> None:
        """Sends what is due now, for so long at most."""
        until = time.monotonic() + seconds
        self.attend()
        while self._busy and (left := until - time.monotonic()) > 0:
            try:
                first = self._tried.get(timeout=left)
            except Empty:
                return
            self._tried.put(first)
            self.attend()

    # ---- What came back

    def _come_back(self) -> list[_Tried]:
        found = []
        while not self._tried.empty():
            each = self._tried.get()
            if each.outgoing is None:
                self._busy.discard(each.where)
            else:
                found.append(each)
        return found

    def _store_outcomes(self, tried: Sequence[_Tried]) -> None:
        """In one commit. If it fails the tries are made again."""
        now = self._clock.now()
        sent: list[Sent] = []
        writes: list[Put] = []
        messages: list[Message] = []
        for where, outgoing, outcome in tried:
            assert outgoing is not None
            due = _next_try(outgoing, outcome, now)
            sent.append(Sent(outgoing.number, due))
            if due is not None:
                self._rests[where] = due
            if outcome.gone and not is_disabled(self._store, *where):
                writes.append(Put(disabled_ref(*where), msgspec.json.encode(Disabled(now, outcome.failure))))
            if due is None and not outcome.arrived:
                messages.append(_not_delivered(where, outgoing, outcome, now))
                self._said(f"a notification for {where[0]} was given up: {outcome.failure}")
            elif not outcome.arrived and outgoing.tries == 0:
                self._said(f"a notification for {where[0]} did not arrive and is tried again: {outcome.failure}")
        unique = {each.ref: each for each in writes}
        self._store.commit(Commit(list(unique.values()), messages=messages, sent=sent), now)

    # ---- What goes out

    def _hand_out(self) -> datetime | None:
        now = self._clock.now()
        waiting: dict[_Where, list[Outgoing]] = {}
        looks: list[datetime] = []
        for each in self._store.outbox(_FAR):
            where = (each.message.organization, each.message.endpoint)
            due = max(each.due, self._rests.get(where, each.due))
            if where in self._busy:
                continue
            if due <= now:
                waiting.setdefault(where, []).append(each)
            else:
                looks.append(due)
        for where, letters in waiting.items():
            self._begin(where, letters[:_AT_ONCE])
        return min(looks, default=None)

    def _begin(self, where: _Where, letters: list[Outgoing]) -> None:
        endpoint = self._endpoint_of(*where)
        if endpoint is None or is_disabled(self._store, *where):
            # Nobody wants it any more. It stands in the feed all the same.
            self._store.commit(Commit(sent=[Sent(each.number) for each in letters]), self._clock.now())
            return
        self._busy.add(where)
        if isinstance(endpoint, str):
            self._tried.put(_Tried(where, letters[0], Outcome(endpoint)))
            self._tried.put(_Tried(where))
            self._wake()
            return
        Thread(target=self._send, args=(where, endpoint, letters), daemon=True).start()

    def _send(self, where: _Where, endpoint: Endpoint, letters: list[Outgoing]) -> None:
        """Runs in a thread of its own. Where one does not arrive the others wait, too."""
        try:
            for each in letters:
                letter = Letter(id_of(each.message.key), _notification.decode(each.message.body))
                outcome = self._notifier.send(endpoint, letter, self._clock.now())
                self._tried.put(_Tried(where, each, outcome))
                if not outcome.arrived:
                    break
        finally:
            self._tried.put(_Tried(where))
            self._wake()


def pause_after(message: Message, tries: int) -> timedelta:
    """How long until the next try: longer each time, and by up to a quarter more, as the message itself says, so that
    many that failed together do not come back together."""
    grown: timedelta = min(_FIRST_PAUSE * _FACTOR ** min(tries, 10), _LONGEST_PAUSE)
    drawn = int.from_bytes(hashlib.sha256(f"{message.key} {tries}".encode()).digest()[:4], "big") / (1 << 32)
    return grown * (1 + drawn / 4)


def _next_try(outgoing: Outgoing, outcome: Outcome, now: datetime) -> datetime | None:
    if outcome.arrived or outcome.gone or outgoing.tries + 1 >= MOST_TRIES:
        return None
    return now + max(pause_after(outgoing.message, outgoing.tries), outcome.wait or timedelta(0))


def _not_delivered(where: _Where, outgoing: Outgoing, outcome: Outcome, now: datetime) -> Message:
    """For the feed alone, once a day for each endpoint."""
    organization, endpoint = where
    key = f"NotDelivered|{organization}/{endpoint}|{now:%Y-%m-%d}"
    told = Notification(
        id=id_of(key),
        event="NotDelivered",
        at=time_text(now),
        organization=organization,
        preset="",
        title=f"notifications do not arrive at endpoint {endpoint}: {outcome.failure}",
        clusters=0,
        names=[],
        do="check spec.notifications of the Organization, and what receives them",
    )
    return Message(key, now, organization, told.event, msgspec.json.encode(told))
