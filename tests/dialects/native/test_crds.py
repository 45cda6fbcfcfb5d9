"""The kinds on a real API server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fleetform.dialects.native.crds import SERVED, crds, plural_of
from fleetform.load.reader import load_input
from fleetform.model.kinds import API_VERSION, KINDS
from fleetform.outside.kubernetes.client import Client
from fleetform.outside.kubernetes.errors import InvalidError
from fleetform.syntax.yaml_out import write_yaml
from support.management import Management

EXAMPLES = ("fleet", "seed-0", "seed-1/native", "seed-2", "seed-3/native")


@pytest.fixture(scope="module")
def cluster(management: Management) -> Management:
    return management


def native(example: str, root: Path) -> list[dict[str, Any]]:
    """The native objects of an example, each with a namespace."""
    found = []
    for document in load_input([str(root / "examples" / example)]).documents:
        tree = document.tree
        if isinstance(tree, dict) and tree.get("apiVersion") == API_VERSION:
            metadata = {"namespace": "acme", **tree["metadata"]}
            found.append({**tree, "metadata": metadata})
    return found


def at_home(cluster: Management, objects: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Objects, once there are the namespaces that they are in."""
    assert objects
    for namespace in sorted({each["metadata"]["namespace"] for each in objects}):
        cluster.client.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    return objects


def test_every_kind_is_served() -> None:
    assert [each.kind for each in SERVED] == list(KINDS)
    shorts = [each.short for each in SERVED]
    assert len(set(shorts)) == len(shorts)


@pytest.mark.parametrize("example", EXAMPLES)
def test_every_example_is_accepted_whole(cluster: Management, root: Path, example: str) -> None:
    """Strictly: a field that the schema does not know would be dropped silently."""
    objects = at_home(cluster, native(example, root))
    given = "---\n".join(write_yaml(each) for each in objects)
    applied = cluster.kubectl("apply", "--validate=strict", "--dry-run=server", "-f", "-", given=given)
    assert applied.returncode == 0, applied.stderr
    assert len(applied.stdout.splitlines()) == len(objects)


def test_what_is_written_is_not_changed_by_the_server(cluster: Management, root: Path) -> None:
    """No default is written into what people wrote (R2-16)."""
    for each in at_home(cluster, native("fleet", root)):
        made = cluster.client.create(each, dry_run=True)
        assert made.get("spec") == each.get("spec"), each["metadata"]


def preset(name: str, **spec: Any) -> dict[str, Any]:
    wanted = {"clusterSelector": {}, "plugin": {"pluginDefinition": {"name": "web"}}, **spec}
    return {
        "apiVersion": API_VERSION,
        "kind": "PluginPreset",
        "metadata": {"name": name, "namespace": "acme"},
        "spec": wanted,
    }


@pytest.mark.rule("R2-35")
def test_what_never_changes_is_held_by_the_server_itself(cluster: Management) -> None:
    revision = {
        "apiVersion": API_VERSION,
        "kind": "PluginDefinitionRevision",
        "metadata": {"name": "web-1.0.0", "namespace": "acme"},
        "spec": {"number": 1, "version": "1.0.0", "contentHash": "sha256:" + "0" * 64, "options": []},
    }
    cluster.client.apply(revision)
    with pytest.raises(InvalidError) as caught:
        cluster.client.apply({**revision, "spec": {**revision["spec"], "number": 2}})  # type: ignore[dict-item]
    assert "it never changes" in caught.value.message


def test_a_typo_and_a_wrong_type_are_refused_by_kubectl(cluster: Management) -> None:
    typo = cluster.kubectl("apply", "-f", "-", given=write_yaml(preset("typo", clusterSelectors={})))
    assert typo.returncode != 0
    assert 'unknown field "spec.clusterSelectors"' in typo.stderr
    wrong = cluster.kubectl("apply", "-f", "-", given=write_yaml(preset("wrong", suspend="yes")))
    assert wrong.returncode != 0
    assert "spec.suspend" in wrong.stderr


def test_a_lifecycle_policy_has_one_name(cluster: Management) -> None:
    policy = {"apiVersion": API_VERSION, "kind": "LifecyclePolicy", "metadata": {"name": "mine", "namespace": "acme"}}
    with pytest.raises(InvalidError) as caught:
        cluster.client.apply(policy)
    assert "a LifecyclePolicy is named default" in caught.value.message


def test_kubectl_finds_kinds_by_short_name_and_shows_columns_people_want(cluster: Management) -> None:
    plugin = {
        "apiVersion": API_VERSION,
        "kind": "Plugin",
        "metadata": {"name": "web-eu-1", "namespace": "acme"},
        "spec": {"clusterName": "eu-1", "pluginDefinition": {"name": "web"}},
    }
    cluster.client.apply(plugin)
    versions = {"definition": "web", "running": "1.0.0", "wanted": "1.1.0", "state": "Waiting"}
    status = {**versions, "waitsFor": "window", "until": "2026-11-18T22:00:00Z"}
    cluster.client.apply({**plugin, "status": status}, subresource="status")
    shown = cluster.kubectl("get", "ffp", "-A").stdout.splitlines()
    heads, row = shown[0].split(), shown[1]
    assert heads[:2] == ["NAMESPACE", "NAME"]
    assert heads[2:7] == ["CLUSTER", "DEFINITION", "VERSION", "TARGET", "STATUS"]
    assert row.split()[1:7] == ["web-eu-1", "eu-1", "web", "1.0.0", "1.1.0", "Waiting"]
    assert row.split()[7:9] == ["window", "2026-11-18T22:00:00Z"]
    for chosen, found in (("spec.clusterName=eu-2", ""), ("status.state=Waiting", "plugin.fleetform.dev/web-eu-1\n")):
        names = cluster.kubectl("get", "ffp", "-n", "acme", "--field-selector", chosen, "-o", "name")
        assert names.stdout == found
    every = cluster.kubectl("get", "fleetform", "-n", "acme", "-o", "name").stdout
    assert "plugin.fleetform.dev/web-eu-1" in every


def test_a_status_is_written_beside_the_spec_and_raises_no_generation(cluster: Management) -> None:
    made = cluster.client.apply(preset("counted"))
    counted = {"plugins": {"total": 3}, "conditions": [{"type": "Ready", "status": "True"}]}
    known = {**preset("counted"), "status": counted}
    status = cluster.client.apply({key: known[key] for key in known if key != "spec"}, subresource="status")
    assert status["status"]["plugins"] == {"total": 3}
    assert status["metadata"]["generation"] == made["metadata"]["generation"]
    assert cluster.client.get(cluster.client.resource(API_VERSION, "PluginPreset"), "acme", "counted") == status


def test_plurals_are_those_of_kubernetes() -> None:
    assert [plural_of(each) for each in ("Plugin", "LifecyclePolicy")] == ["plugins", "lifecyclepolicies"]


def test_how_lists_merge_is_chosen_once() -> None:
    """A list's type cannot change later: conditions are a map by type, what is computed whole is atomic."""
    for crd in crds():
        (version,) = crd["spec"]["versions"]
        found = dict(lists(version["schema"]["openAPIV3Schema"]["properties"]["status"], ()))
        assert found.pop(("conditions",)) == "map"
        assert set(found.values()) <= {"atomic"}, crd["metadata"]["name"]


def lists(schema: dict[str, Any], path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str | None]]:
    if schema.get("type") == "array":
        yield path, schema.get("x-kubernetes-list-type")
        yield from lists(schema["items"], path)
    for name, each in schema.get("properties", {}).items():
        yield from lists(each, (*path, name))


def test_a_condition_of_somebody_else_stays(cluster: Management) -> None:
    made = preset("two-managers")
    cluster.client.apply(made)
    del made["spec"]
    others = Client(cluster.client.access, "others")
    theirs = {"type": "Reviewed", "status": "True", "reason": "Seen"}
    ours = {"type": "Valid", "status": "True", "reason": "Valid"}
    others.apply({**made, "status": {"conditions": [theirs]}}, subresource="status")
    found = cluster.client.apply({**made, "status": {"conditions": [ours]}}, subresource="status")
    assert {each["type"] for each in found["status"]["conditions"]} == {"Reviewed", "Valid"}
