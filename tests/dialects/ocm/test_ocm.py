"""Open Cluster Management's manifests as they are."""

from __future__ import annotations

from textwrap import dedent
from typing import Any

import pytest

from fleetform.dialects.envelope import Reading
from fleetform.dialects.ocm.addons import unsupported_types_of
from fleetform.dialects.ocm.read import read_ocm
from fleetform.engine.configs.references import instance_configs, may_use
from fleetform.engine.plan.strategies import Group, strategy_stages
from fleetform.model.kinds.base import LabelRequirement, LabelSelector, NameRef
from fleetform.model.kinds.definition import ObjectName, SupportedConfig
from fleetform.model.kinds.fleet import ClusterSpec, Taint
from fleetform.model.kinds.placement import (
    AddOnScore,
    ClaimSelector,
    ClusterSetBindingSpec,
    ClusterSetSpec,
    DecisionGroup,
    DecisionGroups,
    GroupSelector,
    PlacementScoreSpec,
    PlacementSpec,
    Prioritizers,
    ScoreCoordinate,
    SpreadConstraint,
    SpreadPolicy,
    Toleration,
    WeightedScore,
)
from fleetform.model.kinds.preset import ConfigRef, DefinitionRef, PluginPresetSpec, PluginSpec
from fleetform.model.objects import Object, Origin, Ref
from fleetform.syntax.yaml_in import read_one

CLUSTER = "cluster.open-cluster-management.io"
ADDON = "addon.open-cluster-management.io"
ORIGIN = Origin("all.yaml", 1, 99)


def read(text: str, origin: Origin = ORIGIN) -> Reading:
    return read_ocm(read_one(dedent(text)), origin, "acme")


def manifest(version: str, kind: str, rest: str, group: str = CLUSTER, metadata: str = "{name: a}") -> Reading:
    return read(f"apiVersion: {group}/{version}\nkind: {kind}\nmetadata: {metadata}\n" + dedent(rest))


def made(reading: Reading) -> Object[Any]:
    assert [each.code for each in reading.diagnostics if each.severity != "info"] == []
    assert reading.object is not None
    return reading.object


def said(reading: Reading) -> list[tuple[str, str, str]]:
    return [(each.code, each.severity, each.path) for each in reading.diagnostics]


def steps(object_: Object[Any], *path: str | int) -> tuple[str | int, ...]:
    return object_.at(*path).path


# ---- Clusters

MANAGED_CLUSTER = """
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata:
  name: eu-1
  creationTimestamp: null
  labels: {region: eu, cluster.open-cluster-management.io/clusterset: prod}
spec:
  hubAcceptsClient: true
  leaseDurationSeconds: 60
  taints:
  - {key: maintenance, value: soon, effect: NoSelectIfNew, timeAdded: "2026-03-01T12:00:00Z"}
  - {key: gpu, effect: PreferNoSelect, timeAdded: null}
status:
  allocatable: {cpu: "4", memory: 8Gi}
  capacity: {cpu: 8}
  version: {kubernetes: v1.31.2}
  clusterClaims:
  - {name: id.k8s.io, value: eu-1-id}
  - {name: region.open-cluster-management.io, value: eu-west-1}
  conditions: [{type: ManagedClusterJoined, status: "True"}]
  somethingNew: 1
"""


def test_a_managed_cluster_is_a_cluster_with_labels_taints_and_facts() -> None:
    found = made(read(MANAGED_CLUSTER))
    assert (found.ref, found.dialect, found.labels["region"]) == (Ref("Cluster", "acme", "eu-1"), "ocm", "eu")
    assert found.spec == ClusterSpec(
        facts={
            "claims": {"id.k8s.io": "eu-1-id", "region.open-cluster-management.io": "eu-west-1"},
            "allocatable": {"cpu": "4", "memory": "8Gi"},
            "capacity": {"cpu": 8},
            "version": "v1.31.2",
            "conditions": [{"type": "ManagedClusterJoined", "status": "True"}],
            "leaseDurationSeconds": 60,
        },
        taints=[
            Taint("maintenance", "NoSelectIfNew", "soon", "2026-03-01T12:00:00Z"),
            Taint("gpu", "PreferNoSelect"),
        ],
    )


def test_what_is_said_of_a_clusters_facts_points_into_its_status() -> None:
    found = made(read(MANAGED_CLUSTER))
    assert steps(found, "spec", "taints", 1, "effect") == ("spec", "taints", 1, "effect")
    assert steps(found, "spec", "facts", "claims") == ("status", "clusterClaims")
    assert steps(found, "spec", "facts", "version") == ("status", "version", "kubernetes")
    assert steps(found, "spec", "facts", "capacity", "cpu") == ("status", "capacity", "cpu")


def test_a_cluster_without_status_has_no_facts() -> None:
    assert made(manifest("v1", "ManagedCluster", "spec: {hubAcceptsClient: true}")).spec == ClusterSpec()


def test_a_cluster_that_the_hub_does_not_accept_is_noted_and_is_a_cluster_all_the_same() -> None:
    denied = manifest("v1", "ManagedCluster", "spec: {hubAcceptsClient: false}")
    assert said(denied) == [("foreign-note", "info", "spec.hubAcceptsClient")]
    assert made(denied).ref == Ref("Cluster", "acme", "a")
    assert said(manifest("v1", "ManagedCluster", "")) == said(denied)


def test_only_a_cluster_that_is_not_accepted_has_that_for_a_fact() -> None:
    refused = made(manifest("v1", "ManagedCluster", "spec: {hubAcceptsClient: false}")).spec.facts
    assert refused == {"hubAcceptsClient": False}
    accepted = made(manifest("v1", "ManagedCluster", "spec: {hubAcceptsClient: true}")).spec.facts
    assert accepted is None


def test_client_configs_are_noted_as_lost() -> None:
    configs = "managedClusterClientConfigs: [{url: https://a, caBundle: eA==}]"
    found = manifest("v1", "ManagedCluster", f"spec: {{hubAcceptsClient: true, {configs}}}")
    assert said(found) == [("foreign-note", "info", "spec.managedClusterClientConfigs")]


def test_misfits_are_errors_at_their_places() -> None:
    found = manifest(
        "v1",
        "ManagedCluster",
        """
        spec: {hubAcceptsClient: "yes", taints: [{key: a, effect: NoSchedule}]}
        status: {clusterClaims: [{name: a, value: 1.28}], version: 1}
        """,
    )
    assert found.object is None
    assert said(found) == [
        ("bad-value", "error", "spec.hubAcceptsClient"),
        ("bad-value", "error", "spec.taints[0].effect"),
        ("bad-value", "error", "status.clusterClaims[0].value"),
        ("bad-value", "error", "status.version"),
    ]
    assert {each.object for each in found.diagnostics} == {Ref("Cluster", "acme", "a")}


def test_a_status_that_is_no_map_is_called_by_its_name() -> None:
    (error,) = manifest("v1", "ManagedCluster", "spec: {hubAcceptsClient: true}\nstatus: []").diagnostics
    assert (error.message, error.path) == ("status must be a map, not a list", "status")


# ---- Sets and bindings


@pytest.mark.parametrize("version", ["v1alpha1", "v1beta1", "v1beta2"])
@pytest.mark.parametrize(
    "spec",
    [
        "",
        "spec: {}",
        "spec: {clusterSelector: {selectorType: ExclusiveClusterSetLabel}}",
        "spec: {clusterSelector: {selectorType: LegacyClusterSetLabel}}",
    ],
)
def test_a_set_is_named_by_its_clusters_label(version: str, spec: str) -> None:
    found = made(manifest(version, "ManagedClusterSet", spec))
    assert (found.ref, found.spec) == (Ref("ManagedClusterSet", "acme", "a"), ClusterSetSpec(None))


def test_a_set_may_select_by_labels() -> None:
    selector = "{selectorType: LabelSelector, labelSelector: {matchLabels: {region: eu}}}"
    found = made(manifest("v1beta2", "ManagedClusterSet", f"spec: {{clusterSelector: {selector}}}"))
    assert found.spec == ClusterSetSpec(LabelSelector({"region": "eu"}))
    assert steps(found, "spec", "labelSelector", "matchLabels") == (
        "spec", "clusterSelector", "labelSelector", "matchLabels",
    )  # fmt: skip


def test_the_empty_selector_of_a_set_is_all_clusters_and_none_is_none() -> None:
    everything = manifest(
        "v1beta2", "ManagedClusterSet", "spec: {clusterSelector: {selectorType: LabelSelector, labelSelector: {}}}"
    )
    assert made(everything).spec == ClusterSetSpec(LabelSelector())
    nothing = manifest("v1beta2", "ManagedClusterSet", "spec: {clusterSelector: {selectorType: LabelSelector}}")
    assert said(nothing) == [("nothing-selected", "warning", "spec.clusterSelector")]
    assert nothing.object is not None
    requirements = nothing.object.spec.label_selector.match_expressions
    assert [each.operator for each in requirements] == ["Exists", "DoesNotExist"]


def test_a_set_notes_what_has_no_effect() -> None:
    found = manifest(
        "v1beta2",
        "ManagedClusterSet",
        "spec: {clusterSelector: {labelSelector: {matchLabels: {a: b}}}, managedNamespaces: [{name: apps}]}",
    )
    assert made(found).spec == ClusterSetSpec(None)
    assert said(found) == [
        ("foreign-note", "info", "spec.managedNamespaces"),
        ("foreign-note", "info", "spec.clusterSelector.labelSelector"),
    ]


@pytest.mark.parametrize("version", ["v1alpha1", "v1beta1", "v1beta2"])
def test_a_binding_opens_a_set_to_its_namespace(version: str) -> None:
    found = made(
        manifest(
            version, "ManagedClusterSetBinding", "spec: {clusterSet: prod}", metadata="{name: prod, namespace: apps}"
        )
    )
    assert found.ref == Ref("ManagedClusterSetBinding", "acme", "apps/prod")
    assert found.spec == ClusterSetBindingSpec("apps", "prod")
    assert steps(found, "spec", "clusterSet") == ("spec", "clusterSet")
    assert steps(found, "spec", "namespace") == ("metadata", "namespace")


def test_a_binding_without_a_namespace_is_in_the_default_one() -> None:
    found = manifest("v1beta2", "ManagedClusterSetBinding", "spec: {clusterSet: a}")
    assert made(found).spec == ClusterSetBindingSpec("default", "a")


def test_a_binding_that_is_not_named_as_its_set_warns() -> None:
    assert said(manifest("v1beta2", "ManagedClusterSetBinding", "spec: {clusterSet: b}")) == [
        ("bad-name", "warning", "metadata.name")
    ]
    assert said(manifest("v1beta2", "ManagedClusterSetBinding", "")) == [("missing-field", "error", "spec")]


# ---- Placements

PLACEMENT = """
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: Placement
metadata: {name: gold, namespace: apps}
spec:
  clusterSets: [prod, qa]
  numberOfClusters: 3
  predicates:
  - requiredClusterSelector:
      labelSelector: {matchLabels: {tier: gold}}
      claimSelector: {matchExpressions: [{key: region, operator: In, values: [eu]}]}
      celSelector: {celExpressions: [managedCluster.metadata.name != 'x']}
  - requiredClusterSelector: {labelSelector: {matchExpressions: [{key: canary, operator: Exists}]}}
  tolerations:
  - {key: gpu, operator: Exists, effect: NoSelect, tolerationSeconds: 300}
  - {key: team, value: a}
  prioritizerPolicy:
    mode: Exact
    configurations:
    - {scoreCoordinate: {builtIn: Steady}, weight: 3}
    - {scoreCoordinate: {type: AddOn, addOn: {resourceName: usage, scoreName: cpu}}, weight: -2}
    - {scoreCoordinate: {type: BuiltIn, builtIn: Balance}}
  spreadPolicy:
    spreadConstraints:
    - {topologyKey: region, topologyKeyType: Label, maxSkew: 2, whenUnsatisfiable: DoNotSchedule}
    - {topologyKey: zone, topologyKeyType: Claim}
  decisionStrategy:
    groupStrategy:
      clustersPerDecisionGroup: 25%
      decisionGroups:
      - {groupName: canary, groupClusterSelector: {labelSelector: {matchLabels: {canary: "true"}}}}
      - {groupName: rest, groupClusterSelector: {}}
  sortBy: ClusterName
  scoreRateLimit: 1m
status: {numberOfSelectedClusters: 3}
"""


def test_a_placement_says_all_it_says_there() -> None:
    reading = read(PLACEMENT)
    found = made(reading)
    assert (found.ref, reading.diagnostics) == (Ref("Placement", "acme", "apps/gold"), ())
    spec: PlacementSpec = found.spec
    assert (spec.cluster_sets, spec.number_of_clusters) == (["prod", "qa"], 3)
    assert spec.predicates is not None
    first, second = (each.required_cluster_selector for each in spec.predicates)
    assert first is not None
    assert second is not None
    assert first.label_selector == LabelSelector({"tier": "gold"})
    assert first.claim_selector == ClaimSelector([LabelRequirement("region", "In", ["eu"])])
    assert first.cel_selector is not None
    assert first.cel_selector.cel_expressions == ["managedCluster.metadata.name != 'x'"]
    assert second.label_selector == LabelSelector(None, [LabelRequirement("canary", "Exists")])
    assert spec.tolerations == [
        Toleration("gpu", "Exists", None, "NoSelect", 300),
        Toleration("team", None, "a"),
    ]
    assert spec.prioritizers == Prioritizers(
        "Exact",
        [
            WeightedScore(ScoreCoordinate("BuiltIn", "Steady"), 3),
            WeightedScore(ScoreCoordinate("AddOn", None, AddOnScore("usage", "cpu")), -2),
            WeightedScore(ScoreCoordinate("BuiltIn", "Balance"), 1),
        ],
    )
    assert spec.spread == SpreadPolicy(
        [
            SpreadConstraint("region", "Label", 2, "DoNotSelect"),
            SpreadConstraint("zone", "Claim", 1, "ScheduleAnyway"),
        ]
    )
    assert spec.decision_groups == DecisionGroups(
        "25%",
        [
            DecisionGroup("canary", GroupSelector(label_selector=LabelSelector({"canary": "true"}))),
            DecisionGroup("rest", GroupSelector()),
        ],
    )


def test_places_of_a_placement_point_into_the_manifest() -> None:
    found = made(read(PLACEMENT))
    policy, strategy = ("spec", "prioritizerPolicy"), ("spec", "decisionStrategy", "groupStrategy")
    assert steps(found, "spec", "predicates", 0) == ("spec", "predicates", 0)
    assert steps(found, "spec", "prioritizers", "configurations", 1, "weight") == (
        *policy, "configurations", 1, "weight",
    )  # fmt: skip
    assert steps(found, "spec", "spread", "spreadConstraints", 0) == ("spec", "spreadPolicy", "spreadConstraints", 0)
    assert steps(found, "spec", "decisionGroups", "decisionGroups", 1) == (*strategy, "decisionGroups", 1)
    assert steps(found, "spec", "decisionGroups", "clustersPerDecisionGroup") == (
        *strategy, "clustersPerDecisionGroup",
    )  # fmt: skip


def test_a_placement_without_a_namespace_is_in_the_default_one() -> None:
    found = made(manifest("v1beta1", "Placement", "spec: {}"))
    assert (found.ref.name, found.spec) == ("default/a", PlacementSpec())


def test_the_empty_parts_of_an_exported_placement_say_nothing() -> None:
    spec = "spec: {prioritizerPolicy: {}, spreadPolicy: {}, decisionStrategy: {}, predicates: null}"
    assert made(manifest("v1beta1", "Placement", spec)).spec == PlacementSpec()


def test_an_older_placement_names_its_scores() -> None:
    found = made(
        manifest(
            "v1alpha1",
            "Placement",
            """
            spec:
              prioritizerPolicy:
                configurations:
                - {name: Balance, weight: 2}
                - {name: Steady, scoreCoordinate: {builtIn: ResourceAllocatableCPU}}
            """,
        )
    )
    assert found.spec.prioritizers.configurations == [
        WeightedScore(ScoreCoordinate("BuiltIn", "Balance"), 2),
        WeightedScore(ScoreCoordinate("BuiltIn", "ResourceAllocatableCPU"), 1),
    ]
    native, theirs = ("spec", "prioritizers", "configurations"), ("spec", "prioritizerPolicy", "configurations")
    assert steps(found, *native, 0, "scoreCoordinate", "builtIn") == (*theirs, 0, "name")
    assert steps(found, *native, 1, "scoreCoordinate", "builtIn") == (*theirs, 1, "scoreCoordinate", "builtIn")


def test_a_prioritizer_needs_a_score() -> None:
    found = manifest("v1beta1", "Placement", "spec: {prioritizerPolicy: {configurations: [{weight: 1}]}}")
    assert found.object is None
    assert said(found) == [("missing-field", "error", "spec.prioritizerPolicy.configurations[0]")]


@pytest.mark.parametrize(("written", "size"), [("3", 3), ("25%", "25%")])
def test_decision_groups_are_sized_by_count_or_share(written: str, size: object) -> None:
    spec = f"spec: {{decisionStrategy: {{groupStrategy: {{clustersPerDecisionGroup: {written}}}}}}}"
    assert made(manifest("v1beta1", "Placement", spec)).spec.decision_groups == DecisionGroups(size)  # type: ignore[arg-type]


@pytest.mark.parametrize("written", ["0", "'3'", "125%", "true"])
def test_other_sizes_of_decision_groups_are_refused(written: str) -> None:
    spec = f"spec: {{decisionStrategy: {{groupStrategy: {{clustersPerDecisionGroup: {written}}}}}}}"
    (error,) = manifest("v1beta1", "Placement", spec).diagnostics
    assert (error.code, error.path) == ("bad-value", "spec.decisionStrategy.groupStrategy.clustersPerDecisionGroup")


def test_what_a_placement_loses_is_said_at_its_place() -> None:
    found = manifest(
        "v1beta1",
        "Placement",
        """
        spec:
          sortBy: Score
          scoreRateLimit: 5m
        """,
    )
    assert said(found) == [
        ("foreign-note", "info", "spec.sortBy"),
        ("foreign-note", "info", "spec.scoreRateLimit"),
    ]


def test_a_decision_group_is_narrowed_by_claims() -> None:
    spec = """
    spec:
      decisionStrategy:
        groupStrategy:
          decisionGroups:
          - groupName: canary
            groupClusterSelector: {claimSelector: {matchExpressions: [{key: a, operator: Exists}]}}
    """
    claims = ClaimSelector([LabelRequirement("a", "Exists")])
    groups = made(manifest("v1beta1", "Placement", spec)).spec.decision_groups.decision_groups
    assert groups == [DecisionGroup("canary", GroupSelector(claim_selector=claims))]


@pytest.mark.parametrize(
    ("metadata", "suspended"),
    [
        ("{name: a}", False),
        ("{name: a, deletionTimestamp: '2026-01-01T00:00:00Z'}", True),
        ("{name: a, annotations: {cluster.open-cluster-management.io/experimental-scheduling-disable: 'true'}}", True),
        (
            "{name: a, annotations: {cluster.open-cluster-management.io/experimental-scheduling-disable: 'false'}}",
            False,
        ),
    ],
)
def test_a_placement_that_its_scheduler_leaves_alone_is_suspended(metadata: str, suspended: bool) -> None:
    assert made(manifest("v1beta1", "Placement", "", metadata=metadata)).spec.suspend is suspended


# ---- Scores and decisions

SCORE = """
apiVersion: cluster.open-cluster-management.io/v1alpha1
kind: AddOnPlacementScore
metadata: {name: usage, namespace: eu-1}
status:
  conditions: []
  validUntil: "2026-11-02T00:00:00Z"
  scores: [{name: cpu, value: 74}, {name: memory, value: -100}]
"""


def test_scores_are_of_the_cluster_whose_namespace_they_stand_in() -> None:
    found = made(read(SCORE))
    assert found.ref == Ref("AddOnPlacementScore", "acme", "eu-1/usage")
    assert found.spec == PlacementScoreSpec("eu-1", "usage", {"cpu": 74, "memory": -100}, "2026-11-02T00:00:00Z")
    assert steps(found, "spec", "validUntil") == ("status", "validUntil")
    assert steps(found, "spec", "cluster") == ("metadata", "namespace")
    assert steps(found, "spec", "resource") == ("metadata", "name")


def test_scores_out_of_bounds_are_refused() -> None:
    assert said(read(SCORE.replace("74", "101"))) == [("bad-value", "error", "status.scores[0].value")]


def test_scores_without_a_namespace_are_nobodys() -> None:
    found = manifest("v1alpha1", "AddOnPlacementScore", "")
    assert (found.object, said(found)) == (None, [("missing-field", "error", "metadata")])


@pytest.mark.parametrize("version", ["v1alpha1", "v1beta1"])
def test_earlier_decisions_are_kept_as_they_are(version: str) -> None:
    text = f"""
    apiVersion: {CLUSTER}/{version}
    kind: PlacementDecision
    metadata: {{name: gold-1, namespace: apps, labels: {{{CLUSTER}/placement: gold}}}}
    status: {{decisions: [{{clusterName: eu-1, reason: ""}}]}}
    """
    found = made(read(text))
    assert (found.ref, found.spec) == (Ref("PlacementDecision", "acme", "apps/gold-1"), None)
    assert found.dialect == f"foreign:{CLUSTER}/{version}"
    assert found.content["metadata"]["labels"] == {f"{CLUSTER}/placement": "gold"}
    assert found.content["status"]["decisions"][0]["clusterName"] == "eu-1"


@pytest.mark.rule("B15")
@pytest.mark.parametrize(
    ("group", "version", "kind", "metadata", "name"),
    [
        (ADDON, "v1alpha1", "AddOnDeploymentConfig", "{name: a, namespace: eu-1}", "eu-1/a"),
        (ADDON, "v1beta1", "AddOnDeploymentConfig", "{name: a}", "a"),
        (ADDON, "v1alpha1", "AddOnTemplate", "{name: a}", "a"),
        (CLUSTER, "v1alpha1", "ClusterClaim", "{name: a}", "a"),
        (CLUSTER, "v1beta1", "ClusterCurator", "{name: a, namespace: eu-1}", "eu-1/a"),
        (ADDON, "v1alpha1", "AddOnHubConfig", "{name: a}", "a"),
        (CLUSTER, "v1beta1", "Zebra", "{name: NOT A NAME}", "NOT A NAME"),
        (CLUSTER, "v1beta1", "PlacementDecision", "{name: a}", "default/a"),
    ],
)
def test_other_kinds_are_kept_whole_in_the_one_organization(
    group: str, version: str, kind: str, metadata: str, name: str
) -> None:
    reading = manifest(version, kind, "spec: {x: 1}", group, metadata)
    found = made(reading)
    assert (found.ref, reading.diagnostics) == (Ref(kind, "acme", name), ())
    assert (found.spec, found.dialect, found.content["spec"]) == (None, f"foreign:{group}/{version}", {"x": 1})


# ---- Add-ons

SEED_ADD_ON = """
apiVersion: addon.open-cluster-management.io/v1alpha1
kind: ClusterManagementAddOn
metadata:
  name: example
spec:
  supportedConfigs:
    - resource: r1
      defaultConfig:
        name: n1
    - resource: r2
  installStrategy:
    type: Placements
    placements:
      - name: example
        namespace: example
        configs:
          - resource: r2
            name: n1
          - resource: r2
            name: n2
"""
SEED_ADD_ON_OF_CLUSTER = """
apiVersion: addon.open-cluster-management.io/v1alpha1
kind: ManagedClusterAddOn
metadata:
  name: example
  namespace: cluster1
spec:
  installNamespace: open-cluster-management-agent-addon
  configs:
    - resource: r2
      name: n3
"""


@pytest.mark.rule("R1-1")
def test_the_seeds_add_on_is_a_definition_and_the_preset_that_installs_it() -> None:
    reading = read(SEED_ADD_ON)
    definition, (preset,) = made(reading), reading.also
    assert reading.diagnostics == ()
    assert (definition.ref, definition.dialect) == (Ref("PluginDefinition", "acme", "example"), "ocm")
    assert (definition.spec.version, definition.spec.configs) == (
        "0.0.0",
        [SupportedConfig("", "r1", ObjectName("n1")), SupportedConfig("", "r2")],
    )
    assert (preset.ref, preset.dialect) == (Ref("PluginPreset", "acme", "example"), "ocm")
    assert preset.spec.plugin.plugin_definition == DefinitionRef("example")
    (group,) = preset.spec.groups
    assert (group.name, group.placement) == ("example/example", NameRef("example/example"))
    assert group.configs == [ConfigRef("", "r2", "n1"), ConfigRef("", "r2", "n2")]


@pytest.mark.rule("B4")
def test_the_seeds_add_on_of_a_cluster_is_the_plugin_that_the_preset_makes_there() -> None:
    reading = read(SEED_ADD_ON_OF_CLUSTER)
    found = made(reading)
    assert (found.ref, found.dialect) == (Ref("Plugin", "acme", "cluster1/example"), "ocm")
    assert (reading.diagnostics, reading.also) == ((), ())
    assert found.spec == PluginSpec(
        preset_ref=NameRef("example"), cluster_name="cluster1", configs=[ConfigRef("", "r2", "n3")]
    )
    assert steps(found, "spec", "configs", 0) == ("spec", "configs", 0)
    assert steps(found, "spec", "presetRef", "name") == ("metadata", "name")
    assert steps(found, "spec", "clusterName") == ("metadata", "namespace")


def test_the_placement_of_a_preset_is_called_as_the_placement_itself() -> None:
    placement = made(read(PLACEMENT.replace("name: gold, namespace: apps", "name: example, namespace: example")))
    (preset,) = read(SEED_ADD_ON).also
    assert preset.spec.groups[0].placement.name == placement.ref.name


ALPHA = """
apiVersion: addon.open-cluster-management.io/v1alpha1
kind: ClusterManagementAddOn
metadata: {name: otel, labels: {team: a}}
spec:
  addOnMeta: {displayName: OTel, description: Collects}
  supportedConfigs:
  - {group: opentelemetry.io, resource: collectors, defaultConfig: {namespace: base, name: logs}}
  - {group: addon.open-cluster-management.io, resource: addondeploymentconfigs}
  installStrategy:
    type: Placements
    placements:
    - {namespace: apps, name: all, configs: [{group: opentelemetry.io, resource: collectors, namespace: x, name: t}]}
    - {namespace: apps, name: gold}
status: {installProgressions: []}
"""
BETA = """
apiVersion: addon.open-cluster-management.io/v1beta1
kind: ClusterManagementAddOn
metadata: {name: otel, labels: {team: a}}
spec:
  addOnMeta: {displayName: OTel, description: Collects}
  defaultConfigs:
  - {group: opentelemetry.io, resource: collectors, namespace: base, name: logs}
  - {group: addon.open-cluster-management.io, resource: addondeploymentconfigs, name: __reserved_no_default__}
  installStrategy:
    type: Placements
    placements:
    - {namespace: apps, name: all, configs: [{group: opentelemetry.io, resource: collectors, namespace: x, name: t}]}
    - {namespace: apps, name: gold}
"""


def test_both_versions_of_an_add_on_mean_the_same() -> None:
    alpha, beta = read(ALPHA), read(BETA)
    assert alpha.diagnostics == beta.diagnostics == ()
    assert made(alpha).spec == made(beta).spec
    assert [each.spec for each in alpha.also] == [each.spec for each in beta.also]
    assert (made(alpha).spec.display_name, made(alpha).spec.description) == ("OTel", "Collects")
    assert made(alpha).spec.configs == [
        SupportedConfig("opentelemetry.io", "collectors", ObjectName("logs", "base")),
        SupportedConfig(ADDON, "addondeploymentconfigs"),
    ]
    (preset,) = alpha.also
    assert [each.name for each in preset.spec.groups] == ["apps/all", "apps/gold"]
    assert [each.configs for each in preset.spec.groups] == [
        [ConfigRef("opentelemetry.io", "collectors", "t", "x")],
        None,
    ]


@pytest.mark.rule("S8")
def test_an_add_on_goes_into_the_namespace_of_agents() -> None:
    (preset,) = read(ALPHA).also
    assert preset.spec.plugin.release_namespace == "open-cluster-management-agent-addon"


@pytest.mark.parametrize(
    ("text", "default", "type_"),
    [
        (ALPHA, ("supportedConfigs", 0, "defaultConfig"), ("supportedConfigs", 1)),
        (BETA, ("defaultConfigs", 0), ("defaultConfigs", 1)),
    ],
)
def test_places_of_a_definition_point_into_the_manifest(
    text: str, default: tuple[str | int, ...], type_: tuple[str | int, ...]
) -> None:
    definition = made(read(text))
    assert steps(definition, "spec", "configs", 0, "default", "name") == ("spec", *default, "name")
    assert steps(definition, "spec", "configs", 1) == ("spec", *type_)
    assert steps(definition, "spec", "configs", 1, "resource") == ("spec", *type_, "resource")
    assert steps(definition, "spec", "displayName") == ("spec", "addOnMeta", "displayName")


def test_places_of_a_preset_point_into_the_manifest() -> None:
    (preset,) = read(ALPHA).also
    placements = ("spec", "installStrategy", "placements")
    assert steps(preset, "spec", "groups", 0, "configs", 0, "name") == (*placements, 0, "configs", 0, "name")
    assert steps(preset, "spec", "groups", 1, "placement") == (*placements, 1)
    assert steps(preset, "spec", "groups", 1, "placement", "name") == (*placements, 1, "name")
    assert steps(preset, "spec", "groups", 1, "name") == (*placements, 1, "name")
    assert steps(preset, "spec", "groups", 1, "rolloutStrategy") == (*placements, 1, "rolloutStrategy")
    assert steps(preset, "spec", "plugin", "pluginDefinition", "name") == ("metadata", "name")
    assert steps(preset, "spec", "plugin", "pluginDefinition") == ("metadata", "name")


def test_places_are_below_the_item_of_a_list() -> None:
    reading = read(ALPHA.replace("displayName", "displayNam"), Origin("list.yaml", 1, 50, ("items", 3)))
    assert [each.path for each in reading.diagnostics] == ["spec.addOnMeta.displayNam"]
    assert reading.object is not None
    assert steps(reading.object, "spec", "configs", 0) == ("items", 3, "spec", "supportedConfigs", 0)


@pytest.mark.rule("R1-18")
@pytest.mark.parametrize("version", ["v1alpha1", "v1beta1"])
@pytest.mark.parametrize(
    "spec", ["", "spec: {}", "spec: {installStrategy: {}}", "spec: {installStrategy: {type: Manual}}"]
)
def test_an_add_on_is_installed_by_hand_unless_it_says_otherwise(version: str, spec: str) -> None:
    reading = manifest(version, "ClusterManagementAddOn", spec, ADDON)
    (preset,) = reading.also
    assert (made(reading).spec.configs, preset.spec.groups) == (None, None)


def test_placements_of_an_add_on_installed_by_hand_are_noted() -> None:
    reading = read(ALPHA.replace("type: Placements", "type: Manual"))
    assert said(reading) == [("foreign-note", "info", "spec.installStrategy.placements")]
    assert reading.also[0].spec.groups is None


@pytest.mark.rule("R1-3")
@pytest.mark.parametrize(
    ("text", "twice", "field"),
    [
        (ALPHA, "{group: opentelemetry.io, resource: collectors}", "supportedConfigs"),
        (BETA, "{group: opentelemetry.io, resource: collectors, name: more}", "defaultConfigs"),
    ],
)
def test_a_second_default_of_a_type_is_rejected_at_its_place(text: str, twice: str, field: str) -> None:
    reading = read(text.replace(f"  {field}:\n", f"  {field}:\n  - {twice}\n"))
    (error,) = reading.diagnostics
    assert (error.code, error.severity, error.path) == ("duplicate-object", "error", f"spec.{field}[1]")
    assert [each.path for each in error.related] == [("spec", field, 0)]  # type: ignore[union-attr]
    assert reading.object is not None
    assert len(reading.object.spec.configs) == 2
    assert steps(reading.object, "spec", "configs", 1) == ("spec", field, 2)


def test_a_placement_listed_again_warns_and_keeps_a_name_of_its_own() -> None:
    reading = read(ALPHA.replace("name: gold}", "name: all}"))
    assert said(reading) == [("duplicate-object", "warning", "spec.installStrategy.placements[1]")]
    groups = reading.also[0].spec.groups
    assert [each.name for each in groups] == ["apps/all", "apps/all#2"]
    assert {each.placement.name for each in groups} == {"apps/all"}


def test_the_old_configuration_of_an_add_on_is_noted() -> None:
    found = manifest(
        "v1alpha1",
        "ClusterManagementAddOn",
        "spec: {addOnConfiguration: {crdName: a.b, crName: c, lastObservedGeneration: 1}}",
        ADDON,
    )
    assert said(found) == [("foreign-note", "info", "spec.addOnConfiguration")]


def strategy(text: str) -> Reading:
    return read(ALPHA.replace("name: gold}", f"name: gold, rolloutStrategy: {text}}}"))


@pytest.mark.parametrize(
    "text",
    [
        "{type: Progressive, progressive: {maxConcurrency: 25%, minSuccessTime: 1h30m, progressDeadline: 90s}}",
        "{type: Progressive, progressive: {maxConcurrency: 3, mandatoryDecisionGroups: [{groupName: a}]}}",
        "{type: ProgressivePerGroup, progressivePerGroup: {mandatoryDecisionGroups: [{groupIndex: 1}]}}",
        "{type: ProgressivePerGroup, progressivePerGroup: {minSuccessTime: '0', progressDeadline: None}}",
        "{type: ProgressivePerGroup, progressivePerGroup: {maxFailures: 5%}}",
        "{type: All, all: {progressDeadline: 10m}}",
        "{all: {timeout: 10m}}",
        "{type: All}",
        "{}",
    ],
)
def test_rollout_strategies_are_the_groups_own(text: str) -> None:
    found = strategy(text)
    assert said(found) == []
    (preset,) = [each for each in (found.object, *found.also) if each is not None and each.ref.kind == "PluginPreset"]
    group = preset.spec.groups[1]
    assert strategy_stages(group.rollout_strategy, [Group("a", 0, ("eu-1",)), Group("", 1, ("eu-2",))])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{}", {"type": "All"}),
        ("{all: {timeout: 10m}}", {"type": "All", "all": {"progressDeadline": "10m"}}),
        ("{all: {timeout: 10m, progressDeadline: 5m}}", {"type": "All", "all": {"progressDeadline": "5m"}}),
        (
            "{type: Progressive, progressive: {timeout: 1h, maxConcurrency: 3}}",
            {"type": "Progressive", "progressive": {"progressDeadline": "1h", "maxConcurrency": 3}},
        ),
    ],
)
def test_the_deadline_of_a_strategy_has_the_newer_name(text: str, expected: dict[str, Any]) -> None:
    (preset,) = strategy(text).also
    assert isinstance(preset.spec, PluginPresetSpec)
    assert preset.spec.groups is not None
    assert preset.spec.groups[1].rollout_strategy == expected


MANAGING_ITSELF = SEED_ADD_ON.replace(
    "metadata:\n", "metadata:\n  annotations: {addon.open-cluster-management.io/lifecycle: self}\n", 1
)


def test_an_add_on_that_manages_itself_is_where_somebody_installs_it() -> None:
    reading = read(MANAGING_ITSELF)
    (note,) = reading.diagnostics
    assert (note.code, note.path, note.hint) == (
        "foreign-note",
        "spec.installStrategy.placements",
        "it is where a ManagedClusterAddOn is",
    )
    assert note.message == (
        "the add-on manages itself (addon.open-cluster-management.io/lifecycle: self): placements install nothing"
    )
    (preset,) = reading.also
    assert isinstance(preset.spec, PluginPresetSpec)
    assert (preset.spec.groups, preset.conventions.placed_by_plugins, preset.conventions.placed_by_groups) == (
        None,
        True,
        False,
    )


def test_an_add_on_of_placements_is_where_they_are_and_one_without_where_somebody_installs_it() -> None:
    (placed,) = read(SEED_ADD_ON).also
    assert (placed.conventions.placed_by_plugins, placed.conventions.placed_by_groups) == (False, True)
    (by_hand,) = manifest("v1beta1", "ClusterManagementAddOn", "spec: {}", ADDON).also
    assert (by_hand.conventions.placed_by_plugins, by_hand.conventions.placed_by_groups) == (True, False)


# ---- Configs that an add-on does not take

TAKES = "status: {supportedConfigs: [{group: g, resource: takes}, {group: '', resource: configmaps}]}"
NAMED = "{name: otel, namespace: eu-1}"


def of_cluster(configs: str, status: str = TAKES) -> Reading:
    return manifest("v1beta1", "ManagedClusterAddOn", f"spec: {{configs: [{configs}]}}\n{status}\n", ADDON, NAMED)


def config(group: str, resource: str) -> str:
    return f"{{group: '{group}', resource: {resource}, name: a}}"


@pytest.mark.rule("R1-13")
@pytest.mark.parametrize(
    ("configs", "refused"),
    [
        ([], {}),
        ([config("g", "takes")], {}),
        ([config("", "configmaps")], {}),
        ([config("g", "other")], {0: "other.g"}),
        ([config("", "secrets"), config("g", "takes"), config("h", "takes")], {0: "secrets", 2: "takes.h"}),
    ],
)
def test_a_config_of_a_type_that_the_add_on_does_not_list_warns_at_its_place(
    configs: list[str], refused: dict[int, str]
) -> None:
    reading = of_cluster(", ".join(configs))
    assert [(each.code, each.severity, each.path, each.message) for each in reading.diagnostics] == [
        (
            "unsupported-config",
            "warning",
            f"spec.configs[{index}]",
            f"the add-on says that it takes no config of type {name}",
        )
        for index, name in refused.items()
    ]
    assert reading.object is not None
    assert unsupported_types_of(reading.object) == sorted(refused.values())


@pytest.mark.parametrize("status", ["", "status: {}", "status: {supportedConfigs: []}"])
def test_an_add_on_that_does_not_say_what_it_takes_takes_everything(status: str) -> None:
    reading = of_cluster(config("g", "other"), status)
    assert said(reading) == []
    assert reading.object is not None
    assert reading.object.content is None
    assert unsupported_types_of(reading.object) == []


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("{type: Canary}", "type"),
        ("{progressive: {maxConcurrency: 101%}}", "progressive.maxConcurrency"),
        ("{progressive: {progressDeadline: 5 minutes}}", "progressive.progressDeadline"),
        ("{progressivePerGroup: {maxFailures: -1}}", "progressivePerGroup.maxFailures"),
        ("{all: {minSuccessTime: 5}}", "all.minSuccessTime"),
    ],
)
def test_the_shape_of_a_rollout_strategy_is_checked(text: str, path: str) -> None:
    reading = strategy(text)
    assert (reading.object, reading.also) == (None, ())
    assert said(reading) == [("bad-value", "error", f"spec.installStrategy.placements[1].rolloutStrategy.{path}")]


def test_a_placement_of_an_add_on_names_its_namespace() -> None:
    reading = read(SEED_ADD_ON.replace("        namespace: example\n", ""))
    assert said(reading) == [("missing-field", "error", "spec.installStrategy.placements[0]")]


@pytest.mark.parametrize("version", ["v1alpha1", "v1beta1"])
def test_an_add_on_of_a_cluster_may_say_nothing(version: str) -> None:
    reading = manifest(version, "ManagedClusterAddOn", "spec: {}", ADDON, "{name: otel, namespace: eu-1}")
    assert made(reading).spec == PluginSpec(preset_ref=NameRef("otel"), cluster_name="eu-1")


def test_several_configs_of_a_cluster_keep_their_order() -> None:
    configs = "[{group: g, resource: r, namespace: eu-1, name: b}, {group: g, resource: r, namespace: '', name: a}]"
    reading = manifest(
        "v1beta1", "ManagedClusterAddOn", f"spec: {{configs: {configs}}}", ADDON, "{name: otel, namespace: eu-1}"
    )
    assert made(reading).spec.configs == [ConfigRef("g", "r", "b", "eu-1"), ConfigRef("g", "r", "a")]


def test_a_config_is_within_reach_wherever_it_lies_and_without_a_namespace_lies_in_none() -> None:
    configs = "{group: g, resource: r, name: a}, {group: g, resource: r, namespace: b, name: c}"
    plugin = made(of_cluster(configs, ""))
    identities = [each.identity for each in instance_configs(plugin)]
    assert identities == [("g", "r", "", "a"), ("g", "r", "b", "c")]
    assert [may_use(plugin, each) for each in identities] == [True, True]


def test_a_namespace_of_its_own_is_noted_as_lost() -> None:
    reading = read(SEED_ADD_ON_OF_CLUSTER.replace("installNamespace: open", "installNamespace: my-open"))
    assert said(reading) == [("foreign-note", "info", "spec.installNamespace")]


def test_the_newer_version_has_no_install_namespace() -> None:
    reading = read(SEED_ADD_ON_OF_CLUSTER.replace("v1alpha1", "v1beta1"))
    assert said(reading) == [("unknown-field", "warning", "spec.installNamespace")]


def test_an_add_on_without_a_namespace_is_on_no_cluster() -> None:
    reading = manifest("v1alpha1", "ManagedClusterAddOn", "spec: {}", ADDON)
    assert (reading.object, said(reading)) == (None, [("missing-field", "error", "metadata")])


# ---- Fields, kinds and versions that are not known


def test_unknown_fields_warn_at_their_place_and_are_left_out() -> None:
    reading = read(SEED_ADD_ON.replace("defaultConfig:", "defaultConfg:") + "sepc: {}\n")
    assert said(reading) == [
        ("unknown-field", "warning", "sepc"),
        ("unknown-field", "warning", "spec.supportedConfigs[0].defaultConfg"),
    ]
    assert [each.hint for each in reading.diagnostics] == ["did you mean spec?", "did you mean defaultConfig?"]
    assert reading.object is not None
    assert reading.object.spec.configs[0] == SupportedConfig("", "r1")


@pytest.mark.parametrize(
    ("group", "version", "kind", "hint"),
    [
        (CLUSTER, "v2", "ManagedCluster", "there is v1"),
        (CLUSTER, "v1beta1", "ManagedCluster", "there is v1"),
        (CLUSTER, "v1", "Placement", "there are v1beta1, v1alpha1"),
        (ADDON, "v1", "AddOnDeploymentConfig", "there are v1beta1, v1alpha1"),
    ],
)
def test_other_versions_cannot_be_read(group: str, version: str, kind: str, hint: str) -> None:
    reading = manifest(version, kind, "spec: {}", group)
    assert (reading.object, said(reading)) == (None, [("unsupported-version", "error", "apiVersion")])
    assert reading.diagnostics[0].hint == hint


@pytest.mark.parametrize(
    ("group", "kind", "meant"),
    [
        (ADDON, "ClusterManagementAddon", "ClusterManagementAddOn"),
        (ADDON, "ManagedClusterAddons", "ManagedClusterAddOn"),
        (ADDON, "AddonDeploymentConfig", "AddOnDeploymentConfig"),
        (CLUSTER, "ManagedClusterset", "ManagedClusterSet"),
        (CLUSTER, "PlacementDecisions", "PlacementDecision"),
    ],
)
def test_a_slip_in_the_kind_is_found(group: str, kind: str, meant: str) -> None:
    reading = manifest("v1beta1", kind, "spec: {}", group)
    assert (reading.object, said(reading)) == (None, [("unknown-kind", "error", "kind")])
    assert reading.diagnostics[0].hint == f"did you mean {meant}?"


def test_a_kind_of_the_other_group_is_found() -> None:
    reading = manifest("v1beta1", "Placement", "spec: {}", ADDON)
    assert (reading.object, said(reading)) == (None, [("unknown-kind", "error", "apiVersion")])
    assert reading.diagnostics[0].hint == f"write apiVersion: {CLUSTER}/v1beta1"


@pytest.mark.parametrize("kind", ["", "3", "[]"])
def test_a_kind_that_is_no_name_is_missing(kind: str) -> None:
    reading = read(f"apiVersion: {CLUSTER}/v1\nkind: {kind or repr('')}\nmetadata: {{name: a}}\n")
    assert (reading.object, said(reading)) == (None, [("missing-field", "error", "")])


def test_only_names_of_the_same_group_are_close() -> None:
    """Another project's kind, which resembles one of the other group."""
    reading = manifest("v1alpha1", "ManagedClusterAddOns", "spec: {}", CLUSTER)
    assert said(reading) == []
    assert reading.object is not None
    assert (reading.object.ref.kind, reading.object.metadata.name) == ("ManagedClusterAddOns", "a")


def test_a_manifest_without_kind_or_name_is_none() -> None:
    assert said(read(f"apiVersion: {CLUSTER}/v1")) == [("missing-field", "error", "")]
    nameless = read(f"apiVersion: {CLUSTER}/v1\nkind: ManagedCluster")
    assert (nameless.object, said(nameless)) == (None, [("bad-name", "error", "metadata")])
    odd = manifest("v1", "ManagedCluster", "", metadata="{name: EU 1}")
    assert (odd.object, said(odd)) == (None, [("bad-value", "error", "metadata.name")])


@pytest.mark.rule("S7")
def test_objects_belong_to_the_organization_given_whatever_their_namespace() -> None:
    texts = (MANAGED_CLUSTER, PLACEMENT, SCORE, SEED_ADD_ON, SEED_ADD_ON_OF_CLUSTER)
    readings = [read(text) for text in texts]
    objects = [each for reading in readings for each in (reading.object, *reading.also) if each is not None]
    assert len(objects) == 6
    assert {each.ref.organization for each in objects} == {"acme"}
