"""The shapes of Open Cluster Management's manifests, in all the versions that are read.

Names of configs are any text, as on the hub: a config may be of a kind whose names Kubernetes restricts less.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from fleetform.model.kinds.base import Count, LabelSelector, Natural, Percent, Record, Text, Time
from fleetform.model.kinds.fleet import Taint
from fleetform.model.kinds.placement import ClaimSelector, Predicate, ScoreCoordinate, Toleration
from fleetform.syntax.trees import YamlMap, YamlValue

Weight = Annotated[int, Meta(ge=-10, le=10)]
Positive = Annotated[int, Meta(ge=1)]
Score = Annotated[int, Meta(ge=-100, le=100)]
GoDuration = Annotated[str, Meta(pattern=r"^(0|([0-9]+(\.[0-9]+)?(h|m|s|ms|us|µs|ns))+)\Z")]
Deadline = Annotated[str, Meta(pattern=r"^(([0-9]+[hms])+|None)\Z")]


# ---- Clusters and sets of them


class ClientConfig(Record, frozen=True):
    url: str
    ca_bundle: str | None = None


class ManagedClusterSpec(Record, frozen=True):
    hub_accepts_client: bool | None = None
    lease_duration_seconds: int | None = None
    taints: list[Taint] | None = None
    managed_cluster_client_configs: list[ClientConfig] | None = None


class ClusterVersion(Record, frozen=True):
    kubernetes: str | None = None


class ManagedClusterClaim(Record, frozen=True):
    name: Text
    value: str


class ManagedClusterStatus(Record, frozen=True):
    conditions: YamlValue = None
    managed_namespaces: YamlValue = None
    capacity: dict[str, str | int | float] | None = None
    allocatable: dict[str, str | int | float] | None = None
    version: ClusterVersion | None = None
    cluster_claims: list[ManagedClusterClaim] | None = None


class SetSelector(Record, frozen=True):
    selector_type: Literal["ExclusiveClusterSetLabel", "LegacyClusterSetLabel", "LabelSelector"] | None = None
    label_selector: LabelSelector | None = None


class ManagedClusterSetSpec(Record, frozen=True):
    cluster_selector: SetSelector | None = None
    managed_namespaces: list[YamlMap] | None = None


class ManagedClusterSetBindingSpec(Record, frozen=True):
    cluster_set: Text


# ---- Placements and scores


class OcmPrioritizer(Record, frozen=True):
    score_coordinate: ScoreCoordinate | None = None
    # The older spelling of scoreCoordinate.builtIn.
    name: Text | None = None
    weight: Weight = 1


class PrioritizerPolicy(Record, frozen=True):
    mode: Literal["Additive", "Exact"] | None = None
    configurations: list[OcmPrioritizer] | None = None


class SpreadTerm(Record, frozen=True):
    topology_key: Text
    topology_key_type: Literal["Label", "Claim"]
    max_skew: Positive = 1
    when_unsatisfiable: Literal["DoNotSchedule", "ScheduleAnyway"] = "ScheduleAnyway"


class OcmSpread(Record, frozen=True):
    spread_constraints: list[SpreadTerm] | None = None


class GroupClusterSelector(Record, frozen=True):
    label_selector: LabelSelector | None = None
    claim_selector: ClaimSelector | None = None


class NamedGroup(Record, frozen=True):
    group_name: Text
    group_cluster_selector: GroupClusterSelector | None = None


class GroupStrategy(Record, frozen=True):
    clusters_per_decision_group: Positive | Percent | None = None
    decision_groups: list[NamedGroup] | None = None


class DecisionStrategy(Record, frozen=True):
    group_strategy: GroupStrategy | None = None


class OcmPlacementSpec(Record, frozen=True):
    cluster_sets: list[str] | None = None
    number_of_clusters: Natural | None = None
    predicates: list[Predicate] | None = None
    tolerations: list[Toleration] | None = None
    prioritizer_policy: PrioritizerPolicy | None = None
    spread_policy: OcmSpread | None = None
    decision_strategy: DecisionStrategy | None = None
    sort_by: Literal["ClusterName", "Score"] | None = None
    score_rate_limit: Annotated[str, Meta(pattern=r"^[0-9]+[hms]\Z")] | None = None


class ScoreItem(Record, frozen=True):
    name: Text
    value: Score


class AddOnPlacementScoreStatus(Record, frozen=True):
    conditions: YamlValue = None
    scores: list[ScoreItem] | None = None
    valid_until: Time | None = None


# ---- Add-ons


class AddOnMeta(Record, frozen=True):
    display_name: str | None = None
    description: str | None = None


class ConfigCoordinates(Record, frozen=True):
    crd_name: str | None = None
    cr_name: str | None = None
    last_observed_generation: int | None = None


class ConfigReferent(Record, frozen=True):
    name: Text
    namespace: str | None = None


class SupportedConfigType(Record, frozen=True):
    resource: Text
    group: str = ""
    default_config: ConfigReferent | None = None


class AddOnConfig(Record, frozen=True):
    resource: Text
    name: Text
    group: str = ""
    namespace: str | None = None


class DecisionGroupRef(Record, frozen=True):
    group_name: str | None = None
    group_index: Natural | None = None


class RolloutAll(Record, frozen=True):
    min_success_time: GoDuration | None = None
    progress_deadline: Deadline | None = None
    max_failures: Count | Percent | None = None
    # The older spelling of progressDeadline.
    timeout: Deadline | None = None


class RolloutPerGroup(RolloutAll, frozen=True):
    mandatory_decision_groups: list[DecisionGroupRef] | None = None


class RolloutProgressive(RolloutPerGroup, frozen=True):
    max_concurrency: Count | Percent | None = None


class RolloutStrategy(Record, frozen=True):
    type: Literal["All", "Progressive", "ProgressivePerGroup"] = "All"
    all: RolloutAll | None = None
    progressive: RolloutProgressive | None = None
    progressive_per_group: RolloutPerGroup | None = None


class PlacementStrategy(Record, frozen=True):
    namespace: Text
    name: Text
    configs: list[AddOnConfig] | None = None
    rollout_strategy: RolloutStrategy | None = None


class InstallStrategy(Record, frozen=True):
    type: Literal["Manual", "Placements"] = "Manual"
    placements: list[PlacementStrategy] | None = None


class ClusterManagementAddOnSpec(Record, frozen=True):
    add_on_meta: AddOnMeta | None = None
    install_strategy: InstallStrategy | None = None


class ClusterManagementAddOnSpecV1Alpha1(ClusterManagementAddOnSpec, frozen=True):
    add_on_configuration: ConfigCoordinates | None = None
    supported_configs: list[SupportedConfigType] | None = None


class ClusterManagementAddOnSpecV1Beta1(ClusterManagementAddOnSpec, frozen=True):
    default_configs: list[AddOnConfig] | None = None


class ManagedClusterAddOnSpec(Record, frozen=True):
    configs: list[AddOnConfig] | None = None


class ManagedClusterAddOnSpecV1Alpha1(ManagedClusterAddOnSpec, frozen=True):
    install_namespace: str | None = None


class ConfigType(Record, frozen=True):
    resource: Text
    group: str = ""


class ManagedClusterAddOnStatus(Record, frozen=True):
    supported_configs: list[ConfigType] | None = None
