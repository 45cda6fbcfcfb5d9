"""What is refused, what warns, and what is left alone, as answers to single requests."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fleetform.app.consents import consent_findings
from fleetform.app.fleet import Fleet
from fleetform.model.authors import ADMITTED
from fleetform.operator.admission.reviews import LONGEST_WARNING, LONGEST_WARNINGS, bounded
from support.admission import OPERATOR, judged
from support.fleets import BASE, CLUSTERS, DEFINITION, PRESET, documents, fleet_of, fleet_with, override

EU = "clusterSelector: {matchLabels: {region: eu}}"
GENERATED = """
apiVersion: fleetform.dev/v1alpha1
kind: Plugin
metadata: {name: web-eu-1, namespace: acme, labels: {fleetform.dev/preset: web}}
spec:
  presetRef: {name: web}
  clusterName: eu-1
  pluginDefinition: {name: web, version: 1.0.0}
"""


def thing(kind: str, name: str, spec: str = "{}", organization: str = "acme") -> str:
    head = f"apiVersion: fleetform.dev/v1alpha1\nkind: {kind}\nmetadata: {{name: {name}, namespace: {organization}}}\n"
    return f"{head}spec: {spec}\n"


def plugin(name: str, spec: str) -> str:
    return thing("Plugin", name, f"{{{spec}}}")


def test_what_is_fine_is_allowed_without_a_word() -> None:
    answer = judged(fleet_with(), override("more", "[{path: replicas, value: 3}]"))
    assert answer.allowed
    assert answer.warnings == []


# ---- What is wrong in itself


@pytest.mark.rule("R0-6")
def test_two_values_for_one_path_are_refused_with_both_places() -> None:
    answer = judged(fleet_with(), override("twice", "[{path: replicas, value: 1}, {path: /replicas, value: 2}]"))
    assert not answer.allowed
    assert answer.code == 422
    assert "spec.overrides[1].path, also spec.overrides[0].path" in answer.message
    assert not answer.of_others


@pytest.mark.parametrize(
    ("written", "message"),
    [
        (override("typo", "[{path: replcas, value: 1}]", "pluginDefinitionNames: [web]"), "did you mean replicas?"),
        (override("type", "[{path: replicas, value: many}]", "pluginDefinitionNames: [web]"), "whole number"),
        (plugin("mine", "clusterName: eu-1, pluginDefinition: {name: web}"), "both claim release web/web on eu-1"),
    ],
)
def test_what_contradicts_other_objects_is_refused_and_says_that_it_depends_on_them(written: str, message: str) -> None:
    answer = judged(fleet_with(), written)
    assert not answer.allowed
    assert message in answer.message
    assert answer.of_others


def test_several_errors_are_told_at_once() -> None:
    answer = judged(fleet_with(), override("two", "[{path: a.., value: 1}, {path: replicas, value: null}]"))
    assert answer.message.count("\n- ") == 2


def test_a_shape_that_no_schema_can_say_is_refused() -> None:
    selector = "clusterSelector: [{matchLabels: {region: eu}}, 7]"
    answer = judged(fleet_with(), override("odd", "[{path: replicas, value: 3}]", selector))
    assert not answer.allowed
    assert "spec.clusterSelector" in answer.message


# ---- Only what is new


def test_a_broken_object_elsewhere_blocks_nobody() -> None:
    broken = override("broken", "[{path: replicas, value: 1}, {path: replicas, value: 2}]")
    answer = judged(fleet_with(broken=broken), override("fine", "[{path: host, value: a}]"))
    assert answer.allowed
    assert answer.warnings == []


def test_what_was_wrong_before_is_not_held_against_an_edit_of_something_else() -> None:
    broken = override("broken", "[{path: replicas, value: 1}, {path: replicas, value: 2}]")
    edited = broken.replace("namespace: acme", "namespace: acme, labels: {team: web}")
    assert judged(fleet_with(broken=broken), edited, broken).allowed
    worse = broken.replace("value: 2}]", "value: 2}, {path: hst, value: 1}], pluginDefinitionNames: [web]")
    assert "hst" in judged(fleet_with(broken=broken), worse, broken).message


def test_an_object_that_cannot_be_read_may_get_a_label_and_no_further_fault() -> None:
    unread = override("unread", "[{path: replicas, value: 1}]", "clusterSelector: 7")
    labelled = unread.replace("namespace: acme", "namespace: acme, labels: {a: b}")
    assert judged(fleet_with(unread=unread), labelled, unread).allowed


def test_what_may_come_later_warns() -> None:
    """Controllers try each object of a folder before they apply the first."""
    answer = judged(fleet_with(), PRESET + "  rolloutPolicy: later\n", PRESET)
    assert answer.allowed
    assert [each.split(":")[0] for each in answer.warnings] == ["missing-reference"]


def test_a_dry_run_refuses_what_is_wrong_in_itself_and_warns_of_what_others_may_mend() -> None:
    """A definition and a value for its new option, tried together: neither is stored when the other is asked about."""
    typo = override("typo", "[{path: replcas, value: 1}]", "pluginDefinitionNames: [web]")
    tried = judged(fleet_with(), typo, dry_run=True)
    assert tried.allowed
    assert tried.warnings[0].startswith("it would be refused as the fleet is now: undeclared-option: web has no option")
    twice = override("twice", "[{path: replicas, value: 1}, {path: replicas, value: 2}]")
    assert not judged(fleet_with(), twice, dry_run=True).allowed
    both = override("both", "[{path: a, value: 1}, {path: a, value: 2}]", "pluginDefinitionNames: [web]")
    refused = judged(fleet_with(), both, dry_run=True)
    assert not refused.allowed
    assert "undeclared-option" in refused.message


def test_a_mandatory_window_may_come_after_the_preset() -> None:
    mandatory = thing("LifecyclePolicy", "default", "{requireUpdateWindow: true}")
    answer = judged(fleet_with(mandatory=mandatory), PRESET + "  updateWindows: [nights]\n", PRESET)
    assert answer.allowed
    assert [each.split(":")[0] for each in answer.warnings] == ["missing-reference", "missing-window"]


def test_a_whole_fleet_can_be_applied_object_by_object_in_any_order() -> None:
    empty = fleet_of("")
    texts = [each for text in BASE.values() for each in text.split("---\n")]
    for text in (*reversed(texts), override("eu", "[{path: replicas, value: 3}]", EU)):
        assert judged(empty, text).allowed, text


def test_while_something_is_deleted_its_finalizers_can_be_taken_away() -> None:
    broken = override("broken", "[{path: replicas, value: 1}, {path: replicas, value: 2}]")
    going = broken.replace("namespace: acme", "namespace: acme, deletionTimestamp: '2026-11-01T00:00:00Z'")
    assert judged(fleet_with(), going, broken.replace("value: 2", "value: 1")).allowed


# ---- Values that overrides cover


@pytest.mark.rule("R0-15")
def test_setting_an_option_that_an_override_covers_warns_and_names_it() -> None:
    fleet = fleet_with(eu=override("eu-prod", "[{path: replicas, value: 9}]", EU))
    answer = judged(fleet, PRESET.replace("value: 2", "value: 3"), PRESET)
    assert answer.allowed
    (warning,) = answer.warnings
    assert warning.startswith(
        "covered-option: replicas has no effect on eu-1, eu-2: the override eu-prod sets it there"
    )
    assert "spec.plugin.optionValues[0]" in warning


@pytest.mark.rule("R0-15")
def test_values_that_were_covered_before_are_not_told_again() -> None:
    fleet = fleet_with(eu=override("eu-prod", "[{path: replicas, value: 9}]", EU))
    assert judged(fleet, PRESET + "  suspend: true\n", PRESET).warnings == []


@pytest.mark.rule("R0-15", "B4")
def test_a_persons_value_in_a_generated_plugin_is_checked_as_one_beside_the_preset() -> None:
    fleet = fleet_with(eu=override("eu-prod", "[{path: replicas, value: 9}]", EU))
    with_value = GENERATED + "  optionValues: [{name: replicas, value: 4}]\n"
    (warning,) = judged(fleet, with_value, GENERATED).warnings
    assert warning.startswith("covered-option: replicas has no effect on eu-1")
    wrong = GENERATED + "  optionValues: [{name: replicas, value: many}]\n"
    assert "whole number" in judged(fleet, wrong, GENERATED).message


# ---- Generated plugins


@pytest.mark.rule("R2-20")
def test_editing_a_generated_plugin_is_denied_but_for_a_persons_fields() -> None:
    fleet = fleet_with()
    pinned = GENERATED.replace("1.0.0", "0.9.0")
    answer = judged(fleet, pinned, GENERATED)
    assert (answer.allowed, answer.code) == (False, 403)
    assert "the preset web makes this Plugin" in answer.message
    assert judged(fleet, pinned, GENERATED, OPERATOR).allowed
    assert judged(fleet, GENERATED + "  optionValues: [{name: replicas, value: 4}]\n", GENERATED).allowed


@pytest.mark.rule("R2-20")
def test_nobody_else_makes_a_plugin_generated_or_takes_it_over() -> None:
    by_hand = GENERATED.replace(", labels: {fleetform.dev/preset: web}", "")
    of_another = GENERATED.replace("fleetform.dev/preset: web", "fleetform.dev/preset: other")
    for new, old in ((GENERATED, None), (by_hand, GENERATED), (GENERATED, by_hand), (of_another, GENERATED)):
        answer = judged(fleet_with(), new, old)
        assert not answer.allowed
        assert "only Fleetform sets the label" in answer.message


# ---- Definitions


@pytest.mark.rule("R2-36")
def test_a_change_without_a_bump_is_refused_and_texts_for_people_may_change() -> None:
    fleet = fleet_with()
    answer = judged(fleet, DEFINITION.replace("maximum: 99", "maximum: 9"), DEFINITION)
    assert not answer.allowed
    assert "web 1.0.0 changed, and its version did not (spec.version): raise spec.version above 1.0.0" in answer.message
    assert judged(fleet, DEFINITION + "  description: Serves pages.\n", DEFINITION).allowed
    raised = DEFINITION.replace("1.0.0", "1.1.0").replace("maximum: 99", "maximum: 9")
    assert judged(fleet, raised, DEFINITION).allowed


@pytest.mark.rule("R2-36")
def test_a_version_that_is_known_cannot_come_back_as_something_else() -> None:
    """Also not after the definition was deleted, or went to another version in between."""
    newer = DEFINITION.replace("1.0.0", "1.1.0")
    fleet = fleet_with(definition=documents(DEFINITION, newer))
    other = DEFINITION.replace("maximum: 99", "maximum: 9")
    assert "changed-without-bump" in judged(fleet, other, newer).message
    assert "changed-without-bump" in judged(fleet, other).message


def test_what_breaks_in_a_minor_version_warns() -> None:
    newer = DEFINITION.replace("1.0.0", "1.1.0").replace("  - {name: host, type: string}\n", "")
    answer = judged(fleet_with(), newer, DEFINITION)
    assert answer.allowed
    assert answer.warnings[0].startswith("option-removed")


# ---- Ceilings and quotas


@pytest.mark.rule("R2-12", "S48")
def test_a_soak_above_the_ceiling_is_refused_and_a_lowered_ceiling_warns() -> None:
    ceiling = thing("LifecyclePolicy", "default", "{maxSoak: 7d}", "fleetform-system")
    policy = thing("RolloutPolicy", "slow", "{stages: [{name: all, remainder: true, minSuccessTime: 6d}]}")
    fleet = fleet_with(ceiling=ceiling, policy=policy)
    answer = judged(fleet, policy.replace("6d", "8d"), policy)
    assert "the stage all has minSuccessTime 8d, and maxSoak of the LifecyclePolicy allows 7d" in answer.message
    lowered = judged(fleet, ceiling.replace("7d", "5d"), ceiling)
    assert lowered.allowed
    assert lowered.warnings[0].startswith("RolloutPolicy/acme/slow: above-ceiling")


def quota(most: int) -> str:
    return thing("Organization", "acme", f"{{quota: {{plugins: {most}}}}}")


def test_more_plugins_than_the_quota_are_refused_whatever_brings_them() -> None:
    fleet = fleet_with(organization=quota(3))
    second = PRESET.replace("name: web, namespace", "name: other, namespace").replace(
        "pluginDefinition: {name: web}", "pluginDefinition: {name: web}\n    releaseName: other"
    )
    cluster = thing("Cluster", "eu-3")
    for written, count in ((second, 6), (cluster, 4)):
        answer = judged(fleet, written)
        assert (answer.allowed, answer.code) == (False, 403)
        assert (
            f"Organization/acme/acme: above-quota: acme has {count} plugins, and its quota allows 3" in answer.message
        )
    assert judged(fleet, override("fine", "[{path: replicas, value: 3}]")).allowed


def test_who_is_above_the_quota_may_still_change_what_there_is() -> None:
    fleet = fleet_with(organization=quota(2))
    assert judged(fleet, PRESET.replace("value: 2", "value: 3"), PRESET).allowed
    assert judged(fleet, quota(2).replace("}}", "}, people: []}"), quota(2)).allowed
    assert not judged(fleet_with(organization=quota(3)), quota(2), quota(3)).allowed


# ---- Approvals


PROGRAMS = [
    *("system:serviceaccount:flux-system:kustomize-controller", "system:node:a", "system:bootstrap:07401b"),
    *("system:apiserver", "system:anonymous", "system:kube-controller-manager", "system:k3s-controller"),
    *("system:admin:a", "system:administrator", "system:"),
]


def approval(fleet: Fleet, user: str = "alice", **other: str) -> str:
    rollout = fleet.plan.owners[0].rollout
    assert rollout is not None
    bound = {"rollout": rollout.name, "stage": "all", "changeId": f"'{rollout.change_id}'", "user": user, **other}
    return thing("Approval", "mine", "{" + ", ".join(f"{key}: {text}" for key, text in bound.items() if text) + "}")


@pytest.fixture
def waiting() -> Fleet:
    """A fleet with a change that waits for one of two people."""
    people = "approvals: {required: 1, from: {users: [alice, bob]}}"
    policy = thing("RolloutPolicy", "asking", f"{{stages: [{{name: all, remainder: true, {people}}}]}}")
    return fleet_with(policy=policy, preset=PRESET + "  rolloutPolicy: asking\n")


@pytest.mark.rule("R2-32", "S47")
def test_everybody_approves_for_themselves(waiting: Fleet) -> None:
    assert judged(waiting, approval(waiting)).allowed
    assert "write user: bob" in judged(waiting, approval(waiting, "alice"), user="bob").message
    assert "write user: alice" in judged(waiting, approval(waiting, "")).message
    denied = judged(waiting, approval(waiting, "carol"), user="carol")
    assert (denied.allowed, denied.code) == (False, 403)
    assert "these may: alice, bob" in denied.message


@pytest.mark.rule("R2-32")
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_is_no_approver_whoever_it_names(waiting: Fleet, program: str) -> None:
    for user in ("alice", f"'{program}'"):
        answer = judged(waiting, approval(waiting, user), user=program)
        assert "only people approve" in answer.message


@pytest.mark.rule("R2-32")
def test_the_administrator_of_some_distributions_is_a_person() -> None:
    policy = thing("RolloutPolicy", "asking", "{stages: [{name: all, remainder: true, approvals: {required: 1}}]}")
    fleet = fleet_with(policy=policy, preset=PRESET + "  rolloutPolicy: asking\n")
    assert judged(fleet, approval(fleet, "system:admin"), user="system:admin").allowed
    assert "write user: system:admin" in judged(fleet, approval(fleet), user="system:admin").message


@pytest.mark.rule("R2-32")
def test_groups_count_if_the_approval_names_them_and_the_user_is_in_them() -> None:
    people = "approvals: {required: 1, from: {groups: [sre]}}"
    policy = thing("RolloutPolicy", "asking", f"{{stages: [{{name: all, remainder: true, {people}}}]}}")
    fleet = fleet_with(policy=policy, preset=PRESET + "  rolloutPolicy: asking\n")
    given = approval(fleet, groups="[sre]")
    assert judged(fleet, given, groups=("sre", "system:authenticated")).allowed
    assert "alice is not in sre" in judged(fleet, given).message
    assert "write groups: [sre]" in judged(fleet, approval(fleet), groups=("dev", "sre")).message
    assert "these may: group sre" in judged(fleet, approval(fleet), groups=("dev",)).message


@pytest.mark.rule("S47", "R2-32")
def test_what_admission_has_checked_counts_without_a_doubt() -> None:
    """Groups of a file count for nobody: anybody could have written them."""
    people = "approvals: {required: 1, from: {groups: [sre]}}"
    policy = thing("RolloutPolicy", "asking", f"{{stages: [{{name: all, remainder: true, {people}}}]}}")
    files = {"policy": policy, "preset": PRESET + "  rolloutPolicy: asking\n"}
    given = approval(fleet_with(**files), groups="[sre]")
    in_files = fleet_with(**files, given=given)
    on_server = replace(in_files, input=replace(in_files.input, authors=ADMITTED))
    for fleet, starts in ((in_files, 0), (on_server, 3)):
        assert len(fleet.plan.starts) == starts
    doubted = [each.code for each in consent_findings(on_server, on_server.plan.owners)]
    assert doubted == ["unknown-author"]


def test_an_approval_of_what_is_not_there_warns(waiting: Fleet) -> None:
    for other, warning in (
        ({"changeId": f"'c1:{'0' * 64}'"}, f"is not a rollout of c1:{'0' * 64} here: it may not count"),
        ({"rollout": "web-12345678"}, "web-12345678 is not a rollout of"),
        ({"stage": "last"}, "no stage last of web asks for an approval: it may not count"),
    ):
        answer = judged(waiting, approval(waiting, **other))
        assert answer.allowed
        assert warning in answer.warnings[0]


def test_an_approval_of_a_shortened_change_is_refused_and_told_where_the_whole_one_is(waiting: Fleet) -> None:
    short = waiting.plan.owners[0].rollout.change_id[:11]  # type: ignore[union-attr]
    answer = judged(waiting, approval(waiting, changeId=f"'{short}'"))
    assert not answer.allowed
    assert "write the whole changeId, not shortened" in answer.message


def test_an_approval_of_deletions_is_no_foreign_one_though_its_preset_is_gone(waiting: Fleet) -> None:
    change = f"'c1:{'7' * 64}'"
    answer = judged(waiting, approval(waiting, rollout="gone-77777777", stage="deletes", changeId=change))
    assert (answer.allowed, answer.warnings) == (True, [])


# ---- Deletions


@pytest.mark.parametrize(
    ("old", "warning"),
    [
        (PRESET, "what PluginPreset web installed is removed with it: 3 plugins on eu-1, eu-2, us-1"),
        (PRESET + "  deletionPolicy: Retain\n", "PluginPreset web leaves behind what it installed: 3 plugins"),
        (DEFINITION, "3 plugins are of web, on eu-1, eu-2, us-1: what runs there stays as it is"),
        (CLUSTERS.split("---")[0], "1 plugin on eu-1 is no longer managed; what is installed on eu-1 stays: web-eu-1"),
        (GENERATED, "the preset web makes it again"),
    ],
)
def test_deleting_warns_of_what_goes_with_it_and_is_never_refused(old: str, warning: str) -> None:
    preset = old if "kind: PluginPreset" in old else PRESET
    answer = judged(fleet_with(preset=preset), None, old)
    assert answer.allowed
    assert answer.warnings[0].startswith(warning)


def test_deleting_a_policy_names_those_who_name_it(waiting: Fleet) -> None:
    (warning,) = judged(waiting, None, thing("RolloutPolicy", "asking")).warnings
    assert warning == "RolloutPolicy asking is still named by PluginPreset web"


# ---- Other organizations


@pytest.mark.rule("B15")
def test_an_answer_does_not_tell_what_other_organizations_have() -> None:
    theirs = DEFINITION.replace("name: web, namespace: acme", "name: secret-plan, namespace: rival")
    asking = PRESET.replace("pluginDefinition: {name: web}", "pluginDefinition: {name: secret-plan}")
    support = thing("LifecyclePolicy", "default", "{support: [{definition: secret-plam, floor: 1.0.0}]}")
    for written in (asking.replace("name: web, namespace", "name: other, namespace"), support):
        assert judged(fleet_with(theirs=theirs), written) == judged(fleet_with(), written)


# ---- What is none of its business


@pytest.mark.parametrize("kind", ["PluginDefinitionRevision", "PluginState", "Rollout"])
def test_what_fleetform_writes_is_not_asked_about(kind: str) -> None:
    assert judged(fleet_with(), thing(kind, "x")).allowed


def test_status_is_never_refused() -> None:
    broken = override("broken", "[{path: replicas, value: 1}, {path: replicas, value: 2}]")
    assert judged(fleet_with(), broken, sub_resource="status").allowed


# ---- Wide changes


def test_a_wide_change_is_told_from_a_part_of_it_and_says_so() -> None:
    clusters = documents(*(thing("Cluster", f"c{number:03}") for number in range(80)))
    fleet = fleet_of({**BASE, "clusters.yaml": clusters, "over.yaml": override("over", "[{path: replicas, value: 9}]")})
    answer = judged(fleet, PRESET.replace("value: 2", "value: 3"), PRESET)
    assert [each.split(":")[0] for each in answer.warnings[:1]] == ["covered-option"]
    assert "more plugins than were looked at" in answer.warnings[-1]
    # A Plugin made by hand is looked at first, wherever it is.
    mine = plugin("zzz", "clusterName: c079, pluginDefinition: {name: web}")
    with_mine = fleet_of({"clusters.yaml": clusters, "definition.yaml": DEFINITION, "mine.yaml": mine})
    refused = judged(with_mine, PRESET)
    assert "on c079" in refused.message


def test_a_quota_counts_what_was_not_looked_at() -> None:
    clusters = documents(*(thing("Cluster", f"c{number:03}") for number in range(80)))
    fleet = fleet_of({"clusters.yaml": clusters, "definition.yaml": DEFINITION, "organization.yaml": quota(79)})
    assert "acme has 80 plugins, and its quota allows 79" in judged(fleet, PRESET).message


# ---- Warnings on the wire


def test_warnings_are_cut_as_api_servers_cut_them() -> None:
    (long,) = bounded(["word " * 100])
    assert len(long) <= LONGEST_WARNING
    assert long.endswith("…")
    many = bounded([f"{number}: " + "x" * 300 for number in range(40)])
    assert sum(map(len, many)) <= LONGEST_WARNINGS
    assert many[-1].startswith("there is more to say")
