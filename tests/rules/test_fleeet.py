"""Fleeet's manifests as whole fleets: which clusters get which modules, where namespaces meet, and what travels."""

from __future__ import annotations

from pathlib import Path

import pytest

from fleetform.app.fleet import Fleet
from fleetform.app.rendering.plugin_renders import render_plugins
from fleetform.model.objects import Ref
from fleetform.renderers.batch import Renderers
from support.fleets import DEFINITION, PRESET, codes, documents, fleet_of

FLEEET = "fleet.squaremo.dev/v1alpha1"


def cluster(name: str, namespace: str = "", labels: str = "env: prod", host: str = "h") -> str:
    home = f", namespace: {namespace}" if namespace else ""
    return (
        f"apiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata: {{name: {name}{home}, labels: {{{labels}}}}}\n"
        f"spec: {{controlPlaneEndpoint: {{host: {host}}}}}\n"
    )


def module(name: str, namespace: str = "", selector: str = "{}", more: str = "", kind: str = "Module") -> str:
    home = f", namespace: {namespace}" if namespace else ""
    return (
        f"apiVersion: {FLEEET}\nkind: {kind}\nmetadata: {{name: {name}{home}}}\n"
        f"spec:\n  selector: {selector}\n{more}"
        f"  sync:\n    source: {{git: {{url: https://git.example.com/{name}, version: {{tag: v1.0.0}}}}}}\n"
        "    package: {kustomize: {path: ., substitute: {NAME: $(CLUSTER_NAME), HOST: $(HOST)}}}\n"
    )


HOST = (
    "  controlPlaneBindings:\n  - name: HOST\n"
    "    objectFieldRef: {kind: Cluster, name: $(CLUSTER_NAME), fieldPath: /spec/controlPlaneEndpoint/host}\n"
)


def plugins(fleet: Fleet) -> dict[str, str]:
    """The cluster of each plugin, by the plugin's name."""
    return {name: cluster for _, cluster, name in fleet.decisions.plugins}


def substituted(fleet: Fleet) -> dict[str, dict[str, object]]:
    return {each.name: fleet.inputs.substituted(each) for each in fleet.decisions.plugins.values()}


def test_a_native_preset_beside_a_module_reaches_clusters_of_every_namespace() -> None:
    native = documents(DEFINITION, PRESET).replace("namespace: acme", "namespace: default")
    texts = [cluster("one", "a"), cluster("two", "b"), cluster("three"), module("app", "a", more=HOST), native]
    names = {"app-one": "one", "web-one": "one", "web-two": "two", "web-three": "three"}
    assert plugins(fleet_of(documents(*texts))) == names


@pytest.mark.parametrize("kind", ["Module", "BootstrapModule"])
def test_a_module_reaches_clusters_of_its_own_namespace(kind: str) -> None:
    texts = [cluster("one", "a"), cluster("two", "b"), cluster("three"), module("app", "a", kind=kind, more=HOST)]
    fleet = fleet_of(documents(*texts))
    assert (codes(fleet), plugins(fleet)) == ([], {"app-one": "one"})
    # Without a namespace both are in the default one.
    fleet = fleet_of(documents(*texts[:3], module("app", kind=kind, more=HOST)))
    assert plugins(fleet) == {"app-three": "three"}
    assert plugins(fleet_of(documents(*texts[:3], module("app", "default", kind=kind, more=HOST)))) == plugins(fleet)


def test_a_module_reaches_clusters_of_systems_without_such_namespaces() -> None:
    native = "apiVersion: fleetform.dev/v1alpha1\nkind: Cluster\nmetadata: {name: native, namespace: default}\n"
    assert plugins(fleet_of(documents(native, module("app", "a")))) == {"app-native": "native"}


def test_clusters_of_one_name_in_two_namespaces_are_two() -> None:
    fleet = fleet_of(
        documents(
            cluster("eu-1", "a", host="one"),
            cluster("eu-1", "b", host="two"),
            cluster("lab", "a", host="three"),
            module("app", "a", more=HOST),
            module("web", "b", more=HOST),
        )
    )
    assert codes(fleet) == []
    assert plugins(fleet) == {"app-a.eu-1": "a.eu-1", "app-lab": "lab", "web-b.eu-1": "b.eu-1"}
    # Each reads its own cluster, and calls it by the name that it has there.
    assert substituted(fleet) == {
        "app-a.eu-1": {"NAME": "eu-1", "HOST": "one"},
        "app-lab": {"NAME": "lab", "HOST": "three"},
        "web-b.eu-1": {"NAME": "eu-1", "HOST": "two"},
    }


def test_modules_of_one_name_in_two_namespaces_are_two() -> None:
    modules = module("app", "a", more=HOST), module("app", "b", more=HOST)
    fleet = fleet_of(documents(cluster("one", "a"), cluster("two", "b"), *modules))
    assert (codes(fleet), plugins(fleet)) == ([], {"a.app-one": "one", "b.app-two": "two"})
    assert {each.target.release_name for each in fleet.decisions.plugins.values()} == {"app"}
    assert set(fleet.snapshot.presets) == {Ref("PluginPreset", "default", name) for name in ("a.app", "b.app")}


ASSEMBLAGE = (
    f"apiVersion: {FLEEET}\nkind: Assemblage\nmetadata: {{name: eu-1, namespace: a}}\nspec:\n  syncs:\n  - name: app\n"
    "    source: {git: {url: https://git.example.com/app, version: {tag: v1.0.0}}}\n"
    "    package: {kustomize: {path: ., substitute: {A: x}}}\n"
)


def test_an_assemblage_without_a_cluster_yields_its_objects(tmp_path: Path) -> None:
    fleet = fleet_of(ASSEMBLAGE)
    assert (codes(fleet), plugins(fleet)) == ([], {"app-eu-1": "eu-1"})
    rendered = render_plugins(fleet, fleet.decisions.plugins.values(), Renderers(str(tmp_path)))
    assert [tree["kind"] for each in rendered for tree in each.objects] == ["GitRepository", "Kustomization"]


def test_a_module_does_not_select_a_cluster_that_nobody_described() -> None:
    fleet = fleet_of(documents(ASSEMBLAGE, cluster("one", "a"), module("web", "a", more=HOST)))
    assert (codes(fleet), plugins(fleet)) == ([], {"app-eu-1": "eu-1", "web-one": "one"})


def test_a_cluster_that_is_written_stands_for_itself() -> None:
    fleet = fleet_of(documents(ASSEMBLAGE, cluster("eu-1", "a", labels="env: lab")))
    assert (codes(fleet), plugins(fleet)) == ([], {"app-eu-1": "eu-1"})
    assert [each.labels for each in fleet.snapshot.clusters.values()] == [{"env": "lab"}]
    # Of two of that name the one beside it is meant.
    fleet = fleet_of(documents(ASSEMBLAGE, cluster("eu-1", "a"), cluster("eu-1", "b")))
    assert (codes(fleet), plugins(fleet)) == ([], {"app-eu-1": "a.eu-1"})


def test_an_assemblage_may_bring_the_clusters_name_along_and_a_module_may_not_bind_it() -> None:
    """Assemblages are what Fleeet makes of modules: the name is that of where it was made."""
    assemblage = (
        f"apiVersion: {FLEEET}\nkind: Assemblage\nmetadata: {{name: one, namespace: a}}\n"
        "spec:\n  syncs:\n  - name: app\n    bindings: [{name: CLUSTER_NAME, value: from-the-hub}]\n"
        "    source: {git: {url: https://git.example.com/app, version: {tag: v1.0.0}}}\n"
        "    package: {kustomize: {path: ., substitute: {NAME: $(CLUSTER_NAME)}}}\n"
    )
    fleet = fleet_of(documents(cluster("one", "a"), assemblage))
    assert (codes(fleet), substituted(fleet)) == ([], {"app-one": {"NAME": "from-the-hub"}})
    bound = module("app", "a", more="  bindings: [{name: CLUSTER_NAME, value: mine}, {name: HOST, value: h}]\n")
    assert codes(fleet_of(documents(cluster("one", "a"), bound))) == ["given-name"]


@pytest.mark.rule("S62")
def test_a_remote_assemblage_whose_cluster_is_missing_is_reported() -> None:
    text = (
        f"apiVersion: {FLEEET}\nkind: RemoteAssemblage\nmetadata: {{name: eu-1, namespace: a}}\nspec:\n"
        "  kubeconfigRef: {name: eu-1-kubeconfig}\n  assemblage:\n    syncs:\n    - name: app\n"
        "      source: {git: {url: https://git.example.com/app, version: {tag: v1.0.0}}}\n"
    )
    fleet = fleet_of(text)
    assert (codes(fleet), plugins(fleet)) == (["unknown-name"], {})


@pytest.mark.parametrize("kind", ["Module", "BootstrapModule"])
def test_nothing_is_pruned_as_fleeet_writes_it(kind: str, tmp_path: Path) -> None:
    fleet = fleet_of(documents(cluster("one"), module("app", kind=kind, more=HOST)))
    rendered = render_plugins(fleet, fleet.decisions.plugins.values(), Renderers(str(tmp_path)))
    assert [tree["spec"]["prune"] for each in rendered for tree in each.objects if "prune" in tree["spec"]] == [False]


def test_the_clusters_name_does_not_travel_and_is_filled_in_before(tmp_path: Path) -> None:
    bindings = (
        "    bindings:\n    - {name: IP, objectFieldRef: {kind: Service, name: '$(CLUSTER_NAME)-lb', fieldPath: /ip}}\n"
        "    - {name: T, value: '$$(CLUSTER_NAME) $$$(CLUSTER_NAME) $(IP)'}\n"
    )
    travelling = module("app", more=HOST).replace("HOST: $(HOST)}", "HOST: $(HOST), T: $(T)}") + bindings
    fleet = fleet_of(documents(cluster("one"), travelling))
    [rendered] = render_plugins(fleet, fleet.decisions.plugins.values(), Renderers(str(tmp_path)))
    [sync] = rendered.objects[0]["spec"]["syncs"]
    assert sync["bindings"] == [
        {"name": "HOST", "value": "h"},
        {"name": "IP", "objectFieldRef": {"kind": "Service", "name": "one-lb", "fieldPath": "/ip"}},
        {"name": "T", "value": "$$(CLUSTER_NAME) $$one $(IP)"},
    ]
    assert sync["package"]["kustomize"]["substitute"] == {"HOST": "$(HOST)", "NAME": "one", "T": "$(T)"}


def test_a_cluster_of_cluster_api_that_is_also_written_by_hand_is_one_cluster() -> None:
    by_hand = (
        "apiVersion: fleetform.dev/v1alpha1\nkind: Cluster\n"
        "metadata: {name: one, namespace: default, labels: {env: qa}}\n"
    )
    for texts in ([by_hand, cluster("one")], [cluster("one"), by_hand]):
        fleet = fleet_of(documents(*texts, module("qa", selector="{matchLabels: {env: qa}}", more=HOST)))
        assert (codes(fleet), plugins(fleet)) == ([], {"qa-one": "one"})
        assert substituted(fleet)["qa-one"]["HOST"] == "h", "and can be referred to"
