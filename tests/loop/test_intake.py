"""What is taken from the source, what is refused, and what a new process makes of what another one accepted."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from fleetform.loop.image import Extras
from loop.test_control import installed, plane, upgraded
from support.fleets import override
from support.plane import Plane

SECRET = "apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: acme}\nstringData: {k: v}\n"
INVALID = override("more", "[{path: replicas, value: 1000}]", "pluginDefinitionNames: [web]")


def secret_key(found: Plane) -> str:
    found.settle()
    return found.control.image.known.secret_key


def test_the_key_of_digests_is_made_once_when_there_is_a_secret() -> None:
    found = installed()
    upgraded(found)
    assert secret_key(found) == ""
    found.files.files["secret.yaml"] = SECRET
    key = secret_key(found)
    assert key
    upgraded(found, "1.2.0")
    assert secret_key(found) == key
    del found.files.files["secret.yaml"]
    assert secret_key(found) == key


def test_what_another_version_accepted_is_judged_once_by_a_process_that_begins() -> None:
    found = installed()
    found.files.files["more.yaml"] = INVALID
    assert found.control.run_pass().refusal is not None
    # As one would have that knows no maximum.
    image = found.control.image
    files = {**image.files, "more.yaml": INVALID.encode()}
    found.control._standing.commit(replace(image, files=files), Extras(), found.clock.at)
    found.restart()
    refusal = found.control.run_pass().refusal
    assert refusal is not None
    assert (refusal.reason, refusal.partial) == ("some objects were accepted earlier and are invalid now", True)
    assert any("1000" in each.message for each in refusal.findings)
    assert not found.control.look(), "nothing else is there than what was judged"
    assert found.control.run_pass().refusal is refusal
    del found.files.files["more.yaml"]
    assert found.control.look()
    assert found.control.run_pass().refusal is None


def test_where_a_catalog_is_due_and_nothing_can_be_taken_it_is_tried_again_after_a_minute() -> None:
    found = installed()
    found.files.files["preset.yaml"] = "not: [valid"
    assert found.settle().next_look is None
    found.control._standing.catalogs_due = found.clock.at
    report = found.control.run_pass(look_at_source=False)
    assert report.refusal is not None
    assert report.next_look == found.clock.at + timedelta(minutes=1)


def test_what_was_just_accepted_is_nothing_new() -> None:
    found = plane()
    assert found.control.look()
    found.control.run_pass()
    assert not found.control.look()
    found.restart()
    assert found.control.look(), "a process that begins judges what another one accepted"
    found.control.run_pass()
    assert not found.control.look()


def test_what_was_seen_at_a_look_is_what_the_next_pass_takes() -> None:
    found = installed()
    assert not found.control.look()
    upgraded(found)
    assert found.control.look()
    seen = dict(found.files.files)
    upgraded(found, "1.2.0")
    assert found.control.run_pass(look_at_source=False).accepted is not None
    assert found.control.image.files.keys() == seen.keys()
    assert found.control.look(), "there is something else by now"
    found.control.forget()
    assert found.control.run_pass(look_at_source=False).accepted is None, "it is looked at again after a failure"


@pytest.mark.rule("B21")
def test_objects_are_kept_as_they_were_as_long_as_a_rollout_needs_them() -> None:
    found = installed()
    kept = []
    for value, hours in ((7, 0), (8, 6), (9, 6), (10, 0)):
        found.files.files["more.yaml"] = override("more", f"[{{path: replicas, value: {value}}}]")
        found.settle()
        kept.append(set(found.control.image.known.kept))
        found.wait(hours=hours)
    assert [len(each) for each in kept] == [0, 1, 1, 1], "as it was at the last edit, and none before that"
    assert len(set.union(*kept)) == 3
