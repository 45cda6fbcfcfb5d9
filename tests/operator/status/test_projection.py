"""What objects should tell, from passes of a control plane in a world of its own."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from textwrap import dedent
from typing import get_args

import pytest
from msgspec import Raw, convert, structs, to_builtins
from msgspec.json import encode

from fleetform.model.kinds.status import MOST_NAMED, PluginPresetStatus, PluginStatus, RolloutStatus, State, Status
from fleetform.model.objects import Ref
from fleetform.model.results.rendering import RenderFailure
from fleetform.operator.status.comparing import Request, requests
from fleetform.operator.status.conditions import OURS
from fleetform.operator.status.passes import Pass
from fleetform.operator.status.projection import Projection
from fleetform.operator.status.seen import Seen
from fleetform.ports.delivery import Failure
from support.fleets import BASE, CLUSTERS, override
from support.plane import Files, Plane

STAGES = """
apiVersion: fleetform.dev/v1alpha1
kind: RolloutPolicy
metadata: {name: standard, namespace: acme}
spec:
  stages:
  - {name: dev, clusterSelector: {matchLabels: {tier: dev}}, minSuccessTime: 1h}
  - {name: gold, remainder: true, maxConcurrency: 1, approvals: {required: 1}}
  onFailure: Rollback
"""
PRESET = BASE["preset.yaml"].replace("namespace: acme}", "namespace: acme, uid: u-1, generation: 3}")
STAGED = PRESET.replace("spec:\n", "spec:\n  rolloutPolicy: standard\n", 1)


class Shown:
    """A control plane, and what its passes come to."""

    def __init__(self, **files: str) -> None:
        preset = STAGED if "policy" in files else PRESET
        written = {**BASE, "preset.yaml": preset, **{f"{name}.yaml": dedent(text) for name, text in files.items()}}
        self.plane = Plane(Files(written))
        self.projection = Projection()
        self.changed: set[Ref] = set()
        self.settle()

    def settle(self, **span: float) -> set[Ref]:
        """Passes until nothing is due, or for a time; which objects should then be others."""
        report = self.plane.wait(**span) if span else self.plane.settle()
        fleet = self.plane.control.fleet
        assert fleet is not None
        assert report.plan is not None
        shown = Pass(fleet, report.plan, self.plane.control.image, report.refusal)
        self.changed = self.projection.update(shown)
        # What was computed step by step is what is computed at once.
        anew = Projection()
        anew.update(shown)
        assert self.projection.wanted == anew.wanted
        return self.changed

    def __getitem__(self, path: str) -> Status:
        kind, name = path.split("/")
        return self.projection.wanted[Ref(kind, "acme", name)].status

    def plugin(self, name: str) -> PluginStatus:
        found = self[f"Plugin/{name}"]
        assert isinstance(found, PluginStatus)
        return found


def conditions(status: Status) -> dict[str, tuple[str, str]]:
    return {each.type: (each.status, each.reason) for each in status.conditions}


def upgrade(shown: Shown, version: str = "1.1.0", more: str = "") -> None:
    text = shown.plane.files.files["definition.yaml"].replace("version: 1.0.0", f"version: {version}") + more
    shown.plane.files.files[f"definition-{version}.yaml"] = text


def test_nothing_changed_means_that_nothing_is_computed() -> None:
    shown = Shown(policy=STAGES)
    assert shown.settle() == set()
    assert shown.settle(minutes=20) == set()


@pytest.mark.rule("S29", "R2-18")
def test_a_preset_adds_up_its_plugins() -> None:
    shown = Shown(policy=STAGES)
    found = shown["PluginPreset/web"]
    assert isinstance(found, PluginPresetStatus)
    assert found.plugins is not None
    counts = found.plugins
    assert (counts.total, counts.updated, counts.ready, counts.waiting) == (3, 1, 1, 2)
    assert found.versions == {"1.0.0": 1, "none": 2}
    assert conditions(found)["UpToDate"] == ("False", "Waiting")
    assert found.rollout is not None
    assert found.rollout.stage == "dev"


def test_an_upgrade_is_told_step_by_step() -> None:
    shown = Shown()
    assert {each.state for each in (shown.plugin("web-eu-1"), shown.plugin("web-us-1"))} == {"UpToDate"}
    shown.plane.health.says["eu-1"] = "Unknown"
    upgrade(shown)
    changed = shown.settle()
    moving = shown.plugin("web-eu-1")
    assert (moving.state, moving.running, moving.wanted) == ("InFlight", "1.1.0", "1.1.0")
    assert moving.admitted == moving.target != moving.last_healthy
    assert conditions(moving)["Reconciling"] == ("True", "InFlight")
    assert conditions(moving)["Ready"] == ("False", "InFlight")
    assert Ref("PluginDefinitionRevision", "acme", "web-1.1.0") in changed
    shown.plane.health.says["eu-1"] = "Failed"
    shown.plane.health.messages["eu-1"] = "no pod is ready"
    shown.settle()
    tried = conditions(shown.plugin("web-eu-1"))
    assert (tried["Reconciling"], "Stalled" in tried) == (("True", "Retry"), False), "nobody has to do anything yet"
    shown.settle(hours=12)
    failed = shown.plugin("web-eu-1")
    assert failed.state == "Failed"
    assert failed.failure == "no pod is ready"
    assert conditions(failed)["Stalled"][0] == "True"
    assert conditions(shown["PluginPreset/web"])["UpToDate"] == ("False", "Failed")


def test_what_blocks_an_upgrade_is_told_with_its_option_and_what_to_do() -> None:
    shown = Shown()
    upgrade(shown, more="  - {name: host2, type: string, required: true}\n")
    shown.settle()
    blocked = shown.plugin("web-eu-1")
    assert (blocked.state, blocked.running, blocked.wanted) == ("Blocked", "1.0.0", "1.1.0")
    (gate,) = blocked.blocked
    assert (gate.gate, gate.option) == ("required-option", "host2")
    assert gate.do
    assert blocked.waits_for == "required-option"
    found = conditions(blocked)
    assert found["UpToDate"] == found["Resolved"] == ("False", "RequiredOption")
    # What runs is not the worse for it.
    assert found["Ready"] == ("True", "Healthy")


def test_a_rollout_that_installs_comes_from_no_version() -> None:
    shown = Shown()
    (name,) = [ref.name for ref in shown.projection.wanted if ref.kind == "Rollout"]
    installed = shown[f"Rollout/{name}"]
    assert isinstance(installed, RolloutStatus)
    assert (installed.phase, installed.from_, installed.to) == ("Succeeded", None, "1.0.0")
    upgrade(shown)
    shown.settle()
    (newer,) = [ref.name for ref in shown.projection.wanted if ref.kind == "Rollout" and ref.name != name]
    upgraded = shown[f"Rollout/{newer}"]
    assert isinstance(upgraded, RolloutStatus)
    assert (upgraded.phase, upgraded.from_, upgraded.to) == ("Succeeded", "1.0.0", "1.1.0")


def test_a_rollout_that_is_over_does_not_wait_for_what_a_newer_one_waits_for() -> None:
    shown = Shown()
    (name,) = [ref.name for ref in shown.projection.wanted if ref.kind == "Rollout"]
    shown.plane.files.files["preset.yaml"] = PRESET.replace("spec:\n", "spec:\n  suspend: true\n", 1)
    upgrade(shown)
    shown.settle()
    (newer,) = [ref.name for ref in shown.projection.wanted if ref.kind == "Rollout" and ref.name != name]
    over, paused = shown[f"Rollout/{name}"], shown[f"Rollout/{newer}"]
    assert isinstance(over, RolloutStatus)
    assert isinstance(paused, RolloutStatus)
    assert (over.phase, over.waits_for, over.notable) == ("Succeeded", None, [])
    assert (paused.phase, paused.waits_for) == ("Paused", "suspended")


def test_of_a_cluster_without_plugins_nobody_knows_whether_it_answers() -> None:
    bare = "\napiVersion: fleetform.dev/v1alpha1\nkind: Cluster\nmetadata: {name: bare, namespace: acme}\n"
    shown = Shown(bare=bare)
    every = shown.plane.files.files["preset.yaml"]
    shown.plane.files.files["preset.yaml"] = every.replace(
        "clusterSelector: {}", "clusterSelector: {ignoreClusters: [bare]}"
    )
    shown.settle(minutes=1)
    assert conditions(shown["Cluster/bare"])["Reachable"] == ("Unknown", "NotAsked")
    assert conditions(shown["Cluster/eu-1"])["Reachable"] == ("True", "Answers")


def test_a_cluster_answers_once_something_was_brought_there_and_what_comes_instead_is_told() -> None:
    missing = BASE["preset.yaml"].replace("pluginDefinition: {name: web}", "pluginDefinition: {name: nowhere}")
    shown = Shown(preset=missing.replace("name: web,", "name: other,"))
    assert "nowhere" in shown.plane.files.files["preset.yaml"]
    assert conditions(shown["Cluster/eu-1"])["Reachable"] == ("Unknown", "NotAsked"), "it was never asked"
    shown.plane.files.files["preset.yaml"] = PRESET
    shown.settle(minutes=1)
    assert conditions(shown["Cluster/eu-1"])["Reachable"] == ("True", "Answers")
    shown.plane.health.silent.add("eu-1")
    upgrade(shown)
    shown.settle(minutes=2)
    (reachable,) = [each for each in shown["Cluster/eu-1"].conditions if each.type == "Reachable"]
    assert (reachable.status, reachable.reason) == ("False", "Silent")
    assert reachable.message.startswith("it has not answered since ")
    assert reachable.message.endswith(": no answer")


@pytest.mark.rule("B33")
def test_a_rollout_names_at_most_a_hundred_clusters() -> None:
    many = "---".join(
        f"\napiVersion: fleetform.dev/v1alpha1\nkind: Cluster\nmetadata: {{name: c-{number}, namespace: acme}}\n"
        for number in range(250)
    )
    shown = Shown(policy=STAGES, many=many)
    (name,) = [ref for ref in shown.projection.wanted if ref.kind == "Rollout"]
    found = shown.projection.wanted[name].status
    assert isinstance(found, RolloutStatus)
    assert found.clusters is not None
    assert found.clusters.total == 253
    assert sum(len(each.names) for each in found.notable) <= MOST_NAMED
    assert [each.name for each in found.stages] == ["dev", "gold"]
    assert found.started is not None


@pytest.mark.rule("B23")
def test_names_are_cut_with_a_hash_and_never_taken_twice() -> None:
    long = "a-very-long-name-of-a-cluster-that-nobody-should-have-given-to-it"
    cluster = "\napiVersion: fleetform.dev/v1alpha1\nkind: Cluster\nmetadata: {name: %s, namespace: acme}\n"
    second = PRESET.replace("name: web, namespace", "name: web-eu, namespace").replace("u-1", "u-2")
    second = second.replace("pluginDefinition: {name: web}", "pluginDefinition: {name: web}\n    releaseName: other")
    shown = Shown(policy=STAGES, long=cluster % long, one=cluster % "'1'", second=second)
    plugins = {ref.name: each for ref, each in shown.projection.wanted.items() if ref.kind == "Plugin"}
    assert all(len(name) <= 53 for name in plugins)
    # web on eu-1, and web-eu on 1.
    told = {(each.generated.spec["presetRef"]["name"], each.generated.spec["clusterName"]) for each in plugins.values()}  # type: ignore[union-attr]
    assert {("web", "eu-1"), ("web-eu", "1"), ("web", long)} <= told
    assert len(told) == len(plugins) == 10


@pytest.mark.rule("R2-20")
def test_a_generated_plugin_belongs_to_its_preset() -> None:
    shown = Shown()
    wanted = shown.projection.wanted[Ref("Plugin", "acme", "web-eu-1")]
    generated = wanted.generated
    assert generated is not None
    assert generated.spec == {"presetRef": {"name": "web"}, "clusterName": "eu-1"}
    assert generated.labels["fleetform.dev/preset"] == "web"
    assert generated.owner is not None
    assert (generated.owner.kind, generated.owner.name, generated.owner.uid) == ("PluginPreset", "web", "u-1")


def test_a_plugin_that_nobody_wants_any_more_is_shown_until_it_is_gone() -> None:
    freeze = """
        apiVersion: fleetform.dev/v1alpha1
        kind: UpdateWindow
        metadata: {name: freeze, namespace: acme}
        spec: {type: HardFreeze, from: 2026-11-02, to: 2026-11-03}
        """
    shown = Shown(freeze=freeze)
    shown.settle(hours=13)
    shown.plane.files.files["preset.yaml"] = PRESET.replace(
        "clusterSelector: {}", "deletionPolicy: Delete\n  clusterSelector: {clusterNames: [eu-2]}"
    )
    shown.settle()
    leaving = shown.plugin("web-eu-1")
    assert (leaving.state, leaving.running, leaving.waits_for) == ("Leaving", "1.0.0", "freeze")
    assert leaving.until == "2026-11-03T00:00:00Z"
    generated = shown.projection.wanted[Ref("Plugin", "acme", "web-eu-1")].generated
    assert generated is not None
    assert generated.owner is None
    shown.settle(hours=24)
    assert {ref.name for ref in shown.projection.wanted if ref.kind == "Plugin"} == {"web-eu-2"}


@pytest.mark.rule("R2-22")
def test_a_plugin_that_another_owner_keeps_out_says_so() -> None:
    second = PRESET.replace("name: web, namespace", "name: other, namespace").replace("u-1", "u-2")
    shown = Shown(second=second)
    kept_out = shown.plugin("other-eu-1") if shown.plugin("web-eu-1").state == "UpToDate" else shown.plugin("web-eu-1")
    assert kept_out.state == "Blocked"
    assert kept_out.waits_for == "conflict"
    assert conditions(kept_out)["UpToDate"] == ("False", "Conflict")


def test_what_is_wrong_with_an_override_is_told() -> None:
    dead = """
        apiVersion: fleetform.dev/v1alpha1
        kind: PluginOverride
        metadata: {name: dead, namespace: acme, generation: 4}
        spec: {clusterSelector: {clusterNames: [nowhere]}, overrides: [{path: replicas, value: 3}]}
        """
    shown = Shown(dead=dead)
    found = shown["PluginOverride/dead"]
    assert conditions(found)["Valid"] == ("True", "Warnings")
    assert found.findings == "dead"  # type: ignore[attr-defined]
    assert shown.projection.wanted[Ref("PluginOverride", "acme", "dead")].generation == 4


CONFIG = """
    apiVersion: r1.io/v1
    kind: R1
    metadata: {name: n1, namespace: acme, generation: 7}
    spec: {level: debug}
    """


@pytest.mark.rule("R1-10")
def test_configs_are_told_with_what_was_applied_last() -> None:
    definition = BASE["definition.yaml"].replace(
        "  options:\n", "  configs: [{group: r1.io, resource: r1s, default: {name: n1, namespace: acme}}]\n  options:\n"
    )
    shown = Shown(config=CONFIG, definition=definition)
    (reference,) = shown.plugin("web-eu-1").config_references
    assert (reference.group, reference.resource, reference.name) == ("r1.io", "r1s", "n1")
    assert reference.last_observed_generation == 7
    assert reference.last_applied_config == reference.desired_config
    there = seen_of(shown, "web-eu-1")
    # While another content is on its way, what was applied last is known from what was told.
    shown.plane.health.says["eu-1"] = "Unknown"
    shown.plane.files.files["config.yaml"] = dedent(CONFIG.replace("debug", "info"))
    shown.settle()
    (asked,) = requests_of(shown, "web-eu-1", there)
    (moving,) = asked.body["status"]["configReferences"]
    assert moving["lastAppliedConfig"] == to_builtins(reference.desired_config)
    assert moving["desiredConfig"]["specHash"] != moving["lastAppliedConfig"]["specHash"]


def requests_of(shown: Shown, name: str, there: Seen | None) -> list[Request]:
    ref = Ref("Plugin", "acme", name)
    return requests(ref, shown.projection.wanted.get(ref), there, shown.plane.clock.at)


def seen_of(shown: Shown, name: str) -> Seen:
    """A plugin's object as a server would have it that was told everything."""
    made, told = requests_of(shown, name, None)
    metadata = {**made.body["metadata"], "uid": "u-9", "resourceVersion": "1", "generation": 1}
    return convert(
        {"metadata": metadata, "spec": Raw(encode(made.body["spec"])), "status": Raw(encode(told.body["status"]))}, Seen
    )


def test_an_object_that_is_as_it_should_be_needs_no_request() -> None:
    shown = Shown()
    there = seen_of(shown, "web-eu-1")
    assert requests_of(shown, "web-eu-1", there) == []
    shown.plane.clock.at += timedelta(days=3)
    assert requests_of(shown, "web-eu-1", there) == []


def test_a_plugin_that_somebody_made_of_their_own_accord_is_left_alone() -> None:
    shown = Shown()
    there = seen_of(shown, "web-eu-1")
    theirs = Seen(structs.replace(there.metadata, labels=None), Raw(b'{"clusterName":"eu-1"}'))
    assert requests_of(shown, "web-eu-1", theirs) == []
    # And what nobody wants is deleted only if it is Fleetform's alone.
    gone = Ref("Plugin", "acme", "gone")
    assert requests(gone, None, theirs, shown.plane.clock.at) == []
    (deleted,) = requests(gone, None, there, shown.plane.clock.at)
    assert (deleted.verb, deleted.uid) == ("delete", "u-9")
    persons = Seen(there.metadata, Raw(b'{"presetRef":{"name":"web"},"optionValues":[{"name":"replicas","value":1}]}'))
    assert requests(gone, None, persons, shown.plane.clock.at) == []


@pytest.mark.rule("R2-48")
def test_revisions_that_nobody_uses_go_when_there_are_too_many() -> None:
    policy = """
        apiVersion: fleetform.dev/v1alpha1
        kind: LifecyclePolicy
        metadata: {name: default, namespace: acme}
        spec: {revisionHistory: 1}
        """
    shown = Shown(lifecycle=policy)
    for version in ("1.1.0", "1.2.0", "1.3.0"):
        upgrade(shown, version)
        shown.settle()
    revisions = {
        ref.name: each.is_gone
        for ref, each in shown.projection.wanted.items()
        if ref.kind == "PluginDefinitionRevision"
    }
    assert revisions == {"web-1.0.0": True, "web-1.1.0": True, "web-1.2.0": False, "web-1.3.0": False}
    there = structs.replace(seen_of(shown, "web-eu-1").metadata, name="web-1.0.0")
    ref = Ref("PluginDefinitionRevision", "acme", "web-1.0.0")
    (deleted,) = requests(ref, shown.projection.wanted[ref], Seen(there), shown.plane.clock.at)
    assert deleted.verb == "delete"
    # One of which nothing is known any more may still be what a cluster runs.
    assert requests(ref._replace(name="web-0.9.0"), None, Seen(there), shown.plane.clock.at) == []


def test_every_condition_is_documented(root: Path) -> None:
    page = (root / "docs" / "reference" / "status.md").read_text(encoding="utf-8")
    assert [each for each in sorted(OURS) if f"`{each}`" not in page] == []
    assert [each for each in get_args(State) if f"`{each}`" not in page] == []


def test_a_source_that_is_not_there_is_told_wherever_people_look() -> None:
    refused = "https://charts.example.com refuses connections"
    shown = Shown()
    shown.plane.renders.failing["1.1.0"] = RenderFailure(refused, "", unavailable=True)
    upgrade(shown)
    shown.settle(minutes=5)
    status = shown.plugin("web-eu-1")
    assert (status.state, status.waits_for) == ("Waiting", "render")
    assert [each.message for each in status.waiting] == [refused]
    told = {each.type: each for each in status.conditions}
    assert (told["UpToDate"].reason, told["UpToDate"].message) == ("Render", refused)
    assert told["NotRendered"].status == "True"
    (rollout,) = [
        each.status
        for ref, each in shown.projection.wanted.items()
        if ref.kind == "Rollout" and isinstance(each.status, RolloutStatus) and each.status.ended is None
    ]
    assert isinstance(rollout, RolloutStatus)
    assert rollout.waits_for == "render"
    assert [each.message for each in rollout.notable] == [f"cannot be rendered yet: {refused}"]
    shown.plane.renders.failing.clear()
    shown.settle(minutes=5)
    assert "NotRendered" not in conditions(shown.plugin("web-eu-1"))


def test_a_rollout_that_is_over_says_what_became_of_it() -> None:
    replacing = "onFailure: Rollback\n  supersede: Replace\n"
    policy = STAGES.replace(", approvals: {required: 1}", "").replace("onFailure: Rollback\n", replacing)
    shown = Shown(policy=policy)
    upgrade(shown)
    shown.settle(hours=6)
    upgrade(shown, "1.2.0")
    shown.settle(minutes=5)
    upgrade(shown, "1.3.0")
    shown.settle(hours=6)
    told = {each.to: complete_of(each) for each in rollouts(shown)}
    assert told["1.1.0"] == "1.1.0 is on 3 of 3 clusters"
    by, _, version = told["1.2.0"].removeprefix("replaced by ").partition(" ")
    assert version == "(1.3.0)"
    (last,) = [each for each in rollouts(shown) if each.to == "1.3.0"]
    assert shown[f"Rollout/{by}"] == last


def test_values_whose_preset_is_gone_say_that_they_have_no_effect() -> None:
    own = """
        apiVersion: fleetform.dev/v1alpha1
        kind: Plugin
        metadata: {name: web-eu-1, namespace: acme}
        spec: {presetRef: {name: web}, clusterName: eu-1, optionValues: [{name: replicas, value: 4}]}
    """
    shown = Shown(own=own)
    assert shown.plugin("web-eu-1").state == "UpToDate"
    del shown.plane.files.files["preset.yaml"]
    shown.settle()
    shown.settle(hours=1)
    status = shown.plugin("web-eu-1")
    assert (status.state, status.running, status.rollout) == ("NoEffect", None, None)
    told = {each.type: each for each in status.conditions}
    assert (told["Ready"].status, told["Ready"].reason) == ("False", "NotInstalled")
    assert "there is no preset web" in told["Ready"].message


def complete_of(status: RolloutStatus) -> str:
    return next(each.message for each in status.conditions if each.type == "Complete")


def test_the_version_that_runs_is_the_one_that_has_arrived() -> None:
    shown = Shown()
    assert shown.plugin("web-eu-1").running == "1.0.0"
    shown.plane.targets.broken["eu-1"] = Failure("422: spec.replicas: Invalid value", "mend it", refused=True)
    upgrade(shown)
    shown.settle(minutes=5)
    status = shown.plugin("web-eu-1")
    assert (status.running, status.wanted) == ("1.0.0", "1.1.0")
    assert status.admitted == status.target
    assert shown.plugin("web-us-1").running == "1.1.0"
    shown.plane.files.files["us-2.yaml"] = CLUSTERS.rpartition("---")[2].replace("us-1", "us-2")
    shown.plane.targets.broken["us-2"] = Failure("nobody answers", "wait")
    shown.settle(minutes=5)
    assert shown.plugin("web-us-2").running is None
    shown.plane.targets.broken.clear()
    shown.settle(hours=3)
    assert shown.plugin("web-us-2").running == "1.1.0"


def test_a_rollout_says_what_it_changes_where_the_version_stays_also_once_it_is_over() -> None:
    free = STAGES.replace(", approvals: {required: 1}", "")
    shown = Shown(policy=free)
    shown.settle(hours=3)
    (first,) = rollouts(shown)
    assert (first.summary, first.changes) == (None, [])
    shown.plane.files.files["policy.yaml"] = free.replace("1h}", "1h, approvals: {required: 1}}")
    shown.plane.files.files["more.yaml"] = override("more", "[{path: replicas, value: 7}]", "clusterSelector: {}")
    shown.settle(minutes=1)
    (waiting,) = [each for each in rollouts(shown) if each.ended is None]
    assert "ApprovalNeeded" in conditions(waiting)
    assert (waiting.from_, waiting.to) == ("1.0.0", "1.0.0")
    assert waiting.summary == "values changed: replicas (PluginOverride more)"
    assert [(each.kind, each.name, each.change, each.options) for each in waiting.changes] == [
        ("PluginOverride", "more", "added", ["replicas"])
    ]
    shown.plane.files.files["policy.yaml"] = free
    shown.settle(hours=6)
    (over,) = [each for each in rollouts(shown) if each.summary is not None]
    assert (over.phase, over.summary, over.changes) == ("Succeeded", waiting.summary, waiting.changes)


def rollouts(shown: Shown) -> list[RolloutStatus]:
    found = [each.status for ref, each in shown.projection.wanted.items() if ref.kind == "Rollout"]
    return [each for each in found if isinstance(each, RolloutStatus)]
