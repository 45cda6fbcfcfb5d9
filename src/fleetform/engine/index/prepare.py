"""Prepare: a snapshot's objects made ready and indexed once; what did not change is taken from the pass before."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import structs

from fleetform.engine.bindings.fields import Fields
from fleetform.engine.configs.combine import ConfigIndex, combine, of_preset
from fleetform.engine.configs.references import default_references, instance_configs
from fleetform.engine.index.layers import (
    Group,
    Override,
    Owner,
    default_items,
    has_expired,
    override_layer,
    plugin_owner,
    preset_owner,
    revision_of,
)
from fleetform.engine.index.reach import ReachIndex
from fleetform.engine.placement.placements import KINDS as PLACING
from fleetform.engine.placement.placements import Placements
from fleetform.engine.versions.choose import (
    Choice,
    Offers,
    SupportRules,
    choose,
    offered,
    support_rules,
    versions_between,
)
from fleetform.engine.versions.migrations import Migrations, migrations_to
from fleetform.engine.versions.upgrade_gates import Step, step_between
from fleetform.model.kinds import PLATFORM_NAMESPACE
from fleetform.model.kinds.fleet import ClusterSpec
from fleetform.model.objects import Object, Ref
from fleetform.model.results.configs import NO_CONFIGS, Configs
from fleetform.model.results.decisions import Gate, Item, PluginKey, Revision, SkipReason, Slot, Steps, Target, sort_key
from fleetform.model.snapshot import Snapshot
from fleetform.syntax.names import generated_name
from fleetform.syntax.option_paths import normal_form
from fleetform.syntax.selectors import any_matches
from fleetform.syntax.versions import VersionError, parse_version

Cluster = Object[ClusterSpec]
Route = tuple[str, Steps] | None
RevisionOf = dict[Object[Any], Revision]


class Prepared:
    """Everything the stages ask about a snapshot."""

    def __init__(self, snapshot: Snapshot, before: Prepared | None = None) -> None:
        self.snapshot = snapshot
        self.clusters = self._group_clusters(before)
        self.placements = self._prepare_placements(before)
        self.owners = self._prepare_owners(before)
        self.overrides, self.indexes = self._prepare_overrides(before)
        self.revision_of: RevisionOf = _revisions_of(snapshot.definitions, before.revision_of if before else {})
        self.revisions = _by_name(self.revision_of)
        self.retired = _by_name(_revisions_of(snapshot.retired, self.revision_of))
        self.configs: ConfigIndex = ConfigIndex(snapshot.others, before.configs if before is not None else None)
        self.fields = Fields(snapshot)
        self.policies = policies_of(snapshot)
        self._chosen: dict[Any, Choice | Gate] = {}
        self.choices = {owner: self._choose(owner) for owner in self.owners.values()}
        self._targets: dict[tuple[Owner, Revision | Gate], Target] = {}
        self.instances = self._find_instances()
        self.instances_of: dict[tuple[str, str], list[Object[Any]]] = {}
        for (organization, preset, _), plugin in self.instances.items():
            self.instances_of.setdefault((organization, preset), []).append(plugin)
        self._steps: dict[tuple[str, Revision], Step] = {}
        # Memos of what follows from one revision alone.
        self._defaults: dict[Revision, dict[Steps, Item]] = {}
        self._slots: dict[Revision, dict[str, Slot]] = {}
        self._migrations: dict[Revision, Migrations] = {}
        self._migrated: dict[tuple[Revision, Item], tuple[Item, Route]] = {}
        self._routes: dict[Revision, dict[Steps, Route]] = {}

    def _group_clusters(self, before: Prepared | None) -> dict[str, list[Cluster]]:
        if before is not None and before.snapshot.clusters is self.snapshot.clusters:
            return before.clusters
        clusters: dict[str, list[Cluster]] = {}
        for cluster in self.snapshot.clusters.values():
            clusters.setdefault(cluster.ref.organization, []).append(cluster)
        return clusters

    def _prepare_placements(self, before: Prepared | None) -> Placements:
        """What placements choose; where nothing that decides it differs, what they chose in the pass before."""
        now = self.snapshot
        if before is not None:
            then = before.snapshot
            same = now.at == then.at and now.clusters is then.clusters and now.selected == then.selected
            if same and not any(each.ref.kind in PLACING for each in differing(now.others, then.others)):
                return before.placements
        return Placements(now, self.clusters)

    def _prepare_owners(self, before: Prepared | None) -> dict[Object[Any], Owner]:
        """Presets and hand-made plugins, the oldest first: of two claims on a release the older keeps it (B23)."""
        earlier = before.owners if before else {}
        made_by_hand = [each for each in self.snapshot.plugins.values() if each.spec.preset_ref is None]
        objects: list[Object[Any]] = [*self.snapshot.presets.values(), *made_by_hand]
        owners = {}
        for object_ in sorted(objects, key=_age):
            make = preset_owner if object_.ref.kind == "PluginPreset" else plugin_owner
            owners[object_] = earlier.get(object_) or make(object_)
        return owners

    def _prepare_overrides(self, before: Prepared | None) -> tuple[dict[Object[Any], Override], dict[str, ReachIndex]]:
        earlier = before.overrides if before else {}
        active: dict[str, list[Override]] = {}
        overrides = {}
        for object_ in self.snapshot.overrides.values():
            if not has_expired(object_.spec, self.snapshot.at):
                overrides[object_] = earlier.get(object_) or override_layer(object_)
                active.setdefault(object_.ref.organization, []).append(overrides[object_])
        indexes = {organization: ReachIndex(active.get(organization, ())) for organization in self.clusters}
        return overrides, indexes

    def offers(self, owner: Owner) -> Offers:
        return offered(self.revisions, *self._home(owner))

    def known(self, owner: Owner) -> Offers:
        """The revisions that an owner is offered, and those that it is not any more and that may still run."""
        organization, name = self._home(owner)
        found = {**self.retired.get((PLATFORM_NAMESPACE, name), {}), **self.retired.get((organization, name), {})}
        return {**found, **self.offers(owner)} if found else self.offers(owner)

    def running_version(self, owner: Owner, key: PluginKey) -> str | None:
        """The version of an owner's definition that runs; None where nothing does, or something of another one."""
        if self.snapshot.installed.get(key, owner.definition) != owner.definition:
            return None
        return self.snapshot.running.get(key)

    def step(self, running: str, wanted: Revision) -> Step:
        """The way from the version that runs to another, over the versions of the definition that is wanted."""
        found = self._steps.get((running, wanted))
        if found is None:
            low, high = sorted((running, wanted.version), key=parse_version)
            passed = versions_between(self._versions(wanted), low, high)
            found = self._steps[running, wanted] = step_between(running, wanted, passed)
        return found

    def _home(self, owner: Owner) -> tuple[str, str]:
        return PLATFORM_NAMESPACE if owner.of_platform else owner.object.ref.organization, owner.definition

    def _choose(self, owner: Owner) -> Choice | Gate:
        """What an owner wants; owners of an organization that ask for the same get the same answer."""
        rejected = self.snapshot.rejected.get(owner.object.ref, frozenset())
        key = (owner.object.ref.organization, owner.of_platform, owner.definition, owner.wanted, rejected)
        found = self._chosen.get(key)
        if found is None:
            offers = self.offers(owner)
            policies = self.policies.values()
            rules = rules_in(self.snapshot, policies, key[0], owner.definition, offers, rejected)
            found = self._chosen[key] = choose(offers, owner.definition, owner.wanted, rules)
        return found

    def gates_of_revision(self, revision: Revision) -> tuple[Gate, ...]:
        """What keeps a revision from being installed anywhere: other bytes under its version (R2-35)."""
        key = (revision.object.ref, revision.version)
        then, now = self.snapshot.recorded.get(key), self.snapshot.found.get(key)
        if then is None or now is None or then == now:
            return ()
        name = f"{revision.object.ref.name} {revision.version}"
        message = f"what {name} renders changed under one version, from {then[:19]} to {now[:19]}"
        do = "publish it as a new version, or bring the old bytes back"
        at = revision.object.at("spec", "source")
        return (Gate("artifact-mutated", message, do, ref=revision.object.ref, at=at),)

    def target(self, owner: Owner, revision: Revision | Gate) -> Target:
        found = self._targets.get((owner, revision))
        if found is None:
            choice = self.choices[owner]
            forced = isinstance(choice, Choice) and choice.forced and choice.revision is revision
            found = self._targets[owner, revision] = _target(owner, revision, forced)
        return found

    def _find_instances(self) -> dict[tuple[str, str, str], Object[Any]]:
        """Plugins beside a preset, by organization, preset and the name that the preset generates (B4)."""
        return {
            (plugin.ref.organization, plugin.spec.preset_ref.name, _generated_name(plugin)): plugin
            for plugin in self.snapshot.plugins.values()
            if plugin.spec.preset_ref is not None
        }

    def clusters_with_instance(self, preset: Ref) -> list[Cluster]:
        """The clusters on which a Plugin stands beside a preset."""
        plugins = self.instances_of.get((preset.organization, preset.name), ())
        found = [self.cluster_of(plugin) for plugin in plugins]
        return [cluster for cluster in found if cluster is not None]

    def cluster_of(self, plugin: Object[Any]) -> Cluster | None:
        """The cluster that a Plugin names."""
        return self.snapshot.clusters.get(Ref("Cluster", plugin.ref.organization, plugin.spec.cluster_name or ""))

    def configs_of(
        self, owner: Owner, revision: Revision, groups: tuple[Group, ...], holder: Object[Any] | None
    ) -> Configs:
        """The configs that count for a plugin, from three places."""
        supported = revision.object.spec.configs or ()
        by_hand = owner.object.ref.kind == "Plugin"
        mode = owner.config_mode or revision.object.spec.config_mode or "OverrideByGVK"
        second, hidden = of_preset(() if by_hand else owner.configs, [each.configs for each in groups], mode)
        third = owner.configs if by_hand else instance_configs(holder) if holder is not None else ()
        if not supported and not second and not third and not hidden:
            return NO_CONFIGS
        return combine(mode, supported, [*default_references(revision.object), *second, *third], self.configs, hidden)

    def defaults(self, revision: Revision) -> dict[Steps, Item]:
        found = self._defaults.get(revision)
        if found is None:
            found = self._defaults[revision] = default_items(revision)
        return found

    def slots(self, revision: Revision) -> dict[str, Slot]:
        """The declared options by name, in path order."""
        found = self._slots.get(revision)
        if found is None:
            in_order = sorted(revision.options.items(), key=lambda entry: sort_key(entry[0]))
            secret = self.secret_forms(revision)
            found = {
                option.name: Slot(option.name, steps, option, tuple(map(str, steps)) in secret)
                for steps, option in in_order
            }
            self._slots[revision] = found
        return found

    def _versions(self, revision: Revision) -> dict[str, Revision]:
        """All versions of a revision's definition, those among them that are not offered any more."""
        name = (revision.object.ref.organization, revision.object.ref.name)
        return {**self.retired.get(name, {}), **self.revisions.get(name, {})}

    def secret_forms(self, revision: Revision) -> set[tuple[str, ...]]:
        """The options that any version of the definition declares secret, under the names they have now, too."""
        forms = [each.forms for each in self._versions(revision).values()]
        secret = {form for each in forms for form, option in each.items() if option.type == "secret"}
        for old, new in self._migrations_of(revision).moves:
            # A value does not become harmless by another name.
            if old in secret and new is not None:
                secret.add(normal_form(new))
        return secret

    def route(self, revision: Revision, steps: Steps) -> Route:
        """The name of the option a path belongs to, and the path inside it; remembered, as fleets repeat paths."""
        routes = self._routes.setdefault(revision, {})
        if steps not in routes:
            found = revision.find(steps)
            routes[steps] = (found[0].name, found[1]) if found is not None else None
        return routes[steps]

    def has_migrations(self, revision: Revision) -> bool:
        found = self._migrations_of(revision)
        return bool(found.moves or found.retypes)

    def _migrations_of(self, revision: Revision) -> Migrations:
        found = self._migrations.get(revision)
        if found is None:
            passed = versions_between(self._versions(revision), None, revision.version)
            found = self._migrations[revision] = migrations_to(passed)
        return found

    def hints(self, revision: Revision) -> dict[tuple[str, ...], str]:
        """What to do about options that must now be set, by path."""
        return dict(self._migrations_of(revision).hints)

    def migrated(self, revision: Revision, item: Item, route: Route) -> tuple[Item, Route]:
        """The item as the revision takes it, and where it goes."""
        key = (revision, item)
        found = self._migrated.get(key)
        if found is None:
            found = self._migrated[key] = self._migrate(revision, item, route)
        return found

    def _migrate(self, revision: Revision, item: Item, route: Route) -> tuple[Item, Route]:
        migrations = self._migrations_of(revision)
        if route is None:
            steps = migrations.moved(item.steps)
            if steps is None or steps == item.steps:
                return item, None
            route = self.route(revision, steps)
            item = structs.replace(item, steps=steps, migrated_from=item.text) if route is not None else item
        if route is not None and not route[1]:
            option = self.slots(revision)[route[0]].option
            item = migrations.converted(item, option) if option is not None else item
        return item, route

    def why_skipped(self, revision: Revision, steps: Steps) -> SkipReason:
        """Why a revision takes no value at a path: nobody declares it, another revision does, or it was removed."""
        if self._migrations_of(revision).moved(steps) is None:
            return "removed"
        others = self.revisions.get((revision.object.ref.organization, revision.object.ref.name), {}).values()
        newer = [each for each in others if parse_version(each.version) > parse_version(revision.version)]
        return "not-yet-known" if any(self.route(each, steps) is not None for each in newer) else "not-declared"

    def clusters_reached(self, override: Override) -> list[Cluster]:
        organization = override.object.ref.organization
        candidates: Iterable[Cluster] = self.clusters.get(organization, ())
        if all(each.names and each.requirements is None for each in override.matchers):
            refs = {Ref("Cluster", organization, name) for each in override.matchers for name in each.names}
            candidates = [self.snapshot.clusters[ref] for ref in refs if ref in self.snapshot.clusters]
        return [each for each in candidates if any_matches(override.matchers, each.ref.name, each.labels)]


def policies_of(snapshot: Snapshot) -> dict[Ref, Object[Any]]:
    return {ref: each for ref, each in snapshot.others.items() if ref.kind == "LifecyclePolicy"}


def rules_in(
    snapshot: Snapshot,
    policies: Iterable[Object[Any]],
    organization: str,
    definition: str,
    offers: Offers,
    rejected: frozenset[str] = frozenset(),
) -> SupportRules:
    """What policies and stamped ends say in an organization about a definition's versions."""
    places = (PLATFORM_NAMESPACE, organization)
    support = [rule for each in policies if each.ref.organization in places for rule in each.spec.support or []]
    ends = {version: snapshot.ends.get((each.object.ref, version)) for version, each in offers.items()}
    ended = [version for version, end in ends.items() if end is not None and end <= snapshot.at]
    return support_rules(support, definition, snapshot.at, rejected, ended)


def _revisions_of(definitions: Mapping[Any, Object[Any]], earlier: RevisionOf) -> RevisionOf:
    found = {}
    for object_ in definitions.values():
        try:
            found[object_] = earlier.get(object_) or revision_of(object_)
        except VersionError:
            # Said where the definition stands.
            continue
    return found


def _by_name(revisions: RevisionOf) -> dict[tuple[str, str], dict[str, Revision]]:
    """Revisions by organization and name of their definition, then version."""
    by_name: dict[tuple[str, str], dict[str, Revision]] = {}
    for object_, revision in revisions.items():
        by_name.setdefault((object_.ref.organization, object_.ref.name), {})[revision.version] = revision
    return by_name


def _generated_name(plugin: Object[Any]) -> str:
    """The name that a Plugin beside a preset bears here: its own, or there the one that its cluster gives it."""
    if plugin.dialect != "ocm":
        return plugin.ref.name
    return generated_name(plugin.spec.preset_ref.name, plugin.spec.cluster_name)


def _age(object_: Object[Any]) -> tuple[Any, ...]:
    stamp = object_.created.timestamp() if object_.created else float("inf")
    return (stamp, object_.ref.kind == "Plugin", object_.ref.name, object_.ref.organization)


def _target(owner: Owner, chosen: Revision | Gate, forced: bool) -> Target:
    revision = chosen if isinstance(chosen, Revision) else None
    name, namespace = owner.definition, owner.definition
    if owner.object.dialect == "greenhouse":
        # There a release is named after the chart, and goes into the organization's own namespace.
        helm = revision.object.spec.source.helm if revision is not None and revision.object.spec.source else None
        name, namespace = helm.chart if helm is not None else name, owner.object.ref.organization
    return Target(
        owner.object,
        owner.definition,
        owner.wanted,
        revision,
        owner.release_namespace or namespace,
        owner.release_name or name,
        forced,
    )


def differing(now: Mapping[Any, Object[Any]], then: Mapping[Any, Object[Any]]) -> set[Object[Any]]:
    """The objects that are in one and not, as the same object, in the other."""
    return set() if now is then else set(now.values()) ^ set(then.values())
