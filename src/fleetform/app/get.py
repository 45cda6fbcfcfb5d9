"""get: objects with what follows from them, in both directions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping

from msgspec import UNSET, UnsetType, structs
from semver import Version

from fleetform.app.addons import list_addons
from fleetform.app.answering.manifests import listed_object
from fleetform.app.answering.masks import masked
from fleetform.app.answering.options import applied
from fleetform.app.answering.plugins import config_status, reported_gates
from fleetform.app.answering.references import object_reference, reported
from fleetform.app.errors import NotFoundError
from fleetform.app.fleet import Fleet
from fleetform.app.placements import list_placements
from fleetform.app.revisions import list_revisions
from fleetform.app.scope import Scope
from fleetform.engine.desired import values_tree
from fleetform.engine.layers.overrides import has_expired, override_layer
from fleetform.engine.report.effects import Effects
from fleetform.engine.report.progress import summarize
from fleetform.model.answers.listing import (
    CatalogSourceStatus,
    CatalogStatus,
    ClusterStatus,
    Condition,
    DefinitionReference,
    DefinitionStatus,
    EffectiveValue,
    Listed,
    ListedCatalog,
    ListedCluster,
    ListedDefinition,
    ListedMetadata,
    ListedOverride,
    ListedPlugin,
    ListedPluginSpec,
    ListedPreset,
    ListedRevision,
    Listing,
    OverrideFinding,
    OverrideStatus,
    PluginStatus,
    PresetConflict,
    PresetPlugins,
    PresetProgress,
    PresetReference,
    PresetStatus,
    ReachedPlugin,
    SecretKeyReference,
    SecretValueSource,
)
from fleetform.model.kinds import API_VERSION, KINDS
from fleetform.model.kinds.preset import PluginPresetSpec
from fleetform.model.objects import Object
from fleetform.model.results.decisions import ABSENT, OptionDecision, PluginDecision, Secret
from fleetform.model.shape import did_you_mean
from fleetform.syntax.versions import parse_version


def get(fleet: Fleet, scope: Scope, plural: str, names: Iterable[str] = ()) -> Listing:
    """The objects of a kind with status, sorted; NotFoundError if a name is not among them."""
    items: list[Listed] = sorted(_GETTERS[plural](fleet, scope), key=_order)
    wanted = list(names)
    if wanted:
        found_names = [item.metadata.name for item in items]
        for name in wanted:
            if name not in found_names:
                hint = did_you_mean(name, found_names, f"see `fleetform get {plural}`")
                raise NotFoundError(f"{name} is not among the {plural} here", hint)
        items = [item for item in items if item.metadata.name in wanted]
    found = [each for each in fleet.object_findings if each.object is None or scope.offers(each.object)]
    return Listing(items=items, diagnostics=reported(found, fleet.input.locator))


def kinds() -> list[str]:
    return sorted(_GETTERS)


def _order(item: Listed) -> tuple[str, str, str, str, tuple[Version, ...]]:
    """By organization, kind, name and cluster; versions of a definition in their own order."""
    name, cluster, version = item.metadata.name, "", None
    if isinstance(item, ListedPlugin):
        cluster = item.spec.cluster_name
    elif isinstance(item, ListedRevision):
        version = item.spec.version
        name = name.removesuffix(f"-{version}")
    elif isinstance(item, ListedDefinition):
        version = item.spec["version"]
        name = name.removesuffix(f"-{version}")
    return item.metadata.namespace, item.kind, name, cluster, (parse_version(version),) if version else ()


# ---- Kinds


def _plugins(fleet: Fleet, scope: Scope) -> Iterator[ListedPlugin]:
    """Plugins in the native shape, whatever dialect they came from (S9), and those that another owner keeps out."""
    locator = fleet.input.locator
    for plugin in (*scope.plugins(fleet), *scope.contenders(fleet)):
        target, options, owner = plugin.target, plugin.options, plugin.target.owner
        spec = ListedPluginSpec(
            plugin_definition=DefinitionReference(name=target.definition, version=plugin.version or UNSET),
            cluster_name=plugin.cluster.ref.name,
            release_name=target.release_name,
            release_namespace=target.release_namespace,
            option_values=list(_effective(options)),
            preset_ref=PresetReference(name=owner.ref.name) if owner.ref.kind == "PluginPreset" else UNSET,
        )
        status = PluginStatus(
            version=plugin.version,
            input_hash=fleet.inputs.hash(plugin),
            values=masked(values_tree(options)),
            applied_overrides=applied(plugin, options),
            config_references=[config_status(each) for each in plugin.configs.effective],
            running=plugin.running,
            wanted=plugin.wanted_version,
            blocked=reported_gates(plugin.blocked_by, plugin, locator),
            waiting=reported_gates(plugin.waits, plugin, locator),
            conditions=[_resolved(plugin)],
            owner=object_reference(owner, locator),
        )
        metadata = ListedMetadata(name=plugin.name, namespace=plugin.organization)
        yield ListedPlugin(api_version=API_VERSION, kind="Plugin", metadata=metadata, spec=spec, status=status)


def _effective(options: Mapping[str, OptionDecision]) -> Iterator[EffectiveValue]:
    """The values that options have; secrets by reference."""
    for decision in options.values():
        value = decision.value
        if isinstance(value, Secret) and value.ref is not None:
            secret = SecretKeyReference(name=value.ref.name, key=value.ref.key)
            yield EffectiveValue(name=decision.name, value_from=SecretValueSource(secret=secret))
        elif value is not ABSENT:
            yield EffectiveValue(name=decision.name, value=masked(value))


def _resolved(plugin: PluginDecision) -> Condition:
    """Whether a plugin has all that it needs, by the first gate that says it has not."""
    for gate in (*plugin.blocked_by, *plugin.waits):
        reason = "".join(word.capitalize() for word in gate.gate.split("-"))
        return Condition(type="Resolved", status="False", reason=reason, message=gate.message)
    return Condition(type="Resolved", status="True", reason="Resolved", message="every option has a valid value")


def _clusters(fleet: Fleet, scope: Scope) -> Iterator[ListedCluster]:
    plugins = Counter(plugin.cluster for plugin in fleet.decisions.plugins.values())
    blocked = Counter(plugin.cluster for plugin in fleet.decisions.plugins.values() if plugin.blocked_by)
    for cluster in fleet.snapshot.clusters.values():
        if scope.holds_cluster(cluster.ref, cluster.labels):
            status = ClusterStatus(plugins=plugins[cluster], blocked=blocked[cluster])
            yield ListedCluster(**structs.asdict(listed_object(cluster)), status=status)


def _definitions(fleet: Fleet, scope: Scope) -> Iterator[ListedDefinition]:
    used = Counter(
        plugin.target.revision.object for plugin in scope.plugins(fleet) if plugin.target.revision is not None
    )
    for definition in fleet.snapshot.definitions.values():
        if scope.offers(definition.ref):
            status = DefinitionStatus(plugins=used[definition])
            yield ListedDefinition(**structs.asdict(listed_object(definition)), status=status)


def _presets(fleet: Fleet, scope: Scope) -> Iterator[ListedPreset]:
    plugins: dict[Object[object], list[PluginDecision]] = {}
    for plugin in scope.plugins(fleet):
        plugins.setdefault(plugin.target.owner, []).append(plugin)
    for preset in fleet.snapshot.presets.values():
        if scope.holds(preset.ref):
            status = _preset_status(fleet, preset, plugins.get(preset, []))
            yield ListedPreset(**structs.asdict(listed_object(preset, fleet.decisions.index)), status=status)


def _preset_status(fleet: Fleet, preset: Object[PluginPresetSpec], plugins: list[PluginDecision]) -> PresetStatus:
    versions = Counter(plugin.version or "none" for plugin in plugins)
    lost = [claim for claim in fleet.decisions.claims if claim.loses is preset]
    updated: int | UnsetType = UNSET
    progress: PresetProgress | UnsetType = UNSET
    if fleet.state.reached:
        wanted = ((each.key, fleet.inputs.hash(each.upgrade or each)) for each in plugins)
        summary = summarize(wanted, fleet.state.reached)
        updated = summary.updated
        progress = PresetProgress(
            total=summary.total, updating=summary.updating, failed=summary.failed, succeeded=summary.succeeded
        )
    return PresetStatus(
        plugins=PresetPlugins(
            total=len(plugins) + len(lost),
            blocked=sum(bool(plugin.blocked_by) for plugin in plugins) + len(lost),
            updated=updated,
        ),
        versions=dict(sorted(versions.items())),
        summary=progress,
        conflicts=[PresetConflict(cluster=each.cluster.ref.name, with_=each.keeps.ref.name) for each in lost] or UNSET,
    )


def _overrides(fleet: Fleet, scope: Scope) -> Iterator[ListedOverride]:
    effects, locator = Effects(fleet.decisions), fleet.input.locator
    tied: dict[Object[object], set[Object[object]]] = {}
    for tie in effects.ties():
        tied.setdefault(tie.winner.layer.object, set()).add(tie.loser.layer.object)
        tied.setdefault(tie.loser.layer.object, set()).add(tie.winner.layer.object)
    for override in fleet.snapshot.overrides.values():
        if not scope.holds(override.ref):
            continue
        expired = has_expired(override.spec, fleet.snapshot.at)
        reached = [] if expired else effects.plugins(override)
        findings: list[OverrideFinding] = []
        if expired:
            findings.append(OverrideFinding(finding="expired", at=override.spec.expires))
        elif not reached:
            findings.append(OverrideFinding(finding="dead"))
        elif effects.is_shadowed(override):
            findings.append(OverrideFinding(finding="shadowed"))
        for other in sorted(tied.get(override, ()), key=lambda each: each.ref):
            findings.append(OverrideFinding(finding="tie", with_=object_reference(other, locator)))
        plugins = [
            ReachedPlugin(organization=each.organization, cluster=each.cluster.ref.name, name=each.name)
            for each in reached
            if scope.holds_cluster(each.cluster.ref, each.cluster.labels)
        ]
        if plugins or not scope.narrowed:
            rank = override_layer(override).layer.rank
            status = OverrideStatus(rank=rank, plugins=plugins, findings=findings)
            yield ListedOverride(**structs.asdict(listed_object(override, fleet.decisions.index)), status=status)


def _catalogs(fleet: Fleet, scope: Scope) -> Iterator[ListedCatalog]:
    """Catalogs with what is known of each of their sources; those of the platform serve everybody."""
    for object_ in fleet.snapshot.others.values():
        if object_.ref.kind == "Catalog" and object_.spec is not None and scope.offers(object_.ref):
            readings = fleet.brought.sources.get(object_.ref, [])
            offered = {
                (each.document.tree.get("metadata") or {}).get("name")
                for reading in readings
                for each in reading.entries
                if not each.retired
            }
            sources = [
                CatalogSourceStatus(
                    source=reading.title,
                    revision=reading.revision or None,
                    versions=sum(not each.retired for each in reading.entries),
                    gone=sum(each.retired for each in reading.entries),
                    read_at=reading.read,
                    failed_since=reading.failed,
                    error=reading.error or None,
                    next_look_at=reading.next_look,
                    problems=list(reading.problems),
                    changed=list(reading.changed),
                )
                for reading in readings
            ]
            status = CatalogStatus(definitions=len(offered), sources=sources)
            yield ListedCatalog(**structs.asdict(listed_object(object_)), status=status)


def _plain(*names: str) -> Callable[[Fleet, Scope], Iterator[Listed]]:
    """Kinds whose objects have no status."""

    def getter(fleet: Fleet, scope: Scope) -> Iterator[Listed]:
        for object_ in (*fleet.snapshot.organizations.values(), *fleet.snapshot.others.values()):
            if object_.ref.kind in names and object_.spec is not None and scope.offers(object_.ref):
                yield listed_object(object_)

    return getter


_GETTERS: dict[str, Callable[[Fleet, Scope], Iterator[Listed]]] = {
    "catalogs": _catalogs,
    "addons": list_addons,
    "clusters": _clusters,
    "definitions": _definitions,
    "overrides": _overrides,
    "placements": list_placements,
    "plugins": _plugins,
    "presets": _presets,
    "revisions": list_revisions,
    **{
        plural: _plain(*(kind.name for kind in KINDS.values() if kind.plural == plural))
        for plural in ("organizations", "policies", "rollouts", "windows")
    },
}
