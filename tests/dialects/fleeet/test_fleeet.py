"""Fleeet's manifests as they are, and the spellings of its design in native ones."""

from __future__ import annotations

from textwrap import dedent, indent
from typing import Any

import pytest

from fleetform.app.fleet import Fleet
from fleetform.dialects.envelope import Reading
from fleetform.dialects.fleeet.kinds import GitVersion
from fleetform.dialects.fleeet.read import read_fleeet
from fleetform.dialects.fleeet.sync import version_of_git
from fleetform.dialects.native.read import read_native
from fleetform.model.kinds.base import ClusterSelector, Delivery, FluxDelivery, LabelRequirement
from fleetform.model.kinds.definition import (
    GitRevision,
    GitSource,
    KustomizeSource,
    ObjectFieldRef,
    PluginDefinitionSpec,
    Source,
)
from fleetform.model.kinds.preset import Binding, ClusterFieldRef, DefinitionRef, PluginSpec, Substitution
from fleetform.model.objects import Object, Origin, Ref
from fleetform.syntax.versions import parse_version
from fleetform.syntax.yaml_in import read_one
from support.fleets import fleet_of

ORIGIN = Origin("all.yaml", 1, 99)
SOURCE = "source: {git: {url: https://example.com/apps, version: {tag: v1.2.0}}}"


def read(text: str) -> Reading:
    return read_fleeet(read_one(dedent(text)), ORIGIN, "acme")


def manifest(kind: str, spec: str, metadata: str = "{name: shop}") -> Reading:
    head = f"apiVersion: fleet.squaremo.dev/v1alpha1\nkind: {kind}\nmetadata: {metadata}\nspec:\n"
    return read(head + indent(dedent(spec).strip("\n"), "  "))


def module(fields: str, kind: str = "Module") -> Reading:
    """A Module with a sync, and the fields beside it."""
    return manifest(kind, f"sync:\n  {SOURCE}\n" + dedent(fields).strip("\n"))


def made(reading: Reading) -> list[Object[Any]]:
    assert [each.message for each in reading.diagnostics if each.severity != "info"] == []
    assert reading.object is not None
    return [reading.object, *reading.also]


def preset(reading: Reading) -> Object[Any]:
    return next(each for each in made(reading) if each.ref.kind == "PluginPreset")


def said(reading: Reading) -> list[tuple[str, str, str]]:
    return [(each.code, each.severity, each.path) for each in reading.diagnostics]


def hints(reading: Reading) -> list[str]:
    return [each.hint for each in reading.diagnostics]


def steps(object_: Object[Any], *path: str | int) -> tuple[str | int, ...]:
    return object_.at(*path).path


# ---- Modules

PODINFO = """
apiVersion: fleet.squaremo.dev/v1alpha1
kind: Module
metadata:
  name: podinfo
  namespace: default
  labels: {team: web}
spec:
  selector:
    matchLabels: {env: prod}
    matchExpressions: [{key: retired, operator: DoesNotExist}]
  controlPlaneBindings:
  - name: HOST
    value: $(CLUSTER_NAME).example.com
  sync:
    bindings:
    - name: ADDRESS
      objectFieldRef: {apiVersion: v1, kind: Service, name: ingress, fieldPath: /spec/clusterIP}
    source:
      git:
        url: https://github.com/stefanprodan/podinfo
        version:
          tag: 5.2.0
    package:
      kustomize:
        path: ./kustomize
        substitute: {HOST: $(HOST)}
status:
  observedSync: {source: {git: {version: {tag: 5.1.0}}}}
  summary: {total: 2, updating: 2, failed: 0, succeeded: 0}
"""


def test_a_module_is_a_definition_of_its_tags_version() -> None:
    definition = made(read(PODINFO))[0]
    assert (definition.ref, definition.dialect) == (Ref("PluginDefinition", "acme", "podinfo"), "fleeet")
    git = GitSource("https://github.com/stefanprodan/podinfo", GitRevision(tag="5.2.0"), "./kustomize")
    assert definition.spec == PluginDefinitionSpec("5.2.0", source=Source(kustomize=KustomizeSource(git=git)))


def test_a_module_is_a_preset_that_pins_that_version_and_lets_clusters_fetch_it() -> None:
    found = preset(read(PODINFO))
    assert (found.ref, found.labels) == (Ref("PluginPreset", "acme", "podinfo"), {"team": "web"})
    assert found.spec.plugin.plugin_definition == DefinitionRef("podinfo", version="5.2.0")
    assert found.spec.plugin.release_namespace == "default"
    assert found.spec.cluster_selector == ClusterSelector(
        match_labels={"env": "prod"}, match_expressions=[LabelRequirement("retired", "DoesNotExist")]
    )
    assert found.spec.control_plane_bindings == [Binding("HOST", "$(CLUSTER_NAME).example.com")]
    reference = ObjectFieldRef("Service", "ingress", "/spec/clusterIP", "v1")
    assert found.spec.bindings == [Binding("ADDRESS", object_field_ref=reference)]
    assert found.spec.substitute == {"HOST": "$(HOST)"}
    assert found.spec.delivery == Delivery(flux=FluxDelivery("Pull", "default", prune=False))


def test_what_flux_substitutes_in_it_substitutes_all_names_of() -> None:
    assert preset(read(PODINFO)).spec.substitution == Substitution(only="All")
    assert preset(module("selector: {}")).spec.substitution is None


def test_mentions_count_in_every_module() -> None:
    assert preset(module("selector: {}")).spec.control_plane_bindings == []


def test_what_is_said_of_a_modules_objects_points_into_the_module() -> None:
    definition, owner = made(read(PODINFO))
    version = ("spec", "sync", "source", "git", "version", "tag")
    assert steps(definition, "spec", "version") == version
    assert steps(definition, "spec", "source", "kustomize", "git", "ref", "tag") == version
    assert steps(definition, "spec", "source", "kustomize", "git", "url") == ("spec", "sync", "source", "git", "url")
    path = ("spec", "sync", "package", "kustomize", "path")
    assert steps(definition, "spec", "source", "kustomize", "git", "path") == path
    assert steps(owner, "spec", "plugin", "pluginDefinition", "version") == version
    assert steps(owner, "spec", "clusterSelector", "matchLabels", "env") == ("spec", "selector", "matchLabels", "env")
    assert steps(owner, "spec", "controlPlaneBindings", 0, "value") == ("spec", "controlPlaneBindings", 0, "value")
    assert steps(owner, "spec", "bindings", 0, "name") == ("spec", "sync", "bindings", 0, "name")
    assert steps(owner, "spec", "substitute", "HOST") == (
        "spec", "sync", "package", "kustomize", "substitute", "HOST",
    )  # fmt: skip


@pytest.mark.rule("R3-21")
def test_a_bootstrap_module_is_applied_from_the_control_plane() -> None:
    reading = module("selector: {matchLabels: {}}\ncontrolPlaneBindings: [{name: A, value: 1}]", "BootstrapModule")
    found = preset(reading)
    assert found.spec.delivery == Delivery(flux=FluxDelivery("Hub", prune=False))
    assert (found.spec.control_plane_bindings, found.spec.bindings) == ([Binding("A", 1)], None)


@pytest.mark.rule("R3-21")
def test_a_bootstrap_module_has_no_bindings_on_the_cluster() -> None:
    reading = manifest("BootstrapModule", f"selector: {{}}\nsync:\n  {SOURCE}\n  bindings: [{{name: A, value: 1}}]")
    assert said(reading) == [("unknown-field", "error", "spec.sync.bindings")]
    assert "controlPlaneBindings" in hints(reading)[0]


def test_a_section_of_bindings_that_is_no_list_is_said_also_if_it_is_empty() -> None:
    assert said(module("selector: {}\nbindings: {}")) == [("bad-value", "error", "spec.bindings")]
    assert said(module("selector: {}\nbindings: []")) == []


@pytest.mark.parametrize(
    ("selector", "clusters"),
    [
        ("", []),
        ("selector: null", []),
        ("selector: {}", ["eu", "us"]),
        ("selector: {matchLabels: {}}", ["eu", "us"]),
        ("selector: {matchLabels: {region: eu}}", ["eu"]),
        ("selector: {matchExpressions: [{key: region, operator: NotIn, values: [eu]}]}", ["us"]),
    ],
)
@pytest.mark.parametrize("kind", ["Module", "BootstrapModule"])
@pytest.mark.rule("R3-29", "B31")
def test_an_absent_selector_selects_nothing_and_an_empty_one_everything(
    kind: str, selector: str, clusters: list[str]
) -> None:
    fleet = _fleet(f"kind: {kind}\nmetadata: {{name: shop}}\nspec:\n  {selector}\n  sync: {{{SOURCE}}}\n", "eu", "us")
    assert sorted(cluster for _, cluster, _ in fleet.decisions.plugins) == clusters


@pytest.mark.rule("R3-29")
def test_a_module_that_selects_nothing_says_so() -> None:
    assert said(module("controlPlaneBindings: []")) == [("foreign-note", "info", "spec")]


def test_a_misspelt_selector_is_refused_for_it_would_select_every_cluster() -> None:
    reading = module("selector: {matchlabels: {env: prod}}")
    assert said(reading) == [("unknown-field", "error", "spec.selector.matchlabels")]
    assert (reading.object, hints(reading)) == (None, ["did you mean matchLabels?"])


def _fleet(text: str, *clusters: str) -> Fleet:
    """A fleet of some manifests of Fleeet and clusters, each of the region that it is named after."""
    head = "apiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata: "
    documents = [f"{head}{{name: {name}, labels: {{region: {name}}}}}\n" for name in clusters]
    documents += [f"apiVersion: fleet.squaremo.dev/v1alpha1\n{each}" for each in dedent(text).split("---\n")]
    return fleet_of("---\n".join(documents))


# ---- Versions


@pytest.mark.parametrize(
    ("given", "version"),
    [
        (GitVersion("5.2.0"), "5.2.0"),
        (GitVersion("v1.2.3"), "1.2.3"),
        (GitVersion("v0.1"), "0.1.0"),
        (GitVersion("2.0.0-rc.1"), "2.0.0-rc.1"),
        (GitVersion("v1.27.3+k3s1"), "1.27.3-k3s1"),
        (GitVersion("1.0.0-rc.1+5"), "1.0.0-rc.1.5"),
        (GitVersion("stable"), "0.0.0-tag.stable"),
        (GitVersion("podinfo-6.0.0"), "0.0.0-tag.podinfo-6.0.0"),
        (GitVersion(None, "f2e1d0c"), "0.0.0-rev.f2e1d0c"),
        (GitVersion("", "1234567"), "0.0.0-rev.1234567"),
        # Git allows these, and versions do not.
        (GitVersion(None, "0123456"), "0.0.0-rev.sha256-5f6121bc06e18e20"),
        (GitVersion("release/2021"), "0.0.0-tag.sha256-06a3d92ff74332cd"),
        (GitVersion("a+b"), "0.0.0-tag.sha256-300273daf0bb57c2"),
    ],
)
def test_a_tag_or_revision_is_a_version(given: GitVersion, version: str) -> None:
    assert version_of_git(given) == version
    assert str(parse_version(version)) == version


def test_of_a_tag_and_a_revision_the_tag_counts() -> None:
    source = "source: {git: {url: https://x, version: {tag: 1.0.0, revision: f2e1d0c}}}"
    reading = manifest("Module", f"selector: {{}}\nsync: {{{source}}}")
    assert said(reading) == [("exactly-one", "warning", "spec.sync.source.git.version.revision")]
    assert reading.object is not None
    assert reading.object.spec.source.kustomize.git.ref == GitRevision(tag="1.0.0")


@pytest.mark.parametrize("version", ["v1.0", "stable", "1.0.0+build.5"])
def test_the_version_that_a_module_pins_is_found(version: str) -> None:
    fleet = _fleet(f"""\
        kind: Module
        metadata: {{name: shop}}
        spec:
          selector: {{}}
          sync: {{source: {{git: {{url: https://example.com/apps, version: {{tag: {version}}}}}}}}}
        """, "eu")  # fmt: skip
    [plugin] = fleet.decisions.plugins.values()
    assert plugin.version == version_of_git(GitVersion(version))


# ---- What is missing or unknown


@pytest.mark.parametrize(
    ("sync", "code", "path"),
    [
        ("{}", "missing-field", "spec.sync"),
        ("{source: {}}", "missing-field", "spec.sync.source"),
        ("{source: {git: {url: https://x}}}", "missing-field", "spec.sync.source.git"),
        ("{source: {git: {version: {tag: a}}}}", "missing-field", "spec.sync.source.git"),
        ("{source: {git: {url: https://x, version: {}}}}", "missing-field", "spec.sync.source.git.version"),
        ("{source: {git: {url: https://x, version: {tag: ''}}}}", "missing-field", "spec.sync.source.git.version"),
        ("{source: {git: {url: https://x, version: {tag: 5.2}}}}", "bad-value", "spec.sync.source.git.version.tag"),
        (f"{{{SOURCE}, package: {{}}}}", "missing-field", "spec.sync.package"),
    ],
)
def test_what_a_sync_lacks_is_named(sync: str, code: str, path: str) -> None:
    reading = manifest("Module", f"selector: {{}}\nsync: {sync}")
    assert (said(reading), reading.object) == ([(code, "error", path)], None)


def test_a_sync_without_a_package_is_the_kustomization_at_the_root() -> None:
    definition = made(module("selector: {}"))[0]
    assert definition.spec.source.kustomize.git.path == "."


def test_a_module_without_a_sync_is_refused() -> None:
    reading = manifest("Module", "selector: {}")
    assert (said(reading), reading.object) == ([("missing-field", "error", "spec")], None)


def test_unknown_fields_warn() -> None:
    reading = manifest("Module", f"selector: {{}}\ninterval: 1m\nsync: {{{SOURCE}, prune: true}}")
    assert said(reading) == [
        ("unknown-field", "warning", "spec.interval"),
        ("unknown-field", "warning", "spec.sync.prune"),
    ]
    assert reading.object is not None


@pytest.mark.parametrize(
    ("head", "code", "hint"),
    [
        ("{apiVersion: fleet.squaremo.dev/v1beta1, kind: Module}", "unsupported-version", "there is fleet.squaremo"),
        ("{apiVersion: fleet.squaremo.dev/v1alpha1, kind: Modul}", "unknown-kind", "did you mean Module?"),
        ("{apiVersion: fleet.squaremo.dev/v1alpha1, kind: Sync}", "unknown-kind", "there are Module, BootstrapModule"),
        ("{apiVersion: fleet.squaremo.dev/v1alpha1}", "missing-field", "add kind"),
        ("{apiVersion: fleet.squaremo.dev/v1alpha1, kind: Module}", "bad-name", "write metadata.name"),
    ],
)
def test_other_kinds_and_versions_are_named(head: str, code: str, hint: str) -> None:
    reading = read(head)
    assert [each.code for each in reading.diagnostics] == [code]
    assert hints(reading)[0].startswith(hint)


# ---- Assemblages

ASSEMBLAGE = """
apiVersion: fleet.squaremo.dev/v1alpha1
kind: Assemblage
metadata: {name: eu-1, namespace: fleet}
spec:
  syncs:
  - name: podinfo
    bindings: [{name: A, value: 1}]
    source: {git: {url: https://example.com/podinfo, version: {tag: 5.2.0}}}
    package: {kustomize: {path: ./kustomize, substitute: {A: $(A)}}}
  - name: dash
    source: {git: {url: https://example.com/dash, version: {revision: f2e1d0c}}}
"""
OWNED = """
apiVersion: fleet.squaremo.dev/v1alpha1
kind: RemoteAssemblage
metadata:
  name: eu-1
  ownerReferences:
  - {apiVersion: cluster.x-k8s.io/v1alpha4, kind: Cluster, name: eu-1, controller: true, uid: a}
  - {apiVersion: fleet.squaremo.dev/v1alpha1, kind: Module, name: podinfo, uid: b}
  - {apiVersion: fleet.squaremo.dev/v1alpha1, kind: BootstrapModule, name: dash, uid: c}
  - {apiVersion: example.com/v1, kind: Module, name: dash, uid: d}
spec:
  kubeconfigRef: {name: eu-1-kubeconfig}
  assemblage:
    syncs:
    - {name: podinfo, source: {git: {url: https://example.com/podinfo, version: {tag: 5.2.0}}}}
    - {name: dash, source: {git: {url: https://example.com/dash, version: {tag: 1.0.0}}}}
"""


@pytest.mark.rule("S38")
def test_each_sync_of_an_assemblage_is_a_plugin_on_the_cluster_of_that_name() -> None:
    definition, plugin, *others = made(read(ASSEMBLAGE))
    assert definition.ref == Ref("PluginDefinition", "acme", "podinfo-eu-1")
    assert definition.spec.version == "5.2.0"
    assert plugin.ref == Ref("Plugin", "acme", "podinfo-eu-1")
    assert plugin.metadata.name == "podinfo-eu-1"
    assert plugin.spec == PluginSpec(
        plugin_definition=DefinitionRef("podinfo-eu-1", version="5.2.0"),
        cluster_name="eu-1",
        release_name="podinfo",
        release_namespace="default",
        bindings=[Binding("A", 1)],
        substitute={"A": "$(A)"},
        substitution=Substitution(only="All"),
        delivery=Delivery(flux=FluxDelivery("Pull", "fleet", prune=False)),
    )
    assert [each.ref.name for each in others] == ["dash-eu-1", "dash-eu-1", "eu-1"]
    # Mentions count where nothing is bound, too.
    assert others[1].spec.bindings == []


def test_what_is_said_of_a_syncs_plugin_points_into_the_sync() -> None:
    definition, plugin, _ = made(read(ASSEMBLAGE))[2:]
    sync = ("spec", "syncs", 1)
    assert steps(plugin, "metadata", "name") == (*sync, "name")
    assert steps(plugin, "spec", "clusterName") == ("metadata", "name")
    assert steps(plugin, "spec", "bindings", 0) == (*sync, "bindings", 0)
    assert steps(plugin, "spec", "pluginDefinition", "version") == (*sync, "source", "git", "version", "revision")
    assert steps(definition, "spec", "source", "kustomize", "git", "url") == (*sync, "source", "git", "url")


@pytest.mark.parametrize(
    ("kubeconfig", "cluster", "at"),
    [
        ("kubeconfigRef: {name: us-1-kubeconfig}", "us-1", "spec.kubeconfigRef.name"),
        ("kubeconfigRef: {name: us-1}", "us-1", "spec.kubeconfigRef.name"),
        ("", "shop", "metadata.name"),
    ],
)
def test_a_remote_assemblage_is_for_the_cluster_of_its_kubeconfig(kubeconfig: str, cluster: str, at: str) -> None:
    spec = f"{kubeconfig}\nassemblage: {{syncs: [{{name: dash, {SOURCE}}}]}}"
    _, plugin = made(manifest("RemoteAssemblage", spec))
    assert (plugin.ref.name, plugin.spec.cluster_name) == ("dash-shop", cluster)
    assert plugin.spec.delivery == Delivery(flux=FluxDelivery("Pull", prune=False))
    assert steps(plugin, "spec", "clusterName") == tuple(at.split("."))
    assert steps(plugin, "spec", "bindings") == ("spec", "assemblage", "syncs", 0, "bindings")


def test_what_a_modules_controller_wrote_is_no_input() -> None:
    reading = read(OWNED)
    assert [each.ref.name for each in made(reading)] == ["dash-eu-1", "dash-eu-1"]
    assert said(reading) == [("foreign-note", "info", "spec.assemblage.syncs[0]")]


def test_two_syncs_of_one_name_are_refused_with_both_places() -> None:
    syncs = f"syncs:\n- {{name: dash, {SOURCE}}}\n- {{name: other, {SOURCE}}}\n- {{name: dash, {SOURCE}}}"
    reading = manifest("Assemblage", syncs)
    assert said(reading) == [("duplicate-object", "error", "spec.syncs[2].name")]
    [related] = reading.diagnostics[0].related
    assert related.path == ("spec", "syncs", 0, "name")  # type: ignore[union-attr]


def test_a_sync_without_a_name_is_refused() -> None:
    reading = manifest("Assemblage", f"syncs: [{{{SOURCE}}}]")
    assert said(reading) == [("missing-field", "error", "spec.syncs[0]")]


def test_an_assemblage_of_nothing_is_fine() -> None:
    assert manifest("Assemblage", "syncs: []") == Reading(None)


def test_syncs_of_one_name_keep_their_own_sources() -> None:
    fleet = _fleet("""\
        kind: Module
        metadata: {name: dash}
        spec:
          selector: {matchLabels: {region: us}}
          sync: {source: {git: {url: https://example.com/one, version: {tag: 1.0.0}}}}
        ---
        kind: Assemblage
        metadata: {name: eu}
        spec:
          syncs: [{name: dash, source: {git: {url: https://example.com/other, version: {tag: 1.0.0}}}}]
        """, "eu", "us")  # fmt: skip
    assert [each.message for each in fleet.findings.errors] == []
    urls = {
        plugin.cluster.ref.name: plugin.target.revision.object.spec.source.kustomize.git.url  # type: ignore[union-attr]
        for plugin in fleet.decisions.plugins.values()
    }
    assert urls == {"eu": "https://example.com/other", "us": "https://example.com/one"}


def test_a_module_and_a_sync_of_one_name_on_one_cluster_are_two_owners() -> None:
    fleet = _fleet(
        f"kind: Module\nmetadata: {{name: dash}}\nspec: {{selector: {{}}, sync: {{{SOURCE}}}}}\n---\n"
        f"kind: Assemblage\nmetadata: {{name: eu}}\nspec: {{syncs: [{{name: dash, {SOURCE}}}]}}\n",
        "eu",
    )
    assert len(fleet.decisions.claims) == 1


# ---- Spellings of bindings: the design's own examples

LITERAL = "- name: APP_NAME\n  value: foo"
WORKING = """
- name: HOST
  value: foo.svc.cluster.local
- name: PORT
  value: 3030
- name: ADDR
  value: $(HOST):$(PORT)
"""
FIELDS = """
- name: APP_NAME
  objectFieldReference:
    kind: ConfigMap
    name: app_config
    path: .data.AppName
- name: API_HOST
  objectFieldReference:
    kind: Cluster
    name: $(CLUSTER_NAME)
    fieldPath: /spec/controlPlaneEndpoint/host
"""
OF_CLUSTER = """
- name: APP_NAME
  objectFieldReference:
    kind: ConfigMap
    name: app_config
    path: .data.AppName
- name: API_HOST
  clusterFieldReference:
    path: /spec/controlPlaneEndpoint/host
"""
SHORT = """
- name: APP_NAME
  objectFieldRef:
    kind: ConfigMap
    name: app_config
    path: /data/AppName
- name: API_HOST
  clusterFieldRef:
    fieldPath: /spec/controlPlaneEndpoint/host
"""
APP_NAME = Binding("APP_NAME", object_field_ref=ObjectFieldRef("ConfigMap", "app_config", ".data.AppName"))
HOST_PATH = "/spec/controlPlaneEndpoint/host"
API_HOST = Binding("API_HOST", cluster_field_ref=ClusterFieldRef(HOST_PATH))
EXAMPLES = [
    (LITERAL, [Binding("APP_NAME", "foo")]),
    (WORKING, [Binding("HOST", "foo.svc.cluster.local"), Binding("PORT", 3030), Binding("ADDR", "$(HOST):$(PORT)")]),
    (
        FIELDS,
        [
            APP_NAME,
            Binding("API_HOST", object_field_ref=ObjectFieldRef("Cluster", "$(CLUSTER_NAME)", HOST_PATH)),
        ],
    ),
    (OF_CLUSTER, [APP_NAME, API_HOST]),
    (
        SHORT,
        [
            Binding("APP_NAME", object_field_ref=ObjectFieldRef("ConfigMap", "app_config", "/data/AppName")),
            API_HOST,
        ],
    ),
]


def _native(text: str, kind: str = "PluginPreset", rest: str = "{pluginDefinition: {name: a}}") -> Reading:
    head = f"apiVersion: fleetform.dev/v1alpha1\nkind: {kind}\nmetadata: {{name: shop}}\nspec:\n  plugin: {rest}\n"
    head = head if kind == "PluginPreset" else head.replace(f"  plugin: {rest}\n", "")
    return read_native(read_one(head + indent(dedent(text).strip("\n"), "  ")), ORIGIN, "acme")


def _below(field: str, bindings: str) -> str:
    return f"{field}:\n{bindings.strip(chr(10))}"


@pytest.mark.parametrize(("bindings", "expected"), EXAMPLES)
@pytest.mark.parametrize("field", ["bindings", "controlPlaneBindings"])
@pytest.mark.rule("R3-13", "R3-14", "R3-19", "S38")
def test_a_modules_bindings_as_the_design_writes_them(field: str, bindings: str, expected: list[Binding]) -> None:
    assert preset(module(_below(field, bindings))).spec.control_plane_bindings == expected


@pytest.mark.parametrize(("bindings", "expected"), EXAMPLES)
@pytest.mark.rule("R3-13", "R3-19")
def test_bindings_of_syncs_as_the_design_writes_them(bindings: str, expected: list[Binding]) -> None:
    sync = f"{SOURCE}\n" + _below("bindings", bindings)
    of_module = manifest("Module", "selector: {}\nsync:\n" + indent(sync, "  "))
    assert preset(of_module).spec.bindings == expected
    for kind, above in (("Assemblage", ""), ("RemoteAssemblage", "assemblage:\n")):
        syncs = "syncs:\n- name: a\n" + indent(sync, "  ")
        reading = manifest(kind, above + indent(syncs, "  " if above else ""))
        assert made(reading)[1].spec.bindings == expected


@pytest.mark.parametrize(("bindings", "expected"), EXAMPLES)
@pytest.mark.parametrize("kind", ["PluginPreset", "Plugin"])
@pytest.mark.rule("R3-13", "R3-19")
def test_native_bindings_as_the_design_writes_them(kind: str, bindings: str, expected: list[Binding]) -> None:
    [found] = made(_native(_below("bindings", bindings), kind))
    assert found.spec.bindings == expected
    [found] = made(_native(_below("controlPlaneBindings", bindings), kind))
    assert found.spec.control_plane_bindings == expected


@pytest.mark.rule("R3-19")
def test_native_outputs_as_the_design_would_write_them() -> None:
    text = "version: 1.0.0\noutputs: [{name: a, objectFieldReference: {kind: ConfigMap, name: b, path: .data.c}}]"
    [found] = made(_native(text, "PluginDefinition"))
    assert found.spec.outputs[0].object_field_ref == ObjectFieldRef("ConfigMap", "b", ".data.c")
    written = ("spec", "outputs", 0, "objectFieldReference", "path")
    assert steps(found, "spec", "outputs", 0, "objectFieldRef", "fieldPath") == written


@pytest.mark.parametrize("kind", ["PluginPreset", "Plugin"])
def test_native_manifests_in_our_spelling_are_read_as_they_stand(kind: str) -> None:
    [found] = made(_native("bindings: [{name: A, objectFieldRef: {kind: a, name: b, fieldPath: c}}]", kind))
    assert found.moved == ()


def test_what_was_read_is_not_changed_by_reading_it() -> None:
    text = "apiVersion: fleetform.dev/v1alpha1\nkind: Plugin\nmetadata: {name: a}\nspec:\n" + indent(
        _below("bindings", FIELDS), "  "
    )
    tree = read_one(text)
    read_native(tree, ORIGIN, "acme")
    assert tree == read_one(text)


# ---- Where they stand


@pytest.mark.rule("R3-19")
def test_places_are_those_of_the_words_that_were_written() -> None:
    of_module = preset(module(_below("bindings", FIELDS)))
    of_native = made(_native(_below("controlPlaneBindings", FIELDS)))[0]
    for found, section in ((of_module, "bindings"), (of_native, "controlPlaneBindings")):
        first, second = ("spec", "controlPlaneBindings", 0), ("spec", "controlPlaneBindings", 1)
        written = ("spec", section, 0, "objectFieldReference")
        assert steps(found, *first, "name") == ("spec", section, 0, "name")
        assert steps(found, *first, "objectFieldRef", "fieldPath") == (*written, "path")
        assert steps(found, *first, "objectFieldRef", "name") == (*written, "name")
        path = ("spec", section, 1, "objectFieldReference", "fieldPath")
        assert steps(found, *second, "objectFieldRef", "fieldPath") == path


def test_places_of_a_syncs_bindings_are_those_of_the_words_that_were_written() -> None:
    of_module = preset(
        manifest("Module", f"selector: {{}}\nsync:\n  {SOURCE}\n" + indent(_below("bindings", SHORT), "  "))
    )
    written = ("spec", "sync", "bindings", 1, "clusterFieldRef", "fieldPath")
    assert steps(of_module, "spec", "bindings", 1, "clusterFieldRef", "path") == written
    syncs = f"syncs:\n- name: a\n  {SOURCE}\n" + indent(_below("bindings", FIELDS), "  ")
    of_sync = made(manifest("Assemblage", syncs))[1]
    in_sync = ("spec", "syncs", 0, "bindings", 0, "objectFieldReference", "path")
    assert steps(of_sync, "spec", "bindings", 0, "objectFieldRef", "fieldPath") == in_sync


@pytest.mark.parametrize("reads", [lambda text: module(text), lambda text: _native(text)])
def test_what_is_wrong_is_said_where_it_stands(reads: Any) -> None:
    reading = reads("controlPlaneBindings: [{name: A, objectFieldReference: {kind: 5, name: a, path: b}}]")
    place = "spec.controlPlaneBindings[0].objectFieldReference.kind"
    assert ("bad-value", "error", place) in said(reading)


# ---- What is refused

BOTH = [
    ("{name: A, objectFieldRef: {kind: a, name: b, path: c, fieldPath: d}}", "objectFieldRef.path"),
    ("{name: A, objectFieldReference: {kind: a, name: b, path: c, fieldPath: d}}", "objectFieldReference.path"),
    ("{name: A, clusterFieldRef: {path: c, fieldPath: d}}", "clusterFieldRef.fieldPath"),
    ("{name: A, clusterFieldReference: {path: c}, clusterFieldRef: {path: d}}", "clusterFieldReference"),
    (
        "{name: A, objectFieldRef: {kind: a, name: b, path: c}, objectFieldReference: {kind: a, name: b, path: c}}",
        "objectFieldReference",
    ),
]


@pytest.mark.parametrize(("binding", "place"), BOTH)
@pytest.mark.rule("R3-13")
def test_two_spellings_of_one_field_exclude_each_other(binding: str, place: str) -> None:
    expected = [("exactly-one", "error", f"spec.controlPlaneBindings[0].{place}")]
    for reading in (
        module(f"selector: {{}}\ncontrolPlaneBindings: [{binding}]"),
        _native(f"controlPlaneBindings: [{binding}]"),
    ):
        assert said(reading) == expected
        assert hints(reading) == ["keep one of them"]


@pytest.mark.rule("S38")
def test_a_module_says_its_bindings_once() -> None:
    reading = module("selector: {}\nbindings: [{name: A, value: 1}]\ncontrolPlaneBindings: [{name: B, value: 1}]")
    assert said(reading) == [("exactly-one", "error", "spec.bindings")]


A = "[{name: A, value: 1}]"
MISPLACED = [
    ("Module", f"upstreamBindings: {A}", "upstreamBindings", "spec.controlPlaneBindings"),
    ("Module", f"downstreamBindings: {A}", "downstreamBindings", "spec.sync.bindings"),
    ("Module", f"bindings: {{upstream: {A}}}", "bindings.upstream", "spec.controlPlaneBindings"),
    ("Module", f"bindings: {{downstream: {A}}}", "bindings.downstream", "spec.sync.bindings"),
    ("BootstrapModule", f"upstreamBindings: {A}", "upstreamBindings", "spec.controlPlaneBindings"),
    ("BootstrapModule", f"downstreamBindings: {A}", "downstreamBindings", "make it a Module"),
    ("BootstrapModule", f"bindings: {{upstream: {A}}}", "bindings.upstream", "spec.controlPlaneBindings"),
    ("BootstrapModule", f"bindings: {{downstream: {A}}}", "bindings.downstream", "make it a Module"),
    ("Assemblage", f"upstreamBindings: {A}", "upstreamBindings", "bind in a Module"),
    ("Assemblage", f"downstreamBindings: {A}", "downstreamBindings", "each of syncs"),
    ("Assemblage", f"bindings: {{upstream: {A}}}", "bindings.upstream", "bind in a Module"),
    ("Assemblage", f"bindings: {{downstream: {A}}}", "bindings.downstream", "each of syncs"),
    ("Assemblage", f"bindings: {A}", "bindings", "each of syncs"),
    ("Assemblage", f"controlPlaneBindings: {A}", "controlPlaneBindings", "bind in a Module"),
    ("RemoteAssemblage", f"upstreamBindings: {A}", "upstreamBindings", "bind in a Module"),
    ("RemoteAssemblage", f"downstreamBindings: {A}", "downstreamBindings", "each of syncs"),
    ("RemoteAssemblage", f"bindings: {{upstream: {A}}}", "bindings.upstream", "bind in a Module"),
    ("RemoteAssemblage", f"controlPlaneBindings: {A}", "controlPlaneBindings", "bind in a Module"),
]
REST = {
    "Module": f"selector: {{}}\nsync: {{{SOURCE}}}",
    "BootstrapModule": f"selector: {{}}\nsync: {{{SOURCE}}}",
    "Assemblage": "syncs: []",
    "RemoteAssemblage": "assemblage: {syncs: []}",
}


@pytest.mark.parametrize(("kind", "section", "place", "hint"), MISPLACED)
@pytest.mark.rule("S38", "R3-21")
def test_sections_that_a_kind_does_not_have_are_refused_with_the_one_to_use(
    kind: str, section: str, place: str, hint: str
) -> None:
    reading = manifest(kind, f"{section}\n{REST[kind]}")
    assert said(reading) == [("unknown-field", "error", f"spec.{place}")]
    assert hint in hints(reading)[0]


@pytest.mark.parametrize(
    ("kind", "above", "place"),
    [
        ("Module", "selector: {}\nsync:", "spec.sync"),
        ("BootstrapModule", "selector: {}\nsync:", "spec.sync"),
        ("Assemblage", "syncs:\n- name: a", "spec.syncs[0]"),
        ("RemoteAssemblage", "assemblage:\n  syncs:\n  - name: a", "spec.assemblage.syncs[0]"),
    ],
)
@pytest.mark.parametrize("field", ["controlPlaneBindings", "upstreamBindings", "downstreamBindings"])
@pytest.mark.rule("S38", "R3-21")
def test_a_sync_has_none_but_its_own_bindings(kind: str, above: str, place: str, field: str) -> None:
    below = "    " if kind == "RemoteAssemblage" else "  "
    reading = manifest(kind, f"{above}\n" + indent(f"{field}: {A}\n{SOURCE}", below))
    assert said(reading) == [("unknown-field", "error", f"{place}.{field}")]
    assert "indings" in hints(reading)[0]


@pytest.mark.parametrize(
    ("section", "place", "hint"),
    [
        (f"upstreamBindings: {A}", "upstreamBindings", "write controlPlaneBindings"),
        (f"downstreamBindings: {A}", "downstreamBindings", "write bindings"),
        (f"bindings: {{upstream: {A}}}", "bindings.upstream", "write controlPlaneBindings"),
        (f"bindings: {{downstream: {A}}}", "bindings.downstream", "write bindings"),
    ],
)
@pytest.mark.parametrize("kind", ["PluginPreset", "Plugin"])
@pytest.mark.rule("S38")
def test_native_kinds_name_the_section_to_use(kind: str, section: str, place: str, hint: str) -> None:
    reading = _native(section, kind)
    assert (said(reading), hints(reading)) == ([("unknown-field", "error", f"spec.{place}")], [hint])


# ---- substitute

SUBSTITUTES = [
    ("{APP_NAME: $(APP_NAME)}", {"APP_NAME": "$(APP_NAME)"}),
    ("[{APP_NAME: $(APP_NAME)}]", [{"APP_NAME": "$(APP_NAME)"}]),
    (
        "[{name: APP_NAME}, {name: REDEFINED_HERE, value: $(APP_NAME)}]",
        [{"name": "APP_NAME"}, {"name": "REDEFINED_HERE", "value": "$(APP_NAME)"}],
    ),
    ("{PORT: 3030}", {"PORT": 3030}),
]


@pytest.mark.parametrize(("written", "expected"), SUBSTITUTES)
@pytest.mark.rule("R3-11")
def test_substitute_in_all_its_forms(written: str, expected: Any) -> None:
    package = f"package: {{kustomize: {{substitute: {written}}}}}"
    of_module = manifest("Module", f"selector: {{}}\nsync: {{{SOURCE}, {package}}}")
    assert preset(of_module).spec.substitute == expected
    of_sync = manifest("Assemblage", f"syncs: [{{name: a, {SOURCE}, {package}}}]")
    assert made(of_sync)[1].spec.substitute == expected
    [of_native] = made(_native(f"substitute: {written}"))
    assert of_native.spec.substitute == expected


@pytest.mark.rule("R3-11")
def test_substitute_of_the_designs_first_example() -> None:
    found = preset(manifest("Module", f"""
        bindings:
        - name: APP_NAME
          value: foo
        sync:
          {SOURCE}
          package:
            kustomize:
              substitute:
              - APP_NAME: $(APP_NAME)
        """))  # fmt: skip
    assert found.spec.control_plane_bindings == [Binding("APP_NAME", "foo")]
    assert found.spec.substitute == [{"APP_NAME": "$(APP_NAME)"}]
    assert steps(found, "spec", "substitute", 0)[-2:] == ("substitute", 0)
