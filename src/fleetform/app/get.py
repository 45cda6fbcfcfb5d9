"""get: objects with what follows from them, in both directions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from fleetform.app.addons import addon_views, config_reference
from fleetform.app.errors import NotFoundError
from fleetform.app.fleet import Fleet
from fleetform.app.objects import object_view
from fleetform.app.placements import placement_views
from fleetform.app.revisions import revision_views
from fleetform.app.scope import Scope
from fleetform.app.views import (
    applied_view,
    diagnostics_view,
    gate_view,
    masked,
    object_ref,
)
from fleetform.engine.desired import values_tree
from fleetform.engine.layers.overrides import has_expired, override_layer
from fleetform.engine.report.effects import Effects
from fleetform.engine.report.progress import summarize
from fleetform.model.kinds import API_VERSION, KINDS
from fleetform.model.objects import Object
from fleetform.model.results.decisions import ABSENT, OptionDecision, PluginDecision, Secret
from fleetform.model.shape import did_you_mean
from fleetform.ports import SourceReading
from fleetform.syntax.versions import parse_version

View = dict[str, Any]


def get(fleet: Fleet, scope: Scope, plural: str, names: Iterable[str] = ()) -> View:
    """The List of a kind's objects with status, sorted; NotFoundError where a name is not among them."""
    wanted = list(names)
    items = sorted(_GETTERS[plural](fleet, scope), key=_order)
    if wanted:
        _check_names(plural, wanted, [item["metadata"]["name"] for item in items])
        items = [item for item in items if item["metadata"]["name"] in wanted]
    found = [each for each in fleet.object_findings if each.object is None or scope.offers(each.object)]
    return {"kind": "List", "items": items, "diagnostics": diagnostics_view(found, fleet.input.locator)}


def kinds() -> list[str]:
    return sorted(_GETTERS)


def _order(item: View) -> tuple[Any, ...]:
    metadata = item["metadata"]
    cluster = item.get("spec", {}).get("clusterName", "") if item["kind"] == "Plugin" else ""
    version = item["spec"]["version"] if item["kind"].startswith("PluginDefinition") else None
    name = metadata["name"].removesuffix(f"-{version}") if version else metadata["name"]
    return metadata["namespace"], item["kind"], name, cluster, parse_version(version) if version else 0


def _check_names(plural: str, wanted: list[str], found: list[str]) -> None:
    for name in wanted:
        if name not in found:
            hint = did_you_mean(name, found, f"see `fleetform get {plural}`")
            raise NotFoundError(f"{name} is not among the {plural} here", hint)


# ---- Kinds


def _plugins(fleet: Fleet, scope: Scope) -> Iterator[View]:
    for plugin in (*scope.plugins(fleet), *scope.contenders(fleet)):
        yield plugin_view(fleet, plugin)


def plugin_view(fleet: Fleet, plugin: PluginDecision) -> View:
    """A Plugin in the native shape, whatever dialect it came from (S9)."""
    locator, target, options = fleet.input.locator, plugin.target, plugin.options
    values = values_tree(options)
    reference: View = {"name": target.definition}
    if plugin.version is not None:
        reference["version"] = plugin.version
    spec: View = {
        "pluginDefinition": reference,
        "clusterName": plugin.cluster.ref.name,
        "releaseName": target.release_name,
        "releaseNamespace": target.release_namespace,
        "optionValues": list(_effective(options)),
    }
    if target.owner.ref.kind == "PluginPreset":
        spec["presetRef"] = {"name": target.owner.ref.name}
    return {
        "apiVersion": API_VERSION,
        "kind": "Plugin",
        "metadata": {"name": plugin.name, "namespace": plugin.organization},
        "spec": spec,
        "status": {
            "version": plugin.version,
            "inputHash": fleet.inputs.hash(plugin),
            "values": masked(values),
            "appliedOverrides": applied_view(plugin, options),
            "configReferences": [config_reference(each) for each in plugin.configs.effective],
            "running": plugin.running,
            "wanted": plugin.wanted_version,
            "blocked": [gate_view(gate, plugin, locator) for gate in plugin.blocked_by],
            "waiting": [gate_view(gate, plugin, locator) for gate in plugin.waits],
            "conditions": [_resolved(plugin)],
            "owner": object_ref(target.owner, locator),
        },
    }


def _effective(options: Mapping[str, OptionDecision]) -> Iterator[View]:
    for decision in options.values():
        value = decision.value
        if isinstance(value, Secret) and value.ref is not None:
            yield {"name": decision.name, "valueFrom": {"secret": {"name": value.ref.name, "key": value.ref.key}}}
        elif value is not ABSENT:
            yield {"name": decision.name, "value": masked(value)}


def _resolved(plugin: PluginDecision) -> View:
    gates = (*plugin.blocked_by, *plugin.waits)
    if gates:
        gate = gates[0]
        reason = "".join(word.capitalize() for word in gate.gate.split("-"))
        return {"type": "Resolved", "status": "False", "reason": reason, "message": gate.message}
    return {"type": "Resolved", "status": "True", "reason": "Resolved", "message": "every option has a valid value"}


def _clusters(fleet: Fleet, scope: Scope) -> Iterator[View]:
    plugins = Counter(plugin.cluster for plugin in fleet.decisions.plugins.values())
    blocked = Counter(plugin.cluster for plugin in fleet.decisions.plugins.values() if plugin.blocked_by)
    for cluster in fleet.snapshot.clusters.values():
        if scope.holds_cluster(cluster.ref, cluster.labels):
            yield object_view(cluster, {"plugins": plugins[cluster], "blocked": blocked[cluster]})


def _definitions(fleet: Fleet, scope: Scope) -> Iterator[View]:
    used = Counter(
        plugin.target.revision.object for plugin in scope.plugins(fleet) if plugin.target.revision is not None
    )
    for definition in fleet.snapshot.definitions.values():
        if scope.offers(definition.ref):
            yield object_view(definition, {"plugins": used[definition]})


def _presets(fleet: Fleet, scope: Scope) -> Iterator[View]:
    known = fleet.decisions.index
    plugins: dict[Object[Any], list[PluginDecision]] = {}
    for plugin in scope.plugins(fleet):
        plugins.setdefault(plugin.target.owner, []).append(plugin)
    for preset in fleet.snapshot.presets.values():
        if not scope.holds(preset.ref):
            continue
        made = plugins.get(preset, [])
        versions = Counter(plugin.version or "none" for plugin in made)
        lost = [claim for claim in fleet.decisions.claims if claim.loses is preset]
        blocked = sum(bool(plugin.blocked_by) for plugin in made) + len(lost)
        total = {"total": len(made) + len(lost), "blocked": blocked}
        status: View = {"plugins": total, "versions": dict(sorted(versions.items()))}
        if fleet.state.reached:
            reached = summarize(((each.key, _wanted_hash(fleet, each)) for each in made), fleet.state.reached)
            total["updated"] = reached.updated
            status["summary"] = {
                "total": reached.total,
                "updating": reached.updating,
                "failed": reached.failed,
                "succeeded": reached.succeeded,
            }
        if lost:
            status["conflicts"] = [{"cluster": each.cluster.ref.name, "with": each.keeps.ref.name} for each in lost]
        yield object_view(preset, status, known)


def _wanted_hash(fleet: Fleet, plugin: PluginDecision) -> str | None:
    wanted = plugin.upgrade or plugin
    return fleet.inputs.hash(wanted)


def _overrides(fleet: Fleet, scope: Scope) -> Iterator[View]:
    effects, known, locator = Effects(fleet.decisions), fleet.decisions.index, fleet.input.locator
    tied: dict[Object[Any], set[Object[Any]]] = {}
    for tie in effects.ties():
        tied.setdefault(tie.winner.layer.object, set()).add(tie.loser.layer.object)
        tied.setdefault(tie.loser.layer.object, set()).add(tie.winner.layer.object)
    for override in fleet.snapshot.overrides.values():
        if not scope.holds(override.ref):
            continue
        expired = has_expired(override.spec, fleet.snapshot.at)
        reached = [] if expired else effects.plugins(override)
        findings: list[View] = []
        if expired:
            findings.append({"finding": "expired", "at": override.spec.expires})
        elif not reached:
            findings.append({"finding": "dead"})
        elif effects.is_shadowed(override):
            findings.append({"finding": "shadowed"})
        for other in sorted(tied.get(override, ()), key=lambda each: each.ref):
            findings.append({"finding": "tie", "with": object_ref(other, locator)})
        status = {
            "rank": override_layer(override).layer.rank,
            "plugins": [
                {"organization": each.organization, "cluster": each.cluster.ref.name, "name": each.name}
                for each in reached
                if scope.holds_cluster(each.cluster.ref, each.cluster.labels)
            ],
            "findings": findings,
        }
        if status["plugins"] or not scope.narrowed:
            yield object_view(override, status, known)


def _plain(*names: str) -> Callable[[Fleet, Scope], Iterator[View]]:
    """Kinds whose objects stand for themselves."""

    def getter(fleet: Fleet, scope: Scope) -> Iterator[View]:
        for object_ in (*fleet.snapshot.organizations.values(), *fleet.snapshot.others.values()):
            if object_.ref.kind in names and object_.spec is not None and scope.offers(object_.ref):
                yield object_view(object_)

    return getter


def _catalogs(fleet: Fleet, scope: Scope) -> Iterator[View]:
    """Catalogs with what became of each of their sources; those of the platform serve everybody."""
    for object_ in fleet.snapshot.others.values():
        if object_.ref.kind == "Catalog" and object_.spec is not None and scope.offers(object_.ref):
            readings = fleet.brought.sources.get(object_.ref, [])
            offered = {
                (each.document.tree.get("metadata") or {}).get("name")
                for reading in readings
                for each in reading.entries
                if not each.retired
            }
            status = {"definitions": len(offered), "sources": [_source_view(each) for each in readings]}
            yield object_view(object_, status)


def _source_view(reading: SourceReading) -> View:
    return {
        "source": reading.title,
        "revision": reading.revision or None,
        "versions": sum(not each.retired for each in reading.entries),
        "gone": sum(each.retired for each in reading.entries),
        "readAt": reading.read,
        "failedSince": reading.failed,
        "error": reading.error or None,
        "nextLookAt": reading.next_look,
        "problems": list(reading.problems),
        "changed": list(reading.changed),
    }


_GETTERS: dict[str, Callable[[Fleet, Scope], Iterator[View]]] = {
    "catalogs": _catalogs,
    "addons": addon_views,
    "clusters": _clusters,
    "definitions": _definitions,
    "overrides": _overrides,
    "placements": placement_views,
    "plugins": _plugins,
    "presets": _presets,
    "revisions": revision_views,
    **{
        plural: _plain(*(kind.name for kind in KINDS.values() if kind.plural == plural))
        for plural in ("organizations", "policies", "rollouts", "windows")
    },
}
