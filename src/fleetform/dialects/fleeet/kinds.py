"""The shapes of Fleeet's manifests, once their bindings are in the native spelling.

A binding may have all fields of a native one, so that what Fleeet left for later works in its own manifests.
"""

from __future__ import annotations

from fleetform.model.kinds.base import LabelSelector, Name, NameRef, Record, Text
from fleetform.model.kinds.preset import Binding
from fleetform.syntax.trees import YamlMap


class GitVersion(Record, frozen=True):
    tag: str | None = None
    revision: str | None = None


class Git(Record, frozen=True):
    url: Text
    version: GitVersion


class SyncSource(Record, frozen=True):
    git: Git


class Kustomize(Record, frozen=True):
    path: str | None = None
    substitute: YamlMap | list[YamlMap] | None = None


class Package(Record, frozen=True):
    kustomize: Kustomize


class Sync(Record, frozen=True):
    source: SyncSource
    package: Package | None = None
    bindings: list[Binding] | None = None


class NamedSync(Record, frozen=True):
    name: Name
    source: SyncSource
    package: Package | None = None
    bindings: list[Binding] | None = None


class ModuleSpec(Record, frozen=True):
    sync: Sync
    selector: LabelSelector | None = None
    control_plane_bindings: list[Binding] | None = None


class AssemblageSpec(Record, frozen=True):
    syncs: list[NamedSync]


class RemoteAssemblageSpec(Record, frozen=True):
    assemblage: AssemblageSpec
    kubeconfig_ref: NameRef | None = None
