"""The definitions of a snapshot: their revisions by name and version, and which one each owner wants."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime

from fleetform.engine.layers.owners import Owner
from fleetform.engine.layers.revisions import revision_of
from fleetform.engine.versions.choose import (
    Choice,
    Offers,
    SupportRules,
    choose,
    ends_of,
    offered,
    support_rules,
)
from fleetform.engine.versions.migrations import secret_forms
from fleetform.model.kinds import PLATFORM_NAMESPACE
from fleetform.model.kinds.definition import PluginDefinitionSpec
from fleetform.model.kinds.lifecycle import LifecyclePolicySpec
from fleetform.model.objects import Object
from fleetform.model.results.decisions import Gate, Revision, Steps
from fleetform.model.snapshot import Snapshot, VersionKey
from fleetform.syntax.option_paths import normal_form
from fleetform.syntax.versions import VersionError

Definition = Object[PluginDefinitionSpec]
Policy = Object[LifecyclePolicySpec]
# The organization and the name of a definition.
DefinitionName = tuple[str, str]


class DefinitionIndex:
    """Answers which revisions there are, which are offered to an owner, and which it wants."""

    def __init__(self, snapshot: Snapshot, before: DefinitionIndex | None = None) -> None:
        self._snapshot = snapshot
        earlier = before._of_object if before is not None else {}
        self._of_object: dict[Definition, Revision] = {}
        self.revisions = self._by_name(snapshot.definitions, earlier)
        self.retired = self._by_name(snapshot.retired, earlier)
        self.policies: list[Policy] = [each for ref, each in snapshot.others.items() if ref.kind == "LifecyclePolicy"]
        self._rules: dict[tuple[str, bool, str, frozenset[str]], SupportRules] = {}
        self._choices: dict[tuple[str, bool, bool, str, str | None, frozenset[str]], Choice | Gate] = {}
        self._known: dict[tuple[str, str, bool], Offers] = {}
        self._secret: dict[DefinitionName, frozenset[tuple[str, ...]]] = {}

    def _by_name(
        self, definitions: Mapping[VersionKey, Definition], earlier: Mapping[Definition, Revision]
    ) -> dict[DefinitionName, dict[str, Revision]]:
        found: dict[DefinitionName, dict[str, Revision]] = {}
        for object_ in definitions.values():
            try:
                # A definition that is retired now was offered before: it is the same revision.
                revision = earlier.get(object_) or revision_of(object_)
            except VersionError:
                # Reported where the definition stands.
                continue
            self._of_object[object_] = revision
            found.setdefault((object_.ref.organization, object_.ref.name), {})[revision.version] = revision
        return found

    def revision(self, definition: Definition) -> Revision | None:
        """The revision that a definition's object is; None where its version cannot be read."""
        return self._of_object.get(definition)

    def versions_of(self, name: DefinitionName) -> dict[str, Revision]:
        """All versions of one definition, those among them that are not offered any more."""
        return {**self.retired.get(name, {}), **self.revisions.get(name, {})}

    def secret_forms(self, name: DefinitionName) -> frozenset[tuple[str, ...]]:
        """The options of a definition that are secret, whichever of its versions says so."""
        found = self._secret.get(name)
        if found is None:
            found = self._secret[name] = secret_forms(self.versions_of(name).values())
        return found

    def is_secret(self, organization: str, definition: str, steps: Steps) -> bool:
        """Whether an option at a path, above or below it is secret in what an organization is offered."""
        form = normal_form(steps)
        homes = {(each.object.ref.organization, definition) for each in self.of(organization, definition)}
        secret = [each for home in homes for each in self.secret_forms(home)]
        return any(each[: len(form)] == form[: len(each)] for each in secret)

    def offers(self, owner: Owner) -> Offers:
        home = _home(owner)
        return self.revisions.get(home, {}) if owner.own_definition else offered(self.revisions, *home)

    def offered_to(self, organization: str, definition: str) -> Offers:
        return offered(self.revisions, organization, definition)

    def of(self, organization: str, definition: str) -> list[Revision]:
        """The revisions of a definition that an organization is offered."""
        return list(self.offered_to(organization, definition).values())

    def all_of(self, organization: str) -> Iterator[Revision]:
        """Every revision that an organization is offered."""
        for name in self.names(organization):
            yield from self.of(organization, name)

    def names(self, organization: str) -> list[str]:
        """The definitions that an organization sees: its own, and the platform's."""
        return sorted({name for home, name in self.revisions if home in (organization, PLATFORM_NAMESPACE)})

    def defined(self) -> list[DefinitionName]:
        return sorted(self.revisions)

    def known(self, owner: Owner) -> Offers:
        """The revisions that an owner is offered, and those that it is not any more and that may still run."""
        home = _home(owner)
        key = (*home, owner.own_definition)
        found = self._known.get(key)
        if found is None:
            of_platform = {} if owner.own_definition else self.retired.get((PLATFORM_NAMESPACE, home[1]), {})
            retired = {**of_platform, **self.retired.get(home, {})}
            found = {**retired, **self.offers(owner)} if retired else self.offers(owner)
            self._known[key] = found
        return found

    def choice(self, owner: Owner) -> Choice | Gate:
        """What an owner wants; owners of an organization that ask for the same get the same answer."""
        rejected = self._snapshot.rejected.get(owner.object.ref, frozenset())
        homes = (owner.object.ref.organization, owner.of_platform, owner.own_definition)
        key = (*homes, owner.definition, owner.wanted, rejected)
        found = self._choices.get(key)
        if found is None:
            rules = self.rules(owner.object.ref.organization, owner.definition, owner.of_platform, rejected)
            found = self._choices[key] = choose(self.offers(owner), owner.definition, owner.wanted, rules)
        return found

    def rules(
        self, organization: str, definition: str, of_platform: bool = False, rejected: frozenset[str] = frozenset()
    ) -> SupportRules:
        """What policies and stamped ends say in an organization about a definition's versions."""
        key = (organization, of_platform, definition, rejected)
        found = self._rules.get(key)
        if found is None:
            offers = offered(self.revisions, PLATFORM_NAMESPACE if of_platform else organization, definition)
            policies = [each for each in self.policies if each.ref.organization in (PLATFORM_NAMESPACE, organization)]
            support = [rule for each in policies for rule in each.spec.support or ()]
            ends = {version: self._snapshot.ends.get((each.object.ref, version)) for version, each in offers.items()}
            ended = [version for version, end in ends.items() if end is not None and end <= self._snapshot.at]
            found = self._rules[key] = support_rules(support, definition, self._snapshot.at, rejected, ended)
        return found

    def ends(self) -> Iterator[datetime]:
        """The times at which support of a version ends, wherever somebody says so."""
        yield from self._snapshot.ends.values()
        yield from ends_of(rule for each in self.policies for rule in each.spec.support or ())


def _home(owner: Owner) -> DefinitionName:
    """Where an owner looks for its definition first."""
    return PLATFORM_NAMESPACE if owner.of_platform else owner.object.ref.organization, owner.definition


def gates_of_revision(snapshot: Snapshot, revision: Revision) -> tuple[Gate, ...]:
    """What keeps a revision from being installed anywhere: other bytes under its version (R2-35)."""
    key = (revision.object.ref, revision.version)
    then, now = snapshot.recorded.get(key), snapshot.found.get(key)
    if then is None or now is None or then == now:
        return ()
    name = f"{revision.object.ref.name} {revision.version}"
    message = f"what {name} renders changed under one version, from {then[:19]} to {now[:19]}"
    do = "publish it as a new version, or bring the old bytes back"
    at = revision.object.at("spec", "source")
    return (Gate("artifact-mutated", message, do, ref=revision.object.ref, at=at),)
