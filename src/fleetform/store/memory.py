"""The store in memory, for tests and trials: the same contract, gone with the process."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from datetime import datetime

from msgspec import structs

from fleetform.model.objects import Ref
from fleetform.ports.store import (
    KEPT_IN_FEED,
    AuditEntry,
    Changes,
    Commit,
    ConflictError,
    Delete,
    Event,
    ExpiredError,
    Notified,
    Outgoing,
    Page,
    Put,
    Record,
    refuse_doubles,
)
from fleetform.store.audit_chain import chained


class MemoryStore:
    """Keeps what records were before as a list of (record, the version that ended it)."""

    def __init__(self) -> None:
        self._version = 0
        self._oldest = 0
        self._records: dict[Ref, Record] = {}
        self._past: list[tuple[Record, int]] = []
        self._removed: dict[Ref, int] = {}
        self._events: list[Event] = []
        self._audit: list[AuditEntry] = []
        self._messages: list[Outgoing] = []
        self._done: set[int] = set()
        self._blobs: dict[str, bytes] = {}

    def version(self) -> int:
        return self._version

    def get(self, ref: Ref) -> Record | None:
        return self._records.get(ref)

    def list(
        self,
        kind: str,
        organization: str | None = None,
        *,
        limit: int = 0,
        after: Ref | None = None,
        version: int | None = None,
    ) -> Page:
        asked = self._version if version is None else version
        self._check(asked)
        found = [each for each in self._records.values() if each.version <= asked]
        found += [each for each, ended in self._past if each.version <= asked < ended]
        found = [
            each
            for each in sorted(found, key=lambda each: each.ref)
            if each.ref.kind == kind
            and (organization is None or each.ref.organization == organization)
            and (after is None or each.ref[1:] > after[1:])
        ]
        records = found[: limit or None]
        return Page(records, asked, records[-1].ref if len(found) > len(records) else None)

    def changes(self, since: int, limit: int = 0) -> Changes:
        self._check(since)
        versions = sorted(
            version
            for version in (*(each.version for each in self._records.values()), *self._removed.values())
            if version > since
        )
        upto = versions[limit - 1] if limit and len(versions) >= limit else self._version
        records = [each for each in self._records.values() if since < each.version <= upto]
        removed = [(ref, version) for ref, version in self._removed.items() if since < version <= upto]
        return Changes(
            sorted(records, key=lambda each: (each.version, each.ref)),
            sorted(removed, key=lambda each: (each[1], each[0])),
            upto,
        )

    def _check(self, version: int) -> None:
        if not self._oldest <= version <= self._version:
            raise ExpiredError(version, self._oldest)

    def blob(self, digest: str) -> bytes | None:
        return self._blobs.get(digest)

    def events(
        self,
        organization: str,
        cluster: str,
        plugin: str | None = None,
        until: datetime | None = None,
        limit: int = 0,
    ) -> Sequence[Event]:
        found = [
            (each.at, number, each)
            for number, each in enumerate(self._events)
            if (each.organization, each.cluster) == (organization, cluster)
            and (plugin is None or each.plugin == plugin)
            and (until is None or each.at <= until)
        ]
        found.sort(key=lambda each: each[:2], reverse=True)
        return [each for _, _, each in found[: limit or None]]

    def audit(self, after: int = 0, limit: int = 0) -> Sequence[AuditEntry]:
        return self._audit[after : after + limit if limit else None]

    def outbox(self, due: datetime, limit: int = 0) -> Sequence[Outgoing]:
        waiting = [each for each in self._messages if each.number not in self._done and each.due <= due]
        return waiting[: limit or None]

    def feed(self, organization: str | None = None, *, before: int = 0, limit: int = 0) -> Sequence[Notified]:
        kept: Counter[str] = Counter()
        found = []
        for each in reversed(self._messages):
            if each.message.endpoint or organization not in (None, each.message.organization):
                continue
            kept[each.message.organization] += 1
            if kept[each.message.organization] <= KEPT_IN_FEED and (not before or each.number < before):
                found.append(Notified(each.number, each.message))
        return found[: limit or None]

    def told(self, keys: Collection[str]) -> frozenset[str]:
        return frozenset(keys) & {each.message.key for each in self._messages}

    def commit(self, commit: Commit, at: datetime) -> int:
        for write in commit.writes:
            found = self._records[write.ref].version if write.ref in self._records else 0
            if write.expected is not None and write.expected != found:
                raise ConflictError(write.ref, write.expected, found)
        refuse_doubles(commit.writes)
        changed = [self._write(each) for each in commit.writes]
        self._version += any(changed)
        self._events += commit.events
        last = self._audit[-1] if self._audit else None
        self._audit += chained(commit.deeds, last.number if last else 0, last.hash if last else "")
        told = {each.message.key for each in self._messages} if commit.messages else set()
        for message in commit.messages:
            if message.key not in told:
                told.add(message.key)
                number = len(self._messages) + 1
                self._messages.append(Outgoing(number, message, 0, at))
                if not message.endpoint:
                    self._done.add(number)
        for sent in commit.sent:
            outgoing = self._messages[sent.number - 1]
            self._messages[sent.number - 1] = structs.replace(
                outgoing, tries=outgoing.tries + 1, due=sent.due or outgoing.due
            )
            if sent.due is None:
                self._done.add(sent.number)
        for digest, content in commit.blobs:
            self._blobs.setdefault(digest, content)
        return self._version

    def _write(self, write: Put | Delete) -> bool:
        before = self._records.get(write.ref)
        body = write.body if isinstance(write, Put) else None
        if body == (before.body if before is not None else None):
            return False
        version = self._version + 1
        if before is not None:
            self._past.append((before, version))
        if body is None:
            del self._records[write.ref]
            self._removed[write.ref] = version
        else:
            created = before.created if before is not None else version
            self._records[write.ref] = Record(write.ref, version, created, body)
            self._removed.pop(write.ref, None)
        return True

    def compact(self, keep: int) -> None:
        self._oldest = max(self._version - keep, self._oldest)
        self._past = [each for each in self._past if each[1] > self._oldest]
        self._removed = {ref: version for ref, version in self._removed.items() if version > self._oldest}

    def sweep(self, used: Collection[str]) -> int:
        unused = [digest for digest in self._blobs if digest not in used]
        for digest in unused:
            del self._blobs[digest]
        return len(unused)

    def close(self) -> None:
        """Nothing to close."""
