"""Add-ons as Open Cluster Management would write them: each on its cluster, with the configs that count (R1-10)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fleetform.app.fleet import Fleet
from fleetform.app.scope import Scope
from fleetform.model.objects import Object
from fleetform.model.results.configs import ConfigReference
from fleetform.model.results.decisions import PluginDecision

View = dict[str, Any]


def addon_views(fleet: Fleet, scope: Scope) -> Iterator[View]:
    """The add-ons of its manifests; what else runs on clusters is none there."""
    for plugin in scope.plugins(fleet):
        if plugin.target.owner.dialect == "ocm":
            yield addon_view(plugin)


def addon_view(plugin: PluginDecision) -> View:
    own = plugin.instance.spec.configs if plugin.instance is not None else None
    spec: View = {"installNamespace": plugin.target.release_namespace}
    if own:
        spec["configs"] = [_written(each.group, each.resource, each.namespace, each.name) for each in own]
    return {
        "apiVersion": "addon.open-cluster-management.io/v1alpha1",
        "kind": "ManagedClusterAddOn",
        "metadata": {"name": plugin.target.definition, "namespace": plugin.cluster.ref.name},
        "spec": spec,
        "status": {
            "configReferences": [config_reference(each) for each in plugin.configs.effective],
            "conditions": list(_conditions(plugin)),
        },
    }


def config_reference(reference: ConfigReference) -> View:
    """One entry of status.configReferences."""
    group, resource, namespace, name = reference.identity
    where = {"namespace": namespace, "name": name} if namespace else {"name": name}
    return {
        "group": group,
        "resource": resource,
        **where,
        "lastObservedGeneration": _generation(reference.config),
        "desiredConfig": {**where, "specHash": reference.spec_hash},
    }


def _written(group: str, resource: str, namespace: str | None, name: str) -> View:
    where = {"namespace": namespace} if namespace else {}
    return {"group": group, "resource": resource, **where, "name": name}


def _generation(config: Object[Any] | None) -> int:
    generation = config.content["metadata"].get("generation") if config is not None else None
    return generation if isinstance(generation, int) else 0


def _conditions(plugin: PluginDecision) -> Iterator[View]:
    unsupported = [each.reference for each in plugin.configs.hidden if each.reason == "not-supported"]
    if unsupported:
        types = sorted({f"{each.type[1]}.{each.type[0]}".rstrip(".") for each in unsupported})
        yield {
            "type": "UnsupportedConfiguration",
            "status": "True",
            "reason": "ConfigurationUnsupported",
            "message": f"the add-on takes no config of type {', '.join(types)}",
        }
    missing = [each for each in plugin.configs.effective if each.config is None]
    yield {
        "type": "Configured",
        "status": "False" if missing else "True",
        "reason": "ConfigurationsNotConfigured" if missing else "ConfigurationsConfigured",
        "message": f"{len(missing)} configs do not exist" if missing else "every config exists",
    }
