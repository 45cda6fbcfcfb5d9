"""What is remembered of an owner's objects as its rollout goes on (B3b), and rollouts as they are kept."""

from __future__ import annotations

import pytest
from msgspec import structs

from fleetform.engine.plan.records import Change
from fleetform.engine.plan.rollouts import Policy, Rollout
from fleetform.engine.world.stored import AdmittedObjects, Stored, is_settled, objects_after
from fleetform.model.objects import Ref
from fleetform.model.state import Deployed, PluginState
from support.plans import HOUR, NEW, NOON, OLD, OWNER, candidate, key

OLD_OBJECTS, NEW_OBJECTS = {"a": "1"}, {"a": "2"}
KNOWN = AdmittedObjects(OLD_OBJECTS)
ON_ITS_WAY = AdmittedObjects(OLD_OBJECTS, NEW_OBJECTS)
PENDING = Rollout("certs-1", OWNER, "c1:a", Policy(), NOON)
RUNNING = structs.replace(PENDING, started=NOON, phase="Progressing")
DONE = structs.replace(RUNNING, phase="Succeeded", ended=NOON + HOUR)
ABORTED = structs.replace(RUNNING, phase="Aborted", ended=NOON + HOUR, rejected=True)
NEXT = structs.replace(RUNNING, name="certs-2")
BACK = structs.replace(DONE, phase="RollingBack", ended=None, rejected=True)
SUCCEEDED = AdmittedObjects(NEW_OBJECTS, earlier=OLD_OBJECTS)
THIRD = AdmittedObjects({"a": "3"})


@pytest.mark.rule("B3b")
@pytest.mark.parametrize(
    ("known", "before", "after", "settled", "expected"),
    [
        # Without a rollout what is there now is what was admitted.
        (None, None, None, False, AdmittedObjects(NEW_OBJECTS)),
        (KNOWN, None, None, False, AdmittedObjects(NEW_OBJECTS)),
        (AdmittedObjects(NEW_OBJECTS), None, None, False, AdmittedObjects(NEW_OBJECTS)),
        # A rollout that has not started fixes nothing; one that starts fixes what comes.
        (KNOWN, None, PENDING, False, KNOWN),
        (None, None, PENDING, False, AdmittedObjects({})),
        (KNOWN, PENDING, RUNNING, False, ON_ITS_WAY),
        (KNOWN, None, RUNNING, False, ON_ITS_WAY),
        (None, None, RUNNING, False, AdmittedObjects({}, NEW_OBJECTS)),
        # What it was when it started counts, whatever is there by now.
        (AdmittedObjects(OLD_OBJECTS, {"a": "3"}), RUNNING, RUNNING, False, AdmittedObjects(OLD_OBJECTS, {"a": "3"})),
        (AdmittedObjects(OLD_OBJECTS, {"a": "3"}), RUNNING, NEXT, False, ON_ITS_WAY),
        # It succeeds: what came is what was admitted, and what was before is known until the next begins.
        (
            AdmittedObjects(OLD_OBJECTS, {"a": "3"}),
            RUNNING,
            DONE,
            False,
            AdmittedObjects({"a": "3"}, earlier=OLD_OBJECTS),
        ),
        (KNOWN, RUNNING, DONE, False, SUCCEEDED),
        (KNOWN, PENDING, DONE, False, SUCCEEDED),
        (None, None, DONE, False, AdmittedObjects(NEW_OBJECTS)),
        (AdmittedObjects({"a": "3"}, earlier={"a": "4"}), DONE, structs.replace(NEXT, started=None), False, THIRD),
        # It is rolled back all the same: what was before is what was admitted.
        (SUCCEEDED, DONE, BACK, False, KNOWN),
        (SUCCEEDED, BACK, BACK, False, KNOWN),
        (KNOWN, BACK, structs.replace(BACK, phase="Halted", ended=NOON + HOUR), True, KNOWN),
        # What was aborted was not admitted.
        (ON_ITS_WAY, RUNNING, ABORTED, False, KNOWN),
        (KNOWN, ABORTED, ABORTED, True, KNOWN),
        # Long after: an edit without effect is part of no later change.
        (KNOWN, DONE, DONE, True, AdmittedObjects(NEW_OBJECTS)),
        (
            AdmittedObjects(OLD_OBJECTS, earlier={"a": "0"}),
            DONE,
            DONE,
            True,
            AdmittedObjects(NEW_OBJECTS, None, {"a": "0"}),
        ),
        (KNOWN, None, DONE, True, AdmittedObjects(NEW_OBJECTS)),
        (KNOWN, DONE, DONE, False, KNOWN),
        (KNOWN, DONE, structs.replace(DONE, rejected=True), True, KNOWN),
    ],
)
def test_what_was_admitted_changes_when_a_rollout_starts_and_when_it_succeeds(
    known: AdmittedObjects | None,
    before: Rollout | None,
    after: Rollout | None,
    settled: bool,
    expected: AdmittedObjects | None,
) -> None:
    found = objects_after(known, before, after, NEW_OBJECTS, lambda: settled)
    assert found == expected
    assert (found is known) == (found == known), "what stays the same is not written again"


def test_an_owner_is_settled_if_all_that_is_installed_is_what_is_wanted() -> None:
    change = Change(OWNER, "c1:a", (candidate("a"), candidate("b"), candidate("c")))
    same = PluginState(NEW, OLD)
    assert is_settled(change, {})
    assert is_settled(change, {key("a"): same, key("b"): PluginState()})
    assert not is_settled(change, {key("a"): same, key("b"): PluginState(OLD, NEW)})
    unknown = PluginState(Deployed(NEW.version, "certs", None))
    assert not is_settled(change, {key("c"): unknown})


def test_a_rollout_is_kept_in_its_place_or_as_the_last_of_its_owner() -> None:
    other = structs.replace(RUNNING, owner=Ref("PluginPreset", "acme", "dns"))
    stored = Stored().with_rollout(PENDING).with_rollout(NEXT).with_rollout(other).with_rollout(RUNNING)
    assert stored.rollouts == {OWNER: (RUNNING, NEXT), other.owner: (other,)}
