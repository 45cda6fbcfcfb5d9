"""Owners: presets and hand-made Plugins, ready to be applied, with their groups and blocks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Struct

from fleetform.engine.bindings.compile import Program, binds_variables, substitutions
from fleetform.engine.configs.references import references_of
from fleetform.engine.layers.items import values_items
from fleetform.model.kinds.definition import ConfigMode
from fleetform.model.kinds.preset import (
    ClusterOptionOverride,
    DefinitionRef,
    PluginPresetSpec,
    PluginSpec,
    Upgrades,
)
from fleetform.model.objects import Object, Path
from fleetform.model.results.configs import ConfigReference
from fleetform.model.results.decisions import Item, Layer, Revision
from fleetform.syntax.ranges import RangeError, parse_range
from fleetform.syntax.selectors import Matchers, safe_matchers
from fleetform.syntax.versions import VersionError, parse_version

Block = tuple[Path, ClusterOptionOverride]


class Group(Struct, frozen=True, eq=False):
    """A preset's group; its clusters are those of its selector, or of a placement."""

    name: str
    items: tuple[Item, ...]
    matchers: Matchers
    placement: str | None = None
    configs: tuple[ConfigReference, ...] = ()


class Owner(Struct, frozen=True, eq=False):
    """A preset or a hand-made Plugin, ready to be applied."""

    object: Object[Any]
    definition: str
    wanted: str | None
    release_name: str | None
    release_namespace: str | None
    matchers: Matchers
    items: tuple[Item, ...]
    groups: tuple[Group, ...]
    blocks: dict[str, list[Block]]
    passes_undeclared: bool
    acknowledged: tuple[tuple[str, Matchers], ...] = ()
    of_platform: bool = False
    own_definition: bool = False
    placement: str | None = None
    configs: tuple[ConfigReference, ...] = ()
    config_mode: ConfigMode | None = None
    program: Program | None = None
    substitute: dict[str, Any] = {}
    group_lists: dict[tuple[Group, ...], tuple[Group, ...]] = {}

    @property
    def by_hand(self) -> bool:
        """A Plugin that somebody wrote: a preset of one."""
        return self.object.ref.kind == "Plugin"

    @property
    def cluster(self) -> str:
        """The cluster that a Plugin names."""
        return self.object.spec.cluster_name or "" if self.by_hand else ""

    @property
    def placed_by_groups(self) -> bool:
        """Where it is depends on the placements of its groups alone."""
        return self.object.conventions.placed_by_groups and not self.by_hand

    @property
    def placed_by_plugins(self) -> bool:
        """Where it is depends on the Plugins beside it alone."""
        return self.object.conventions.placed_by_plugins and not self.by_hand

    def may_select(self, cluster: Object[Any]) -> bool:
        """Whether a cluster is within reach: in some systems both have a namespace, which must be the same, and
        somebody must have described the cluster."""
        if self.by_hand or not (self.object.conventions.own_namespace and cluster.conventions.own_namespace):
            return True
        return cluster.namespace == self.object.namespace and not cluster.conventions.by_name_only

    @property
    def placements(self) -> list[str]:
        """The placements that decide where its plugins are, or which groups they are in."""
        return [name for name in (self.placement, *(each.placement for each in self.groups)) if name is not None]

    def release(self, revision: Revision | None) -> tuple[str, str]:
        """The namespace and the name of its release; by default both are the definition's name (S8)."""
        name, namespace = self.definition, self.definition
        if self.object.conventions.release_after_chart:
            helm = revision.object.spec.source.helm if revision is not None and revision.object.spec.source else None
            name, namespace = helm.chart if helm is not None else name, self.object.ref.organization
        return self.release_namespace or namespace, self.release_name or name

    def shared_groups(self, groups: Iterable[Group]) -> tuple[Group, ...]:
        """Groups as one tuple for all clusters that are in the same ones, so that what follows is found by it."""
        found = tuple(groups)
        return self.group_lists.setdefault(found, found) if found else ()

    @property
    def pin(self) -> str | None:
        """The exact version that it names, if it does."""
        try:
            return parse_range(self.wanted).exact if self.wanted is not None else None
        except RangeError:
            return None


def preset_owner(object_: Object[PluginPresetSpec]) -> Owner:
    spec = object_.spec
    definition, wanted = definition_of(spec.plugin.plugin_definition, spec.plugin.plugin_definition_version)
    layer = Layer("preset", 0, object_)
    return Owner(
        object_,
        definition,
        wanted,
        spec.plugin.release_name,
        spec.plugin.release_namespace,
        safe_matchers(spec.cluster_selector) if spec.cluster_selector is not None else (),
        values_items(layer, spec.plugin.option_values, ("spec", "plugin", "optionValues")),
        tuple(_groups(object_)),
        _blocks(spec),
        object_.conventions.passes_undeclared,
        _acknowledged(spec.upgrades),
        *_definition_home(object_, spec.plugin.plugin_definition),
        spec.placement.name if spec.placement is not None else None,
        references_of(object_, spec.plugin.configs, ("spec", "plugin", "configs"), 2),
        spec.config_mode,
        *_names(object_),
    )


def _names(object_: Object[Any]) -> tuple[Program | None, dict[str, Any]]:
    """What binds an owner's names, where there is a section of bindings; and its variables where there is none."""
    if binds_variables(object_):
        return Program(object_), {}
    return None, {name: value for name, _, value in substitutions(object_)}


def _definition_home(object_: Object[Any], written: DefinitionRef | str | None) -> tuple[bool, bool]:
    """Whether a definition is the platform's, and whether it is the organization's own; neither says: either one."""
    kind = written.kind if isinstance(written, DefinitionRef) else None
    own = object_.conventions.definitions_by_kind and kind == "PluginDefinition"
    return kind == "ClusterPluginDefinition", own


def _groups(object_: Object[PluginPresetSpec]) -> Iterator[Group]:
    for index, group in enumerate(object_.spec.groups or []):
        if group.cluster_selector is None and group.placement is None:
            continue
        layer = Layer("group", 0, object_, group.name)
        path: Path = ("spec", "groups", index)
        yield Group(
            group.name,
            values_items(layer, group.option_values, (*path, "optionValues")),
            safe_matchers(group.cluster_selector) if group.cluster_selector is not None else (),
            group.placement.name if group.placement is not None else None,
            references_of(object_, group.configs, (*path, "configs"), 2, group.name),
        )


def _blocks(spec: PluginPresetSpec) -> dict[str, list[Block]]:
    blocks: dict[str, list[Block]] = {}
    for name, written in (
        ("clusterOptionOverrides", spec.cluster_option_overrides),
        ("clusterOverrides", spec.cluster_overrides),
    ):
        for index, block in enumerate(written or []):
            if block.overrides:
                blocks.setdefault(block.cluster_name, []).append((("spec", name, index, "overrides"), block))
    return blocks


def block_items(object_: Object[PluginPresetSpec], blocks: list[Block]) -> tuple[Item, ...]:
    """A cluster's own values in a preset: all blocks apply, in order (R0-13)."""
    items: tuple[Item, ...] = ()
    for place, block in blocks:
        items += values_items(Layer("cluster", 0, object_, block.cluster_name), block.overrides, place)
    return items


def plugin_owner(object_: Object[PluginSpec]) -> Owner:
    """A hand-made Plugin is a preset of one."""
    spec = object_.spec
    program, substitute = _names(object_)
    definition, wanted = definition_of(spec.plugin_definition or "", spec.plugin_definition_version)
    return Owner(
        object_,
        definition,
        wanted,
        spec.release_name,
        spec.release_namespace,
        (),
        instance_items(object_),
        (),
        {},
        object_.conventions.passes_undeclared,
        _acknowledged(spec.upgrades),
        *_definition_home(object_, spec.plugin_definition),
        configs=references_of(object_, spec.configs, ("spec", "configs"), 3),
        config_mode=spec.config_mode,
        program=program,
        substitute=substitute,
    )


def _acknowledged(upgrades: Upgrades | None) -> tuple[tuple[str, Matchers], ...]:
    """Versions that people said are fine, and where; a version that cannot be read is none."""
    found = []
    for each in (upgrades.acknowledged if upgrades is not None else None) or []:
        try:
            found.append((str(parse_version(each.version)), safe_matchers(each.cluster_selector)))
        except VersionError:
            continue
    return tuple(found)


def instance_items(object_: Object[PluginSpec]) -> tuple[Item, ...]:
    return values_items(Layer("instance", 0, object_), object_.spec.option_values, ("spec", "optionValues"))


def definition_of(written: DefinitionRef | str, version: str | None) -> tuple[str, str | None]:
    if isinstance(written, DefinitionRef):
        return written.name, written.version or version
    return written, version
