"""Rules that the engine is held to elsewhere, kept by a control plane that runs: over passes and restarts."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

import pytest

from fleetform.app.listing.list_presets import list_presets
from fleetform.app.scope import scope_of
from fleetform.deliver.directory import DirectoryDelivery
from fleetform.deliver.tree import INVENTORY
from fleetform.engine.plan.rollouts import Rollout
from fleetform.loop.asking import Reply, RolloutRequest
from fleetform.model.identity import Identity
from fleetform.model.objects import Ref
from fleetform.outside.files import OUTPUT_MARK
from fleetform.ports.delivery import Note
from loop.test_control import STAGES, installed, plane, upgraded
from support.fleets import BASE, override
from support.plane import Files, Plane

PRESET = Ref("PluginPreset", "acme", "web")
APPROVED = STAGES.replace("maxConcurrency: 1}", "maxConcurrency: 1, approvals: {required: 1, from: {users: [ann]}}}")


def asked(found: Plane, verb: str, **more: str) -> Reply:
    who = Identity(more.pop("by", "ann"), owner=True)
    return found.control.ask(RolloutRequest(verb=verb, name="web", who=who, **more))  # type: ignore[arg-type]


def values_on(found: Plane, cluster: str) -> str:
    parcel = found.targets.there["acme", cluster, f"web-{cluster}"]
    return b"".join(parcel.files.values()).decode()


def rollouts(found: Plane, preset: Ref = PRESET) -> list[Rollout]:
    return list(found.control.image.known.rollouts.rollouts.get(preset, ()))


@pytest.mark.rule("R0-15", "R0-16")
def test_an_override_that_goes_brings_back_what_it_hid_and_the_files_stay_as_they_are() -> None:
    found = installed()
    before = values_on(found, "eu-1")
    found.files.files["override.yaml"] = override("more", "[{path: replicas, value: 7}]")
    written = dict(found.files.files)
    found.wait(hours=3)
    assert "replicas'', 7" in values_on(found, "eu-1")
    assert found.files.files == written
    found.restart()
    del found.files.files["override.yaml"]
    found.wait(hours=3)
    assert values_on(found, "eu-1") == before


@pytest.mark.rule("R0-16")
@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("preset.yaml", "value: 2", "value: 5"),
        ("clusters.yaml", "region: us", "region: eu"),
        ("definition.yaml", "team: none", "team: web"),
        ("override.yaml", "value: 3", "value: 4"),
    ],
)
def test_every_edit_of_a_running_plane_ends_as_a_fresh_one_would(file: str, old: str, new: str) -> None:
    region = "clusterSelector: {matchLabels: {region: eu}}"
    files = {"override.yaml": override("eu", "[{path: replicas, value: 3}]", region)}
    found, fresh = plane(**files), plane(**files)
    found.wait(hours=3)
    for each in (found, fresh):
        assert old in each.files.files[file]
        each.files.files[file] = each.files.files[file].replace(old, new)
        each.wait(hours=6)
    assert {key: each.files for key, each in found.targets.there.items()} == {
        key: each.files for key, each in fresh.targets.there.items()
    }


@pytest.mark.rule("R0-17")
def test_a_plugin_made_by_hand_is_delivered_with_the_values_that_a_preset_s_would_have() -> None:
    by_hand = BASE["preset.yaml"].replace("PluginPreset", "Plugin").replace("name: web,", "name: web-eu-1,", 1)
    by_hand = by_hand.replace("  clusterSelector: {}\n", "  clusterName: eu-1\n")
    lines = by_hand.split("  plugin:\n")
    by_hand = lines[0] + "".join(f"{line[2:]}\n" for line in lines[1].split("\n") if line)
    speaking = {"override.yaml": override("more", "[{path: replicas, value: 7}]")}
    one = Plane(Files({**BASE, **speaking}))
    other = Plane(Files({**BASE, **speaking, "preset.yaml": by_hand}))
    for each in (one, other):
        each.wait(hours=1)
    assert "replicas'', 7" in values_on(one, "eu-1")
    assert values_on(one, "eu-1") == values_on(other, "eu-1")


@pytest.mark.rule("R2-18", "S29")
def test_a_preset_s_status_adds_up_what_runs_waits_and_failed() -> None:
    found = installed()
    found.health.says["eu-1", "1.1.0"] = "Failed"
    found.files.files["policy.yaml"] = STAGES.replace("onFailure: Rollback", "onFailure: Halt")
    upgraded(found)
    found.wait(hours=9)
    fleet = found.control.fleet
    assert fleet is not None
    [preset] = list_presets(fleet, scope_of(fleet, "acme", False))
    status = preset.status.plugins
    assert (status.total, status.updated, status.ready, status.failed) == (3, 2, 1, 1)
    assert preset.status.versions == {"1.1.0": 2, "1.0.0": 1}


@pytest.mark.rule("R2-45")
def test_an_external_rollout_applies_what_the_files_say_at_once_and_still_gates_validity() -> None:
    external = BASE["preset.yaml"].replace("spec:\n", "spec:\n  rollout: External\n", 1)
    found = Plane(Files({**BASE, "preset.yaml": external, "policy.yaml": STAGES}))
    found.settle()
    assert set(found.versions) == {"eu-1", "eu-2", "us-1"}
    upgraded(found)
    found.settle()
    assert set(found.versions.values()) == {"1.1.0"}
    breaking = BASE["definition.yaml"].replace("version: 1.0.0\n", "version: 2.0.0\n  changes: {breaking: true}\n")
    found.files.files["breaking.yaml"] = breaking
    found.wait(hours=3)
    assert set(found.versions.values()) == {"1.1.0"}, "a breaking version waits for somebody who says that it is fine"


@pytest.mark.rule("B26")
def test_consent_to_one_change_is_none_to_the_next_over_a_restart_too() -> None:
    found = plane(**{"policy.yaml": APPROVED})
    found.wait(hours=3)
    assert list(found.versions) == ["eu-2"]
    assert asked(found, "approve", stage="gold").problem is None
    found.restart()
    found.wait(hours=3)
    assert set(found.versions.values()) == {"1.0.0"}
    assert len(found.versions) == 3
    upgraded(found)
    found.wait(hours=9)
    assert found.versions == {"eu-1": "1.0.0", "eu-2": "1.1.0", "us-1": "1.0.0"}


@pytest.mark.rule("B27")
def test_a_change_that_reaches_two_presets_is_a_rollout_for_each_under_one_change() -> None:
    second = BASE["preset.yaml"].replace("name: web, namespace", "name: shop, namespace", 1)
    second = second.replace("  plugin:\n", "  plugin:\n    releaseName: shop\n")
    second = second.replace("spec:\n", "spec:\n  rolloutPolicy: standard\n", 1)
    found = plane(**{"second.yaml": second})
    found.wait(hours=9)
    upgraded(found)
    found.wait(hours=9)
    one, other = rollouts(found)[-1], rollouts(found, PRESET._replace(name="shop"))[-1]
    assert one.phase == other.phase == "Succeeded"
    assert one.name != other.name
    assert one.change_id == other.change_id


@pytest.mark.rule("B34")
def test_what_failed_is_tried_a_few_times_with_growing_pauses_and_then_left_until_somebody_asks() -> None:
    found = installed()
    found.files.files["policy.yaml"] = STAGES.replace("onFailure: Rollback", "onFailure: Halt")
    found.health.says["eu-2", "1.1.0"] = "Failed"
    upgraded(found)
    found.wait(days=2)
    starts = [
        each.at for each in found.store.events("acme", "eu-2") if (each.event, each.version) == ("Started", "1.1.0")
    ]
    starts.sort()
    pauses = [later - earlier for earlier, later in pairwise(starts)]
    assert len(starts) == 4
    assert pauses == sorted(pauses)
    assert pauses[0] < pauses[-1]
    found.restart()
    found.wait(days=2)
    again = [each for each in found.store.events("acme", "eu-2") if (each.event, each.version) == ("Started", "1.1.0")]
    assert len(again) == 4
    found.health.says.clear()
    assert asked(found, "retry").problem is None
    found.wait(days=1)
    assert set(found.versions.values()) == {"1.1.0"}


@pytest.mark.rule("S50")
def test_an_abort_leaves_what_was_started_and_holds_over_a_restart_until_a_retry() -> None:
    found = installed()
    upgraded(found)
    found.settle()
    assert asked(found, "abort", reason="INC-1").problem is None
    found.restart()
    found.wait(days=1)
    assert found.versions == {"eu-1": "1.0.0", "eu-2": "1.1.0", "us-1": "1.0.0"}
    assert asked(found, "retry").problem is None
    found.wait(days=1)
    assert set(found.versions.values()) == {"1.1.0"}


@pytest.mark.rule("B33")
def test_what_is_stored_of_a_rollout_does_not_grow_with_the_fleet() -> None:
    cluster = "apiVersion: fleetform.dev/v1alpha1\nkind: Cluster\nmetadata: {name: c%02d, namespace: acme}\n"
    sizes = []
    for number in (1, 40):
        found = plane(**{"more.yaml": "---\n".join(cluster % each for each in range(number))})
        found.files.files["policy.yaml"] = STAGES.replace("maxConcurrency: 1", "maxConcurrency: 100%")
        found.wait(hours=6)
        assert len(found.versions) == number + 3
        [stored] = found.store.list("Rollout").records
        sizes.append(len(stored.body))
    assert abs(sizes[1] - sizes[0]) < 20


@pytest.mark.rule("R2-15")
def test_what_is_delivered_is_what_was_rendered_beside_an_inventory_and_nothing_else(tmp_path: Path) -> None:
    found = installed()
    parcels = list(found.targets.there.values())
    assert {kind for each in parcels for kind in _kinds(each.files.values())} == {"ConfigMap"}
    assert DirectoryDelivery(str(tmp_path)).deliver(parcels, [], Note({})) == {}
    written = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    folders = {f"{cluster}/{plugin}" for _, cluster, plugin in found.targets.there}
    rendered = {f"{each.key[1]}/{each.key[2]}/{name}" for each in parcels for name in each.files}
    assert written == rendered | {OUTPUT_MARK} | {f"{folder}/{INVENTORY}" for folder in folders}


def _kinds(files: Iterable[bytes]) -> list[str]:
    return [line.removeprefix("kind: ") for each in files for line in each.decode().split("\n") if line[:6] == "kind: "]
