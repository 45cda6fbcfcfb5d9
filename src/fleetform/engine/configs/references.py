"""From objects to references: which configs each of three places names, in the form that the stages read."""

from __future__ import annotations

from collections.abc import Sequence

from fleetform.model.kinds import PLATFORM_NAMESPACE
from fleetform.model.kinds.definition import PluginDefinitionSpec
from fleetform.model.kinds.preset import ConfigRef, PluginSpec
from fleetform.model.objects import Object, Path
from fleetform.model.results.configs import ConfigPlace, ConfigReference, Identity


def default_references(definition: Object[PluginDefinitionSpec]) -> tuple[ConfigReference, ...]:
    """Place 1: at most one default for each type; a second one is refused where it stands (R1-3)."""
    found: dict[tuple[str, str], ConfigReference] = {}
    for index, each in enumerate(definition.spec.configs or []):
        if each.default is not None:
            namespace = each.default.namespace or _home(definition)
            identity = (each.group, each.resource, namespace, each.default.name)
            path: Path = ("spec", "configs", index, "default")
            found.setdefault((each.group, each.resource), ConfigReference(identity, 1, 0, definition, path))
    return tuple(found.values())


def references_of(
    object_: Object[object], written: Sequence[ConfigRef] | None, path: Path, place: ConfigPlace, part: str = ""
) -> tuple[ConfigReference, ...]:
    """The configs that one list names."""
    return tuple(
        ConfigReference(
            (each.group, each.resource, each.namespace or _home(object_), each.name),
            place,
            index,
            object_,
            (*path, index),
            part,
        )
        for index, each in enumerate(written or ())
    )


def _home(object_: Object[object]) -> str:
    """The namespace of a config that is named without one: its object's, or in Open Cluster Management none."""
    return "" if object_.conventions.configs_anywhere else object_.ref.organization


def may_use(object_: Object[object], identity: Identity) -> bool:
    """Whether a config is within reach: in its own organization or the platform's (S31), or by convention anywhere."""
    namespaces = (object_.ref.organization, PLATFORM_NAMESPACE, "")
    return object_.conventions.configs_anywhere or identity[2] in namespaces


def instance_configs(object_: Object[PluginSpec]) -> tuple[ConfigReference, ...]:
    """Place 3: the configs of a Plugin."""
    return references_of(object_, object_.spec.configs, ("spec", "configs"), 3)
