"""Clusters, sets of clusters, placements and scores of Open Cluster Management in the native shape."""

from __future__ import annotations

import msgspec

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
)
from fleetform.engine.placement.facts import SPEC_FACTS
from fleetform.model.kinds.base import LabelRequirement, LabelSelector
from fleetform.model.kinds.fleet import ClusterSpec
from fleetform.model.kinds.placement import (
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
    WeightedScore,
)
from fleetform.model.objects import Object, Path

_DEFAULT_RATE_LIMIT = "1m"
_DISABLED = "cluster.open-cluster-management.io/experimental-scheduling-disable"
_NOTHING = LabelSelector(
    match_expressions=[LabelRequirement("nothing", "Exists"), LabelRequirement("nothing", "DoesNotExist")]
)
_FACTS_MOVED: tuple[Pair, ...] = (
    *((("spec", "facts", field), ("spec", field)) for field in SPEC_FACTS),
    (("spec", "facts", "claims"), ("status", "clusterClaims")),
    (("spec", "facts", "version"), ("status", "version", "kubernetes")),
    (("spec", "facts"), ("status",)),
)


def read_managed_cluster(manifest: Manifest) -> list[Object[object]]:
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
        message = "managedClusterClientConfigs is not used to reach the cluster; expressions of placements can read it"
        hint = "configure the access to the cluster in spec.access"
        manifest.note(message, hint, "spec", "managedClusterClientConfigs")
    # What expressions of placements read: the fields of spec and status that say more than labels and taints.
    given = msgspec.to_builtins(spec)
    reported = {
        "claims": {claim.name: claim.value for claim in status.cluster_claims or []},
        "allocatable": status.allocatable,
        "capacity": status.capacity,
        "version": status.version.kubernetes if status.version is not None else None,
        "conditions": status.conditions,
        "managedNamespaces": status.managed_namespaces,
        **{field: given.get(field) for field in SPEC_FACTS},
        # A cluster of a fleet is accepted, unless something says otherwise.
        "hubAcceptsClient": False if not spec.hub_accepts_client else None,
    }
    facts = {name: fact for name, fact in reported.items() if fact or fact is False}
    return [manifest.object(ClusterSpec(facts=facts or None, taints=spec.taints), *_FACTS_MOVED)]


def read_cluster_set(manifest: Manifest) -> list[Object[object]]:
    spec = manifest.spec(ManagedClusterSetSpec)
    if spec is None:
        return []
    if spec.managed_namespaces:
        manifest.note("managedNamespaces has no counterpart here", "", "spec", "managedNamespaces")
    selector, path = spec.cluster_selector or SetSelector(), ("spec", "clusterSelector")
    # None: clusters name the set by a label of their own.
    labels = None
    if selector.selector_type == "LabelSelector":
        labels = selector.label_selector
        if labels is None:
            manifest.warn("nothing-selected", "the set has no cluster", "add labelSelector; {} is all", *path)
            labels = _NOTHING
    elif selector.label_selector is not None:
        message = "labelSelector has no effect: clusters are in the set by their own label"
        manifest.note(message, "write selectorType: LabelSelector", *path, "labelSelector")
    moved = (("spec", "labelSelector"), ("spec", "clusterSelector", "labelSelector"))
    return [manifest.object(ClusterSetSpec(labels), moved)]


def read_cluster_set_binding(manifest: Manifest) -> list[Object[object]]:
    spec = manifest.spec(ManagedClusterSetBindingSpec)
    if spec is None:
        return []
    if spec.cluster_set != manifest.name:
        message = f"the binding of {spec.cluster_set} is named {manifest.name}, which the hub refuses"
        manifest.warn("bad-name", message, f"name it {spec.cluster_set}", "metadata", "name")
    moved = (("spec", "namespace"), ("metadata", "namespace"))
    return [manifest.object(ClusterSetBindingSpec(manifest.namespace, spec.cluster_set), moved)]


def read_placement(manifest: Manifest) -> list[Object[object]]:
    spec = manifest.spec(OcmPlacementSpec)
    if spec is None:
        return []
    policy = spec.prioritizer_policy or PrioritizerPolicy()
    prioritizers, moved = _prioritizers(policy, manifest)
    if len(prioritizers) < len(policy.configurations or []):
        return []
    if spec.sort_by == "Score":
        manifest.note("sortBy has no effect here", "", "spec", "sortBy")
    if spec.score_rate_limit not in (None, _DEFAULT_RATE_LIMIT):
        manifest.note("scoreRateLimit has no effect here", "", "spec", "scoreRateLimit")
    strategy = spec.decision_strategy.group_strategy if spec.decision_strategy is not None else None
    constraints = [
        SpreadConstraint(
            each.topology_key,
            each.topology_key_type,
            each.max_skew,
            "DoNotSelect" if each.when_unsatisfiable == "DoNotSchedule" else "ScheduleAnyway",
        )
        for each in (spec.spread_policy.spread_constraints if spec.spread_policy is not None else None) or []
    ]
    native = PlacementSpec(
        cluster_sets=spec.cluster_sets,
        number_of_clusters=spec.number_of_clusters,
        predicates=spec.predicates,
        tolerations=spec.tolerations,
        prioritizers=Prioritizers(policy.mode, prioritizers or None) if policy.mode or prioritizers else None,
        spread=SpreadPolicy(constraints) if constraints else None,
        decision_groups=_decision_groups(strategy),
        suspend=_is_suspended(manifest),
    )
    return [
        manifest.object(
            native,
            (("spec", "prioritizers"), ("spec", "prioritizerPolicy")),
            (("spec", "spread"), ("spec", "spreadPolicy")),
            (("spec", "decisionGroups"), ("spec", "decisionStrategy", "groupStrategy")),
            (("spec", "suspend"), ("metadata",)),
            *moved,
        )
    ]


def _is_suspended(manifest: Manifest) -> bool:
    """Whether the scheduler leaves the placement alone: it is told to, or the placement is being deleted."""
    metadata = manifest.metadata
    return metadata.deletion_timestamp is not None or (metadata.annotations or {}).get(_DISABLED) == "true"


def _prioritizers(policy: PrioritizerPolicy, manifest: Manifest) -> tuple[list[WeightedScore], list[Pair]]:
    """Those with a score; and the paths of scores that older manifests have in the prioritizer's name."""
    made: list[WeightedScore] = []
    moved: list[Pair] = []
    for index, each in enumerate(policy.configurations or []):
        theirs: Path = ("spec", "prioritizerPolicy", "configurations", index)
        if each.score_coordinate is not None:
            made.append(WeightedScore(each.score_coordinate, each.weight))
        elif each.name is not None:
            made.append(WeightedScore(ScoreCoordinate(built_in=each.name), each.weight))
            native: Path = ("spec", "prioritizers", "configurations", index, "scoreCoordinate")
            moved += [(native, (*theirs, "name")), ((*native, "builtIn"), (*theirs, "name"))]
        else:
            manifest.error("missing-field", "a prioritizer needs a score", "add scoreCoordinate", *theirs)
    return made, moved


def _decision_groups(strategy: GroupStrategy | None) -> DecisionGroups | None:
    if strategy is None:
        return None
    made = []
    for group in strategy.decision_groups or []:
        written = group.group_cluster_selector
        selector = None
        if written is not None:
            selector = GroupSelector(label_selector=written.label_selector, claim_selector=written.claim_selector)
        made.append(DecisionGroup(group.group_name, selector))
    return DecisionGroups(strategy.clusters_per_decision_group, made or None)


def read_score(manifest: Manifest) -> list[Object[object]]:
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
