"""Objects that people change one by one: one that is wrong is held back, and the others are taken."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

import pytest

from fleetform.app.fleet import Fleet
from fleetform.loop.control import PassReport
from fleetform.loop.holding import without_invalid
from fleetform.loop.image import Extras, commit_image
from support.fleets import CLUSTERS, DEFINITION, NOW, PRESET, fleet_of, override
from support.plane import Files, Plane

WRONG = override("wrong", "[{path: replicas, value: many}]", "pluginDefinitionNames: [web]")
RIGHT = override("right", "[{path: replicas, value: 5}]", "pluginDefinitionNames: [web]")
POLICY = """
apiVersion: fleetform.dev/v1alpha1
kind: RolloutPolicy
metadata: {name: standard, namespace: acme}
spec: {stages: [{name: all, remainder: true}]}
"""
STAGED = PRESET.replace("spec:\n", "spec:\n  rolloutPolicy: standard\n", 1)


class Objects:
    """An organization on an API server, a file for each object."""

    def __init__(self) -> None:
        clusters = dict(zip(("eu-1", "eu-2", "us-1"), CLUSTERS.split("---\n"), strict=True))
        self.files = Files({**clusters, "web": DEFINITION, "preset": STAGED, "policy": POLICY}, separate=True)
        self.plane = Plane(self.files)
        self.settle()

    def was_accepted_with(self, **files: str) -> None:
        """A newer version starts, which takes these for wrong; those before it had accepted them."""
        self.files.files |= files
        image = self.plane.control.image
        encoded = {name: text.encode() for name, text in files.items()}
        commit_image(self.plane.store, image, replace(image, files={**image.files, **encoded}), Extras(), NOW)
        self.plane.restart()

    def settle(self, **changes: str | None) -> PassReport:
        for name, text in changes.items():
            if text is None:
                del self.files.files[name]
            else:
                self.files.files[name] = text
        self.plane.settle()
        return self.plane.control.run_pass()

    @property
    def accepted(self) -> set[str]:
        return set(self.plane.control.image.files)

    def replicas(self) -> set[object]:
        fleet = self.plane.control.fleet
        assert fleet is not None
        return {
            plugin.options["replicas"].value
            for each in fleet.decisions.clusters.values()
            for plugin in each.plugins.values()
        }


def refused(report: PassReport) -> set[str]:
    assert report.refusal is not None
    assert report.refusal.partial
    return {each.object or "" for each in report.refusal.findings}


@pytest.mark.rule("S64")
def test_one_that_is_wrong_stays_out_and_the_others_are_taken() -> None:
    objects = Objects()
    report = objects.settle(wrong=WRONG, right=RIGHT)
    assert refused(report) == {"PluginOverride/acme/wrong"}
    assert objects.accepted == {"eu-1", "eu-2", "us-1", "web", "preset", "policy", "right"}
    assert objects.replicas() == {5}
    mended = objects.settle(wrong=WRONG.replace("many", "7").replace("name: wrong", "name: zz"))
    assert mended.refusal is None
    assert "wrong" in objects.accepted


@pytest.mark.rule("S64")
def test_one_that_becomes_wrong_stays_as_it_was_accepted() -> None:
    objects = Objects()
    broken = STAGED.replace("value: 2", "value: many")
    report = objects.settle(preset=broken, more=CLUSTERS.split("---\n")[0].replace("eu-1", "eu-9"))
    assert refused(report) == {"PluginPreset/acme/web"}
    assert objects.plane.control.image.files["preset"] == STAGED.encode()
    assert "more" in objects.accepted
    assert objects.replicas() == {2}


@pytest.mark.rule("S64")
def test_after_a_restart_it_is_held_back_as_before() -> None:
    objects = Objects()
    objects.settle(wrong=WRONG, right=RIGHT)
    objects.plane.restart()
    version = objects.plane.store.version()
    report = objects.settle()
    assert refused(report) == {"PluginOverride/acme/wrong"}
    assert objects.replicas() == {5}
    assert objects.plane.store.version() == version


@pytest.mark.rule("S64")
def test_a_deletion_that_leaves_others_without_what_they_need_is_held_back() -> None:
    objects = Objects()
    report = objects.settle(policy=None, right=RIGHT)
    assert refused(report) == {"PluginPreset/acme/web"}
    assert {"policy", "right"} <= objects.accepted
    assert objects.replicas() == {5}
    # With what needs it, it may go.
    assert objects.settle(preset=PRESET).refusal is None
    assert "policy" not in objects.accepted


@pytest.mark.rule("S64")
def test_what_needs_an_object_that_comes_after_it_is_taken_with_it() -> None:
    """Also where something else is wrong, and where nothing names which of the changes it is."""
    objects = Objects()
    preset = STAGED.replace("name: web", "name: aaa", 1).replace("standard", "zzz")
    report = objects.settle(a=preset, z=POLICY.replace("standard", "zzz"), policy=None)
    assert refused(report) == {"PluginPreset/acme/web"}
    assert {"a", "z", "policy"} <= objects.accepted


@pytest.mark.rule("S64")
def test_before_anything_was_accepted_what_is_right_is_taken() -> None:
    files = Files({"cluster": CLUSTERS.split("---\n")[0], "web": DEFINITION, "wrong": WRONG}, separate=True)
    plane = Plane(files)
    plane.settle()
    assert set(plane.control.image.files) == {"cluster", "web"}


NEW = CLUSTERS.split("---\n")[0].replace("eu-1", "eu-9")
UNREAD = STAGED.replace("spec:\n", "spec:\n  olderField: 1\n", 1)
UNREAD_OVERRIDE = RIGHT.replace("spec: {", "spec: {olderField: 1, ")


@pytest.mark.rule("S64", "B22")
@pytest.mark.parametrize("deletion", ["Delete", "Retain"])
def test_an_accepted_owner_that_a_newer_version_cannot_read_keeps_its_plugins(deletion: str) -> None:
    objects = Objects()
    objects.settle(preset=STAGED.replace("spec:\n", f"spec:\n  deletionPolicy: {deletion}\n", 1))
    before = dict(objects.plane.targets.there)
    deliveries = objects.plane.control.image.deliveries
    objects.was_accepted_with(preset=UNREAD)
    report = objects.settle()
    # Told by name, though nobody changed anything, and once: nothing is written for it.
    assert refused(report) == {"PluginPreset/acme/web"}
    version = objects.plane.store.version()
    objects.plane.clock.at += timedelta(days=3)
    assert refused(objects.settle()) == {"PluginPreset/acme/web"}
    assert objects.plane.targets.there == before
    assert objects.plane.control.image.deliveries == deliveries
    assert objects.plane.store.version() == version
    # New input is taken beside it, and with it once it is mended.
    assert refused(objects.settle(more=NEW)) == {"PluginPreset/acme/web"}
    assert "more" in objects.accepted
    assert objects.settle(preset=STAGED).refusal is None
    assert objects.plane.targets.versions() == dict.fromkeys(("eu-1", "eu-2", "eu-9", "us-1"), "1.0.0")


@pytest.mark.rule("S64")
def test_what_an_accepted_object_may_reach_that_cannot_be_read_stays_as_it_is_and_all_else_goes_on() -> None:
    objects = Objects()
    other = {each: text.replace("name: web", "name: db") for each, text in (("db", DEFINITION), ("dbs", PRESET))}
    objects.settle(right=RIGHT, **other)
    objects.was_accepted_with(right=UNREAD_OVERRIDE)
    before = dict(objects.plane.targets.there)
    report = objects.settle(more=NEW, dbs=other["dbs"].replace("value: 2", "value: 3"))
    assert refused(report) == {"PluginOverride/acme/right"}
    after = objects.plane.targets.there
    web = {key for key in before if key[2].startswith("web-")}
    assert {key: after[key] for key in web} == {key: before[key] for key in web}
    # On a cluster that came nobody knows what web should be, and db changes everywhere.
    assert {key[2] for key in after if key[1] == "eu-9"} == {"db-eu-9"}
    assert all(after[key].input_hash != before[key].input_hash for key in before.keys() - web)
    assert set(report.unavailable.values()) == {
        "PluginOverride right was accepted and cannot be read any more: spec has no field olderField"
    }


@pytest.mark.rule("S64")
def test_an_accepted_object_that_a_newer_version_takes_for_wrong_holds_up_no_other() -> None:
    objects = Objects()
    objects.settle(right=RIGHT)
    objects.was_accepted_with(right=RIGHT.replace("value: 5", "value: many"))
    assert refused(objects.settle()) == {"PluginOverride/acme/right"}
    # Others are judged as ever: one that brings an error of its own, or takes away what is needed, is held back.
    report = objects.settle(more=NEW, wrong=WRONG, policy=None)
    assert refused(report) == {"PluginOverride/acme/right", "PluginOverride/acme/wrong", "PluginPreset/acme/web"}
    assert objects.accepted == {"eu-1", "eu-2", "us-1", "web", "preset", "policy", "right", "more"}
    # Changed and still wrong, it stays as it is.
    objects.settle(right=RIGHT.replace("value: 5", "value: more"), policy=POLICY)
    assert b"many" in objects.plane.control.image.files["right"]
    del objects.files.files["wrong"]
    assert objects.settle(right=RIGHT).refusal is None
    assert objects.replicas() == {5}


@pytest.mark.rule("S64")
def test_where_nothing_changed_nothing_is_tried_out_whatever_is_wrong() -> None:
    """Every pass comes here as long as something that was accepted is wrong."""
    files = {"clusters.yaml": CLUSTERS, "web.yaml": DEFINITION, "preset.yaml": PRESET, "wrong.yaml": WRONG}
    encoded = {name: text.encode() for name, text in files.items()}
    opened: list[Mapping[str, bytes]] = []

    def open_fleet(asked: Mapping[str, bytes]) -> Fleet:
        opened.append(asked)
        return fleet_of({name: text.decode() for name, text in asked.items()})

    fleet = fleet_of(files)
    assert len(fleet.findings.errors) == 1
    taken = without_invalid(encoded, encoded, fleet, open_fleet)
    assert taken is not None
    assert taken.fleet is fleet
    assert opened == [encoded], "what was wrong before is asked once"


@pytest.mark.rule("B22")
def test_files_of_a_folder_that_a_newer_version_cannot_read_delete_nothing() -> None:
    objects = Objects()
    objects.files.separate = False
    before = dict(objects.plane.targets.there)
    objects.was_accepted_with(preset=UNREAD)
    report = objects.settle()
    assert report.refusal is not None
    assert [each.object for each in report.refusal.findings] == ["PluginPreset/acme/web"]
    assert objects.plane.targets.there == before
    report = objects.settle(more=NEW)
    assert "more" not in objects.accepted, "one error refuses everything"


def test_in_a_folder_one_error_refuses_everything() -> None:
    plane = Plane(Files({"clusters": CLUSTERS, "web": DEFINITION, "preset": PRESET}))
    plane.settle()
    plane.files.files |= {"wrong": WRONG, "right": RIGHT}
    report = plane.control.run_pass()
    assert report.refusal is not None
    assert not report.refusal.partial
    assert set(plane.control.image.files) == {"clusters", "web", "preset"}
