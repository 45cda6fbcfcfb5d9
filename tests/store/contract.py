"""The contract of stores: every store is held to these, whatever it is made of."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from fleetform.model.objects import Ref
from fleetform.ports.store import (
    ABSENT,
    KEPT_IN_FEED,
    Commit,
    ConflictError,
    Deed,
    Delete,
    Event,
    ExpiredError,
    Message,
    Put,
    Sent,
    Store,
)
from fleetform.store.audit_chain import first_broken

NOW = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
A, B, C = (Ref("Rollout", "acme", name) for name in ("a", "b", "c"))
OTHER = Ref("Rollout", "zeta", "a")


class StoreContract:
    """Subclasses give an empty store."""

    @pytest.fixture
    def store(self) -> Iterator[Store]:
        raise NotImplementedError

    def test_an_empty_store_has_nothing(self, store: Store) -> None:
        assert store.version() == 0
        assert store.get(A) is None
        assert store.list("Rollout").records == []
        assert store.changes(0).records == []

    def test_what_is_put_is_read_back_with_the_version_of_its_commit(self, store: Store) -> None:
        version = store.commit(Commit([Put(A, b"one"), Put(B, b"two")]), NOW)
        assert version == store.version() == 1
        found = store.get(A)
        assert found is not None
        assert (found.body, found.version, found.created) == (b"one", 1, 1)
        assert [each.ref for each in store.list("Rollout").records] == [A, B]

    def test_a_changed_record_keeps_the_version_that_it_was_created_with(self, store: Store) -> None:
        store.commit(Commit([Put(A, b"one")]), NOW)
        store.commit(Commit([Put(A, b"two")]), NOW)
        found = store.get(A)
        assert found is not None
        assert (found.body, found.version, found.created) == (b"two", 2, 1)

    @pytest.mark.rule("R0-19")
    def test_putting_what_is_there_already_changes_nothing(self, store: Store) -> None:
        store.commit(Commit([Put(A, b"one")]), NOW)
        assert store.commit(Commit([Put(A, b"one"), Delete(B)]), NOW) == 1
        assert store.changes(1).records == []

    def test_a_conditional_write_that_meets_another_version_stores_nothing_of_its_commit(self, store: Store) -> None:
        store.commit(Commit([Put(A, b"one")]), NOW)
        store.commit(Commit([Put(A, b"two")]), NOW)
        event = Event(NOW, "acme", "eu-1", "p", "Started")
        with pytest.raises(ConflictError) as caught:
            store.commit(Commit([Put(B, b"new"), Put(A, b"three", expected=1)], events=[event]), NOW)
        assert (caught.value.ref, caught.value.expected, caught.value.found) == (A, 1, 2)
        assert store.get(B) is None
        assert store.events("acme", "eu-1") == []
        assert store.version() == 2

    def test_a_write_for_something_absent_meets_what_is_there(self, store: Store) -> None:
        store.commit(Commit([Put(A, b"one", expected=ABSENT)]), NOW)
        with pytest.raises(ConflictError):
            store.commit(Commit([Put(A, b"two", expected=ABSENT)]), NOW)
        with pytest.raises(ConflictError):
            store.commit(Commit([Delete(B, expected=1)]), NOW)

    def test_a_record_written_twice_in_one_commit_is_refused(self, store: Store) -> None:
        with pytest.raises(ValueError, match="Rollout/acme/b is written twice"):
            store.commit(Commit([Put(A, b"one"), Put(B, b"two"), Put(B, b"three")]), NOW)
        assert (store.get(A), store.get(B)) == (None, None)

    def test_a_deleted_record_is_gone_and_may_come_back_as_a_new_one(self, store: Store) -> None:
        store.commit(Commit([Put(A, b"one")]), NOW)
        store.commit(Commit([Delete(A)]), NOW)
        assert store.get(A) is None
        store.commit(Commit([Put(A, b"again", expected=ABSENT)]), NOW)
        found = store.get(A)
        assert found is not None
        assert found.created == 3

    def test_lists_are_of_one_kind_and_if_asked_of_one_organization(self, store: Store) -> None:
        store.commit(Commit([Put(OTHER, b"z"), Put(A, b"a"), Put(Ref("Approval", "acme", "a"), b"x")]), NOW)
        assert [each.ref for each in store.list("Rollout").records] == [A, OTHER]
        assert [each.ref for each in store.list("Rollout", "zeta").records] == [OTHER]

    def test_pages_show_one_state_whatever_is_written_between_them(self, store: Store) -> None:
        store.commit(Commit([Put(A, b"a"), Put(B, b"b"), Put(C, b"c")]), NOW)
        first = store.list("Rollout", limit=1)
        store.commit(Commit([Delete(B), Put(C, b"changed"), Put(OTHER, b"new")]), NOW)
        second = store.list("Rollout", limit=1, after=first.after, version=first.version)
        third = store.list("Rollout", limit=1, after=second.after, version=first.version)
        assert [(each.ref, each.body) for page in (first, second, third) for each in page.records] == [
            (A, b"a"),
            (B, b"b"),
            (C, b"c"),
        ]
        assert third.after is None

    def test_changes_tell_each_record_once_as_it_is_now_and_what_was_removed(self, store: Store) -> None:
        store.commit(Commit([Put(A, b"1"), Put(B, b"1"), Put(C, b"1")]), NOW)
        store.commit(Commit([Put(C, b"2")]), NOW)
        store.commit(Commit([Put(A, b"3"), Delete(B)]), NOW)
        found = store.changes(1)
        assert [(each.ref, each.body) for each in found.records] == [(C, b"2"), (A, b"3")]
        assert found.removed == [(B, 3)]
        assert found.version == 3
        assert store.changes(found.version).records == []

    def test_who_follows_changes_in_small_steps_misses_nothing(self, store: Store) -> None:
        for number in range(12):
            names = [Put(Ref("Rollout", "acme", f"r{(number + each) % 5}"), b"%d" % number) for each in range(3)]
            gone = Ref("Rollout", "acme", f"r{(number + 3) % 5}")
            store.commit(Commit([*names, Delete(gone)]), NOW)
        known: dict[Ref, bytes] = {}
        since = 0
        while since < store.version():
            found = store.changes(since, limit=2)
            known.update((each.ref, each.body) for each in found.records)
            for ref, _ in found.removed:
                known.pop(ref, None)
            assert found.version > since
            since = found.version
        assert known == {each.ref: each.body for each in store.list("Rollout").records}

    def test_what_was_compacted_is_expired_and_the_present_stays(self, store: Store) -> None:
        for number in range(10):
            store.commit(Commit([Put(A, b"%d" % number), Put(B, b"same")]), NOW)
        store.compact(keep=3)
        for asked in (store.version() - 4, store.version() + 1):
            with pytest.raises(ExpiredError):
                store.changes(asked)
            with pytest.raises(ExpiredError):
                store.list("Rollout", version=asked)
        earlier = store.list("Rollout", version=store.version() - 3)
        assert [each.body for each in earlier.records] == [b"6", b"same"]
        assert [each.body for each in store.list("Rollout").records] == [b"9", b"same"]

    def test_events_tell_what_happened_up_to_a_time_the_latest_first(self, store: Store) -> None:
        hours = [NOW + timedelta(hours=each, microseconds=each) for each in range(3)]
        events = [
            Event(at, "acme", "eu-1", f"p{number % 2}", "Started", f"1.{number}.0") for number, at in enumerate(hours)
        ]
        store.commit(Commit(events=[*events, Event(NOW, "acme", "eu-2", "p0", "Started")]), NOW)
        assert store.events("acme", "eu-1") == events[::-1]
        assert store.events("acme", "eu-1", until=hours[1]) == [events[1], events[0]]
        assert store.events("acme", "eu-1", "p0", limit=1) == [events[2]]
        assert store.events("zeta", "eu-1") == []

    def test_the_audit_log_is_a_chain(self, store: Store) -> None:
        for verb in ("approve", "pause", "abort"):
            store.commit(Commit(deeds=[Deed(NOW, "alice", verb, "Rollout/acme/a", "done")]), NOW)
        store.commit(Commit(deeds=[Deed(NOW, "mallory", "abort", "Rollout/acme/a", "denied")] * 2), NOW)
        entries = store.audit()
        assert [each.deed.verb for each in entries] == ["approve", "pause", "abort", "abort", "abort"]
        assert first_broken(entries) is None
        assert [each.number for each in store.audit(after=2, limit=2)] == [3, 4]

    def test_a_message_is_kept_until_it_is_sent_and_never_twice(self, store: Store) -> None:
        message = Message("Blocked/c1:1/qa", NOW, "acme", "Blocked", b"{}", "hook")
        store.commit(Commit(messages=[message]), NOW)
        store.commit(Commit(messages=[message]), NOW)
        [waiting] = store.outbox(NOW)
        assert (waiting.message, waiting.tries) == (message, 0)
        later = NOW + timedelta(minutes=1)
        store.commit(Commit(sent=[Sent(waiting.number, due=later)]), NOW)
        assert store.outbox(NOW) == []
        [again] = store.outbox(later)
        assert again.tries == 1
        store.commit(Commit(sent=[Sent(waiting.number)]), later)
        store.commit(Commit(messages=[message]), later)
        assert store.outbox(later + timedelta(days=1)) == []

    def test_the_feed_is_bounded_and_what_left_it_is_still_known_to_be_told(self, store: Store) -> None:
        def messages(organization: str, number: int, start: int = 0) -> list[Message]:
            keys = [f"{organization}/{each}" for each in range(start, start + number)]
            return [Message(key, NOW, organization, "Started", b"{}") for key in keys]

        store.commit(Commit(messages=messages("globex", 3)), NOW)
        store.commit(Commit(messages=messages("acme", KEPT_IN_FEED)), NOW)
        assert len(store.feed("acme")) == KEPT_IN_FEED
        store.commit(Commit(messages=messages("acme", 2, KEPT_IN_FEED)), NOW)
        kept = [each.message.key for each in store.feed("acme")]
        assert (len(kept), kept[0], kept[-1]) == (KEPT_IN_FEED, f"acme/{KEPT_IN_FEED + 1}", "acme/2")
        assert [each.message.key for each in store.feed("acme", before=store.feed("acme")[-2].number)] == ["acme/2"]
        assert len(store.feed("globex")) == 3, "each organization has its own"
        assert store.told(["acme/0", "acme/1", "acme/2", "acme/x"]) == {"acme/0", "acme/1", "acme/2"}
        store.commit(Commit(messages=messages("acme", 1)), NOW)
        assert [each.message.key for each in store.feed("acme")] == kept, "it is not told again"

    def test_a_message_without_an_endpoint_is_for_the_feed_alone(self, store: Store) -> None:
        messages = [Message(f"Started/c1:{number}", NOW, "acme", "Started", b"{}") for number in range(3)]
        messages.append(Message("Started/c1:9", NOW, "globex", "Started", b"{}"))
        messages.append(Message("Started/c1:0>hook", NOW, "acme", "Started", b"{}", "hook"))
        store.commit(Commit(messages=messages), NOW)
        store.commit(Commit(messages=messages), NOW)
        assert [each.message.endpoint for each in store.outbox(NOW)] == ["hook"]
        assert [each.message.key[-1] for each in store.feed()] == ["9", "2", "1", "0"]
        first = store.feed("acme", limit=2)
        assert [each.message.key[-1] for each in first] == ["2", "1"]
        assert [each.message.key[-1] for each in store.feed("acme", before=first[-1].number)] == ["0"]
        assert store.feed("initech") == []

    def test_it_knows_what_was_told(self, store: Store) -> None:
        keys = ["Started/c1:1", 'it\'s "odd"']
        store.commit(Commit(messages=[Message(key, NOW, "acme", "Started", b"{}") for key in keys]), NOW)
        assert store.told([*keys, "Started/c1:2"]) == frozenset(keys)
        assert store.told([]) == frozenset()

    def test_blobs_stay_while_something_uses_them(self, store: Store) -> None:
        store.commit(Commit(blobs=[("sha256:1", b"one"), ("sha256:2", b"two")]), NOW)
        store.commit(Commit(blobs=[("sha256:1", b"one")]), NOW)
        assert store.blob("sha256:1") == b"one"
        assert store.sweep({"sha256:1"}) == 1
        assert store.blob("sha256:2") is None
        assert store.blob("sha256:1") == b"one"
