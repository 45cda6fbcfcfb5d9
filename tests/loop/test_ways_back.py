"""Ways back through the whole loop: clusters that joined, changes that wait meanwhile, and what is told of stages."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import pytest

from fleetform.app.rollout import Person, Rollouts
from fleetform.app.scope import Scope
from fleetform.loop.asking import RolloutRequest
from fleetform.model.answers.planning import RolloutAnswer
from fleetform.model.identity import Identity
from fleetform.model.objects import Ref
from loop.test_control import installed, joined, plane, texts, upgraded
from support.fleets import override
from support.plane import Plane


def fails(found: Plane, cluster: str, version: str = "1.1.0") -> None:
    found.health.says[cluster, version] = "Failed"
    found.health.messages[cluster] = "3 pods crash"


def ask(found: Plane, verb: Literal["abort", "retry", "rollback"]) -> None:
    """Of the last rollout."""
    [rollouts] = found.control.image.known.rollouts.rollouts.values()
    reply = found.control.ask(RolloutRequest(verb=verb, name=rollouts[-1].name, who=Identity("ann", owner=True)))
    assert reply.problem is None
    found.settle()


def status(found: Plane) -> RolloutAnswer:
    """Of the last rollout that has started."""
    fleet = found.control.fleet
    assert fleet is not None
    [rollouts] = fleet.state.rollouts.rollouts.values()
    last = [each.name for each in rollouts if each.started is not None][-1]
    return Rollouts(replace(fleet, partial=None), Scope("acme"), Person("ann")).status(last)


def stages(found: Plane) -> dict[str, tuple[str, int, int, int, int]]:
    """Phase, updated, healthy, failed and waiting of each stage."""
    return {
        each.name: (
            each.phase,
            each.clusters.updated,
            each.clusters.healthy,
            each.clusters.failed,
            each.clusters.waiting,
        )
        for each in status(found).stages
    }


@pytest.mark.rule("B21", "R2-38", "S45")
@pytest.mark.parametrize("restarts", [True, False])
def test_a_cluster_that_joined_a_rollout_goes_back_with_it(restarts: bool) -> None:
    """Its name is among its values: what it goes back to never ran anywhere, and the files no longer say how it is
    made."""
    found = installed()
    preset = found.files.files["preset.yaml"]
    own = "optionValues:\n    - {name: host, expression: cluster.name}\n"
    found.files.files["preset.yaml"] = preset.replace("optionValues:\n", own, 1)
    found.wait(hours=3)
    upgraded(found)
    found.settle()
    joined(found, late="dev")
    del found.files.files["definition.yaml"]
    fails(found, "eu-1")
    found.wait(minutes=65)
    assert found.versions == {"eu-1": "1.1.0", "eu-2": "1.1.0", "late": "1.1.0", "us-1": "1.0.0"}
    if restarts:
        found.restart()
    found.wait(minutes=7)
    assert found.versions == dict.fromkeys(("eu-1", "eu-2", "late", "us-1"), "1.0.0")
    assert b"late" in next(iter(found.targets.there["acme", "late", "web-late"].files.values()))
    assert not found.settle().wrote


@pytest.mark.rule("R2-14", "B8", "B10")
def test_a_rollback_takes_place_though_a_newer_change_is_blocked() -> None:
    found = installed()
    upgraded(found)
    fails(found, "eu-2")
    found.settle()
    assert status(found).phase == "Halted"
    upgraded(found, "1.2.0")
    newer = found.files.files["definition-1.2.0.yaml"]
    found.files.files["definition-1.2.0.yaml"] = newer.replace("version: 1.2.0\n", "version: 1.2.0\n  breaking: true\n")
    found.wait(minutes=8)
    assert set(found.versions.values()) == {"1.0.0"}
    assert found.control.image.known.rejected[0].version == "1.1.0"


@pytest.mark.rule("B8", "R2-37")
def test_a_newer_version_that_is_blocked_does_not_disturb_a_rollout_that_runs() -> None:
    found = installed()
    upgraded(found)
    found.settle()
    upgraded(found, "1.2.0")
    newer = found.files.files["definition-1.2.0.yaml"]
    found.files.files["definition-1.2.0.yaml"] = newer.replace("version: 1.2.0\n", "version: 1.2.0\n  breaking: true\n")
    found.wait(hours=2)
    assert set(found.versions.values()) == {"1.1.0"}


@pytest.mark.rule("R2-18", "R2-38")
def test_stages_that_go_back_are_told_as_that_and_not_as_done() -> None:
    found = installed()
    upgraded(found)
    fails(found, "eu-1")
    found.wait(minutes=61)
    assert stages(found)["dev"] == ("Succeeded", 1, 1, 0, 0)
    found.health.says["eu-2", "1.0.0"] = "Unknown"
    found.health.says["eu-1", "1.0.0"] = "Unknown"
    found.wait(minutes=7)
    assert status(found).phase == "RollingBack"
    assert stages(found) == {"dev": ("RollingBack", 0, 0, 0, 0), "gold": ("RollingBack", 0, 0, 1, 0)}
    found.health.says.clear()
    found.wait(minutes=2)
    assert status(found).phase == "Halted"
    assert stages(found) == {"dev": ("RolledBack", 0, 0, 0, 0), "gold": ("RolledBack", 0, 0, 1, 0)}
    assert [each.done for each in status(found).stages] == [None, None]


@pytest.mark.rule("R2-18", "R2-38", "B25")
def test_what_could_not_go_back_yet_is_counted_and_goes_back_when_its_cluster_answers() -> None:
    found = installed()
    upgraded(found)
    fails(found, "eu-1")
    found.wait(minutes=61)
    found.health.silent.add("eu-2")
    found.wait(minutes=30)
    assert found.versions["eu-2"] == "1.1.0"
    [dev, _] = status(found).stages
    assert (dev.phase, dev.clusters.updated, dev.clusters.unreachable) == ("RollingBack", 1, 1)
    found.health.silent.clear()
    found.wait(minutes=2)
    assert found.versions["eu-2"] == "1.0.0"
    assert stages(found)["dev"][:2] == ("RolledBack", 0)


@pytest.mark.rule("R2-14", "R2-38", "B8", "B10", "B34")
@pytest.mark.parametrize("narrows", [True, False])
def test_a_way_back_is_no_downgrade_that_somebody_asked_for(narrows: bool) -> None:
    """Version and values changed, so that with the older version something else is wanted than ran before, and a newer
    rollout begins at once; or somebody narrows the range meanwhile, and nothing is rejected any more."""
    found = installed()
    found.files.files["more.yaml"] = override("more", "[{path: replicas, value: 7}]")
    upgraded(found)
    fails(found, "eu-1")
    found.wait(minutes=61)
    found.health.silent.add("eu-2")
    found.wait(hours=3)
    if narrows:
        preset = found.files.files["preset.yaml"]
        found.files.files["preset.yaml"] = preset.replace("{name: web}", "{name: web, version: ~1.0.0}")
    found.wait(hours=3)
    assert found.versions == {"eu-1": "1.0.0", "eu-2": "1.1.0", "us-1": "1.0.0"}
    found.health.silent.clear()
    found.wait(hours=3)
    assert set(found.versions.values()) == {"1.0.0"}
    assert all(b"7" in next(iter(each.files.values())) for each in found.targets.there.values())
    assert status(found).phase == "Succeeded"
    events = [(each.event, each.version) for each in found.store.events("acme", "eu-2", limit=4)]
    assert events == [("Healthy", "1.0.0"), ("Started", "1.0.0"), ("Healthy", "1.0.0"), ("RolledBack", "1.0.0")]


@pytest.mark.rule("R2-18", "R2-38", "S45", "S50", "B24")
def test_what_has_a_change_from_before_it_was_aborted_goes_back_with_the_next_try() -> None:
    found = installed()
    upgraded(found)
    found.settle()
    ask(found, "abort")
    assert stages(found) == {"dev": ("Aborted", 1, 1, 0, 0), "gold": ("Pending", 0, 0, 0, 0)}
    ask(found, "retry")
    # What the first try brought is still there, and the next counts it as well.
    assert stages(found)["dev"] == ("Aborted", 1, 1, 0, 0)
    fails(found, "eu-1")
    found.wait(minutes=61)
    assert found.versions == {"eu-1": "1.1.0", "eu-2": "1.1.0", "us-1": "1.0.0"}
    assert stages(found)["dev"] == ("Succeeded", 1, 1, 0, 0)
    found.wait(hours=2)
    assert set(found.versions.values()) == {"1.0.0"}
    assert status(found).phase == "Halted"
    assert stages(found) == {"dev": ("RolledBack", 0, 0, 0, 0), "gold": ("RolledBack", 0, 0, 1, 0)}


@pytest.mark.rule("S45", "B24", "R2-38")
@pytest.mark.parametrize("restarts", [True, False])
def test_what_has_a_change_from_before_it_was_replaced_goes_back_with_it_when_it_comes_again(restarts: bool) -> None:
    """Its name is among its values: what it goes back to is nowhere else, and is kept as long as it may be needed."""
    found = installed()
    preset = found.files.files["preset.yaml"]
    own = "optionValues:\n    - {name: host, expression: cluster.name}\n"
    found.files.files["preset.yaml"] = preset.replace("optionValues:\n", own, 1)
    found.wait(hours=3)
    before = texts(found)
    upgraded(found)
    found.settle()
    found.health.says["eu-2", "1.2.0"] = "Failed"
    upgraded(found, "1.2.0")
    found.settle()
    found.control.ask(RolloutRequest(verb="start", name="web", who=Identity("ann", owner=True), supersede=True))
    found.settle()
    assert found.versions == {"eu-1": "1.0.0", "eu-2": "1.2.0", "us-1": "1.0.0"}
    found.wait(minutes=30)
    assert found.versions["eu-2"] == "1.1.0"
    found.control.care()
    if restarts:
        found.restart()
    fails(found, "eu-1")
    found.wait(minutes=40)
    assert found.versions["eu-1"] == "1.1.0"
    assert status(found).name.endswith("-2")
    found.control.care()
    found.wait(hours=2)
    assert texts(found) == before
    assert stages(found) == {"dev": ("RolledBack", 0, 0, 0, 0), "gold": ("RolledBack", 0, 0, 1, 0)}
    assert not found.settle().wrote


@pytest.mark.rule("S50", "B21", "R2-38")
@pytest.mark.parametrize("values", [True, False])
@pytest.mark.parametrize("restarts", [True, False])
def test_a_cluster_that_joined_after_a_rollout_goes_back_with_it(values: bool, restarts: bool) -> None:
    """Whoever rolls it back by hand wants all of it gone; and so do clusters that join later."""
    found = installed()
    preset = found.files.files["preset.yaml"]
    own = "optionValues:\n    - {name: host, expression: cluster.name}\n"
    found.files.files["preset.yaml"] = preset.replace("optionValues:\n", own, 1)
    found.wait(hours=3)
    if values:
        found.files.files["more.yaml"] = override("more", "[{path: replicas, value: 7}]")
    else:
        upgraded(found)
    found.wait(hours=3)
    before = texts(found)
    joined(found, late="dev")
    found.wait(hours=1)
    assert texts(found)["late"] == before["eu-1"]
    if restarts:
        found.restart()
    ask(found, "rollback")
    found.wait(hours=1)
    assert status(found).phase == "Halted"
    joined(found, later="gold")
    found.wait(hours=1)
    assert set(found.versions.values()) == {"1.0.0"}
    assert len(set(texts(found).values())) == 1
    assert b"later" in next(iter(found.targets.there["acme", "later", "web-later"].files.values()))
    assert not any(b"7" in each for each in texts(found).values())
    assert not found.settle().wrote
    ask(found, "retry")
    found.wait(hours=3)
    assert texts(found) == dict.fromkeys(("eu-1", "eu-2", "late", "later", "us-1"), before["eu-1"])


@pytest.mark.rule("S50", "R2-18", "R2-38")
def test_a_cluster_that_joined_after_a_rollout_counts_in_its_stage_while_it_goes_back() -> None:
    found = installed()
    upgraded(found)
    found.wait(hours=3)
    joined(found, late="dev")
    found.wait(hours=1)
    assert found.versions["late"] == "1.1.0"
    found.health.silent.add("late")
    found.wait(minutes=30)
    ask(found, "rollback")
    found.wait(hours=1)
    assert found.versions == {"eu-1": "1.0.0", "eu-2": "1.0.0", "late": "1.1.0", "us-1": "1.0.0"}
    assert stages(found) == {"dev": ("RollingBack", 1, 1, 0, 0), "gold": ("RolledBack", 0, 0, 0, 0)}


@pytest.mark.rule("S50", "B25", "R2-38")
def test_a_cluster_that_caught_up_after_a_rollout_goes_back_with_it() -> None:
    found = installed()
    found.health.silent.add("us-1")
    found.wait(minutes=30)
    upgraded(found)
    found.wait(hours=3)
    assert found.versions == {"eu-1": "1.1.0", "eu-2": "1.1.0", "us-1": "1.0.0"}
    assert status(found).phase == "Succeeded"
    found.health.silent.clear()
    found.wait(hours=1)
    assert found.versions["us-1"] == "1.1.0"
    ask(found, "rollback")
    found.wait(hours=1)
    assert set(found.versions.values()) == {"1.0.0"}


@pytest.mark.rule("R2-18", "R2-38")
def test_what_was_installed_by_a_rollout_that_failed_stays_and_is_told_so() -> None:
    found = Plane(installed().files)
    fails(found, "eu-2", "1.0.0")
    found.wait(minutes=10)
    assert status(found).phase == "Halted"
    assert stages(found) == {"dev": ("Halted", 1, 0, 1, 0), "gold": ("Pending", 0, 0, 0, 0)}


@pytest.mark.rule("B10")
def test_a_version_that_others_run_is_not_rejected_where_it_cannot_be_installed() -> None:
    """Else what failed would start again on those others, under the name of a change at the version that they run."""
    found = plane()
    found.health.says["us-1"] = "Unknown"
    found.wait(hours=6)
    found.health.says["us-1"] = "Failed"
    found.files.files["more.yaml"] = override("more", "[{path: replicas, value: 7}]")
    found.wait(hours=6)
    assert found.control.image.known.rejected == ()
    went_back = {key[1]: b"7" in next(iter(parcel.files.values())) for key, parcel in found.targets.there.items()}
    assert (went_back["eu-1"], went_back["eu-2"]) == (False, False)
    last = found.control.image.known.rollouts.rollouts[Ref("PluginPreset", "acme", "web")][-1]
    assert (last.phase, last.rejected) == ("Halted", True)
    found.health.says.clear()
    found.files.files["more.yaml"] = override("more", "[{path: replicas, value: 8}]")
    found.wait(hours=6)
    assert all(b"8" in next(iter(parcel.files.values())) for parcel in found.targets.there.values())
