"""What a snapshot knows by name: clusters, definitions and their revisions."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from fleetform.engine.bindings.compile import in_force
from fleetform.engine.configs.combine import ConfigIndex
from fleetform.engine.index.layers import revision_of
from fleetform.engine.index.prepare import policies_of, rules_in
from fleetform.engine.versions.choose import SupportRules, offered
from fleetform.model.kinds import PLATFORM_NAMESPACE
from fleetform.model.objects import Object, Ref
from fleetform.model.results.decisions import Revision
from fleetform.model.snapshot import Snapshot
from fleetform.syntax.names import generated_name
from fleetform.syntax.versions import VersionError


class Known:
    """Answers what exists in an organization."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self._revisions: dict[tuple[str, str], dict[str, Revision]] = {}
        for object_ in snapshot.definitions.values():
            try:
                revision = revision_of(object_)
            except VersionError:
                continue
            key = (object_.ref.organization, object_.ref.name)
            self._revisions.setdefault(key, {})[revision.version] = revision
        self._clusters: dict[str, dict[str, None]] = {}
        for ref in snapshot.clusters:
            self._clusters.setdefault(ref.organization, {})[ref.name] = None
        self._configs: ConfigIndex | None = None
        self._binding: set[str] | None = None
        self._policies = list(policies_of(snapshot).values())
        self._rules: dict[tuple[str, str], SupportRules] = {}
        self._generated: dict[tuple[str, str], dict[str, str]] = {}

    def binds(self, object_: Object[Any]) -> bool:
        """Whether mentions in an object's values may count: in an owner's own, and in an override for any owner."""
        if object_.ref.kind != "PluginOverride" and getattr(object_.spec, "preset_ref", None) is None:
            return in_force(object_)
        if self._binding is None:
            owners: list[Object[Any]] = [*self.snapshot.presets.values(), *self.snapshot.plugins.values()]
            self._binding = {each.ref.organization for each in owners if in_force(each)}
        return object_.ref.organization in self._binding

    def clusters(self, organization: str) -> Collection[str]:
        return self._clusters.get(organization, {}).keys()

    @property
    def configs(self) -> ConfigIndex:
        if self._configs is None:
            self._configs = ConfigIndex(self.snapshot.others)
        return self._configs

    def generated_names(self, organization: str, preset: str) -> dict[str, str]:
        """The clusters by the name that a preset gives its plugin there."""
        key = (organization, preset)
        if key not in self._generated:
            self._generated[key] = {generated_name(preset, each): each for each in self.clusters(organization)}
        return self._generated[key]

    def revisions(self, organization: str, definition: str) -> list[Revision]:
        return list(self.offers(organization, definition).values())

    def offers(self, organization: str, definition: str) -> Mapping[str, Revision]:
        return offered(self._revisions, organization, definition)

    def rules(self, organization: str, definition: str) -> SupportRules:
        """What policies say in an organization about a definition's versions."""
        key = (organization, definition)
        if key not in self._rules:
            offers = self.offers(organization, definition)
            self._rules[key] = rules_in(self.snapshot, self._policies, organization, definition, offers)
        return self._rules[key]

    def defined(self) -> list[tuple[str, str]]:
        """Every definition, by organization and name."""
        return sorted(self._revisions)

    def versions(self, name: tuple[str, str]) -> list[Revision]:
        return list(self._revisions[name].values())

    def definitions(self, organization: str) -> list[str]:
        return sorted({name for where, name in self._revisions if where in (organization, PLATFORM_NAMESPACE)})

    def all_revisions(self, organization: str) -> Iterator[Revision]:
        for name in self.definitions(organization):
            yield from self.revisions(organization, name)

    def preset(self, organization: str, name: str) -> Object[Any] | None:
        return self.snapshot.presets.get(Ref("PluginPreset", organization, name))

    def names(self, kind: str, organization: str) -> list[str]:
        """The names of an organization's objects of a kind that stands among the others."""
        return [ref.name for ref in self.snapshot.others if ref.kind == kind and ref.organization == organization]
