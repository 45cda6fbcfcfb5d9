"""What goes, or breaks, with an object that somebody deletes. It warns and refuses nothing.

A refusal would keep namespaces from being deleted, and garbage collection from ending; and what is deleted here is
removed from clusters by a rollout, which people can stop (B22).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fleetform.app.fleet import Fleet
from fleetform.engine.check.report import listed
from fleetform.model.objects import Ref
from fleetform.model.results.decisions import PluginDecision
from fleetform.operator.generated import PRESET_LABEL

_OWNERS = ("PluginPreset", "Plugin")


def deletion_warnings(fleet: Fleet, ref: Ref) -> Iterator[str]:
    if ref.kind in _OWNERS:
        yield from _of_owner(fleet, ref)
    elif ref.kind == "Cluster":
        here = fleet.decisions.clusters.get(ref)
        if here is not None and here.plugins:
            yield from _of_cluster(fleet, list(here.plugins.values()))
    elif ref.kind == "PluginDefinition":
        using = [each for each in _plugins_of(fleet) if _is_of(each, ref)]
        if using:
            are = "is" if len(using) == 1 else "are"
            what = f"{_plugins(len(using))} {are} of {ref.name}, on {_clusters(using)}"
            yield f"{what}: what runs there stays as it is, and gets no other version"
    named_by = list(_naming(fleet, ref))
    if named_by:
        yield f"{ref.kind} {ref.name} is still named by {listed([f'{each.kind} {each.name}' for each in named_by])}"


def generated_deletion(manifest: dict[str, Any]) -> str:
    """For a Plugin that Fleetform made."""
    preset = manifest["metadata"]["labels"][PRESET_LABEL]
    return f"the preset {preset} makes it again: take the cluster out of the preset's selector to remove it"


def _of_owner(fleet: Fleet, ref: Ref) -> Iterator[str]:
    plugins = [each for each in _plugins_of(fleet) if each.target.owner.ref == ref]
    if not plugins:
        return
    retained = plugins[0].target.owner.spec.deletion_policy == "Retain"
    what = f"{_plugins(len(plugins))} on {_clusters(plugins)}"
    # With its name: kubectl prints warnings that say the same only once.
    if retained:
        yield f"{ref.kind} {ref.name} leaves behind what it installed: {what}"
    else:
        yield f"what {ref.kind} {ref.name} installed is removed with it: {what}"


def _of_cluster(fleet: Fleet, plugins: list[PluginDecision]) -> Iterator[str]:
    """What was applied to a cluster stays when it leaves; files in a repository go."""
    by_files: dict[bool, list[PluginDecision]] = {}
    for each in plugins:
        delivery = fleet.inputs.delivery(each)
        by_files.setdefault(delivery is not None and delivery.git is not None, []).append(each)
    for are_files, found in sorted(by_files.items()):
        are, cluster = "is" if len(found) == 1 else "are", found[0].cluster.ref.name
        what, names = f"{_plugins(len(found))} on {cluster} {are}", listed([each.name for each in found])
        if are_files:
            yield f"{what} removed from where it is delivered: {names}"
        else:
            yield f"{what} no longer managed; what is installed on {cluster} stays: {names}"


def _plugins_of(fleet: Fleet) -> Iterator[PluginDecision]:
    yield from fleet.decisions.plugins.values()


def _is_of(plugin: PluginDecision, definition: Ref) -> bool:
    revision = plugin.target.revision
    return revision is not None and revision.object.ref == definition


def _naming(fleet: Fleet, ref: Ref) -> Iterator[Ref]:
    """The objects that name a policy, a window or a placement."""
    for object_, owner in fleet.index.owners.items():
        spec = object_.spec
        named = {
            "RolloutPolicy": [spec.rollout_policy],
            "UpdateWindow": spec.update_windows,
            "Placement": owner.placements,
        }
        if object_.ref.organization == ref.organization and ref.name in (named.get(ref.kind) or ()):
            yield object_.ref
    organization = fleet.snapshot.organizations.get(Ref("Organization", ref.organization, ref.organization))
    if organization is not None:
        defaults = organization.spec
        named = {"RolloutPolicy": (defaults.default_rollout_policy,), "UpdateWindow": defaults.default_update_windows}
        if ref.name in (named.get(ref.kind) or ()):
            yield organization.ref


def _plugins(count: int) -> str:
    return f"{count:,} plugin{'' if count == 1 else 's'}"


def _clusters(plugins: list[PluginDecision]) -> str:
    return listed([each.cluster.ref.name for each in plugins])
