"""Rollouts through whole folders: what people write and what is stored become what starts and what waits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from msgspec import structs

from fleetform.app.consents import consent_findings, written_consent_findings
from fleetform.app.diff import diff
from fleetform.app.fleet import Fleet, read_fleet
from fleetform.app.scope import Scope
from fleetform.engine.plan.requests import abort
from fleetform.load.reader import load_input
from fleetform.model.objects import Ref
from fleetform.syntax.times import time_text
from support.fleets import NOW, fleet_of
from support.repositories import PLAIN_GIT, Repository
from support.worlds import Folder, cluster, definition, installed, manifest, policy, preset

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
NEW = definition("1.0.0") + "---\n" + definition("1.1.0")
NEWER = NEW + "---\n" + definition("1.2.0")
ONE = policy("{name: all, remainder: true}")
CLUSTERS = {"qa-1": "qa", "eu-1": "gold", "eu-2": "gold"}
FACTS = '[{name: host, expression: "cluster.facts.host"}]'
KNOWN = {name.replace("-", "_"): "{facts: {host: a}}" for name in CLUSTERS}


def clusters(more: str = "", **specs: str) -> str:
    """The three clusters, some with a spec of their own, and more."""
    found = [cluster(name, specs.get(name.replace("-", "_"), "{}"), tier=tier) for name, tier in CLUSTERS.items()]
    return "---\n".join([*found, *([more] if more else [])])


def lifecycle(spec: str) -> str:
    return manifest("LifecyclePolicy", "default", spec, organization="fleetform-system")


def organization(spec: str) -> str:
    return manifest("Organization", "acme", f"{{defaultRolloutPolicy: standard, {spec}}}")


def version(folder: Folder, name: str) -> str | None:
    admitted = folder.state(name).admitted
    return admitted.version if admitted is not None else None


# ---- Stages


@pytest.mark.rule("R2-1", "R2-8", "B1")
def test_a_new_version_goes_from_stage_to_stage() -> None:
    folder = installed()
    folder.edit(certs=NEW)
    assert folder.go() == ["qa-1"]
    assert folder.gates("eu-1") == ["stage"]
    assert (version(folder, "qa-1"), version(folder, "eu-1")) == ("1.1.0", "1.0.0"), (
        "only a start moves what is admitted"
    )
    folder.healthy("qa-1")
    assert folder.go() == ["eu-1", "eu-2"]


@pytest.mark.rule("R2-8")
def test_a_cluster_that_no_stage_selects_is_held_by_name() -> None:
    folder = installed(policy=ONE)
    folder.edit(certs=NEW, policy=policy("{name: qa, clusterSelector: {matchLabels: {tier: qa}}}"))
    assert folder.go() == ["qa-1"]
    assert "no stage of standard selects this cluster" in [each.message for each in folder.step("eu-1").reasons]


@pytest.mark.rule("R2-45")
def test_external_gates_validity_alone() -> None:
    window = manifest(
        "UpdateWindow", "never", "{type: HardFreeze, from: 2026-01-01T00:00:00Z, to: 2027-01-01T00:00:00Z}"
    )
    folder = Folder(preset=preset("rollout: External"), window=window)
    assert sorted(folder.go()) == ["eu-1", "eu-2", "qa-1"]


@pytest.mark.rule("R2-12", "S48")
def test_what_runs_is_clamped_to_a_ceiling_that_was_lowered() -> None:
    long = "{name: qa, clusterSelector: {matchLabels: {tier: qa}}, minSuccessTime: 30d}, {name: gold, remainder: true}"
    folder = installed()
    folder.edit(certs=NEW, policy=policy(long), ceilings=lifecycle("{maxSoak: 2h}"))
    assert folder.go() == ["qa-1"]
    folder.healthy("qa-1")
    assert folder.wait(HOUR) == []
    assert folder.wait(HOUR) == ["eu-1", "eu-2"]


@pytest.mark.rule("B9")
def test_an_unlisted_kind_of_change_skips_stages() -> None:
    folder = Folder(policy=policy(more="trigger: [version]"))
    folder.finish()
    folder.edit(preset=preset(values="[{name: replicas, value: 3}]"))
    assert sorted(folder.go()) == ["eu-1", "eu-2", "qa-1"]
    folder.healthy("qa-1", "eu-1", "eu-2")
    folder.go()
    folder.edit(certs=NEW)
    assert folder.go() == ["qa-1"]


@pytest.mark.rule("B9")
def test_another_expression_is_another_value_whatever_it_comes_to() -> None:
    hosts = "[{name: host, expression: \"'%s' + cluster.name\"}]"
    folder = Folder(policy=policy(more="trigger: [version, bindings]"), preset=preset(values=hosts % "a"))
    folder.finish()
    folder.edit(preset=preset(values=hosts % "b"))
    assert sorted(folder.go()) == ["eu-1", "eu-2", "qa-1"]


@pytest.mark.rule("B9")
def test_what_was_stored_without_its_parts_may_have_changed_in_any_of_them() -> None:
    folder = installed()
    values = preset(values="[{name: replicas, value: 3}]")
    folder.edit(policy=policy(more="trigger: [bindings]"), preset=values)
    assert folder.go() == ["qa-1"]


@pytest.mark.rule("B24", "R2-14")
def test_failures_beyond_the_budget_halt_or_roll_back() -> None:
    for on_failure, phase in (("Halt", "Halted"), ("Rollback", "RollingBack")):
        folder = installed()
        folder.edit(certs=NEW, policy=policy(more=f"onFailure: {on_failure}"))
        folder.go()
        for _ in range(4):
            folder.fail("qa-1")
            folder.wait(2 * HOUR)
        assert folder.rollout.phase == phase
        assert folder.state("eu-1").attempt != folder.state("qa-1").attempt
        assert version(folder, "eu-1") == "1.0.0"


@pytest.mark.rule("B34")
def test_what_failed_is_tried_again_a_bounded_number_of_times() -> None:
    folder = installed(policy=ONE)
    folder.edit(certs=NEW, policy=policy("{name: all, remainder: true, maxFailures: 3}"))
    folder.go()
    tries = 0
    for _ in range(10):
        folder.fail("eu-1")
        tries += folder.wait(2 * HOUR).count("eu-1")
    assert tries == 3
    assert folder.step("eu-1").state == "Failed"


# ---- Time


@pytest.mark.rule("R2-30", "B13", "R2-29")
def test_a_presets_windows_replace_the_organizations_and_follow_the_clusters_clock() -> None:
    nights = manifest("UpdateWindow", "nights", "{type: Allow, days: [Sun], start: '22:00', duration: 2h}")
    noons = manifest("UpdateWindow", "noons", "{type: Allow, days: [Sun], start: '11:00', duration: 4h}")
    folder = installed(
        policy=ONE, nights=nights, noons=noons, organization=organization("defaultUpdateWindows: [noons]")
    )
    folder.edit(preset=preset("updateWindows: [nights]"), certs=NEW)
    folder.edit(clusters=clusters(eu_1="{timeZone: Europe/Berlin}"))
    assert folder.go() == []
    assert folder.wait(9 * HOUR) == ["eu-1"], "22:00 in Berlin"
    assert folder.wait(HOUR) == ["eu-2", "qa-1"]


@pytest.mark.rule("B13", "S46")
def test_a_freeze_holds_wherever_it_reaches_first_installs_too() -> None:
    times = "from: 2026-11-01T00:00:00Z, to: 2026-11-02T00:00:00Z"
    freeze = f"{{type: HardFreeze, {times}, clusterSelector: {{clusterNames: [eu-1]}}}}"
    folder = Folder(policy=ONE, freeze=manifest("UpdateWindow", "moving", freeze))
    assert folder.go() == ["eu-2", "qa-1"]
    assert folder.gates("eu-1") == ["freeze"]
    assert folder.wait(12 * HOUR) == ["eu-1"]


@pytest.mark.rule("R2-28", "S46")
def test_a_version_is_announced_before_it_starts_and_a_first_install_is_not() -> None:
    folder = Folder(policy=ONE, ceilings=lifecycle("{notice: 2d}"))
    folder.finish()
    announced = definition("1.1.0").replace(
        "namespace: acme}", "namespace: acme, annotations: {fleetform.dev/announced: '2026-11-01T00:00:00Z'}}"
    )
    folder.edit(certs=definition("1.0.0") + "---\n" + announced)
    assert folder.go() == []
    assert folder.gates("eu-1") == ["notice"]
    assert sorted(folder.wait(36 * HOUR)) == ["eu-1", "eu-2", "qa-1"]


@pytest.mark.rule("R2-11", "R2-49", "S56")
def test_a_breaking_version_is_forced_when_its_time_has_come() -> None:
    breaking = "changes: {breaking: true}"
    folder = installed(policy=ONE, ceilings=lifecycle("{forceAfter: 10d}"))
    announced = definition("1.1.0", more=breaking).replace(
        "namespace: acme}", "namespace: acme, annotations: {fleetform.dev/announced: '2026-11-01T12:00:00Z'}}"
    )
    folder.edit(certs=definition("1.0.0") + "---\n" + announced)
    (reason,) = folder.step("eu-1").reasons
    assert (reason.gate, reason.until) == ("breaking", NOW + 10 * DAY)
    assert folder.step("eu-1").state == "Blocked"
    assert sorted(folder.wait(10 * DAY)) == ["eu-1", "eu-2", "qa-1"]


@pytest.mark.rule("R2-24")
def test_an_acknowledgement_in_git_opens_the_gate() -> None:
    folder = installed(policy=ONE)
    folder.edit(certs=definition("1.0.0") + "---\n" + definition("1.1.0", more="changes: {breaking: true}"))
    assert folder.gates("eu-1") == ["breaking"]
    folder.edit(preset=preset("upgrades: {acknowledged: [{version: 1.1.0, clusterSelector: {clusterNames: [eu-1]}}]}"))
    assert folder.go() == ["eu-1"]


@pytest.mark.rule("B29")
def test_a_range_that_was_narrowed_moves_nobody_back() -> None:
    folder = installed(policy=ONE, certs=NEW)
    folder.edit(preset=preset(version="~1.0"))
    assert folder.go() == []
    assert folder.gates("eu-1") == ["would-downgrade"]


# ---- Clusters


@pytest.mark.rule("B21", "S51")
def test_a_new_cluster_gets_what_its_stage_has_admitted_at_once() -> None:
    folder = installed()
    folder.edit(certs=NEW)
    assert folder.go() == ["qa-1"]
    before = folder.change_id
    folder.edit(clusters=clusters(cluster("eu-9", tier="gold") + "---\n" + cluster("qa-9", tier="qa")))
    assert sorted(folder.go()) == ["eu-9", "qa-9"]
    assert (version(folder, "eu-9"), version(folder, "qa-9")) == ("1.0.0", "1.1.0")
    assert folder.change_id == before, "a cluster that joins makes no other change"


def hash_of(folder: Folder, name: str) -> str | None:
    admitted = folder.state(name).admitted
    return admitted.input_hash if admitted is not None else None


def join(folder: Folder, eu: str = "{}", qa: str = "{}") -> None:
    """Two clusters come: one of a stage that a rollout has not reached yet, one of the stage that it is at."""
    text = folder.files["clusters.yaml"]
    new = cluster("eu-9", eu, tier="gold") + "---\n" + cluster("qa-9", qa, tier="qa")
    folder.edit(clusters=text + "---\n" + new)


MORE = preset(values="[{name: replicas, value: 3}]")
OVERRIDE = manifest("PluginOverride", "more", "{overrides: [{path: replicas, value: 7}]}")
NEVER = manifest("UpdateWindow", "never", "{type: Allow, schedule: '0 0 1 1 *', duration: 1h}")


@pytest.mark.rule("B21", "S51")
@pytest.mark.parametrize(
    "edit",
    [
        pytest.param({"preset": MORE}, id="values alone"),
        pytest.param({"more": OVERRIDE}, id="an override that comes"),
        pytest.param({"old": None}, id="an override that goes"),
        pytest.param({"certs": definition("1.1.0"), "preset": MORE, "old": None}, id="version and values"),
    ],
)
def test_a_new_cluster_gets_the_version_and_the_values_that_its_stage_has_admitted(edit: dict[str, str | None]) -> None:
    old = manifest("PluginOverride", "old", "{overrides: [{path: host, value: before}]}")
    folder = installed(old=old)
    folder.edit(**edit)
    assert folder.go() == ["qa-1"]
    folder.edit(never=NEVER, organization=organization("defaultUpdateWindows: [never]"))
    change = folder.change_id
    join(folder)
    assert sorted(folder.go()) == ["eu-9", "qa-9"], "at once, windows or not"
    assert (hash_of(folder, "eu-9"), hash_of(folder, "qa-9")) == (hash_of(folder, "eu-1"), hash_of(folder, "qa-1"))
    assert hash_of(folder, "eu-9") != hash_of(folder, "qa-9")
    assert folder.change_id == change
    folder.edit(never=None, organization=organization(""))
    folder.finish()
    assert len({hash_of(folder, name) for name in ("eu-1", "eu-2", "eu-9", "qa-1", "qa-9")}) == 1


@pytest.mark.rule("B21")
def test_what_is_a_new_clusters_own_stays_its_own_on_the_side_that_its_stage_is_at() -> None:
    own = manifest(
        "PluginOverride", "own", "{clusterSelector: {clusterNames: [eu-9]}, overrides: [{path: x, value: 1}]}"
    )
    then = f"[{{name: replicas, value: 2}}, {FACTS[1:]}"
    whole = installed(preset=preset(values=then), clusters=clusters(**KNOWN), own=own)
    join(whole, "{facts: {host: nine}}", "{facts: {host: ten}}")
    whole.finish()
    folder = installed(preset=preset(values=then), clusters=clusters(**KNOWN), own=own)
    folder.edit(preset=preset(values=then.replace("value: 2", "value: 3")))
    assert folder.go() == ["qa-1"]
    join(folder, "{facts: {host: nine}}", "{facts: {host: ten}}")
    assert sorted(folder.go()) == ["eu-9", "qa-9"]
    assert hash_of(folder, "eu-9") == hash_of(whole, "eu-9"), "as if it had been there before the change"
    assert hash_of(folder, "qa-9") != hash_of(whole, "qa-9")
    whole.edit(preset=folder.files["preset.yaml"])
    whole.finish()
    assert hash_of(folder, "qa-9") == hash_of(whole, "qa-9"), "as if it had been there all along"


@pytest.mark.rule("B21", "B8")
def test_a_new_cluster_goes_with_the_rollout_that_runs_while_a_newer_change_waits() -> None:
    folder = installed()
    folder.edit(certs=NEW, preset=MORE)
    assert folder.go() == ["qa-1"]
    folder.edit(certs=definition("1.2.0"), preset=preset())
    folder.go()
    join(folder)
    assert sorted(folder.go()) == ["eu-9", "qa-9"]
    assert (version(folder, "eu-9"), version(folder, "qa-9")) == ("1.0.0", "1.1.0")
    assert (hash_of(folder, "eu-9"), hash_of(folder, "qa-9")) == (hash_of(folder, "eu-1"), hash_of(folder, "qa-1"))
    folder.healthy("eu-9", "qa-9", "qa-1")
    assert sorted(folder.go()) == ["eu-1", "eu-2", "eu-9"]
    assert {version(folder, name) for name in ("eu-1", "eu-2", "eu-9")} == {"1.1.0"}
    folder.finish()
    assert {version(folder, name) for name in ("eu-1", "eu-9", "qa-1", "qa-9")} == {"1.2.0"}


@pytest.mark.rule("B21", "S50")
def test_a_new_cluster_gets_what_was_admitted_before_a_change_that_was_rejected() -> None:
    folder = installed(policy=policy(more="onFailure: Rollback"))
    folder.edit(preset=MORE)
    folder.go()
    for _ in range(4):
        folder.fail("qa-1")
        folder.wait(2 * HOUR)
    folder.finish()
    join(folder)
    assert sorted(folder.go()) == ["eu-9", "qa-9"]
    assert {hash_of(folder, name) for name in ("eu-9", "qa-9")} == {hash_of(folder, "eu-1")}


@pytest.mark.rule("B21", "S50")
def test_a_first_rollout_that_was_aborted_has_admitted_nothing_for_others() -> None:
    folder = Folder()
    assert folder.go() == ["qa-1"]
    folder.healthy("qa-1")
    folder.store(folder.known.rollouts.with_rollout(abort(folder.rollout, folder.now)))
    assert folder.go() == []
    assert folder.gates("eu-1") == ["rejected"]


@pytest.mark.rule("B21")
def test_where_nobody_knows_what_was_admitted_a_new_cluster_goes_with_its_stage() -> None:
    """A state export has no objects: what was written before is not known, and is never mixed with what is now."""
    folder = installed()
    folder.edit(preset=MORE)
    folder.go()
    folder.known = replace(folder.known, kept={})
    join(folder)
    folder.known = replace(folder.known, kept={})
    assert folder.go() == ["qa-9"]
    assert folder.gates("eu-9") == ["stage"]


@pytest.mark.rule("B25")
def test_a_cluster_that_does_not_answer_is_not_started_and_catches_up() -> None:
    folder = installed(policy=ONE)
    folder.edit(certs=NEW)
    silent = {Ref("Cluster", "acme", "eu-1"): NOW - HOUR}
    folder.store(structs.replace(folder.known.rollouts, silent_since=silent))
    assert sorted(folder.go()) == ["eu-2", "qa-1"]
    folder.healthy("eu-2", "qa-1")
    folder.go()
    folder.store(structs.replace(folder.known.rollouts, silent_since={}))
    assert folder.go() == ["eu-1"]


@pytest.mark.rule("B25")
def test_open_cluster_managements_taint_says_that_a_cluster_does_not_answer() -> None:
    taint = "{taints: [{key: cluster.open-cluster-management.io/unreachable, effect: NoSelect}]}"
    folder = installed(policy=ONE)
    folder.edit(certs=NEW, clusters=clusters(eu_1=taint))
    assert sorted(folder.go()) == ["eu-2", "qa-1"]
    assert folder.step("eu-1").state == "Unreachable"
    added = taint.replace("NoSelect", "NoSelect, timeAdded: 2026-11-01T11:00:00Z")
    folder.edit(clusters=clusters(eu_1=added))
    (reason,) = folder.step("eu-1").reasons
    assert reason.message == "eu-1 has not answered since 2026-11-01 11:00 UTC"


@pytest.mark.rule("B27")
def test_a_dependency_is_changed_first_and_one_change_at_a_time_is_on_a_cluster() -> None:
    crds = definition("1.0.0", "crds") + "---\n" + preset(name="crds", of="crds")
    folder = Folder(policy=ONE, crds=crds, certs=definition("1.0.0", more="dependsOn: [{name: crds}]"))
    folder.go()
    plugins = {step.key[2] for step in folder.plan.steps if step.state == "InFlight"}
    assert plugins == {"crds-eu-1", "crds-eu-2", "crds-qa-1"}
    assert folder.gates("eu-1") == ["in-flight", "dependency"]
    folder.healthy("eu-1", plugin="crds-eu-1")
    assert "eu-1" in folder.go()


@pytest.mark.parametrize("waits", ["{preset: certs}", "{plugin: certs-eu-1}"])
def test_a_plugin_that_waits_for_itself_waits_for_nothing(waits: str) -> None:
    folder = Folder(policy=ONE, preset=preset(f"waitFor: [{waits}]"))
    assert "eu-1" in folder.go()


@pytest.mark.rule("B27", "R2-14")
def test_a_way_back_waits_while_something_else_is_changed_on_its_cluster() -> None:
    dns = definition("1.0.0", "dns") + "---\n" + preset(name="dns", of="dns")
    folder = installed(policy=policy("{name: all, remainder: true}", "onFailure: Rollback"), dns=dns)
    folder.edit(certs=NEW)
    folder.go()
    folder.healthy("eu-1", "eu-2")
    folder.go()
    folder.edit(dns=dns.replace("version: 1.0.0", "version: 1.1.0"))
    folder.go()
    assert folder.step("eu-1", "dns-eu-1").state == "InFlight"
    for _ in range(4):
        folder.fail("qa-1")
        folder.wait(2 * HOUR)
    assert (version(folder, "eu-1"), version(folder, "eu-2")) == ("1.1.0", "1.1.0")
    assert folder.gates("eu-1") == ["in-flight"]
    folder.healthy("eu-1", plugin="dns-eu-1")
    folder.go()
    assert (version(folder, "eu-1"), version(folder, "eu-2")) == ("1.0.0", "1.1.0")


@pytest.mark.rule("B27")
def test_presets_that_one_change_reaches_share_its_name() -> None:
    second = preset(name="second", values="[]").replace("optionValues: []", "releaseName: second, optionValues: []")
    folder = installed(policy=ONE, second=second)
    folder.edit(certs=NEW)
    one, other = folder.fleet.world.changes
    assert (one.owner.name, other.owner.name, one.change_id) == ("certs", "second", other.change_id)


# ---- Changes


@pytest.mark.rule("B3b")
def test_a_change_is_named_by_what_differs_and_reaches_its_owner() -> None:
    folder = installed()
    folder.edit(certs=NEW)
    first = folder.change_id
    assert first.startswith("c1:")
    assert folder.rollout.name == f"certs-{first[3:11]}"
    stamped = preset().replace(
        "namespace: acme}", "namespace: acme, annotations: {fleetform.dev/created: '2026-01-01'}}"
    )
    other = manifest("PluginOverride", "other", "{pluginDefinitionNames: [dns], overrides: [{path: x, value: 1}]}")
    folder.edit(preset=stamped, clusters=clusters(eu_1="{hold: later}"), policy=ONE, other=other)
    assert folder.change_id == first, "stamps, clusters, policies and what reaches others do not count"
    mine = manifest(
        "PluginOverride", "mine", "{pluginDefinitionNames: [certs], overrides: [{path: replicas, value: 2}]}"
    )
    folder.edit(mine=mine)
    assert folder.change_id != first
    folder.edit(mine=None)
    assert folder.change_id == first


@pytest.mark.rule("B3b")
def test_what_no_object_says_is_told_apart_by_what_it_makes_of_plugins() -> None:
    values, spec = '[{name: host, expression: "cluster.facts.host"}]', "{facts: {host: a}}"
    folder = installed(preset=preset(values=values), clusters=clusters(eu_1=spec, eu_2=spec, qa_1=spec))
    ids = []
    for host in ("b", "c"):
        folder.edit(clusters=clusters(eu_1=f"{{facts: {{host: {host}}}}}", eu_2=spec, qa_1=spec))
        ids.append(folder.change_id)
    assert len(set(ids)) == 2


@pytest.mark.rule("B3b")
def test_an_edit_without_effect_is_part_of_no_later_change() -> None:
    plain, edited = installed(), installed()
    edited.edit(preset=preset(values="[{name: replicas, value: 1}]"))
    assert edited.go() == [], "1 is the default"
    for folder in (plain, edited):
        folder.edit(certs=NEW)
    assert plain.change_id == edited.change_id


@pytest.mark.rule("B8", "R2-37")
def test_a_rollout_finishes_on_what_it_started_with_and_the_newest_waits() -> None:
    folder = installed()
    folder.edit(certs=NEW)
    folder.go()
    folder.edit(certs=NEWER)
    assert folder.go() == []
    assert folder.rollout.queued == folder.change_id
    folder.healthy("qa-1")
    assert sorted(folder.go()) == ["eu-1", "eu-2"]
    assert version(folder, "eu-1") == "1.1.0"
    folder.healthy("eu-1", "eu-2")
    assert folder.go() == ["qa-1"]
    assert version(folder, "qa-1") == "1.2.0"


@pytest.mark.rule("B10")
def test_what_failed_and_went_back_is_rejected_until_something_else_is_wanted() -> None:
    folder = installed(policy=policy(more="onFailure: Rollback"))
    folder.edit(certs=NEW)
    folder.go()
    for _ in range(4):
        folder.fail("qa-1")
        folder.wait(2 * HOUR)
    folder.finish()
    assert version(folder, "qa-1") == "1.0.0"
    assert folder.gates("qa-1") == ["rejected"]
    folder.edit(preset=preset(values="[{name: replicas, value: 2}]"))
    assert folder.go() == ["qa-1"], "an edit of the preset is another change"


@pytest.mark.rule("B33")
def test_a_rollout_says_nothing_of_single_clusters() -> None:
    folder = installed()
    folder.edit(certs=NEW)
    folder.go()
    assert "eu-1" not in str(structs.asdict(folder.rollout))


def approval_of(folder: Folder, stage: str, user: str) -> str:
    bound = f"rollout: {folder.rollout.name}, stage: {stage}, changeId: '{folder.rollout.change_id}'"
    return manifest("Approval", f"{stage}-{user.partition('@')[0]}", f"{{{bound}, user: {user}}}")


@pytest.mark.rule("R2-32", "R2-33", "S47")
def test_people_approve_by_manifests_and_count_once_whatever_they_are_called() -> None:
    asks = policy("{name: all, remainder: true, approvals: {required: 2, from: {users: [ada, bob]}}}")
    people = "people: [{name: ada, emails: [ada@example.com], subjects: [al]}]"
    folder = installed(policy=ONE)
    folder.edit(certs=NEW, policy=asks, organization=organization(people))
    folder.edit(one=approval_of(folder, "all", "ada@example.com"), two=approval_of(folder, "all", "al"))
    assert folder.go() == []
    folder.edit(three=approval_of(folder, "all", "bob"))
    assert len(folder.go()) == 3


@pytest.mark.rule("B26")
def test_an_approval_by_manifest_counts_for_the_policy_that_the_rollout_keeps() -> None:
    """However its policy reads by then."""
    stages = "{name: qa, clusterSelector: {matchLabels: {tier: qa}}}, {name: gold, remainder: true, %s}"
    one, two = (policy(stages % f"approvals: {{required: {number}}}") for number in (1, 2))
    folder = installed()
    folder.edit(certs=NEW, policy=one)
    assert folder.go() == ["qa-1"]
    folder.healthy("qa-1")
    folder.edit(policy=two)
    assert (folder.go(), folder.gates("eu-1")) == ([], ["approval"])
    folder.edit(ada=approval_of(folder, "gold", "ada"))
    assert folder.go() == ["eu-1", "eu-2"]


@pytest.mark.rule("B26")
def test_an_approval_by_manifest_of_a_rollout_that_waits_counts_for_the_policy_of_now() -> None:
    asks = "{name: all, remainder: true, approvals: {required: %d}}"
    folder = installed(policy=ONE)
    folder.edit(certs=NEW, policy=policy(asks % 1))
    assert folder.go() == []
    folder.edit(policy=policy(asks % 2))
    folder.edit(ada=approval_of(folder, "all", "ada"))
    assert folder.plan.starts == []
    folder.edit(bob=approval_of(folder, "all", "bob"))
    assert len(folder.plan.starts) == len(folder.go()) == 3


class GitFolder:
    """A fleet in a git work tree, certs 1.0.0 on all of its clusters; gates and findings as its files are now."""

    def __init__(self, place: Path, monkeypatch: pytest.MonkeyPatch, **files: str) -> None:
        for name, value in PLAIN_GIT.items():
            monkeypatch.setenv(name, value)
        for role in ("GIT_AUTHOR_EMAIL", "EMAIL"):
            monkeypatch.delenv(role, raising=False)
        monkeypatch.chdir(place)
        people = "people: [{name: ada, emails: [ada@example.com]}, {name: bob, emails: [bob@example.com]}]"
        asks = policy("{name: all, remainder: true, approvals: {required: 1, from: {users: [ada, bob, cem]}}}")
        folder = Folder(policy=asks, organization=organization(people))
        folder.edit(**files)
        folder.files["policy.yaml"], asked = ONE, folder.files["policy.yaml"]
        folder.finish()
        folder.files["policy.yaml"] = asked
        self.known, self.repository = folder.known, Repository(place)
        self.commit("bob@example.com", folder.files)

    def commit(self, author: str, files: Mapping[str, str | None]) -> None:
        self.repository.commit(files, author=author)
        self.repository.git("reset", "--quiet", "--hard", "main")

    def fleet(self, source: str = ".") -> Fleet:
        fleet = read_fleet(load_input([source]), NOW, state=self.known)
        return replace(fleet, snapshot=replace(fleet.snapshot, at=NOW))

    def approval(self, user: str, source: str = ".") -> str:
        (owner,) = self.fleet(source).plan.owners
        assert owner.rollout is not None
        bound = f"rollout: {owner.rollout.name}, stage: all, changeId: '{owner.rollout.change_id}'"
        return manifest("Approval", user, f"{{{bound}, user: {user}}}")

    def starts(self, source: str = ".") -> int:
        return len(self.fleet(source).plan.starts)

    def findings(self, source: str = ".") -> list[str]:
        fleet = self.fleet(source)
        gone = [each.key for each in fleet.plan.removals]
        return [each.code for each in consent_findings(fleet, fleet.plan.owners, gone)]

    def authors(self, source: str = ".") -> frozenset[str]:
        (change,) = self.fleet(source).world.changes
        return change.authors


@pytest.fixture
def git_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> GitFolder:
    return GitFolder(tmp_path, monkeypatch)


@pytest.mark.rule("R2-32", "S47")
def test_all_who_last_touched_what_differs_made_the_change_and_do_not_count(git_folder: GitFolder) -> None:
    git_folder.commit("ada@example.com", {"certs.yaml": NEW})
    assert git_folder.authors() == {"ada"}, "what bob wrote is as it was admitted"
    git_folder.commit("ada@example.com", {"one.yaml": git_folder.approval("ada")})
    assert git_folder.starts() == 0
    messages = {reason.message for step in git_folder.fleet().plan.steps for reason in step.reasons}
    assert messages == {"0 of 1 people have approved stage all; ada made the change and does not count"}
    git_folder.commit("cem@example.com", {"preset.yaml": preset(values="[{name: replicas, value: 2}]")})
    assert git_folder.authors() == {"ada", "cem@example.com"}
    git_folder.commit("bob@example.com", {"two.yaml": git_folder.approval("bob")})
    assert git_folder.starts() == 3
    assert git_folder.findings() == []


@pytest.mark.rule("R2-32", "S47")
def test_an_approval_in_git_counts_for_the_author_of_its_file_alone(git_folder: GitFolder) -> None:
    git_folder.commit("ada@example.com", {"certs.yaml": NEW})
    approval = git_folder.approval("bob")
    git_folder.commit("ada@example.com", {"one.yaml": approval})
    assert (git_folder.starts(), git_folder.findings()) == (0, ["foreign-approval"])
    assert [each.code for each in written_consent_findings(git_folder.fleet())] == ["foreign-approval"]
    git_folder.commit("bob@example.com", {"one.yaml": approval + "# seen\n"})
    assert (git_folder.starts(), git_folder.findings()) == (3, [])


@pytest.mark.rule("R2-32", "S47")
def test_what_is_not_committed_is_by_whoever_works_there(git_folder: GitFolder, tmp_path: Path) -> None:
    (tmp_path / "certs.yaml").write_text(NEW)
    assert (git_folder.authors(), git_folder.findings()) == (frozenset(), ["unknown-author"])
    (tmp_path / "one.yaml").write_text(git_folder.approval("bob"))
    assert (git_folder.starts(), git_folder.findings()) == (0, ["unknown-author", "foreign-approval"])
    git_folder.repository.git("config", "user.email", "ada@example.com")
    assert git_folder.authors() == {"ada"}
    assert git_folder.findings() == ["foreign-approval"]


@pytest.mark.rule("S47")
def test_a_revision_has_the_authors_that_it_had_then(git_folder: GitFolder) -> None:
    git_folder.commit("ada@example.com", {"certs.yaml": NEW})
    git_folder.repository.tag("then")
    git_folder.commit("cem@example.com", {"certs.yaml": NEW + "# cem\n"})
    assert git_folder.authors("git:then") == {"ada"}
    assert git_folder.authors("git:main") == {"cem@example.com"}


@pytest.mark.rule("S47")
def test_where_a_shallow_clone_ends_nobody_knows_the_author(git_folder: GitFolder, tmp_path: Path) -> None:
    git_folder.commit("ada@example.com", {"certs.yaml": NEW})
    git_folder.commit("bob@example.com", {"other.yaml": cluster("qa-9", tier="qa")})
    clone = tmp_path / "clone"
    git_folder.repository.git("clone", "--quiet", "--depth=1", git_folder.repository.url, str(clone))
    assert (git_folder.authors(str(clone)), git_folder.findings(str(clone))) == (frozenset(), ["unknown-author"])


@pytest.mark.rule("R2-32", "S47")
def test_in_a_plain_folder_approvals_count_with_a_warning(git_folder: GitFolder, tmp_path: Path) -> None:
    git_folder.commit("ada@example.com", {"certs.yaml": NEW})
    git_folder.commit("ada@example.com", {"one.yaml": git_folder.approval("bob")})
    (tmp_path / ".git").rename(tmp_path / "history")
    assert (git_folder.starts(), git_folder.findings()) == (3, ["unknown-author", "unproven-approval"])


@pytest.mark.rule("S47")
def test_history_is_not_read_where_nobody_must_agree(git_folder: GitFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    git_folder.commit("ada@example.com", {"certs.yaml": NEW, "policy.yaml": ONE})
    fleet = git_folder.fleet()
    monkeypatch.setattr("fleetform.load.authors._of_work_tree", lambda *_: pytest.fail("git was asked"))
    assert len(fleet.plan.starts) == 3


@pytest.mark.rule("B12", "R2-13")
def test_an_emergency_in_the_preset_passes_windows_and_not_the_order_of_stages() -> None:
    never = manifest("UpdateWindow", "never", "{type: Allow, schedule: '0 0 1 1 *', duration: 1h}")
    folder = installed(never=never)
    urgent = "upgrades: {emergency: {reason: CVE, expires: 2026-11-02T00:00:00Z, approvedBy: ada}}"
    folder.edit(preset=preset("updateWindows: [never]"), certs=NEW)
    assert folder.go() == []
    folder.edit(preset=preset(f"updateWindows: [never], {urgent}"))
    assert folder.go() == ["qa-1"]
    assert "stage" in folder.gates("eu-1")


# ---- Removals


@pytest.mark.rule("B22")
def test_many_deletions_wait_for_approval_and_retained_plugins_stay() -> None:
    many = "---\n".join(cluster(f"c-{number}", tier="gold") for number in range(9))
    folder = installed(clusters=many, policy=ONE)
    folder.edit(preset=None)
    steps = folder.plan.removals
    assert {step.action for step in steps} == {"wait"}
    assert {reason.gate for step in steps for reason in step.reasons} == {"deletes"}
    kept = installed(clusters=many, policy=ONE, preset=preset("deletionPolicy: Retain"))
    kept.edit(preset=None)
    assert {step.action for step in kept.plan.removals} == {"nothing"}, (
        "what was stored says so, though the preset is gone"
    )


@pytest.mark.rule("B22", "B26")
def test_who_agreed_to_a_deletion_did_not_agree_to_the_next_one_of_what_was_installed_again() -> None:
    folder = installed(policy=ONE, ceilings=lifecycle("{maxDeletes: 1}"))
    folder.edit(preset=None)
    assert {step.action for step in folder.plan.removals} == {"wait"}
    removal = folder.fleet.world.removals[0]
    bound = f"rollout: {removal.rollout}, stage: deletes, changeId: '{removal.change_id}', user: ada"
    given = manifest("Approval", "deletes", f"{{{bound}}}")
    folder.edit(given=given.replace("metadata: {", f"metadata: {{creationTimestamp: '{time_text(folder.now)}', "))
    assert {step.action for step in folder.plan.removals} == {"delete"}
    folder.now += timedelta(hours=1)
    for each in ("qa-1", "eu-1", "eu-2"):
        # Deleted, installed again an hour later, and no longer wanted once more.
        state = folder.state(each)
        assert state.attempt is not None
        folder.put(each, structs.replace(state, attempt=structs.replace(state.attempt, started=folder.now)))
    assert folder.fleet.world.removals[0].change_id == removal.change_id, "it is the same change"
    assert {step.action for step in folder.plan.removals} == {"wait"}


def config_map(name: str) -> str:
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: acme}}\n"


NINE = "---\n".join(cluster(f"c-{number}", tier="gold") for number in range(9))


@pytest.fixture
def nine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> GitFolder:
    """Certs on nine clusters, in git by bob: more than may be deleted without approval."""
    return GitFolder(tmp_path, monkeypatch, clusters=NINE)


def removers(folder: GitFolder, source: str = ".") -> set[str]:
    """Those who made the removals; the same for all of them."""
    (found,) = {each.authors for each in folder.fleet(source).world.removals}
    return set(found)


def consent_to_deletes(folder: GitFolder, user: str) -> str:
    removal = folder.fleet().world.removals[0]
    bound = f"rollout: {removal.rollout}, stage: deletes, changeId: '{removal.change_id}'"
    return manifest("Approval", f"deletes-{user}", f"{{{bound}, user: {user}}}")


@pytest.mark.rule("R2-32", "S47", "B22")
def test_who_removed_a_preset_does_not_approve_that_its_plugins_are_deleted(nine: GitFolder) -> None:
    nine.commit("ada@example.com", {"preset.yaml": None})
    nine.commit("cem@example.com", {"readme.yaml": config_map("certs")})
    assert removers(nine) == {"ada"}, "whoever touched other files since has nothing to do with it"
    nine.commit("ada@example.com", {"one.yaml": consent_to_deletes(nine, "ada")})
    assert (nine.starts(), nine.findings()) == (0, [])
    (message,) = {reason.message for step in nine.fleet().plan.removals for reason in step.reasons}
    assert message.endswith("3 may be without approval; ada made the change and does not count")
    elsewhere = consent_to_deletes(nine, "bob").replace("stage: deletes", "stage: gold")
    nine.commit("bob@example.com", {"two.yaml": elsewhere})
    assert nine.starts() == 0, "an approval of a stage is none of deletions"
    nine.commit("bob@example.com", {"two.yaml": consent_to_deletes(nine, "bob")})
    assert nine.starts() == 9


@pytest.mark.rule("R2-32", "S47", "B22")
def test_the_commit_that_took_an_object_out_counts_and_not_the_last_one_of_its_file(nine: GitFolder) -> None:
    other = config_map("certs")
    nine.commit("bob@example.com", {"preset.yaml": preset() + "---\n" + other})
    nine.commit("ada@example.com", {"preset.yaml": other})
    nine.commit("cem@example.com", {"preset.yaml": other + "# certs are gone\n"})
    assert removers(nine) == {"ada"}
    assert removers(nine, "git:HEAD") == {"ada"}
    nine.commit("bob@example.com", {"preset.yaml": None, "moved.yaml": preset()})
    nine.commit("cem@example.com", {"moved.yaml": None})
    assert removers(nine) == {"cem@example.com"}, "a move is no removal"
    assert removers(nine, "git:HEAD~2") == {"ada"}


@pytest.mark.rule("R2-32", "S47", "B22")
def test_who_removes_in_a_merge_or_in_the_work_tree_made_the_removal(nine: GitFolder, tmp_path: Path) -> None:
    side = nine.repository.commit({"side.yaml": config_map("side")}, branch="side", onto="main")
    nine.repository.commit({"main.yaml": config_map("main")}, author="bob@example.com")
    nine.repository.commit({"preset.yaml": None}, merging=side, author="ada@example.com")
    nine.repository.git("reset", "--quiet", "--hard", "main")
    assert removers(nine) == {"ada"}
    nine.commit("bob@example.com", {"preset.yaml": preset()})
    (tmp_path / "preset.yaml").unlink()
    assert (removers(nine), nine.findings()) == (set(), ["unknown-author"])
    nine.repository.git("config", "user.email", "cem@example.com")
    assert (removers(nine), nine.findings()) == ({"cem@example.com"}, [])


@pytest.mark.rule("R2-32", "S47", "B22")
def test_an_owner_that_chooses_otherwise_or_a_cluster_with_other_labels_made_the_removal(nine: GitFolder) -> None:
    chosen = preset().replace("clusterSelector: {}", "clusterSelector: {matchLabels: {tier: gold}}")
    nine.commit("ada@example.com", {"preset.yaml": chosen.replace("gold", "none")})
    assert removers(nine) == {"ada"}
    folder = Folder(state=nine.known)
    folder.files = {**folder.files, "clusters.yaml": NINE, "preset.yaml": chosen}
    folder.go()
    nine.known = folder.known
    nine.commit("bob@example.com", {"preset.yaml": chosen})
    assert nine.fleet().world.removals == ()
    nine.commit("cem@example.com", {"clusters.yaml": NINE.replace("tier: gold", "tier: none")})
    assert removers(nine) == {"cem@example.com"}
    nine.commit("ada@example.com", {"clusters.yaml": cluster("other")})
    assert removers(nine) == {"ada"}, "clusters that left the fleet"


@pytest.mark.rule("R2-32", "S47")
def test_where_nobody_knows_who_removed_any_approver_counts_with_a_warning(nine: GitFolder, tmp_path: Path) -> None:
    nine.commit("ada@example.com", {"preset.yaml": None})
    (tmp_path / ".git").rename(tmp_path / "history")
    assert (removers(nine), nine.findings()) == (set(), ["unknown-author"])
    (tmp_path / "one.yaml").write_text(consent_to_deletes(nine, "ada"))
    assert (nine.starts(), nine.findings()) == (9, [])


@pytest.mark.rule("S47")
def test_history_is_not_read_for_a_few_deletions(git_folder: GitFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    git_folder.commit("ada@example.com", {"preset.yaml": None})
    monkeypatch.setattr("fleetform.load.removers.replaced_files", lambda *_: pytest.fail("git was asked"))
    assert git_folder.starts() == 3


@pytest.mark.rule("B22")
@pytest.mark.parametrize(("most", "deleted"), [("0", 0), ("2", 0), ("3", 3), ("1%", 3), ("0%", 3), ("100%", 3)])
def test_a_whole_number_of_deletions_counts_as_it_is_and_a_share_as_three_at_least(most: str, deleted: int) -> None:
    folder = installed()
    folder.edit(preset=None, ceilings=lifecycle(f"{{maxDeletes: {most}}}"))
    assert sum(step.action == "delete" for step in folder.plan.removals) == deleted


@pytest.mark.rule("B22")
def test_after_a_load_that_was_not_whole_nothing_is_deleted() -> None:
    folder = installed()
    folder.edit(preset="kind: [")
    assert {step.action for step in folder.plan.removals} == {"wait"}


@pytest.mark.rule("B22")
def test_dependents_go_first() -> None:
    crds = definition("1.0.0", "crds") + "---\n" + preset(name="crds", of="crds")
    folder = installed(policy=ONE, crds=crds, certs=definition("1.0.0", more="dependsOn: [{name: crds}]"))
    folder.edit(preset=None, crds=definition("1.0.0", "crds"), ceilings=lifecycle("{maxDeletes: 100}"))
    actions = {step.key[2]: step.action for step in folder.plan.removals if step.key[1] == "eu-1"}
    assert actions == {"certs-eu-1": "delete", "crds-eu-1": "wait"}


# ---- Open Cluster Management's strategies


@pytest.mark.rule("R1-16", "S2")
def test_a_group_with_a_strategy_of_its_own_is_a_rollout_of_its_own() -> None:
    placement = manifest(
        "Placement", "gold", "{predicates: [{requiredClusterSelector: {labelSelector: {matchLabels: {tier: gold}}}}]}"
    )
    moves = "{type: Progressive, progressive: {maxConcurrency: 1}}"
    groups = f"groups: [{{name: gold, placement: {{name: gold}}, rolloutStrategy: {moves}}}]"
    folder = installed(placement=placement, preset=preset(groups))
    folder.edit(certs=NEW)
    assert sorted(folder.go()) == ["eu-1", "qa-1"]
    assert [change.owner.name for change in folder.fleet.world.changes] == ["certs", "certs/gold"]
    folder.healthy("eu-1")
    assert folder.go() == ["eu-2"]


@pytest.mark.rule("S47")
def test_changes_that_nobody_is_known_to_have_made_are_named_once(git_folder: GitFolder, tmp_path: Path) -> None:
    git_folder.commit("ada@example.com", {"certs.yaml": NEW})
    (tmp_path / ".git").rename(tmp_path / "history")

    def told() -> list[str]:
        fleet = git_folder.fleet()
        return [each.message for each in consent_findings(fleet, fleet.plan.owners)]

    assert told() == ["nobody knows who made the change of certs: any approver counts"]
    for name in ("dns", "ingress", "logs", "mesh"):
        more = definition("2.0.0", name) + "---\n" + preset(name=name, of=name)
        (tmp_path / f"{name}.yaml").write_text(more)
        if name == "dns":
            assert told() == ["nobody knows who made changes of certs, dns: any approver counts"]
    assert told() == ["nobody knows who made changes of certs, dns, ingress and 2 more: any approver counts"]


# ---- The names of changes in previews


SECOND = preset(name="second").replace("optionValues: []", "releaseName: second, optionValues: []")


@pytest.mark.rule("B3b", "B27")
@pytest.mark.parametrize("with_state", [True, False])
@pytest.mark.parametrize(
    ("edit", "shared"),
    [
        pytest.param({"certs": NEW}, True, id="one definition reaches both"),
        pytest.param({"preset": preset(values="[{name: replicas, value: 3}]")}, None, id="one of them"),
        pytest.param({"certs": NEW, "preset": preset(values="[{name: replicas, value: 3}]")}, False, id="both, unlike"),
        pytest.param({"clusters": clusters(**{**KNOWN, "eu_1": "{facts: {host: b}}"})}, None, id="a fact of a cluster"),
    ],
)
def test_a_preview_names_changes_as_plans_do(edit: dict[str, str], shared: bool | None, with_state: bool) -> None:
    base = {"policy": ONE, "second": SECOND, "clusters": clusters(**KNOWN)}
    base |= {"preset": preset(values=FACTS)} if "clusters" in edit else {}
    folder = installed(**base)
    before = fleet_of(folder.files, state=folder.known if with_state else None)
    folder.edit(**edit)
    after = fleet_of(folder.files, state=folder.known if with_state else None)
    answer = diff(before, after, Scope("acme"))
    named = {each.preset: (each.name, each.change_id) for each in answer.rollouts}
    rollouts = [each.rollout for each in folder.plan.owners if each.rollout is not None and each.rollout.is_open]
    assert named == {each.owner.name: (each.name, each.change_id) for each in rollouts}
    ids = {each.change_id for each in answer.rollouts}
    if shared is None:
        assert len(named) == 1
    else:
        assert (len(named), len(ids) == 1) == (2, shared)
    if "clusters" not in edit and len(ids) == 1:
        assert ids == {answer.change_id}, "all that differs reaches each of them"


@pytest.mark.rule("B3b", "B22")
def test_a_preview_names_deletions_as_plans_do() -> None:
    folder = installed(policy=ONE, second=SECOND)
    before = folder.fleet
    folder.edit(second=None, preset=preset().replace("clusterSelector: {}", "clusterSelector: {clusterNames: [eu-1]}"))
    answer = diff(before, folder.fleet, Scope("acme"))
    removals = {each.owner.name: (each.rollout, each.change_id) for each in folder.fleet.world.removals}
    assert set(removals) == {"certs", "second"}
    assert {each.preset: (each.name, each.change_id) for each in answer.rollouts} == removals
