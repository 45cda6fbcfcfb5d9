"""Open Cluster Management's objects as native ones, and what a native file cannot say of them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator

from fleetform.app.converting.native_files import is_native_kind, loss, native_name, selector_of_nothing
from fleetform.app.fleet import Fleet
from fleetform.engine.index.clusters import Cluster
from fleetform.model.answers.base import JsonMap
from fleetform.model.kinds import PLATFORM_NAMESPACE
from fleetform.model.kinds.definition import PluginDefinitionSpec
from fleetform.model.kinds.preset import PluginPresetSpec, PluginSpec
from fleetform.model.objects import Object
from fleetform.model.results.configs import Identity
from fleetform.model.results.decisions import PluginDecision
from fleetform.model.results.diagnostics import Diagnostic
from fleetform.syntax.names import generated_name

_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
_LONGEST = 253


class NativeConfigs:
    """Config objects as native manifests may name them: in the organization, by names that objects may have.

    Those that lie elsewhere, or are named otherwise, are written again as copies.
    """

    def __init__(self, fleet: Fleet) -> None:
        self._index = fleet.index.configs
        self.copies: dict[str, tuple[Object[object], JsonMap]] = {}
        self.copied: dict[Object[object], list[str]] = {}

    def reference(self, owner: Object[object], written: JsonMap) -> JsonMap:
        """A reference to a config, or the name of a default, as a native object of the owner's organization writes it.

        written has group and resource, too.
        """
        group, resource, name = written["group"], written["resource"], written["name"]
        namespace, organization = written.get("namespace") or "", owner.ref.organization
        near = namespace in ("", organization, PLATFORM_NAMESPACE)
        if near and _NAME.fullmatch(name) and len(name) <= _LONGEST:
            named = {"namespace": namespace} if namespace else {}
            return {"group": group, "resource": resource, "name": name, **named}
        copy = _name_of_copy(namespace, name)
        identity: Identity = (group, resource, namespace, name)
        config = self._index.find(identity)
        if config is not None and config.content is not None:
            metadata = {**config.content.get("metadata", {}), "name": copy, "namespace": organization}
            tree = {**config.content, "metadata": metadata}
            self.copies[f"{organization}/configs/{resource}-{copy}.yaml"] = (config, tree)
        self.copied.setdefault(owner, []).append(f"{namespace}/{name}".removeprefix("/"))
        return {"group": group, "resource": resource, "name": copy}


def _name_of_copy(namespace: str, name: str) -> str:
    plain = f"{namespace}-{name}".removeprefix("-")
    if _NAME.fullmatch(plain) and len(plain) <= _LONGEST and "-" not in namespace:
        return plain
    # Two texts must not become one name.
    digest = hashlib.sha256(f"{namespace}/{name}".encode()).hexdigest()[:8]
    readable = re.sub(r"[^-a-z0-9.]+", "-", plain.lower()).strip("-.")[:200].rstrip("-.")
    return f"{readable}-{digest}" if readable else digest


def native_from_ocm(fleet: Fleet, object_: Object[object], tree: JsonMap, configs: NativeConfigs) -> JsonMap:
    """The tree with names that a native file can bear, and a preset's clusters written down as they are now."""
    name, spec = native_name(object_.ref), object_.spec
    if isinstance(spec, PluginSpec) and spec.preset_ref is not None and spec.cluster_name is not None:
        # Beside a preset it bears the name that the preset gives it.
        name = generated_name(spec.preset_ref.name, spec.cluster_name)
    tree["metadata"] |= {"name": name, "namespace": object_.ref.organization}
    if isinstance(spec, PluginDefinitionSpec):
        _write_types(fleet, object_, tree["spec"], configs)
    if isinstance(spec, PluginSpec):
        _write_references(object_, tree["spec"], configs)
    if isinstance(spec, PluginPresetSpec):
        _write_clusters(fleet, object_, spec, tree, configs)
    return tree


def is_what_runs(fleet: Fleet, object_: Object[object]) -> bool:
    """Whether a ManagedClusterAddOn says nothing of its own: the hub made it where a placement chose (S65)."""
    spec = object_.spec
    if object_.dialect != "ocm" or not isinstance(spec, PluginSpec) or spec.preset_ref is None or spec.configs:
        return False
    preset = fleet.index.preset(object_.ref.organization, spec.preset_ref.name)
    return preset is not None and preset.conventions.placed_by_groups


def _write_references(object_: Object[object], holder: JsonMap, configs: NativeConfigs) -> None:
    if "configs" in holder:
        holder["configs"] = [configs.reference(object_, each) for each in holder["configs"]]


def _write_types(fleet: Fleet, definition: Object[object], spec: JsonMap, configs: NativeConfigs) -> None:
    """All types of configs that somebody names for an add-on: natively a definition says which it takes (R1-13)."""
    types = {(each["group"], each["resource"]): each for each in spec.get("configs", ())}
    for each in types.values():
        if "default" in each:
            reference = configs.reference(definition, {**each, **each["default"]})
            each["default"] = {key: text for key, text in reference.items() if key in ("name", "namespace")}
    for group, resource in sorted(_types_named(fleet, definition) - types.keys()):
        types[group, resource] = {"group": group, "resource": resource}
    if types:
        spec["configs"] = list(types.values())


def _types_named(fleet: Fleet, definition: Object[object]) -> set[tuple[str, str]]:
    organization, name = definition.ref.organization, definition.ref.name
    found: set[tuple[str, str]] = set()
    for preset in fleet.snapshot.presets.values():
        if preset.ref.organization == organization and preset.dialect == "ocm" and preset.ref.name == name:
            found |= {(each.group, each.resource) for group in preset.spec.groups or () for each in group.configs or ()}
    for plugin in fleet.snapshot.plugins.values():
        ref = plugin.spec.preset_ref
        if plugin.ref.organization == organization and ref is not None and ref.name == name:
            found |= {(each.group, each.resource) for each in plugin.spec.configs or ()}
    return found


def _write_clusters(
    fleet: Fleet, object_: Object[object], spec: PluginPresetSpec, tree: JsonMap, configs: NativeConfigs
) -> None:
    """The clusters of a preset and of its groups, by name: there the last placement counts whole (R1-17)."""
    plugins = [each for each in fleet.decisions.plugins.values() if each.target.owner is object_]
    written = tree["spec"]
    tree["spec"] = {"clusterSelector": _names(plugins), **written}
    groups_of = {each.cluster.ref.name: _groups_on(fleet, object_, each.cluster) for each in plugins}
    groups = []
    for group, trees in zip(spec.groups or (), written.get("groups", ()), strict=True):
        inside = [each for each in plugins if group.name in groups_of[each.cluster.ref.name]]
        _write_references(object_, trees, configs)
        trees.pop("placement", None)
        groups.append({**trees, "name": group.name.replace("/", "-"), "clusterSelector": _names(inside)})
    if groups:
        tree["spec"]["groups"] = groups


def _groups_on(fleet: Fleet, preset: Object[object], cluster: Cluster) -> list[str]:
    selected = (each for each in fleet.index.owners_on(cluster) if each.owner.object is preset)
    return [group.name for each in selected for group in each.groups]


def _names(plugins: list[PluginDecision]) -> JsonMap:
    names = sorted(each.cluster.ref.name for each in plugins)
    return {"clusterNames": names} if names else selector_of_nothing()


def ocm_losses(fleet: Fleet, configs: NativeConfigs) -> Iterator[Diagnostic]:
    """What means something else in native files, object by object."""
    for object_ in fleet.snapshot.objects:
        if object_.dialect != "ocm":
            continue
        ref = object_.ref
        if not is_native_kind(object_):
            message = f"{ref.kind} {ref.name} has no native counterpart"
            yield loss(object_, message, "placements keep the names of their sets, which labels on clusters give")
        elif ref.kind == "PluginPreset":
            message = "its clusters are written by name, as its placements choose them now"
            yield loss(object_, message, "name one placement in spec.placement to have it follow")
        names = sorted(set(configs.copied.get(object_, ())))
        if names:
            message = f"native manifests cannot name its configs {', '.join(names)}"
            yield loss(object_, f"{message}: copies are written", f"edit the copies in {ref.organization} from now on")
