"""One change per owner: what nothing new reaches is the same object, and unknown is never the same."""

from __future__ import annotations

from dataclasses import replace

import pytest
from msgspec import structs

from fleetform.engine.decide import decide
from fleetform.engine.desired import Inputs
from fleetform.engine.plan.progress import observed
from fleetform.engine.world.changes import OwnerChanges
from fleetform.engine.world.hashes import is_known
from fleetform.model.objects import Ref
from fleetform.model.state import Deployed, PluginState
from support.bound import edited
from support.worlds import Folder, definition, installed, manifest, policy, preset

DNS = definition("2.0.0", "dns") + "---\n" + preset(name="dns", of="dns")


def test_after_nothing_the_world_is_the_same_object() -> None:
    fleet = installed(dns=DNS).fleet
    before = fleet.owner_changes
    world = before.world()
    again = decide(fleet.snapshot, fleet.decisions)
    assert OwnerChanges(again, before.inputs, fleet.state.rollouts, before).world() is world


def test_after_one_plugin_moved_the_other_owners_changes_are_the_same_objects() -> None:
    folder = installed(dns=DNS)
    folder.edit(certs=definition("1.0.0") + "---\n" + definition("1.1.0"))
    folder.go()
    fleet = folder.fleet
    before = fleet.owner_changes
    certs, dns = before.world().changes
    moved = observed(folder.state("qa-1"), folder.state("qa-1").attempt.input_hash, "Failed", folder.now)  # type: ignore[union-attr]
    here = {**fleet.snapshot.states[Ref("Cluster", "acme", "qa-1")], "certs-qa-1": moved}
    states = {**fleet.snapshot.states, Ref("Cluster", "acme", "qa-1"): here}
    decisions = decide(replace(fleet.snapshot, states=states), fleet.decisions)
    assert decisions.clusters is fleet.decisions.clusters, "a phase is for the plan alone: nothing is decided again"
    after = OwnerChanges(decisions, Inputs(decisions, before.inputs.transforms), fleet.state.rollouts, before)
    assert after.change(dns.owner) is dns
    assert after.world().states["acme", "qa-1", "certs-qa-1"] is moved
    assert after.change(certs.owner) == OwnerChanges(decisions, after.inputs, fleet.state.rollouts).change(certs.owner)


def test_an_edit_of_one_preset_makes_its_change_anew_and_no_other() -> None:
    folder = installed(dns=DNS)
    fleet = folder.fleet
    before = fleet.owner_changes
    certs, dns = before.world().changes
    folder.edit(preset=preset(values="[{name: replicas, value: 3}]"))
    edited = folder.fleet
    decisions = decide(edited.snapshot, fleet.decisions)
    after = OwnerChanges(decisions, Inputs(decisions, before.inputs.transforms), edited.state.rollouts, before)
    assert after.change(dns.owner) is dns
    assert after.change(certs.owner).change_id != certs.change_id


def test_a_policy_that_is_another_reaches_all_its_owners() -> None:
    folder = installed()
    fleet = folder.fleet
    before = fleet.owner_changes
    (certs,) = before.world().changes
    folder.edit(policy=manifest("RolloutPolicy", "standard", "{stages: [{name: all, remainder: true}]}"))
    edited = folder.fleet
    decisions = decide(edited.snapshot, fleet.decisions)
    after = OwnerChanges(decisions, Inputs(decisions, before.inputs.transforms), edited.state.rollouts, before)
    assert {each.stage for each in after.change(certs.owner).candidates} == {"all"}


@pytest.mark.parametrize(
    ("files", "kept"),
    [
        ({"preset": preset(values="[{name: replicas, value: 3}]")}, True),
        ({"window": manifest("UpdateWindow", "nights", "{type: Allow, schedule: '0 22 * * *', duration: 4h}")}, False),
    ],
    ids=["a-preset", "a-window"],
)
def test_when_windows_open_is_found_out_once_while_no_window_is_another(files: dict[str, str], kept: bool) -> None:
    folder = installed()
    before = folder.fleet.owner_changes
    known = before.openings_of("acme")
    folder.edit(**files)
    decisions = decide(edited(before.snapshot, folder.fleet.snapshot), before.decisions)
    after = OwnerChanges(decisions, Inputs(decisions, before.inputs.transforms), before.stored, before)
    assert (after.openings_of("acme") is known) == kept


@pytest.mark.rule("B18", "B30")
def test_a_hash_that_is_not_known_is_never_taken_for_the_same() -> None:
    secret = "{name: certs, type: secret}"
    folder = Folder(
        certs=manifest("PluginDefinition", "certs", f"{{version: 1.0.0, options: [{secret}]}}"),
        preset=preset(values="[{name: certs, valueFrom: {secret: {name: s, key: k}}}]"),
    )
    folder.put("eu-1", PluginState(Deployed("1.0.0", "certs"), Deployed("1.0.0", "certs")))
    wanted = {each.key[1]: each.wanted.input_hash for each in folder.fleet.world.changes[0].candidates}
    assert not any(map(is_known, wanted.values()))
    assert len(set(wanted.values())) == 3
    assert folder.step("eu-1").state != "UpToDate"


@pytest.mark.rule("B30")
def test_what_is_stored_without_a_hash_is_not_known_to_be_what_is_wanted() -> None:
    folder = installed()
    state = folder.state("eu-1")
    assert state.admitted is not None
    folder.put("eu-1", structs.replace(state, admitted=structs.replace(state.admitted, input_hash=None), attempt=None))
    assert folder.step("eu-1").state != "UpToDate"


@pytest.mark.rule("B22")
def test_what_was_installed_before_installers_were_stored_belongs_to_the_preset_of_its_name() -> None:
    folder = installed(dns=DNS, other=preset("paused: true", name="a-first", of="dns"))
    for name in ("certs", "dns"):
        state = folder.state("qa-1", f"{name}-qa-1")
        assert state.admitted is not None
        folder.put(
            "qa-1", structs.replace(state, admitted=structs.replace(state.admitted, installer=None)), f"{name}-qa-1"
        )
    elsewhere = "clusterSelector: {clusterNames: [eu-1, eu-2]}, "
    folder.edit(preset=preset().replace("clusterSelector: {}, ", elsewhere))
    folder.edit(dns=DNS.replace("clusterSelector: {}, ", elsewhere))
    assert [(each.key[2], each.owner.name) for each in folder.fleet.world.removals] == [
        ("certs-qa-1", "certs"),
        ("dns-qa-1", "dns"),
    ]


@pytest.mark.rule("B9", "B3")
def test_another_spelling_of_a_path_is_no_change_of_values() -> None:
    """Parts say in what a change consists; stages that only versions pass must not take it for one of values."""
    folder = Folder(
        policy=policy(more="trigger: [values]"),
        certs=manifest("PluginDefinition", "certs", "{version: 1.0.0, options: [{name: tls, type: map}]}"),
        preset=preset(values="[{name: tls.key, value: 1}, {name: other.path, value: 2}]"),
    )
    (before,) = {each.wanted.parts for each in folder.fleet.world.changes[0].candidates}
    folder.edit(preset=preset(values="[{name: /tls/key, value: 1}, {name: /other/path, value: 2}]"))
    (after,) = {each.wanted.parts for each in folder.fleet.world.changes[0].candidates}
    assert before is not None
    assert before == after
    folder.edit(preset=preset(values="[{name: /tls/key, value: 3}, {name: /other/path, value: 2}]"))
    (other,) = {each.wanted.parts for each in folder.fleet.world.changes[0].candidates}
    assert other is not None
    assert (other.values != before.values, other.configs) == (True, before.configs)


@pytest.mark.rule("B3")
def test_what_a_system_adds_by_itself_makes_each_clusters_hash_its_own() -> None:
    """Greenhouse gives every plugin its cluster's name: no two clusters are made of the same."""
    greenhouse = preset().replace("fleetform.dev/v1alpha1", "greenhouse.sap/v1alpha1")
    folder = Folder(preset=greenhouse.replace("optionValues", "releaseName: certs, optionValues"))
    hashes = {each.key[1]: each.wanted.input_hash for each in folder.fleet.world.changes[0].candidates}
    fleet = folder.fleet
    assert hashes == {key[1]: fleet.inputs.hash(plugin) for key, plugin in fleet.decisions.plugins.items()}
    assert len(set(hashes.values())) == 3


def test_states_that_say_the_same_as_those_before_change_nothing_of_who_waits_for_others() -> None:
    """What was read from a store anew is equal, and not the same."""
    waits = definition("2.0.0", "dns", "dependsOn: [{name: certs}]")
    fleet = installed(dns=waits + "---\n" + preset(name="dns", of="dns")).fleet
    before = fleet.owner_changes
    _, dns = before.world().changes
    assert all(each.depends_on for each in dns.candidates)
    states = {
        ref: {name: structs.replace(state) for name, state in here.items()}
        for ref, here in fleet.snapshot.states.items()
    }
    decisions = decide(replace(fleet.snapshot, states=states), fleet.decisions)
    after = OwnerChanges(decisions, Inputs(decisions, before.inputs.transforms), fleet.state.rollouts, before)
    assert after.change(dns.owner) is dns
