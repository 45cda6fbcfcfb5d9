"""What is judged, and what becomes of what was seen; what files that were accepted brought."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from msgspec import structs

from fleetform.loop.accepting import AcceptedChange, change_between
from fleetform.loop.image import Extras, Image
from fleetform.loop.observing import Seen, observe
from fleetform.loop.records import AdmittedState, DeliveryRecord, Destination
from fleetform.model.objects import Ref
from fleetform.model.results.decisions import PluginKey
from fleetform.model.state import Attempt, Deployed, PluginState, Trouble
from fleetform.ports.observing import Applied, CheckedObject, Delivered, Verdict
from fleetform.ports.state import KnownState
from support.fleets import BASE, NOW, fleet_of, fleet_with, override

A, B = ("acme", "eu-1", "web-eu-1"), ("acme", "eu-2", "web-eu-2")
EU_1, EU_2 = Ref("Cluster", "acme", "eu-1"), Ref("Cluster", "acme", "eu-2")
FOLDER = Destination("directory", "out")
CLUSTERS = fleet_with().snapshot.clusters
BEFORE = NOW - timedelta(minutes=5)
SOON, LATER = NOW + timedelta(seconds=5), NOW + timedelta(seconds=30)


def state(phase: Any = "Applying", hash_: str = "v1:a") -> PluginState:
    return PluginState(Deployed("1.0.0", "web", hash_), attempt=Attempt(hash_, "web-1", BEFORE, BEFORE, phase))


def record(**more: Any) -> DeliveryRecord:
    return DeliveryRecord(**{"destination": FOLDER, "input_hash": "v1:a", "since": BEFORE, **more})


def image(states: Mapping[PluginKey, PluginState], deliveries: Mapping[PluginKey, DeliveryRecord]) -> Image:
    stored = {"v1:a": AdmittedState("sha256:x", health=(CheckedObject("Job", "done"),))}
    return Image(KnownState(), {}, deliveries, stored).with_plugins(states)


class Eyes:
    """An observer that sees what a test says."""

    def __init__(self, **verdicts: Verdict) -> None:
        self.verdicts = {key: verdicts[name] for name, key in (("a", A), ("b", B)) if name in verdicts}
        self.asked: list[Delivered] = []

    def observe(self, delivered: Sequence[Delivered], now: datetime) -> dict[PluginKey, Verdict]:
        self.asked += delivered
        return self.verdicts


def seen(before: Image, eyes: Eyes, extras: Extras | None = None, clusters: Any = CLUSTERS) -> Seen:
    return observe(before, [A, B], clusters, eyes, lambda cluster: f"at/{cluster.ref.name}", NOW, extras or Extras())


@pytest.mark.parametrize(
    ("plugin", "there", "is_judged"),
    [
        (state("Applying"), record(), True),
        (state("Healthy"), record(), True),
        (state("SetAside"), record(), True),
        (state("Failed"), record(), False),
        (PluginState(Deployed("1.0.0")), record(), False),
        (state(), None, False),
        (state(), record(since=None), False),
        (state(), record(input_hash="v1:other"), False),
    ],
)
def test_what_arrived_and_has_not_failed_is_judged(
    plugin: PluginState, there: DeliveryRecord | None, is_judged: bool
) -> None:
    eyes = Eyes(b=Verdict("Healthy"))
    deliveries = {B: record()} if there is None else {A: there, B: record()}
    seen(image({A: plugin, B: state()}, deliveries), eyes)
    assert [each.key for each in eyes.asked] == ([A] if is_judged else []) + [B]
    assert eyes.asked[-1] == Delivered(B, "v1:a", BEFORE, None, "at/eu-2")


def test_one_whose_cluster_left_the_fleet_is_not_judged() -> None:
    eyes = Eyes()
    seen(image({A: state(), B: state()}, {A: record(), B: record()}), eyes, clusters={EU_2: CLUSTERS[EU_2]})
    assert [each.key for each in eyes.asked] == [B]
    nobody = Eyes()
    result = seen(image({}, {}), nobody)
    assert (nobody.asked, result.look_at, result.watched) == ([], None, False)


def test_a_cluster_itself_can_be_asked_about_what_was_applied_there() -> None:
    there = Destination("kubernetes", "acme/eu-1", namespace="web")
    eyes = Eyes()
    seen(image({A: state()}, {A: record(destination=there)}), eyes)
    assert eyes.asked[0].applied == Applied("web", ("acme", "eu-1"), (CheckedObject("Job", "done"),))
    unknown = Eyes()
    seen(image({A: state(hash_="v1:b")}, {A: record(destination=there, input_hash="v1:b")}), unknown)
    assert unknown.asked[0].applied == Applied("web", ("acme", "eu-1"))


def test_what_was_seen_is_stored_and_told() -> None:
    extras = Extras()
    before = image({A: state(), B: state()}, {A: record(), B: record()})
    found = seen(before, Eyes(a=Verdict("Healthy", "fine", LATER), b=Verdict("Failed", "no image", SOON)), extras)
    one, two = found.image.plugin(A), found.image.plugin(B)
    assert one.attempt is not None
    assert two.attempt is not None
    assert (one.attempt.phase, two.attempt.phase, two.failure) == ("Healthy", "Failed", "no image")
    told = [
        (each.plugin, each.event, each.version, each.input_hash, each.rollout, each.reason) for each in extras.events
    ]
    assert told == [
        ("web-eu-1", "Healthy", "1.0.0", "v1:a", "web-1", "fine"),
        ("web-eu-2", "Failed", "1.0.0", "v1:a", "web-1", "no image"),
    ]
    assert (found.look_at, found.watched) == (None, True), "nothing is under way any more"
    again = Extras()
    still = seen(found.image, Eyes(a=Verdict("Healthy", "fine")), again)
    assert (still.image, again.events, still.watched) == (found.image, [], False)


@pytest.mark.parametrize(("phase", "asks"), [("Applying", True), ("SetAside", True), ("Healthy", False)])
def test_only_what_is_under_way_asks_for_a_pass_of_its_own(phase: str, asks: bool) -> None:
    before = image({A: state(phase), B: state(phase)}, {A: record(), B: record()})
    found = seen(before, Eyes(a=Verdict("Unknown", "", LATER), b=Verdict("Unknown", "", SOON)))
    assert (found.look_at, found.watched) == (SOON if asks else None, True)


# ---- What keeps anybody from telling


def trouble_after(verdict: Verdict, before: Trouble | None = None) -> Trouble | None:
    found = seen(image({A: state()}, {A: record(trouble=before)}), Eyes(a=verdict))
    return found.image.deliveries[A].trouble


KNOWN = Trouble("health", "no file 3", BEFORE, "write it", "eu-1")


@pytest.mark.parametrize(
    ("verdict", "before", "expected"),
    [
        (Verdict("Unknown", "no\n file", hint="write it"), None, Trouble("health", "no file", NOW, "write it", "eu-1")),
        (Verdict("Unknown", "x" * 501, hint="h"), None, Trouble("health", "x" * 500, NOW, "h", "eu-1")),
        (Verdict("Unknown", "soon"), None, None),
        (Verdict("Unknown", "away", reachable=False, hint="h"), None, None),
        (Verdict("Healthy", hint="h"), KNOWN, None),
        # The same but for numbers, which may count up, is the same.
        (Verdict("Unknown", "no file 17", hint="other"), KNOWN, KNOWN),
        (Verdict("Unknown", "broken", hint="h"), KNOWN, structs.replace(KNOWN, message="broken", hint="h")),
        # Why it does not arrive is told first.
        (
            Verdict("Unknown", "x", hint="h"),
            structs.replace(KNOWN, of="delivery"),
            structs.replace(KNOWN, of="delivery"),
        ),
    ],
)
def test_what_keeps_anybody_from_telling_is_kept_while_it_lasts(
    verdict: Verdict, before: Trouble | None, expected: Trouble | None
) -> None:
    assert trouble_after(verdict, before) == expected


# ---- Silence


def silent(found: Image) -> dict[str, datetime]:
    return {ref.name: since for ref, since in found.known.rollouts.silent_since.items()}


def test_a_cluster_is_silent_until_it_answers_or_leaves() -> None:
    away = Verdict("Unknown", "away", reachable=False)
    before = image({A: state(), B: state()}, {A: record(), B: record()})
    first = seen(before, Eyes(a=away, b=Verdict("Healthy"))).image
    assert silent(first) == {"eu-1": NOW}
    known = structs.replace(first.known.rollouts, silent_since={EU_1: BEFORE, Ref("Cluster", "acme", "gone"): BEFORE})
    earlier = replace(first, known=replace(first.known, rollouts=known))
    assert silent(seen(earlier, Eyes(a=away)).image) == {"eu-1": BEFORE}, "one that left the fleet is forgotten"
    assert silent(seen(earlier, Eyes(a=Verdict("Unknown"))).image) == {}
    assert silent(seen(earlier, Eyes()).image) == {"eu-1": BEFORE}, "nobody looked"
    asking = seen(earlier, Eyes(a=Verdict("Unknown", "it is being asked", reachable=None))).image
    assert silent(asking) == {"eu-1": BEFORE}, "it has not been asked yet"


def test_what_comes_instead_of_an_answer_is_kept_and_another_one_takes_its_place() -> None:
    def because(found: Image) -> dict[str, str]:
        return {ref.name: each for ref, each in found.known.rollouts.silent_because.items()}

    def away(message: str) -> Eyes:
        return Eyes(a=Verdict("Unknown", message, reachable=False))

    refused = seen(image({A: state()}, {A: record()}), away("connection\nrefused at 12:01")).image
    assert because(refused) == {"eu-1": "connection refused at 12:01"}
    assert seen(refused, away("connection refused at 12:02")).image is refused, "numbers are no news"
    unknown = seen(refused, away("the token is not known")).image
    assert (because(unknown), silent(unknown)) == ({"eu-1": "the token is not known"}, {"eu-1": NOW})
    assert because(seen(unknown, Eyes(a=Verdict("Healthy"))).image) == {}


# ---- What files brought


def test_what_files_brought_is_told_by_kind_and_name() -> None:
    before = fleet_with(
        one=override("one", "[{path: replicas, value: 1}]"), gone=override("gone", "[{path: replicas, value: 1}]")
    )
    after = fleet_with(
        one=override("one", "[{path: replicas, value: 2}]"), new=override("new", "[{path: replicas, value: 1}]")
    )
    assert change_between(None, after) == AcceptedChange(objects=len(after.snapshot.objects), is_first=True)
    assert change_between(before, after) == AcceptedChange(
        ["PluginOverride new"], ["PluginOverride one"], ["PluginOverride gone"], len(after.snapshot.objects)
    )
    assert change_between(after, after) == AcceptedChange([], [], [], len(after.snapshot.objects))
    fewer = fleet_of({name: text for name, text in BASE.items() if name != "definition.yaml"})
    assert change_between(fleet_with(), fewer).removed == ["PluginDefinition web 1.0.0"]
