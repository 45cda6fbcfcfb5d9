"""The steps of a delivery, one by one: what is due, where it goes, what is said of it, what goes away, what drifted."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec import structs

from fleetform.engine.plan.records import ClusterFacts, Removal, Step
from fleetform.loop.delivering import Deliveries
from fleetform.loop.delivery_attempts import announced
from fleetform.loop.drifting import corrected, delivered_keys, find_drift
from fleetform.loop.image import Extras, Image
from fleetform.loop.leaving import gone, handed_over, let_go
from fleetform.loop.records import AdmittedState, DeliveryRecord, Destination, packed
from fleetform.model.objects import Ref
from fleetform.model.results.decisions import PluginKey
from fleetform.model.state import UNKNOWN, Attempt, Deployed, Enrolment, Installer, PluginState, Trouble
from fleetform.outside.errors import OutsideError
from fleetform.ports.delivery import UNDER_WAY, Drift, Failure, Note, Parcel
from fleetform.ports.state import KnownState
from support.fleets import NOW

A, B, C = (("acme", "eu-1", name) for name in "abc")
FOLDER, BRANCH = Destination("directory", "out"), Destination("git", "https://git.example/x.git", "main")
CLUSTER = Destination("kubernetes", "acme/eu-1", namespace="web")
DIGEST, BLOB = packed({"web.yaml": b"kind: ConfigMap\n"})


def admitted(hash_: str = "v1:a", version: str = "1.0.0", **more: Any) -> PluginState:
    installer = Installer(Ref("PluginPreset", "acme", "web"), "web", "web")
    deployed = Deployed(version, "web", hash_, None, installer)
    return PluginState(deployed, **{"attempt": Attempt(hash_, "web-1", NOW, NOW), **more})


def image(
    states: Mapping[PluginKey, PluginState], deliveries: Mapping[PluginKey, DeliveryRecord] | None = None
) -> Image:
    stored = {hash_: AdmittedState(DIGEST, "1.0.0") for hash_ in ("v1:a", "v1:b")}
    return Image(KnownState(), {}, deliveries or {}, stored).with_plugins(states)


def arrived(destination: Destination = FOLDER, hash_: str = "v1:a", **more: Any) -> DeliveryRecord:
    return DeliveryRecord(destination, hash_, DIGEST, NOW, **more)


class Post:
    """Destinations that take down what reaches them, and fail as they are told."""

    def __init__(self, **failures: Failure) -> None:
        self.failures = {("acme", "eu-1", name): each for name, each in failures.items()}
        self.brought: list[tuple[str, list[Parcel], list[PluginKey], Note]] = []
        self.drifts: Sequence[Drift] | Exception = ()

    def __call__(self, destination: Destination) -> Post:
        self._path = destination.path
        return self

    def deliver(self, parcels: Sequence[Parcel], removals: Sequence[PluginKey], note: Note) -> dict[PluginKey, Failure]:
        self.brought.append((self._path, list(parcels), list(removals), note))
        keys = {*(each.key for each in parcels), *removals}
        return {key: failure for key, failure in self.failures.items() if key in keys}

    def drift(self, keys: Sequence[PluginKey], beside: Collection[str] = ()) -> Sequence[Drift]:
        if isinstance(self.drifts, Exception):
            raise self.drifts
        return [each for each in self.drifts if each.key in keys]


def deliver(
    post: Post,
    before: Image,
    destinations: Mapping[PluginKey, Destination],
    removals: Mapping[PluginKey, str] | None = None,
    extras: Extras | None = None,
) -> Image:
    states = [("acme", "eu-1", name) for name in "abc"]
    deliveries = Deliveries(post, lambda digest: BLOB if digest == DIGEST else None)
    extras = extras if extras is not None else Extras()
    return deliveries.deliver(before, states, destinations, removals or {}, lambda _: None, NOW, extras)


# ---- Destinations in words


@pytest.mark.parametrize(
    ("destination", "text"),
    [
        (FOLDER, "out"),
        (BRANCH, "branch main of https://git.example/x.git"),
        (CLUSTER, "cluster eu-1"),
        (Destination("kubernetes", "acme/@eu-1"), "the management cluster"),
    ],
)
def test_a_destination_is_told_in_words(destination: Destination, text: str) -> None:
    assert destination.text == text


def test_one_place_is_one_whoever_logs_in_there() -> None:
    assert BRANCH.is_at(structs.replace(BRANCH, secret="acme/login", sign=True))
    assert CLUSTER.is_at(structs.replace(CLUSTER, namespace="other", adopt=True, drift="Report"))
    for other in ({"branch": "b"}, {"folder": "f"}, {"path": "p"}, {"kind": "directory"}):
        assert not BRANCH.is_at(structs.replace(BRANCH, **other))


# ---- What is due


def test_what_is_admitted_and_was_started_and_is_not_there_is_brought() -> None:
    states = {A: admitted(), B: admitted(attempt=None), C: PluginState(Deployed("1.0.0"), attempt=admitted().attempt)}
    post = Post()
    after = deliver(post, image(states), dict.fromkeys(states, FOLDER))
    ((path, parcels, removals, note),) = post.brought
    assert (path, [each.key for each in parcels], removals) == ("out", [A], [])
    assert (parcels[0].files, parcels[0].input_hash) == ({"web.yaml": b"kind: ConfigMap\n"}, "v1:a")
    assert note == Note({A: "eu-1  a  1.0.0  rollout"})
    assert after.deliveries == {A: arrived()}
    assert deliver(Post(), after, dict.fromkeys(states, FOLDER)) is after, "it is there"


def test_a_plugin_that_stays_where_it_is_if_nobody_says_where_does_not_keep_those_after_it() -> None:
    states = {A: admitted(), B: admitted("v1:b"), C: admitted("v1:b")}
    post = Post()
    after = deliver(post, image(states, {B: arrived(BRANCH)}), {C: FOLDER})
    assert {key: (each.destination, each.input_hash) for key, each in after.deliveries.items()} == {
        B: (BRANCH, "v1:b"),
        C: (FOLDER, "v1:b"),
    }


def test_what_runs_on_a_cluster_moves_with_the_next_state_only() -> None:
    same = deliver(Post(), image({A: admitted()}, {A: arrived(CLUSTER)}), {A: FOLDER})
    assert same.deliveries[A].destination == CLUSTER
    moved = deliver(
        Post(), image({A: admitted("v1:b")}, {A: arrived(FOLDER)}), {A: structs.replace(CLUSTER, namespace="")}
    )
    assert moved.deliveries[A].destination == CLUSTER, "into the namespace of its release"
    # Before another state is written there, what has arrived no longer counts.
    other = deliver(Post(), image({A: admitted("v1:b")}, {A: arrived(CLUSTER)}), {A: CLUSTER})
    assert (other.deliveries[A].input_hash, other.deliveries[A].destination) == ("", CLUSTER)


def test_files_are_removed_from_where_a_plugin_was_before() -> None:
    post = Post()
    after = deliver(
        post, image({A: admitted(), B: admitted()}, {A: arrived(BRANCH), B: arrived(BRANCH)}), {A: FOLDER, B: FOLDER}
    )
    assert [(path, len(parcels), removals, note.lines[B]) for path, parcels, removals, note in post.brought] == [
        ("out", 2, [], "eu-1  b  1.0.0  rollout"),
        (BRANCH.path, 0, [A, B], "eu-1  b  moved"),
    ]
    assert after.deliveries == {A: arrived(), B: arrived()}
    post = Post()
    deliver(post, image({A: admitted()}, {A: arrived(BRANCH)}), {A: FOLDER})
    assert post.brought[-1][3] == Note({A: "eu-1  a  moved"})


def test_a_removal_that_fails_is_tried_for_a_day_and_then_left_behind() -> None:
    failure = Failure("no route", "wait")
    states, extras = {A: admitted()}, Extras()
    moved = deliver(Post(a=failure), image(states, {A: arrived(FOLDER, leaves=(BRANCH,))}), {A: FOLDER}, extras=extras)
    trouble = moved.deliveries[A].trouble
    assert trouble is not None
    assert (trouble.of, trouble.tries, trouble.where) == ("removal", 1, BRANCH.text)
    assert trouble.retry_at == NOW + timedelta(seconds=5)
    assert extras.events == []
    for since, ends in ((NOW - timedelta(days=1) + timedelta(seconds=1), False), (NOW - timedelta(days=1), True)):
        record = structs.replace(moved.deliveries[A], trouble=structs.replace(trouble, since=since))
        extras = Extras()
        later = deliver(Post(a=failure), image(states, {A: record}), {A: FOLDER}, extras=extras)
        assert (later.deliveries[A].leaves, [each.event for each in extras.events]) == (
            ((), ["LeftBehind"]) if ends else ((BRANCH,), [])
        )
    assert extras.events[0].reason == f"its files stay at {BRANCH.text}: no route"
    assert later.deliveries[A].trouble is None


@pytest.mark.parametrize(("tries", "pause"), [(0, 5), (1, 10), (2, 20), (7, 640), (8, 900), (40, 900)])
def test_pauses_grow_up_to_a_quarter_of_an_hour(tries: int, pause: int) -> None:
    before = image({A: admitted()})
    if tries:
        failed = deliver(Post(a=Failure("no route", "wait")), before, {A: FOLDER})
        trouble = failed.deliveries[A].trouble
        assert trouble is not None
        record = structs.replace(failed.deliveries[A], trouble=structs.replace(trouble, tries=tries, since=NOW))
        before = image({A: admitted()}, {A: record})
    after = deliver(Post(a=Failure("no route", "wait")), before, {A: FOLDER}).deliveries[A]
    assert after.input_hash == ""
    assert after.trouble is not None
    assert (after.trouble.tries, after.trouble.retry_at) == (tries + 1, NOW + timedelta(seconds=pause))
    assert (after.trouble.message, after.trouble.hint, after.trouble.where) == ("no route", "wait", "out")


def test_what_is_on_its_way_is_no_failure() -> None:
    before = image({A: admitted()}, {A: DeliveryRecord(CLUSTER)})
    assert deliver(Post(a=UNDER_WAY), before, {A: CLUSTER}) is before
    leaving = image({A: admitted()}, {A: arrived(CLUSTER)})
    assert deliver(Post(a=UNDER_WAY), leaving, {}, {A: ""}).deliveries == leaving.deliveries


def test_what_its_cluster_refuses_is_not_tried_again_by_itself() -> None:
    refusal = Failure("immutable", "delete it", refused=True)
    on_cluster = deliver(Post(a=refusal), image({A: admitted()}), {A: CLUSTER}).deliveries[A]
    assert on_cluster.trouble is not None
    assert (on_cluster.refused, on_cluster.trouble.retry_at) == ("v1:a", None)
    in_folder = deliver(Post(a=refusal), image({A: admitted()}), {A: FOLDER}).deliveries[A]
    assert in_folder.trouble is not None
    assert (in_folder.refused, in_folder.trouble.retry_at) == ("", NOW + timedelta(seconds=5))


@pytest.mark.parametrize(
    ("attempt", "since", "failure", "is_over"),
    [
        ({}, -16, Failure("the webhook does not answer", ""), True),
        ({}, -14, Failure("the webhook does not answer", ""), False),
        ({}, -16, Failure("no route", "", unreachable=True), False),
        ({"since": NOW - timedelta(minutes=14)}, -16, Failure("the webhook does not answer", ""), False),
        ({"phase": "Healthy"}, -16, Failure("the webhook does not answer", ""), False),
    ],
    ids=["for long", "not for long", "it does not answer", "it was set aside meanwhile", "it was there before"],
)
def test_what_does_not_arrive_for_long_on_a_cluster_that_answers_has_failed_there(
    attempt: dict[str, Any], since: int, failure: Failure, is_over: bool
) -> None:
    long_ago = NOW - timedelta(hours=1)
    state = admitted(attempt=structs.replace(Attempt("v1:a", "web-1", long_ago, long_ago), **attempt))
    trouble = Trouble("delivery", "so far", NOW + timedelta(minutes=since), retry_at=NOW)
    before, extras = image({A: state}, {A: DeliveryRecord(CLUSTER, trouble=trouble)}), Extras()
    after = deliver(Post(a=failure), before, {A: CLUSTER}, extras=extras)
    record, now = after.deliveries[A], after.plugin(A).attempt
    assert record.trouble is not None
    assert now is not None
    assert (record.refused, record.trouble.retry_at is None) == (("v1:a", True) if is_over else ("", False))
    assert now.phase == ("Failed" if is_over else state.attempt.phase if state.attempt is not None else "")
    assert [(each.event, each.reason) for each in extras.events] == ([("Failed", failure.message)] if is_over else [])


def test_another_secret_that_a_state_is_filled_in_with_ends_the_pause_before_the_next_try() -> None:
    class Secrets:
        now: tuple[object, ...] = (None,)

        def secrets(self, organization: str, state: AdmittedState) -> tuple[object, ...]:
            return self.now if state.sealed else ()

        def reveal(self, organization: str, state: AdmittedState) -> Failure:
            return Failure("no tool fills it in", "wait")

    secrets = Secrets()
    deliveries = Deliveries(Post(), lambda digest: BLOB, None, secrets)  # type: ignore[arg-type]
    before = image({A: admitted()})
    before = replace(before, states={"v1:a": AdmittedState(DIGEST, "1.0.0", sealed="sha256:x")})

    def tries(stored: Image) -> tuple[Image, int]:
        after = deliveries.deliver(stored, [A], {A: CLUSTER}, {}, lambda _: None, NOW, Extras())
        trouble = after.deliveries[A].trouble
        assert trouble is not None
        return after, trouble.tries

    after, first = tries(before)
    after, resting = tries(after)
    secrets.now = ("the Secret",)
    _, again = tries(after)
    assert (first, resting, again) == (1, 1, 2)


def test_bytes_that_are_not_stored_are_said_to_be() -> None:
    after = deliver(Post(), image({A: admitted("v1:0123456789abc")}), {A: FOLDER}).deliveries[A]
    assert after.trouble is not None
    assert after.trouble.message == "the bytes of v1:01234567 are not stored"


# ---- What is said where it arrives


@pytest.mark.parametrize(
    ("more", "line"),
    [
        ({}, "1.0.0  rollout"),
        ({"last_healthy": Deployed("0.9.0", "web", "v1:z")}, "0.9.0 → 1.0.0  rollout"),
        ({"last_healthy": Deployed("1.0.0", "web", "v1:z")}, "1.0.0, other values  rollout"),
        ({"last_healthy": Deployed("1.0.0", "web", "v1:a")}, "1.0.0  rollout"),
        ({"enrolment": Enrolment("web-1", "gold", Deployed("1.0.0"))}, "1.0.0  web-1, stage gold"),
        ({"enrolment": Enrolment("web-1", "", Deployed("1.0.0"))}, "1.0.0  rollout"),
        ({"attempt": Attempt("v1:a", "web-1", NOW, NOW, back=True)}, "1.0.0  rollout (rolled back)"),
    ],
)
def test_a_delivery_says_what_it_brings_and_why(more: dict[str, Any], line: str) -> None:
    post = Post()
    before = image({A: admitted(**more), B: admitted()}, {B: arrived(), C: arrived()})
    deliver(post, before, {A: FOLDER, B: FOLDER}, {C: ""})
    ((_, _, _, note),) = post.brought
    assert note == Note({A: f"eu-1  a  {line}", C: "eu-1  c  removed"})


# ---- What goes


def removal(key: PluginKey, **more: Any) -> Removal:
    return Removal(key, Ref("PluginPreset", "acme", "web"), "c1:x", ClusterFacts(*key[:2]), **more)


def test_what_is_removed_and_known_nowhere_is_forgotten() -> None:
    extras = Extras()
    before = image({A: admitted(), B: admitted(), C: admitted()}, {A: arrived(), C: arrived()})
    after = deliver(Post(c=Failure("no route", "")), before, {}, {A: "", B: "next", C: ""}, extras)
    assert set(after.deliveries) == {C}
    assert [(each.plugin, each.event, each.version, each.reason) for each in extras.events] == [
        ("b", "HandedOver", "1.0.0", "next has its release now"),
        ("a", "Deleted", "1.0.0", ""),
    ]
    assert (after.plugin(A), after.plugin(B)) == (UNKNOWN, UNKNOWN)
    assert after.plugin(C) != UNKNOWN


def test_a_plugin_goes_when_it_is_deleted_or_its_successor_has_arrived() -> None:
    states = {A: admitted(), B: admitted(), C: admitted("v1:b")}
    stored = image(states, {A: arrived(), B: arrived(), C: arrived()})
    steps = [Step(A, "delete", "Waiting", UNKNOWN), Step(B, "start", "Waiting", UNKNOWN)]
    assert gone(stored, [], steps) == {A: ""}
    assert gone(stored, [removal(C), removal(A, handed_to="b")], []) == {A: "b"}
    assert gone(stored, [removal(A, handed_to="c"), removal(B, handed_to="a")], []) == {B: "a"}, "c has not arrived"
    assert gone(image(states, {B: arrived()}), [removal(A, handed_to="b")], []) == {}, "nothing of it is anywhere"
    assert handed_over([removal(A, handed_to="b"), removal(C)]) == {B: A}


@pytest.mark.parametrize(
    ("destination", "more", "cluster_is_there", "stays"),
    [
        (FOLDER, {}, True, False),
        (FOLDER, {"retain": True}, True, True),
        (FOLDER, {"retain": True, "handed_to": "b"}, True, False),
        (FOLDER, {}, False, False),
        (CLUSTER, {}, True, False),
        (CLUSTER, {}, False, True),
        # There it says whose it is, and that is taken off it first.
        (CLUSTER, {"retain": True}, True, False),
        (CLUSTER, {"retain": True}, False, True),
    ],
)
def test_what_stays_is_its_owners_alone(
    destination: Destination, more: dict[str, Any], cluster_is_there: bool, stays: bool
) -> None:
    extras = Extras()
    before = image({A: admitted()}, {A: arrived(destination)})
    clusters = {Ref("Cluster", "acme", "eu-1")} if cluster_is_there else set()
    after = let_go(before, [removal(B, retain=True), removal(A, **more)], clusters, NOW, extras)
    assert (A in after.deliveries, [each.event for each in extras.events]) == (not stays, ["Retained"] if stays else [])
    assert stays or after is before


def test_where_something_goes_is_stored_before_it_is_there() -> None:
    before = image({A: admitted(), B: admitted()}, {B: arrived()})
    after = announced(before, [C, B, A], {A: FOLDER, B: BRANCH, C: FOLDER})
    assert after.deliveries == {A: DeliveryRecord(FOLDER), B: arrived()}
    assert announced(after, [A, B], {A: BRANCH}) is after
    assert announced(before, [A], {}) is before


def test_the_pause_after_a_try_that_took_long_begins_at_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    no, seconds = Failure("no", ""), iter(range(0, 10_000, 60))
    for each in ("delivering", "delivery_outcomes"):
        clock = SimpleNamespace(monotonic=lambda: float(next(seconds)))
        monkeypatch.setattr(f"fleetform.loop.{each}.time", clock)
    after = deliver(Post(a=no), image({A: admitted()}), {A: BRANCH})
    failing = after.deliveries[A].failing
    assert failing is not None
    assert failing.retry_at == NOW + timedelta(seconds=65)
    left = image({A: admitted()}, {A: arrived(FOLDER, leaves=(BRANCH,))})
    trouble = deliver(Post(a=no), left, {A: FOLDER}).deliveries[A].trouble
    assert trouble is not None
    assert trouble.retry_at == NOW + timedelta(seconds=65)
    gone_ = deliver(Post(a=no), image({}, {A: arrived(BRANCH)}), {}, {A: ""}).deliveries[A].trouble
    assert gone_ is not None
    assert gone_.retry_at == NOW + timedelta(seconds=65)


# ---- Drift


def test_only_what_is_where_it_should_be_is_looked_at() -> None:
    states = {A: admitted(), B: admitted("v1:b"), C: admitted()}
    stored = image(states, {C: arrived(), B: arrived(), A: arrived()})
    assert delivered_keys(stored, "directory") == [A, C]
    assert delivered_keys(stored, "git") == []
    moved = replace(stored, deliveries={**stored.deliveries, C: arrived(BRANCH)})
    assert (delivered_keys(moved, "directory"), delivered_keys(moved, "git")) == ([A], [C])
    not_yet = replace(stored, deliveries={A: structs.replace(arrived(), since=None)})
    assert delivered_keys(not_yet, "directory") == []


@pytest.mark.parametrize(
    ("drifts", "reason"),
    [
        ([Drift(A, "x", False)], "x was changed"),
        ([Drift(A, "x", True), Drift(A, "y", False)], "x is missing, y was changed"),
        ([Drift(A, name, True) for name in "xyz"], "x is missing, y is missing, z is missing"),
        ([Drift(A, name, True) for name in "wxyz"], "w is missing, x is missing, y is missing and 1 more"),
    ],
)
def test_drift_is_told_and_brought_back_unless_it_is_only_reported(drifts: list[Drift], reason: str) -> None:
    post, extras = Post(), Extras()
    post.drifts = drifts
    before = image({A: admitted(), B: admitted()}, {A: arrived(), B: arrived()})
    after = find_drift(before, [A, B], post, lambda _: "Correct", NOW, extras)
    assert after.plugin(A).drift == tuple(each.file for each in drifts)
    assert (after.deliveries[A].input_hash, after.deliveries[B]) == ("", arrived())
    assert [(each.plugin, each.event, each.version, each.reason) for each in extras.events] == [
        ("a", "Drifted", "1.0.0", reason)
    ]
    assert find_drift(after, [A], post, lambda _: "Correct", NOW, extras) is after, "that is known"
    reported = find_drift(before, [A, B], post, lambda _: "Report", NOW, Extras())
    assert reported.deliveries == before.deliveries
    # Brought there again, it is over.
    again = replace(after, deliveries={**after.deliveries, A: arrived()})
    mended = corrected(again, after.deliveries, NOW, extras)
    assert mended.plugin(A).drift == ()
    assert (extras.events[-1].event, extras.events[-1].reason) == ("DriftEnded", "as it was delivered again")
    assert corrected(mended, mended.deliveries, NOW, extras) is mended


def test_drift_that_is_over_ends_and_a_place_that_cannot_be_looked_at_says_nothing() -> None:
    drifted = image({A: admitted(drift=("x",))}, {A: arrived()})
    extras = Extras()
    assert find_drift(drifted, [A], Post(), lambda _: "Correct", NOW, extras).plugin(A).drift == ()
    assert [each.event for each in extras.events] == ["DriftEnded"]
    for error in (OutsideError("no route", ""), OSError("no disk")):
        post = Post()
        post.drifts = error
        assert find_drift(drifted, [A], post, lambda _: "Correct", NOW, Extras()) is drifted


# ---- Clusters that do not answer, and what they refuse


def silent(image: Image) -> dict[str, object]:
    return {ref.name: since for ref, since in image.known.rollouts.silent_since.items()}


def test_a_cluster_is_silent_from_when_nothing_on_it_answers() -> None:
    away, no = Failure("no answer", "", unreachable=True), Failure("no", "")
    states = {A: admitted(), B: admitted()}
    before = image(states)
    assert silent(deliver(Post(a=away, b=away), before, {A: CLUSTER, B: CLUSTER})) == {"eu-1": NOW}
    assert silent(deliver(Post(a=away, b=no), before, {A: CLUSTER, B: CLUSTER})) == {}
    assert silent(deliver(Post(a=no, b=away), before, {A: CLUSTER, B: CLUSTER})) == {}
    assert silent(deliver(Post(a=away), before, {A: FOLDER})) == {}, "a folder is no cluster"
    for told, expected in (
        (away, {"eu-1": NOW - timedelta(hours=1)}),
        (no, {}),
        (UNDER_WAY, {"eu-1": NOW - timedelta(hours=1)}),
    ):
        known = before.known
        rollouts = structs.replace(
            known.rollouts, silent_since={Ref("Cluster", "acme", "eu-1"): NOW - timedelta(hours=1)}
        )
        again = replace(before, known=replace(known, rollouts=rollouts))
        assert silent(deliver(Post(a=told), again, {A: CLUSTER})) == expected
    gone_silent = deliver(Post(a=away), image(states, {A: arrived(CLUSTER)}), {}, {A: ""})
    assert silent(gone_silent) == {"eu-1": NOW}


def test_what_a_cluster_refuses_has_failed_there_and_is_brought_again_when_it_is_started_again() -> None:
    refusal, extras = Failure("immutable", "delete it", refused=True), Extras()
    applying = admitted(attempt=Attempt("v1:a", "web-1", NOW - timedelta(minutes=1), NOW, "Applying"))
    after = deliver(Post(a=refusal), image({A: applying}), {A: CLUSTER}, extras=extras)
    attempt = after.plugin(A).attempt
    assert attempt is not None
    assert (attempt.phase, attempt.failures, after.plugin(A).failure) == ("Failed", 1, "immutable")
    assert [(each.event, each.version, each.input_hash, each.rollout, each.reason) for each in extras.events] == [
        ("Failed", "1.0.0", "v1:a", "web-1", "immutable")
    ]
    post = Post()
    assert deliver(post, after, {A: CLUSTER}) is after
    assert post.brought == []
    started = after.with_plugins({A: applying})
    again = deliver(post, started, {A: CLUSTER})
    assert (again.deliveries[A].refused, again.deliveries[A].trouble) == ("", None)
    # One that is healthy already does not fail by it.
    healthy = admitted(attempt=Attempt("v1:a", "web-1", NOW, NOW, "Healthy"))
    still = deliver(Post(a=refusal), image({A: healthy}), {A: CLUSTER})
    assert still.plugin(A) == healthy
