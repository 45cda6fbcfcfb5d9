"""The plugins that come with Fleetform. Each has a number, `name@N`, raised by hand when its answers change."""

from __future__ import annotations

from fleetform.transformers.builtin.base import BuiltIn
from fleetform.transformers.builtin.kubernetes import KubernetesPlugin
from fleetform.transformers.builtin.metadata import Annotations, Labels
from fleetform.transformers.builtin.namespaces import RenameNamespace
from fleetform.transformers.builtin.registries import RegistryMirror

__all__ = ["BuiltIn", "KubernetesPlugin", "built_in_plugins"]


def built_in_plugins() -> dict[str, BuiltIn]:
    """All of them, by name."""
    found = (KubernetesPlugin(), RegistryMirror(), Annotations(), Labels(), RenameNamespace())
    return {each.name: each for each in found}
