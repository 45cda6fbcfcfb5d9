"""What is stored goes into a file and comes back as it was."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from msgspec import structs

from fleetform.app.stored_state.reading import known_state
from fleetform.app.stored_state.writing import state_document
from fleetform.engine.plan.records import Approval, Emergency
from fleetform.engine.plan.requests import pause
from fleetform.engine.world.stored import OwnerRequest
from fleetform.load.state import StateFile
from fleetform.model.objects import Ref
from fleetform.ports.state import KnownState, KnownVersion, Rejection
from support.fleets import NOW
from support.worlds import Folder, definition, installed, policy

PRESET = Ref("PluginPreset", "acme", "certs")


def under_way() -> Folder:
    """1.1.0 runs on the QA cluster, failed on one and waits elsewhere; everything that can be stored is."""
    stages = "{name: qa, clusterSelector: {matchLabels: {tier: qa}}, minSuccessTime: 1h, approvals: {required: 1}}"
    folder = installed(
        policy=policy(f"{stages.replace(', approvals: {required: 1}', '')}, {{name: gold, remainder: true}}")
    )
    folder.edit(certs=definition("1.0.0") + "---\n" + definition("1.1.0"))
    folder.go()
    folder.fail("qa-1")
    rollout = folder.rollout
    stored = folder.known.rollouts.with_rollout(pause(rollout))
    folder.known = replace(
        folder.known,
        stamps={Ref("PluginOverride", "acme", "x"): "2026-01-01T00:00:00Z"},
        versions={(Ref("PluginDefinition", "acme", "certs"), "1.1.0"): KnownVersion(NOW, NOW, "sha256:1")},
        rejected=(Rejection(PRESET, "0.9.0", "hash"),),
        placements={Ref("Placement", "acme", "p"): ["eu-1"]},
        rollouts=structs.replace(
            stored,
            approvals=(
                Approval(
                    rollout.name,
                    "gold",
                    rollout.change_id,
                    rollout.policy.digest,
                    "ada",
                    frozenset({"sre"}),
                    "acme",
                    "ok",
                    NOW,
                ),
            ),
            requests={
                PRESET: OwnerRequest(Emergency("CVE", NOW + timedelta(hours=4), frozenset({"ada"})), rollout.change_id)
            },
            silent_since={Ref("Cluster", "acme", "eu-2"): NOW},
        ),
    )
    return folder


def test_a_state_comes_back_as_it_was_written(tmp_path: Path) -> None:
    known = under_way().known
    cluster, here = next(iter(known.plugins.items()))
    name, state = next(iter(here.items()))
    assert state.enrolment is not None
    place = structs.replace(state.enrolment, irreversible=True, joined=True, blocked="required-option")
    earlier = structs.replace(place, rollout="certs-before", earlier=structs.replace(place, rollout="certs-first"))
    place = structs.replace(place, earlier=earlier)
    plugins = {**known.plugins, cluster: {**here, name: structs.replace(state, enrolment=place)}}
    known = replace(known, plugins=plugins)
    file = StateFile(str(tmp_path / "state.json"))
    file.write(known)
    assert file.read() == known


def test_the_same_plan_follows_from_what_was_written() -> None:
    folder = under_way()
    again = replace_known(folder)
    assert [step.reasons for step in again.plan.steps] == [step.reasons for step in folder.plan.steps]
    assert again.rollout == folder.rollout


def replace_known(folder: Folder) -> Folder:
    again = Folder(folder.now, known_state(state_document(folder.known), "state"))
    again.files = folder.files
    return again


def test_nothing_known_is_an_empty_document() -> None:
    assert known_state(state_document(KnownState()), "state") == KnownState()
