"""What a pass has to look at is found from what changed, and is what looking at everything would find."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from fleetform.loop.image import Image
from fleetform.loop.records import DeliveryRecord, Destination
from fleetform.loop.unsettled import Unsettled
from fleetform.model.results.decisions import PluginKey
from fleetform.model.state import Attempt, Deployed, Enrolment, PluginState, Trouble
from fleetform.ports.state import KnownState

NOW = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
FOLDER, EARLIER = Destination("directory", "out"), Destination("directory", "before")
KEYS: list[PluginKey] = [("acme", cluster, name) for cluster in ("eu-1", "eu-2") for name in ("a", "b")]
ROLLOUTS = ("one", "two")

hashes = st.sampled_from(["h1:a", "h1:b"])
states = st.none() | st.builds(
    lambda hash_, phase, rollout: PluginState(
        admitted=Deployed("1.0.0", "web", hash_),
        attempt=Attempt(hash_, rollout, NOW, NOW, phase),
        enrolment=Enrolment(rollout, "qa", Deployed("1.0.0", "web", hash_)) if rollout else None,
    ),
    hashes,
    st.sampled_from(["Applying", "Healthy", "Failed", "SetAside"]),
    st.sampled_from(["", *ROLLOUTS]),
)


def record(hash_: str, retry: int, leaves: bool) -> DeliveryRecord:
    trouble = Trouble("delivery", "no", NOW, retry_at=NOW + timedelta(minutes=retry)) if retry else None
    return DeliveryRecord(FOLDER, hash_, since=NOW, leaves=(EARLIER,) if leaves else (), trouble=trouble)


records = st.none() | st.builds(record, hashes, st.integers(0, 3), st.booleans())
edits = st.lists(st.tuples(st.sampled_from(KEYS), states, records), max_size=12)


def told(unsettled: Unsettled) -> object:
    return (
        unsettled.judged(ROLLOUTS),
        unsettled.judged(ROLLOUTS[:1]),
        sorted(unsettled.enrolled(ROLLOUTS)),
        unsettled.undelivered,
        unsettled.next_delivery,
    )


@given(edits)
def test_looking_at_what_changed_finds_what_looking_at_everything_finds(
    edits: list[tuple[PluginKey, PluginState | None, DeliveryRecord | None]],
) -> None:
    image = Image(KnownState(), {}, {}, {})
    kept = Unsettled()
    for key, state, record in edits:
        deliveries = {each: found for each, found in image.deliveries.items() if each != key}
        if record is not None:
            deliveries[key] = record
        image = replace(image.with_plugins({key: state}), deliveries=deliveries)
        assert told(kept.look(image)) == told(Unsettled().look(image))


def test_what_was_admitted_and_did_not_arrive_is_undelivered() -> None:
    key = KEYS[0]
    started = PluginState(admitted=Deployed("1.0.0", "web", "h1:a"), attempt=Attempt("h1:a", "", NOW, NOW))
    image = Image(KnownState(), {}, {}, {}).with_plugins({key: started})
    unsettled = Unsettled().look(image)
    assert unsettled.undelivered == {key}
    assert unsettled.judged(()) == [key]
    arrived = replace(image, deliveries={key: DeliveryRecord(FOLDER, "h1:a", since=NOW)})
    assert unsettled.look(arrived).undelivered == frozenset()
    trouble = Trouble("delivery", "disk full", NOW, retry_at=NOW)
    elsewhere = replace(image, deliveries={key: DeliveryRecord(FOLDER, "h1:a", since=NOW, trouble=trouble)})
    assert unsettled.look(elsewhere).undelivered == {key}, "it is on its way to another destination"
    left = replace(image, deliveries={key: DeliveryRecord(FOLDER, "h1:a", since=NOW, leaves=(EARLIER,))})
    assert unsettled.look(left).undelivered == {key}, "it still has files elsewhere"
    unjudged = DeliveryRecord(FOLDER, "h1:a", since=NOW, trouble=Trouble("health", "no file", NOW))
    assert unsettled.look(replace(image, deliveries={key: unjudged})).undelivered == frozenset()
