"""What manifests mean where systems differ.

A dialect sets it on the objects it makes; the engine asks for nothing else, and for no system by its name.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

# How `$(NAME)` is escaped and what is built in: as here, or as in Kubernetes' own fields.
VariableSyntax = Literal["native", "kubernetes"]


class InjectedValues(Struct, frozen=True, kw_only=True):
    """Values that a system itself puts into every plugin, over all others; expressions may read them, too.

    at is where they go; the others are names below it: of the organization, of the cluster, of a map of the cluster's
    labels with a prefix, and of the owner's label owner_label. constants is what else is known.
    """

    at: tuple[str, ...]
    organization: str
    cluster: str
    labels: str
    label_prefix: str
    owner: str
    owner_label: str
    constants: dict[str, str] = {}


class Conventions(Struct, frozen=True, kw_only=True):
    """The conventions of one system.

    lenient: what is odd in its manifests is a warning, as the system itself accepts it.
    passes_undeclared: values of options that no revision declares reach the renderer.
    unversioned: its definitions have no versions of their own, and may change under one.
    selector_optional: a preset may say nothing about clusters.
    cluster_optional: a Plugin without a cluster runs where the system itself runs.
    placed_by_groups: a preset is where the placements of its groups are; the last one that chooses a cluster counts.
    placed_by_plugins: a preset is where a Plugin stands beside it.
    named_by_cluster: a Plugin beside a preset is found by its cluster, whatever its name.
    release_after_chart: a release is named after its chart, and lies in the organization's namespace.
    configs_anywhere: a config may lie in any namespace, and without one in none.
    any_config: configs of types that the definition does not name count, too.
    sets_are_bound: a placement sees the cluster sets that are bound to its namespace.
    variables: how it writes variable references.
    reads_own_namespace: bindings look for objects in the manifest's own namespace first.
    own_namespace: a preset selects clusters of its own namespace only, if clusters have this convention, too.
    by_name_only: nobody described such a cluster: presets of its system do not select it, what names it is there.
    brings_variables: a Plugin may bring values of built-in variables along.
    own_kinds: what its manifests call a native kind, if it has another name there.
    definitions_by_kind: a reference to a PluginDefinition is to the organization's own, never to the platform's.
    takes_prereleases: a definition that has no stable version is used without being named.
    refuses_plain_secrets: a secret in plain text is an error.
    made_by_system: the system wrote the object itself: it is what runs, and not what somebody wants (S65).
    injected: values that the system adds by itself.
    """

    lenient: bool = False
    passes_undeclared: bool = False
    unversioned: bool = False
    selector_optional: bool = False
    cluster_optional: bool = False
    placed_by_groups: bool = False
    placed_by_plugins: bool = False
    named_by_cluster: bool = False
    release_after_chart: bool = False
    configs_anywhere: bool = False
    any_config: bool = False
    sets_are_bound: bool = False
    variables: VariableSyntax = "native"
    reads_own_namespace: bool = False
    own_namespace: bool = False
    by_name_only: bool = False
    brings_variables: bool = False
    own_kinds: dict[str, str] = {}
    definitions_by_kind: bool = False
    takes_prereleases: bool = False
    refuses_plain_secrets: bool = False
    made_by_system: bool = False
    injected: InjectedValues | None = None


NATIVE = Conventions()
LENIENT = Conventions(lenient=True)
