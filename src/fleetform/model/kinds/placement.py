"""Who gets it, when labels are not enough; the shape is Open Cluster Management's."""

from __future__ import annotations

from typing import Annotated, Literal

from fleetform.model.kinds.base import (
    ClusterSelector,
    Count,
    LabelRequirement,
    LabelSelector,
    Natural,
    Percent,
    Record,
    doc,
)


class ClaimSelector(Record, frozen=True):
    """Clusters by their claims."""

    match_expressions: Annotated[list[LabelRequirement] | None, doc("Requirements that must hold.")] = None


class CelSelector(Record, frozen=True):
    """Clusters by CEL."""

    cel_expressions: Annotated[list[str] | None, doc("Expressions that must hold.")] = None


class RequiredClusterSelector(Record, frozen=True):
    """What a cluster must be."""

    label_selector: Annotated[LabelSelector | None, doc("By labels.")] = None
    claim_selector: Annotated[ClaimSelector | None, doc("By claims.")] = None
    cel_selector: Annotated[CelSelector | None, doc("By CEL.")] = None


class Predicate(Record, frozen=True):
    """A cluster must satisfy one of the predicates."""

    required_cluster_selector: Annotated[RequiredClusterSelector | None, doc("What a cluster must be.")] = None


class Toleration(Record, frozen=True):
    """A taint that does not keep this placement away."""

    key: Annotated[str | None, doc("The taint's key; absent: all.")] = None
    operator: Annotated[Literal["Equal", "Exists"] | None, doc("How the value is compared.")] = None
    value: Annotated[str | None, doc("The taint's value.")] = None
    effect: Annotated[Literal["NoSelect", "NoSelectIfNew", "PreferNoSelect"] | None, doc("Which effect.")] = None
    toleration_seconds: Annotated[int | None, doc("For how long.")] = None


class AddOnScore(Record, frozen=True):
    """A score published by an add-on."""

    resource_name: str
    score_name: str


class ScoreCoordinate(Record, frozen=True):
    """Which score."""

    type: Annotated[Literal["BuiltIn", "AddOn"], doc("Where it comes from.")] = "BuiltIn"
    built_in: Annotated[str | None, doc("A built-in score.")] = None
    add_on: Annotated[AddOnScore | None, doc("An add-on's score.")] = None


class WeightedScore(Record, frozen=True):
    """A score and its weight."""

    score_coordinate: Annotated[ScoreCoordinate, doc("Which score.")]
    weight: Annotated[int, doc("Its weight.", ge=-10, le=10)] = 1


class Prioritizers(Record, frozen=True):
    """How clusters are ranked."""

    mode: Annotated[Literal["Additive", "Exact"] | None, doc("Beside the defaults, or instead of them.")] = None
    configurations: Annotated[list[WeightedScore] | None, doc("The scores.")] = None


class SpreadConstraint(Record, frozen=True):
    """How evenly chosen clusters are spread."""

    topology_key: str
    topology_key_type: Literal["Label", "Claim"]
    max_skew: Annotated[int, doc("The largest difference.", ge=1)] = 1
    when_unsatisfiable: Literal["DoNotSelect", "ScheduleAnyway"] | None = None


class SpreadPolicy(Record, frozen=True):
    """How evenly chosen clusters are spread."""

    spread_constraints: list[SpreadConstraint] | None = None


class GroupSelector(ClusterSelector, frozen=True):
    """Which of the chosen clusters: those of the selector whose claims fulfil the requirements, too."""

    claim_selector: Annotated[ClaimSelector | None, doc("By claims.")] = None


class DecisionGroup(Record, frozen=True):
    """A named group of chosen clusters."""

    group_name: str
    group_cluster_selector: Annotated[GroupSelector | None, doc("Which of them.")] = None


class DecisionGroups(Record, frozen=True):
    """How chosen clusters are grouped."""

    clusters_per_decision_group: Annotated[Count | Percent | None, doc("The size of the other groups.")] = None
    decision_groups: Annotated[list[DecisionGroup] | None, doc("Named groups, in order.")] = None


class PlacementSpec(Record, frozen=True):
    """Which clusters are chosen."""

    cluster_sets: Annotated[list[str] | None, doc("Out of these sets.")] = None
    number_of_clusters: Annotated[Natural | None, doc("At most so many.")] = None
    predicates: Annotated[list[Predicate] | None, doc("One of these must hold.")] = None
    tolerations: Annotated[list[Toleration] | None, doc("Taints that do not count.")] = None
    prioritizers: Annotated[Prioritizers | list[WeightedScore] | None, doc("How clusters are ranked.")] = None
    spread: Annotated[SpreadPolicy | None, doc("How evenly they are spread.")] = None
    decision_groups: Annotated[DecisionGroups | None, doc("How they are grouped.")] = None
    suspend: Annotated[bool, doc("Choose none anew: the clusters that were chosen stay, whatever they are now.")] = (
        False
    )


class ClusterSetSpec(Record, frozen=True):
    """A set of clusters, as Open Cluster Management has it: those whose label names it, or those of a selector."""

    label_selector: LabelSelector | None = None


class ClusterSetBindingSpec(Record, frozen=True):
    """A set that placements of a namespace may choose from."""

    namespace: str
    cluster_set: str


class PlacementScoreSpec(Record, frozen=True):
    """Scores that an add-on published about a cluster."""

    cluster: str
    resource: str
    scores: dict[str, int]
    valid_until: str | None = None
