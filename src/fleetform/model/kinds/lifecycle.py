"""When things may change: lifecycle policies, rollout policies, windows, and what Fleetform writes about rollouts."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from fleetform.model.kinds.base import (
    ChangeId,
    ClusterSelectors,
    Duration,
    Name,
    Natural,
    People,
    PercentOrCount,
    Record,
    Time,
    TimeOfDay,
    doc,
)
from fleetform.model.kinds.definition import Support


class Emergency(Record, frozen=True):
    """What an emergency change needs."""

    approvals: Annotated[int, doc("How many people must approve.", ge=0)] = 1


class LifecyclePolicySpec(Record, frozen=True):
    """Ceilings of the platform, or an organization's choices below them."""

    revision_history: Annotated[Natural | None, doc("How many unused revisions are kept.")] = None
    notice: Annotated[Duration | None, doc("How long before anything starts it is announced.")] = None
    grace: Annotated[Duration | None, doc("How long a breaking change waits for acknowledgement.")] = None
    force_after: Annotated[Duration | None, doc("When it is forced; absent: never.")] = None
    max_soak: Annotated[Duration | None, doc("The longest soak a stage may ask for.")] = None
    max_stage_wait: Annotated[Duration | None, doc("The longest wait a stage may ask for.")] = None
    require_update_window: Annotated[bool | None, doc("A preset that no window reaches is an error.")] = None
    emergency: Annotated[Emergency | None, doc("What an emergency change needs.")] = None
    max_deletes: Annotated[
        PercentOrCount | None, doc("How many plugins one change may delete unapproved; a share: at least 3.")
    ] = None
    support: Annotated[list[Support] | None, doc("Which versions are supported.")] = None
    max_unreachable: Annotated[PercentOrCount | None, doc("Above it no new stage starts.")] = None
    unreachable_after: Annotated[Duration | None, doc("When a silent cluster counts as unreachable.")] = None


class StageApprovals(Record, frozen=True):
    """Who must agree before a stage starts."""

    required: Annotated[int, doc("How many people.", ge=0)]
    from_: Annotated[People | None, doc("Which people; absent: the organization's approvers.")] = msgspec.field(
        name="from", default=None
    )
    not_author: Annotated[bool, doc("The author of the change does not count.")] = True


class Stage(Record, frozen=True):
    """A group of clusters that change together: one of clusterSelector and remainder."""

    name: Annotated[Name, doc("The stage's name.")]
    cluster_selector: Annotated[ClusterSelectors | None, doc("Which clusters.")] = None
    remainder: Annotated[bool, doc("All clusters that no other stage selects.")] = False
    max_concurrency: Annotated[PercentOrCount | None, doc("How many at once; rounds up, at least 1.")] = None
    max_failures: Annotated[PercentOrCount | None, doc("How many may fail; rounds down.")] = None
    min_success_time: Annotated[Duration | None, doc("How long each must stay healthy.")] = None
    deadline: Annotated[Duration | None, doc("How long each may take.")] = None
    approvals: Annotated[StageApprovals | None, doc("Who must agree first.")] = None
    wait_before: Annotated[Duration | None, doc("How long to wait before it starts.")] = None


Trigger = Literal["version", "values", "configs", "bindings"]


class RolloutPolicySpec(Record, frozen=True):
    """How a change moves over the clusters."""

    stages: Annotated[list[Stage] | None, doc("In order; a cluster belongs to the first that selects it.")] = None
    on_failure: Annotated[Literal["Halt", "Rollback", "Continue"] | None, doc("What happens on failure.")] = None
    supersede: Annotated[Literal["Queue", "Replace"] | None, doc("What a newer target does to a running one.")] = None
    max_failures: Annotated[PercentOrCount | None, doc("Over the whole rollout.")] = None
    trigger: Annotated[list[Trigger] | None, doc("Which kinds of change are staged.")] = None


Day = Literal["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]


class UpdateWindowSpec(Record, frozen=True):
    """When changes may start, or must not: schedule, or from/to, or days and start."""

    type: Annotated[Literal["Allow", "SoftFreeze", "HardFreeze"], doc("Opens, or closes.")]
    schedule: Annotated[str | None, doc("A cron expression for the start.")] = None
    from_: Annotated[Time | None, doc("The first instant.")] = msgspec.field(name="from", default=None)
    to: Annotated[Time | None, doc("The instant after the last.")] = None
    days: Annotated[list[Day] | None, doc("The days it starts on.")] = None
    start: Annotated[TimeOfDay | None, doc("The time of day.")] = None
    duration: Annotated[Duration | None, doc("How long it lasts.")] = None
    time_zone: Annotated[str | None, doc("Its clock; absent: the cluster's.")] = None
    cluster_selector: Annotated[ClusterSelectors | None, doc("Which clusters; absent: all.")] = None
    plugin_definition_names: Annotated[list[Name] | None, doc("Which definitions; absent: all.")] = None
    no_start_in_last: Annotated[Duration | None, doc("Nothing starts in its last part.")] = None
    jitter: Annotated[Duration | None, doc("Starts are spread over so much of its beginning.")] = None


class RolloutSpec(Record, frozen=True):
    """A change on its way, written by Fleetform."""

    change_id: Annotated[str | None, doc("What changes.")] = None
    preset: Annotated[Name | None, doc("Whose plugins.")] = None


class PluginStateSpec(Record, frozen=True):
    """A whole admitted or last healthy state, written by Fleetform; not used on Kubernetes, where Secrets hold it."""

    input_hash: Annotated[str | None, doc("Its hash.")] = None
    state: Annotated[dict[str, Any] | None, doc("The state, secrets by reference.")] = None


class ApprovalSpec(Record, frozen=True):
    """A person's consent to one stage of one change."""

    rollout: Annotated[Name, doc("Which rollout.")]
    stage: Annotated[Name, doc("Which stage.")]
    change_id: Annotated[ChangeId, doc("Which change; not shortened.")]
    user: Annotated[str | None, doc("Who.")] = None
    groups: Annotated[
        list[str] | None, doc("Groups of the user that count; only on Kubernetes, where admission checks them.")
    ] = None
    comment: Annotated[str | None, doc("Why.")] = None
