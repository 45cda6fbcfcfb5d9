"""Add-ons as Open Cluster Management would write them: each on its cluster, with the configs that count (R1-10)."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import UNSET

from fleetform.app.answering.plugins import config_status
from fleetform.app.fleet import Fleet
from fleetform.app.scope import Scope
from fleetform.dialects.ocm.addons import unsupported_types_of
from fleetform.model.answers.listed import Condition, ListedMetadata
from fleetform.model.answers.listed_plugins import AddonConfig, AddonSpec, AddonStatus, ListedAddon
from fleetform.model.results.decisions import PluginDecision


def list_addons(fleet: Fleet, scope: Scope) -> Iterator[ListedAddon]:
    """The add-ons of its manifests; other plugins are no add-ons there."""
    for plugin in scope.plugins(fleet):
        if plugin.target.owner.dialect == "ocm":
            own = (plugin.instance.spec.configs if plugin.instance is not None else None) or ()
            configs = [
                AddonConfig(group=each.group, resource=each.resource, namespace=each.namespace or UNSET, name=each.name)
                for each in own
            ]
            conditions = []
            unsupported = unsupported_types_of(plugin.instance) if plugin.instance is not None else []
            if unsupported:
                message = f"the add-on takes no config of type {', '.join(unsupported)}"
                conditions.append(_condition("UnsupportedConfiguration", True, "ConfigurationUnsupported", message))
            missing = [each for each in plugin.configs.effective if each.config is None]
            if missing:
                message = f"{len(missing)} configs do not exist"
                conditions.append(_condition("Configured", False, "ConfigurationsNotConfigured", message))
            else:
                conditions.append(_condition("Configured", True, "ConfigurationsConfigured", "every config exists"))
            yield ListedAddon(
                api_version="addon.open-cluster-management.io/v1alpha1",
                kind="ManagedClusterAddOn",
                metadata=ListedMetadata(name=plugin.target.definition, namespace=plugin.cluster.ref.name),
                spec=AddonSpec(install_namespace=_namespace(plugin), configs=configs or UNSET),
                status=AddonStatus(
                    config_references=[config_status(each) for each in plugin.configs.effective],
                    conditions=conditions,
                ),
            )


def _namespace(plugin: PluginDecision) -> str:
    """Where its deployment config has it installed, else where add-ons are by default."""
    written = plugin.options.get("agentInstallNamespace")
    return str(written.value) if written is not None and written.value else plugin.target.release_namespace


def _condition(type_: str, holds: bool, reason: str, message: str) -> Condition:
    return Condition(type=type_, status="True" if holds else "False", reason=reason, message=message)
