"""What manifests mean where systems differ.

A dialect sets it on the objects it makes; the engine asks for nothing else, and for no system by its name.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

# How `$(NAME)` is escaped and what is built in: as here, or as in Kubernetes' own fields.
VariableSyntax = Literal["native", "kubernetes"]


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
    brings_variables: a Plugin may bring values of built-in variables along.
    preset_kind: what its manifests call a preset.
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
    brings_variables: bool = False
    preset_kind: str = "preset"


NATIVE = Conventions()
LENIENT = Conventions(lenient=True)
