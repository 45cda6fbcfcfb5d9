"""From objects to layers and items: what each object says, in the form that the stages read.

Everything here is made once per object and shared by all decisions. What cannot be read is left out: validation says
so, with its place.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from msgspec import UNSET, Struct

from fleetform.engine.bindings.compile import Program, in_force, substitutions
from fleetform.engine.configs.references import references_of
from fleetform.model.kinds.base import OptionValue, OptionValues
from fleetform.model.kinds.definition import ConfigMode, Option, PluginDefinitionSpec
from fleetform.model.kinds.preset import (
    ClusterOptionOverride,
    DefinitionRef,
    OverrideItem,
    PluginOverrideSpec,
    PluginPresetSpec,
    PluginSpec,
    Upgrades,
)
from fleetform.model.objects import Object, Path
from fleetform.model.results.configs import ConfigReference
from fleetform.model.results.decisions import Item, Layer, Revision, Steps, Strategy
from fleetform.syntax.option_paths import PathError, normal_form, parse_path
from fleetform.syntax.ranges import RangeError, parse_range
from fleetform.syntax.selectors import Matchers, SelectorError, compile_clusters, names_clusters
from fleetform.syntax.times import parse_time
from fleetform.syntax.versions import VersionError, parse_version

Block = tuple[Path, ClusterOptionOverride]


class Override(Struct, frozen=True, eq=False):
    """A PluginOverride, ready to be applied."""

    object: Object[PluginOverrideSpec]
    layer: Layer
    items: tuple[Item, ...]
    matchers: Matchers
    definitions: frozenset[str]
    allow_undeclared: bool

    @property
    def order(self) -> tuple[Any, ...]:
        """Application order: by rank, then the oldest first; no stamp is newest; equal times by name (R0-11, B7)."""
        created = self.layer.created
        return (self.layer.rank, created is None, created or _NO_TIME, self.object.ref.name)


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
    placement: str | None = None
    configs: tuple[ConfigReference, ...] = ()
    config_mode: ConfigMode | None = None
    groups_are_homes: bool = False
    program: Program | None = None
    substitute: dict[str, Any] = {}

    @property
    def pin(self) -> str | None:
        """The exact version that it names, if it does."""
        try:
            return parse_range(self.wanted).exact if self.wanted is not None else None
        except RangeError:
            return None


_NO_TIME = parse_time("1970-01-01")


def override_layer(object_: Object[PluginOverrideSpec]) -> Override:
    spec = object_.spec
    matchers = safe_matchers(spec.cluster_selector)
    definitions = frozenset(spec.plugin_definition_names or ())
    rank = 1 + names_clusters(matchers) + bool(definitions)
    layer = Layer("override", rank, object_, _scope(names_clusters(matchers), bool(definitions)), object_.created)
    items = tuple(_override_items(layer, spec.overrides))
    return Override(object_, layer, items, matchers, definitions, spec.allow_undeclared)


def _scope(clusters: bool, definitions: bool) -> str:
    if clusters and definitions:
        return "cluster and definition"
    return "cluster" if clusters else "definition" if definitions else "organization"


def _override_items(layer: Layer, written: list[OverrideItem]) -> Iterator[Item]:
    for index, item in enumerate(written):
        yield from _item(layer, item.path, item, ("spec", "overrides"), index, item.strategy or "Replace")


def values_items(layer: Layer, values: OptionValues | None, collection: Path) -> tuple[Item, ...]:
    """The items of an optionValues field, as a list or as a map."""
    items: list[Item] = []
    if isinstance(values, dict):
        # By name: the order of a map's keys must not decide anything.
        for name, value in sorted(values.items()):
            items += _item(layer, name, OptionValue(name, value), collection, name)
    else:
        for index, each in enumerate(values or ()):
            items += _item(layer, each.name, each, collection, index)
    return tuple(items)


def _item(
    layer: Layer,
    name: str,
    written: OptionValue | OverrideItem,
    collection: Path,
    index: str | int,
    strategy: Strategy = "Replace",
) -> tuple[Item, ...]:
    """The item, or nothing where there is no path or value to speak of."""
    try:
        steps = parse_path(name)
    except PathError:
        return ()
    if strategy == "Remove":
        return (Item(layer, name, steps, collection, index, strategy="Remove"),)
    if written.value is not UNSET and written.value is not None:
        return (Item(layer, name, steps, collection, index, written.value, None, None, strategy),)
    if written.value_from is not None and written.value_from.secret is not None:
        return (Item(layer, name, steps, collection, index, secret=written.value_from.secret, strategy=strategy),)
    if written.expression is not None:
        return (Item(layer, name, steps, collection, index, expression=written.expression, strategy=strategy),)
    return ()


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
        object_.dialect in ("greenhouse", "ocm"),
        _acknowledged(spec.upgrades),
        _is_of_platform(spec.plugin.plugin_definition),
        spec.placement.name if spec.placement is not None else None,
        references_of(object_, spec.plugin.configs, ("spec", "plugin", "configs"), 2),
        spec.config_mode,
        # There an add-on is where its placements are, and the last one that chooses a cluster counts whole.
        object_.dialect == "ocm",
        *_names(object_),
    )


def _names(object_: Object[Any]) -> tuple[Program | None, dict[str, Any]]:
    """What binds an owner's names, where there is a section of bindings; and its variables where there is none."""
    if in_force(object_):
        return Program(object_), {}
    return None, {name: value for name, _, value in substitutions(object_)}


def _is_of_platform(written: DefinitionRef | str | None) -> bool:
    """Greenhouse tells its cluster-wide definitions from an organization's own; here those are the platform's."""
    return isinstance(written, DefinitionRef) and written.kind == "ClusterPluginDefinition"


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
        object_.dialect == "greenhouse",
        _acknowledged(spec.upgrades),
        _is_of_platform(spec.plugin_definition),
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


def revision_of(object_: Object[PluginDefinitionSpec]) -> Revision:
    options: dict[Steps, Option] = {}
    for option in object_.spec.options or []:
        try:
            options.setdefault(parse_path(option.name), option)
        except PathError:
            continue
    version = str(parse_version(object_.spec.version))
    layer = Layer("default", 0, object_, version)
    forms = {normal_form(steps): option for steps, option in options.items()}
    return Revision(object_, version, options, layer, forms)


def default_items(revision: Revision) -> dict[Steps, Item]:
    """The defaults of a revision; computed from it at each pass, never stamped anywhere (R2-16)."""
    items: dict[Steps, Item] = {}
    for index, option in enumerate(revision.object.spec.options or []):
        if option.default is UNSET or option.default is None:
            continue
        try:
            steps = parse_path(option.name)
        except PathError:
            continue
        collection = ("spec", "options", index)
        items.setdefault(steps, Item(revision.default_layer, option.name, steps, collection, "default", option.default))
    return items


def safe_matchers(selector: Any) -> Matchers:
    """A selector that cannot be read selects nothing; validation says why."""
    try:
        return compile_clusters(selector)
    except SelectorError:
        return ()


def has_expired(spec: PluginOverrideSpec, at: datetime) -> bool:
    if spec.expires is None:
        return False
    try:
        return parse_time(spec.expires) <= at
    except ValueError:
        return False
