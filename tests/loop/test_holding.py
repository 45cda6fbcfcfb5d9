"""Objects that people change one by one: one that is wrong is held back, and the others are taken."""

from __future__ import annotations

import pytest

from fleetform.loop.control import PassReport
from support.fleets import CLUSTERS, DEFINITION, PRESET, override
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


def test_in_a_folder_one_error_refuses_everything() -> None:
    plane = Plane(Files({"clusters": CLUSTERS, "web": DEFINITION, "preset": PRESET}))
    plane.settle()
    plane.files.files |= {"wrong": WRONG, "right": RIGHT}
    report = plane.control.run_pass()
    assert report.refusal is not None
    assert not report.refusal.partial
    assert set(plane.control.image.files) == {"clusters", "web", "preset"}
