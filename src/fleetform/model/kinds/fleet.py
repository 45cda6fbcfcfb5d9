"""The fleet: organizations and clusters."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fleetform.model.kinds.base import (
    ClusterRole,
    Delivery,
    Duration,
    Name,
    Natural,
    People,
    Record,
    SecretKey,
    SecretRef,
    Text,
    Time,
    doc,
)


class Role(Record, frozen=True):
    """Who may do what in an organization."""

    role: Annotated[ClusterRole, doc("The role.")]
    users: Annotated[list[str] | None, doc("User names.")] = None
    groups: Annotated[list[str] | None, doc("Group names.")] = None


class Person(Record, frozen=True):
    """Joins a person's git e-mails, OS users and tokens."""

    name: Annotated[str, doc("The name shown.")]
    emails: Annotated[list[str] | None, doc("E-mails in git commits.")] = None
    subjects: Annotated[list[str] | None, doc("OS users and token subjects.")] = None


class Quota(Record, frozen=True):
    """Limits of an organization."""

    plugins: Annotated[Natural | None, doc("The most plugins it may run.")] = None


class WebhookTarget(Record, frozen=True):
    """An HTTP endpoint that receives events."""

    url: Annotated[str, doc("Its address.", pattern="^https?://")]
    secret_ref: Annotated[
        SecretRef | None,
        doc("A Secret with the key that signs what is sent under `secret`, and one before it under `previous`."),
    ] = None


class SlackTarget(Record, frozen=True):
    """A Slack channel that receives events."""

    channel: Annotated[str | None, doc("The channel; a hook has its own.")] = None
    secret_ref: Annotated[
        SecretRef | None, doc("A Secret with `url`, the address of an incoming webhook, or `token`, a bot's token.")
    ] = None


Event = Literal[
    "UpdatePending",
    "Blocked",
    "ApprovalNeeded",
    "Countdown",
    "Forced",
    "Started",
    "Failed",
    "Halted",
    "RolledBack",
    "Finished",
]


class Notification(Record, frozen=True):
    """Where events are sent; exactly one of webhook and slack."""

    webhook: Annotated[WebhookTarget | None, doc("By HTTP.")] = None
    slack: Annotated[SlackTarget | None, doc("To Slack.")] = None
    events: Annotated[list[Event] | None, doc("Which events; absent: all.")] = None


class OrganizationSpec(Record, frozen=True):
    """The people and defaults of a namespace."""

    default_rollout_policy: Annotated[Name | None, doc("For presets that name none.")] = None
    default_update_windows: Annotated[list[Name] | None, doc("For presets that name none.")] = None
    default_delivery: Annotated[Delivery | None, doc("For presets that name none.")] = None
    approvers: Annotated[People | None, doc("Who may approve.")] = None
    roles: Annotated[list[Role] | None, doc("Who may do what.")] = None
    people: Annotated[list[Person] | None, doc("Who is who.")] = None
    quota: Annotated[Quota | None, doc("Limits.")] = None
    notifications: Annotated[list[Notification] | None, doc("Where events go.")] = None


class Taint(Record, frozen=True):
    """Keeps placements away unless they tolerate it."""

    key: Annotated[str, doc("The taint's key.")]
    effect: Annotated[Literal["NoSelect", "NoSelectIfNew", "PreferNoSelect"], doc("What it keeps away.")]
    value: Annotated[str | None, doc("The taint's value.")] = None
    time_added: Annotated[Time | None, doc("Since when.")] = None


class KubeconfigAccess(Record, frozen=True):
    """A kubeconfig kept in a Secret."""

    secret: Annotated[SecretKey, doc("Where it is kept.")]


class Access(Record, frozen=True):
    """How the cluster is reached: one of its fields."""

    kubeconfig: Annotated[KubeconfigAccess | None, doc("By kubeconfig.")] = None
    context: Annotated[str | None, doc("By a context of the local kubeconfig.")] = None
    directory: Annotated[str | None, doc("A folder that stands for the cluster.")] = None


class AssumedHealth(Record, frozen=True):
    """Healthy some time after delivery."""

    after: Annotated[Duration | None, doc("How long after.")] = None


class ClusterHealth(Record, frozen=True):
    """How health is judged where delivery cannot tell: one of its fields."""

    assume: Annotated[AssumedHealth | None, doc("Take it as healthy.")] = None
    file: Annotated[str | None, doc("Read it from a file.")] = None
    command: Annotated[str | None, doc("Ask a command of the health folder.")] = None


class ClusterSpec(Record, frozen=True):
    """One cluster of an organization."""

    time_zone: Annotated[str | None, doc("Update windows follow this clock unless they name a zone.")] = None
    facts: Annotated[dict[str, Any] | None, doc("Any tree of facts; expressions and bindings read it.")] = None
    taints: Annotated[list[Taint] | None, doc("Keep placements away.")] = None
    access: Annotated[Access | None, doc("How it is reached.")] = None
    hold: Annotated[Text | None, doc("Why nothing may start here now.")] = None
    health: Annotated[ClusterHealth | None, doc("How health is judged where delivery cannot tell.")] = None
