"""Clusters, sets of clusters, placements and scores of Open Cluster Management in the native shape."""

from __future__ import annotations

from typing import Any

from fleetform.dialects.manifest import Manifest
from fleetform.dialects.native.spellings import Pair
from fleetform.dialects.ocm.kinds import (
    AddOnPlacementScoreStatus,
    GroupStrategy,
    ManagedClusterSetBindingSpec,
    ManagedClusterSetSpec,
    ManagedClusterSpec,
    ManagedClusterStatus,
    OcmPlacementSpec,
    PrioritizerPolicy,
    SetSelector,
    Spread,
)
from fleetform.model.kinds.base import ClusterSelector, LabelRequirement, LabelSelector
from fleetform.model.kinds.fleet import ClusterSpec
from fleetform.model.kinds.placement import (
    ClusterSetBindingSpec,
    ClusterSetSpec,
    DecisionGroup,
    DecisionGroups,
    PlacementScoreSpec,
    PlacementSpec,
    Prioritizers,
    ScoreCoordinate,
    SpreadConstraint,
    SpreadPolicy,
    WeightedScore,
)
from fleetform.model.objects import Object, Path

_DEFAULT_RATE_LIMIT = "1m"
_NOTHING = LabelSelector(
    match_expressions=[LabelRequirement("nothing", "Exists"), LabelRequirement("nothing", "DoesNotExist")]
)
_FACTS_MOVED: tuple[Pair, ...] = (
    (("spec", "facts", "claims"), ("status", "clusterClaims")),
    (("spec", "facts", "version"), ("status", "version", "kubernetes")),
    (("spec", "facts"), ("status",)),
)


def read_cluster(manifest: Manifest) -> list[Object[Any]]:
    spec, status = manifest.spec(ManagedClusterSpec), manifest.status(ManagedClusterStatus)
    if spec is None or status is None:
        return []
    if not spec.hub_accepts_client:
        manifest.note(
            "the hub does not accept this cluster; here it is one of the fleet all the same",
            "write hubAcceptsClient: true",
            "spec",
            "hubAcceptsClient",
        )
    if spec.managed_cluster_client_configs:
        manifest.note(
            "managedClusterClientConfigs has no counterpart here",
            "say how the cluster is reached in spec.access",
            "spec",
            "managedClusterClientConfigs",
        )
    return [manifest.object(ClusterSpec(facts=_facts(status) or None, taints=spec.taints), *_FACTS_MOVED)]


def _facts(status: ManagedClusterStatus) -> dict[str, Any]:
    """What the cluster says of itself."""
    facts = {
        "claims": {claim.name: claim.value for claim in status.cluster_claims or []},
        "allocatable": status.allocatable,
        "capacity": status.capacity,
        "version": status.version.kubernetes if status.version is not None else None,
    }
    return {name: fact for name, fact in facts.items() if fact}


def read_cluster_set(manifest: Manifest) -> list[Object[Any]]:
    spec = manifest.spec(ManagedClusterSetSpec)
    if spec is None:
        return []
    if spec.managed_namespaces:
        manifest.note("managedNamespaces has no counterpart here", "", "spec", "managedNamespaces")
    selector = _set_selector(spec.cluster_selector or SetSelector(), manifest)
    moved = (("spec", "labelSelector"), ("spec", "clusterSelector", "labelSelector"))
    return [manifest.object(ClusterSetSpec(selector), moved)]


def _set_selector(selector: SetSelector, manifest: Manifest) -> LabelSelector | None:
    """The selector of a set; none where the clusters' own label names it."""
    path = ("spec", "clusterSelector")
    if selector.selector_type == "LabelSelector":
        if selector.label_selector is None:
            manifest.warn("nothing-selected", "the set holds no cluster", "add labelSelector; {} is all", *path)
            # There no selector selects nothing, and here none means the label.
            return _NOTHING
        return selector.label_selector
    if selector.label_selector is not None:
        message = "labelSelector has no effect: the clusters' own label says who is in the set"
        manifest.note(message, "write selectorType: LabelSelector", *path, "labelSelector")
    return None


def read_cluster_set_binding(manifest: Manifest) -> list[Object[Any]]:
    spec = manifest.spec(ManagedClusterSetBindingSpec)
    if spec is None:
        return []
    if spec.cluster_set != manifest.name:
        message = f"the binding of {spec.cluster_set} is named {manifest.name}, which the hub refuses"
        manifest.warn("bad-name", message, f"name it {spec.cluster_set}", "metadata", "name")
    moved = (("spec", "namespace"), ("metadata", "namespace"))
    return [manifest.object(ClusterSetBindingSpec(manifest.namespace, spec.cluster_set), moved)]


def read_placement(manifest: Manifest) -> list[Object[Any]]:
    spec = manifest.spec(OcmPlacementSpec)
    policy = (spec.prioritizer_policy if spec is not None else None) or PrioritizerPolicy()
    if spec is None or _lacks_score(policy, manifest):
        return []
    if spec.sort_by == "Score":
        manifest.note("sortBy has no effect here", "", "spec", "sortBy")
    if spec.score_rate_limit not in (None, _DEFAULT_RATE_LIMIT):
        manifest.note("scoreRateLimit has no effect here", "", "spec", "scoreRateLimit")
    strategy = spec.decision_strategy.group_strategy if spec.decision_strategy is not None else None
    native = PlacementSpec(
        cluster_sets=spec.cluster_sets,
        number_of_clusters=spec.number_of_clusters,
        predicates=spec.predicates,
        tolerations=spec.tolerations,
        prioritizers=_prioritizers(policy),
        spread=_spread(spec.spread_policy),
        decision_groups=_decision_groups(strategy, manifest),
    )
    return [
        manifest.object(
            native,
            (("spec", "prioritizers"), ("spec", "prioritizerPolicy")),
            (("spec", "spread"), ("spec", "spreadPolicy")),
            (("spec", "decisionGroups"), ("spec", "decisionStrategy", "groupStrategy")),
            *_named_scores_moved(policy),
        )
    ]


def _lacks_score(policy: PrioritizerPolicy, manifest: Manifest) -> bool:
    lacking = [
        index
        for index, each in enumerate(policy.configurations or [])
        if each.score_coordinate is None and each.name is None
    ]
    for index in lacking:
        path = ("spec", "prioritizerPolicy", "configurations", index)
        manifest.error("missing-field", "a prioritizer needs a score", "add scoreCoordinate", *path)
    return bool(lacking)


def _prioritizers(policy: PrioritizerPolicy) -> Prioritizers | None:
    made = [
        WeightedScore(each.score_coordinate or ScoreCoordinate(built_in=each.name), each.weight)
        for each in policy.configurations or []
    ]
    return Prioritizers(policy.mode, made or None) if policy.mode or made else None


def _named_scores_moved(policy: PrioritizerPolicy) -> list[Pair]:
    """Where the built-in score of an older manifest stands: in the prioritizer's name."""
    moved: list[Pair] = []
    for index, each in enumerate(policy.configurations or []):
        if each.score_coordinate is None:
            native: Path = ("spec", "prioritizers", "configurations", index, "scoreCoordinate")
            theirs: Path = ("spec", "prioritizerPolicy", "configurations", index, "name")
            moved += [(native, theirs), ((*native, "builtIn"), theirs)]
    return moved


def _spread(policy: Spread | None) -> SpreadPolicy | None:
    if policy is None or not policy.spread_constraints:
        return None
    return SpreadPolicy(
        [
            SpreadConstraint(
                each.topology_key,
                each.topology_key_type,
                each.max_skew,
                "DoNotSelect" if each.when_unsatisfiable == "DoNotSchedule" else "ScheduleAnyway",
            )
            for each in policy.spread_constraints
        ]
    )


def _decision_groups(strategy: GroupStrategy | None, manifest: Manifest) -> DecisionGroups | None:
    if strategy is None:
        return None
    made = []
    for index, group in enumerate(strategy.decision_groups or []):
        selector = group.group_cluster_selector
        if selector is not None and selector.claim_selector is not None:
            path = ("spec", "decisionStrategy", "groupStrategy", "decisionGroups", index, "groupClusterSelector")
            message = f"the group {group.group_name} is not narrowed by claims here"
            manifest.warn("foreign-note", message, "use labelSelector", *path, "claimSelector")
        labels = selector.label_selector if selector is not None else None
        made.append(DecisionGroup(group.group_name, ClusterSelector(label_selector=labels)))
    return DecisionGroups(strategy.clusters_per_decision_group, made or None)


def read_score(manifest: Manifest) -> list[Object[Any]]:
    status = manifest.status(AddOnPlacementScoreStatus)
    if status is None:
        return []
    scores = {each.name: each.value for each in status.scores or []}
    return [
        manifest.object(
            PlacementScoreSpec(manifest.namespace, manifest.name, scores, status.valid_until),
            (("spec", "cluster"), ("metadata", "namespace")),
            (("spec", "resource"), ("metadata", "name")),
            (("spec",), ("status",)),
        )
    ]
