"""The words that recur: metadata, selectors, durations, references."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta


def doc(text: str, **constraints: Any) -> Meta:
    """A field's description, which reaches the JSON Schema, with constraints of its value."""
    return Meta(description=text, **constraints)


class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel", omit_defaults=True):
    """A part of a manifest: immutable, camelCase outside, unknown fields refused."""


Duration = Annotated[str, doc("A duration such as 90s, 30m, 24h or 14d.", pattern=r"^([0-9]+(s|m|h|d))+\Z")]
Count = Annotated[int, doc("A number of clusters.", ge=0)]
Percent = Annotated[str, doc("A share such as 25%.", pattern=r"^(100|[1-9]?[0-9])%\Z")]
PercentOrCount = Count | Percent
Time = Annotated[
    str,
    doc(
        "An RFC 3339 time, or a date (its first instant, UTC).",
        pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}"
        r"([Tt ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?([Zz]|[-+][0-9]{2}:[0-9]{2}))?$",
    ),
]
Name = Annotated[str, doc("A Kubernetes object name.", pattern=r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?\Z", max_length=253)]
ReleaseName = Annotated[
    str, doc("A Helm release name, at most 53 characters.", pattern=r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?\Z", max_length=53)
]
ChangeId = Annotated[str, doc("What changes, as a whole: a shortened one is none.", pattern=r"^c1:[0-9a-f]{64}\Z")]
Text = Annotated[str, Meta(min_length=1)]
Natural = Annotated[int, Meta(ge=0)]
TimeOfDay = Annotated[str, Meta(pattern=r"^([01][0-9]|2[0-3]):[0-5][0-9]\Z")]
Digest = Annotated[str, Meta(pattern=r"^sha256:[0-9a-f]{64}\Z")]
Choices = Annotated[list[Any], Meta(min_length=1)]
ClusterRole = Literal["viewer", "editor", "approver", "operator"]


class Metadata(Record, frozen=True):
    """Kubernetes object metadata; what only an API server writes is read and ignored."""

    name: Annotated[Name | None, doc("The object's name.")] = None
    namespace: Annotated[Name | None, doc("The organization it belongs to.")] = None
    labels: Annotated[dict[str, str] | None, doc("Labels; selectors match on a Cluster's.")] = None
    annotations: Annotated[
        dict[str, str] | None, doc("Annotations; fleetform.dev/created orders overrides of one rank.")
    ] = None
    creation_timestamp: Annotated[Time | None, doc("When it was created; the annotation goes first.")] = None
    generate_name: str | None = None
    uid: str | None = None
    resource_version: str | None = None
    generation: int | None = None
    deletion_timestamp: str | None = None
    deletion_grace_period_seconds: int | None = None
    finalizers: list[str] | None = None
    owner_references: list[dict[str, Any]] | None = None
    managed_fields: list[dict[str, Any]] | None = None
    self_link: str | None = None


class LabelRequirement(Record, frozen=True):
    """One expression of a label selector."""

    key: Annotated[str, doc("The label's key.")]
    operator: Annotated[Literal["In", "NotIn", "Exists", "DoesNotExist"], doc("How the value is compared.")]
    values: Annotated[list[str] | None, doc("The values, for In and NotIn.")] = None


class LabelSelector(Record, frozen=True):
    """A Kubernetes label selector: all of its parts must hold."""

    match_labels: Annotated[dict[str, str] | None, doc("Labels that must be equal.")] = None
    match_expressions: Annotated[list[LabelRequirement] | None, doc("Requirements that must hold.")] = None


class ClusterSelector(LabelSelector, frozen=True):
    """Which clusters: those of the labels and those named, less those ignored. {} is all of the organization."""

    label_selector: Annotated[LabelSelector | None, doc("Clusters by their labels.")] = None
    cluster_names: Annotated[list[Name] | None, doc("Clusters by name.")] = None
    ignore_clusters: Annotated[
        list[Name] | None, doc("Clusters left out whatever else selects them; alone: all but these.")
    ] = None


ClusterSelectors = ClusterSelector | list[ClusterSelector]


class NameRef(Record, frozen=True):
    """A reference to an object of the same organization."""

    name: Annotated[Name, doc("Its name.")]


class SecretKey(Record, frozen=True):
    """A key of a Secret of the same organization."""

    name: Annotated[Name, doc("The Secret's name.")]
    key: Annotated[str, doc("The key in its data.", min_length=1)]


class SecretRef(Record, frozen=True):
    """A Secret of the same organization, or one key of it."""

    name: Annotated[Name, doc("The Secret's name.")]
    key: Annotated[str | None, doc("The key in its data, if one value is meant.")] = None


class ValueFrom(Record, frozen=True):
    """Where a value is read from instead of being written down."""

    secret: Annotated[SecretKey | None, doc("A key of a Secret.")] = None


class OptionValue(Record, frozen=True):
    """One option and its value: exactly one of value, valueFrom and expression."""

    name: Annotated[str, doc("The option's name, or a path inside its value.", min_length=1)]
    value: Annotated[Any, doc("The value.")] = msgspec.UNSET
    value_from: Annotated[ValueFrom | None, doc("Where to read it from.")] = None
    expression: Annotated[Text | None, doc("CEL over cluster, organization and definition.")] = None


OptionValues = list[OptionValue] | dict[str, Any]


class People(Record, frozen=True):
    """Users and groups."""

    users: Annotated[list[str] | None, doc("User names.")] = None
    groups: Annotated[list[str] | None, doc("Group names.")] = None


Drift = Literal["Correct", "Report"]


class DirectoryDelivery(Record, frozen=True):
    """Manifests are written below a folder."""

    path: Annotated[str, doc("The folder, relative to the file that names it.")]
    drift: Annotated[Drift, doc("What to do about files that others changed or deleted.")] = "Correct"


class GitDelivery(Record, frozen=True):
    """Manifests are committed to a git repository."""

    url: Annotated[str, doc("The repository; a path is relative to this file.")]
    branch: Annotated[str | None, doc("The branch; default: main.")] = None
    path: Annotated[str | None, doc("The folder inside it.")] = None
    secret_ref: Annotated[
        SecretRef | None,
        doc("A Secret with the login: username and password, a token, or ssh-privatekey and known_hosts."),
    ] = None
    sign: Annotated[bool, doc("Sign commits.")] = False
    drift: Annotated[Drift, doc("What to do about files that others changed or deleted.")] = "Correct"


class KubernetesDelivery(Record, frozen=True):
    """Manifests are applied to the cluster."""

    drift: Annotated[Drift, doc("What to do about changes made by others.")] = "Correct"
    adopt: Annotated[bool, doc("Take over objects that exist already, also those of Helm releases.")] = False


class FluxDelivery(Record, frozen=True):
    """Flux objects are written, and Flux does the rest."""

    mode: Annotated[Literal["Hub", "Pull"], doc("Where Flux runs.")] = "Hub"
    namespace: Annotated[Name | None, doc("Where its objects go.")] = None
    prune: Annotated[bool, doc("A Kustomization removes what is no longer in its source.")] = True
    adopt: Annotated[bool, doc("Take over objects of Flux that exist already under these names.")] = False


class Delivery(Record, frozen=True):
    """How admitted states reach clusters: one of its fields."""

    directory: Annotated[DirectoryDelivery | None, doc("Into a folder.")] = None
    git: Annotated[GitDelivery | None, doc("Into a git repository.")] = None
    kubernetes: Annotated[KubernetesDelivery | None, doc("By server-side apply.")] = None
    flux: Annotated[FluxDelivery | None, doc("Through Flux.")] = None
