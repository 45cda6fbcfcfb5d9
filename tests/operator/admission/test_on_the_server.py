"""Admission on a real API server, through kubectl: what people see."""

from __future__ import annotations

from itertools import chain, repeat

import pytest

from fleetform.operator.admission.manifests import webhook_configuration
from fleetform.syntax.yaml_in import read_one
from fleetform.syntax.yaml_out import write_yaml
from support.admission import OPERATOR
from support.asking import BROKEN, GENERATED, Asking, until
from support.fleets import DEFINITION, PRESET, fleet_with, override

EU = "clusterSelector: {matchLabels: {region: eu}}"
HEAD = "apiVersion: fleetform.dev/v1alpha1\n"
OWN_PLUGIN = (
    f"{HEAD}kind: Plugin\nmetadata: {{name: mine, namespace: acme}}\n"
    "spec: {clusterName: eu-1, pluginDefinition: web}\n"
)
QUOTA = f"{HEAD}kind: Organization\nmetadata: {{name: acme, namespace: acme}}\nspec: {{quota: {{plugins: 3}}}}\n"
CLUSTER = f"{HEAD}kind: Cluster\nmetadata: {{name: eu-3, namespace: acme}}\n"
APPROVAL = (
    f"{HEAD}kind: Approval\nmetadata: {{name: mine, namespace: acme}}\n"
    "spec: {rollout: web-1, stage: all, changeId: 'c1:" + "1" * 64 + "', user: alice}\n"
)
REVISION = (
    f"{HEAD}kind: PluginDefinitionRevision\nmetadata: {{name: web-1.0.0, namespace: acme}}\n"
    "spec: {number: 1, version: 1.0.0, contentHash: 'sha256:00', options: []}\n"
)
SOURCELESS = DEFINITION.replace("name: web,", "name: none,").replace("{manifests: {path: ./manifests}}", "{}")
FLUX = "system:serviceaccount:flux-system:kustomize-controller"
DENIED = 'admission webhook "objects.fleetform.dev" denied the request: '


@pytest.mark.parametrize(
    ("given", "message"),
    [
        pytest.param(
            BROKEN,
            f"{DENIED}conflicting-values: PluginOverride broken gives replicas two values "
            "(spec.overrides[1].path, also spec.overrides[0].path): keep one of them",
            marks=pytest.mark.rule("R0-6"),
        ),
        (
            override("typo", "[{path: replcas, value: 1}]", "pluginDefinitionNames: [web]"),
            f"{DENIED}undeclared-option: web has no option replcas (spec.overrides[0].path): did you mean replicas?",
        ),
        pytest.param(
            DEFINITION.replace("maximum: 99", "maximum: 9"),
            f"{DENIED}changed-without-bump: web 1.0.0 changed, and its version did not",
            marks=pytest.mark.rule("R2-36"),
        ),
        pytest.param(
            OWN_PLUGIN, "both claim release web/web on eu-1; the older one keeps it", marks=pytest.mark.rule("B4")
        ),
        (CLUSTER, f"{DENIED}Organization/acme/acme: above-quota: acme has 4 plugins, and its quota allows 3"),
        pytest.param(
            GENERATED.replace("1.0.0", "0.9.0"),
            "the preset web makes this Plugin: edit the preset, or only optionValues and configs here",
            marks=pytest.mark.rule("R2-20"),
        ),
        pytest.param(
            APPROVAL.replace("alice", "bob"),
            "everybody approves for themselves: write user: alice",
            marks=pytest.mark.rule("R2-32"),
        ),
        pytest.param(
            APPROVAL.replace("user: alice", "user: alice, groups: [sre]"),
            "alice is not in all of these groups: name only your own",
            marks=pytest.mark.rule("R2-32"),
        ),
        (REVISION, "Fleetform writes every PluginDefinitionRevision: nobody else makes or changes one"),
        (SOURCELESS, "spec.source: Invalid value: exactly one of helm, kustomize, manifests is needed"),
    ],
)
def test_what_is_refused_says_why_and_what_to_do(asking: Asking, given: str, message: str) -> None:
    asking.give(fleet_with(organization=QUOTA))
    done = asking.apply(given)
    assert done.returncode != 0
    assert message in " ".join(done.stderr.split())


def test_a_dry_run_tells_what_would_be_refused(asking: Asking) -> None:
    assert f"{DENIED}conflicting-values" in asking.apply(BROKEN, "--dry-run=server").stderr
    typo = override("typo", "[{path: replcas, value: 1}]", "pluginDefinitionNames: [web]")
    tried = asking.apply(typo, "--dry-run=server")
    assert tried.returncode == 0
    assert "Warning: it would be refused as the fleet is now: undeclared-option: web has no option" in tried.stderr


@pytest.mark.rule("R0-15")
def test_a_value_that_an_override_covers_is_stored_with_a_warning(asking: Asking) -> None:
    asking.give(fleet_with(eu=override("eu-prod", "[{path: replicas, value: 9}]", EU)))
    done = asking.apply(PRESET.replace("value: 2", "value: 3"), "--dry-run=server")
    assert done.returncode == 0
    assert "Warning: covered-option: replicas has no effect on eu-1, eu-2: the override eu-prod sets" in done.stderr


@pytest.mark.rule("B4", "R2-20")
def test_a_person_sets_values_in_a_generated_plugin_and_owns_them(asking: Asking) -> None:
    """By server-side apply, which leaves the rest to Fleetform."""
    values = "{presetRef: {name: web}, clusterName: eu-1, optionValues: [{name: replicas, value: 4}]}"
    mine = f"{HEAD}kind: Plugin\nmetadata: {{name: web-eu-1, namespace: acme}}\nspec: {values}\n"
    done = asking.apply(mine, "--server-side", "--field-manager", "alice", "--dry-run=server")
    assert done.returncode == 0, done.stderr


@pytest.mark.rule("R2-32")
def test_the_administrator_of_some_distributions_approves(asking: Asking) -> None:
    """Both the API server's own policy and our answer let them."""
    given = APPROVAL.replace("user: alice", "user: 'system:admin'")
    done = asking.apply(given, "--dry-run=server", user="system:admin")
    assert done.returncode == 0, done.stderr


@pytest.mark.rule("R2-32")
def test_a_gitops_controller_is_no_approver(asking: Asking) -> None:
    done = asking.apply(APPROVAL, "--dry-run=server", user=FLUX)
    assert done.returncode != 0
    assert f"{FLUX} is a program, and only people approve" in done.stderr


def test_a_broken_object_that_is_there_blocks_nobody(asking: Asking) -> None:
    asking.give(fleet_with(broken=BROKEN))
    done = asking.apply(override("fine", "[{path: host, value: a}]"))
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


def test_deleting_warns_of_what_goes_with_it(asking: Asking) -> None:
    done = asking.kubectl("delete", "pluginpreset", "web", "-n", "acme", "--dry-run=server")
    assert done.returncode == 0
    assert "Warning: what PluginPreset web installed is removed with it: 3 plugins on eu-1, eu-2, us-1" in done.stderr


def test_neither_status_nor_what_the_operator_writes_is_asked_about(asking: Asking) -> None:
    preset = {**read_one(PRESET), "status": {"plugins": {"total": 3}}}
    asking.client.apply({key: preset[key] for key in preset if key != "spec"}, subresource="status")
    asking.written_by_operator(GENERATED.replace("1.0.0", "1.0.1"))
    assert asking.replica.asked == []
    asking.written_by_operator(GENERATED)


def test_before_the_fleet_was_read_writes_are_refused_and_deletions_pass(asking: Asking) -> None:
    asking.give(None)
    done = asking.apply(override("early", "[{path: host, value: a}]"), "--dry-run=server")
    assert "Fleetform has not read the fleet yet" in done.stderr
    assert asking.kubectl("delete", "pluginpreset", "web", "-n", "acme", "--dry-run=server").returncode == 0


def test_a_refusal_that_depends_on_others_waits_for_a_newer_fleet(asking: Asking) -> None:
    """A definition and a value for its new option, applied one after the other."""
    early = override("early", "[{path: port, value: 1}]", "pluginDefinitionNames: [web]")
    newer = fleet_with(definition=DEFINITION + "  - {name: port, type: int}\n")
    fleets = chain([fleet_with()], repeat(newer))
    asking.replica.fleet = lambda: next(fleets)
    assert asking.apply(early).returncode == 0


@pytest.mark.rule("R2-35")
def test_what_never_changes_and_what_is_generated_is_held_while_nobody_answers(asking: Asking) -> None:
    asking.written_by_operator(REVISION)
    resource = asking.client.resource("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration")
    asking.client.delete(resource, "", "fleetform")
    try:
        until(lambda: asking.apply(BROKEN, "--dry-run=server").returncode == 0)
        edited = asking.apply(GENERATED.replace("1.0.0", "0.9.0"), "--dry-run=server")
        assert "ValidatingAdmissionPolicy 'fleetform-generated-plugins'" in edited.stderr
        assert "the preset web makes this Plugin" in edited.stderr
        another = GENERATED.replace("fleetform.dev/preset: web", "fleetform.dev/preset: other")
        for relabelled in (another, GENERATED.replace(", labels: {fleetform.dev/preset: web}", ", labels: {a: b}")):
            done = asking.kubectl("replace", "--dry-run=server", "-f", "-", given=relabelled, user="alice")
            assert "only Fleetform sets the label fleetform.dev/preset" in done.stderr
        labelled = GENERATED.replace("{fleetform.dev/preset: web}", "{fleetform.dev/preset: web, a: b}")
        assert asking.kubectl("replace", "--dry-run=server", "-f", "-", given=labelled, user="alice").returncode == 0
        forged = asking.apply(REVISION.replace("1.0.0", "1.0.1"), "--dry-run=server")
        assert "Fleetform writes every PluginDefinitionRevision" in forged.stderr
        changed = asking.apply(REVISION.replace("number: 1", "number: 2"), "--dry-run=server", user=OPERATOR)
        assert "it never changes" in changed.stderr
    finally:
        asking.install()
        asking.replica.keys.look()
        asking.wait_until_asked()


def test_policies_are_written_in_types_that_the_server_understands(asking: Asking) -> None:
    """The server checks expressions against our schemas, and warns in the status."""
    resource = asking.client.resource("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy")
    found = [each for each in asking.client.items(resource) if each["metadata"]["name"].startswith("fleetform")]
    assert len(found) == 3
    assert [each.get("status", {}).get("typeChecking", {}).get("expressionWarnings") for each in found] == [None] * 3


@pytest.mark.parametrize("how", [(), ("--server-side", "--force-conflicts")])
def test_applying_the_manifests_again_leaves_what_the_api_server_trusts(asking: Asking, how: tuple[str, ...]) -> None:
    before = [each["clientConfig"]["caBundle"] for each in asking.configuration()["webhooks"]]
    done = asking.apply(write_yaml(webhook_configuration(asking.installed)), *how)
    assert done.returncode == 0, done.stderr
    assert [each["clientConfig"]["caBundle"] for each in asking.configuration()["webhooks"]] == before
