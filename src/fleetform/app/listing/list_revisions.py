"""Revisions: the versions of definitions as immutable snapshots, who uses them, and which may go."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from typing import NamedTuple

from msgspec import to_builtins

from fleetform.app.answering.manifests import listed_object
from fleetform.app.fleet import Fleet
from fleetform.app.scope import Scope
from fleetform.engine.layers.owners import definition_of
from fleetform.engine.versions.compatibility import FOR_PEOPLE
from fleetform.engine.versions.lifecycle import known_announcement, later, lifecycle_in
from fleetform.engine.versions.retention import judge_history
from fleetform.model.answers.listed import ListedMetadata
from fleetform.model.answers.listed_objects import ListedRevision, RevisionSpec, RevisionStatus
from fleetform.model.kinds import API_VERSION, PLATFORM_NAMESPACE
from fleetform.model.kinds.preset import PluginSpec, PluginTemplate
from fleetform.model.objects import Ref
from fleetform.model.results.decisions import Revision
from fleetform.syntax.hashing import content_hash
from fleetform.syntax.ranges import RangeError, parse_range
from fleetform.syntax.times import parse_time, time_text
from fleetform.syntax.versions import VersionError, parse_version

Name = tuple[str, str]
# How long the oldest of too many versions in use still has, where the policy gives no grace.
_GRACE = timedelta(days=30)


def list_revisions(fleet: Fleet, scope: Scope) -> Iterator[ListedRevision]:
    """Versions side by side are revisions, numbered in their order (S6); one that is not offered any more may run."""
    use = _Use(fleet)
    names = fleet.decisions.revisions.keys() | fleet.decisions.retired.keys()
    for name in names:
        revisions = {**fleet.decisions.retired.get(name, {}), **fleet.decisions.revisions.get(name, {})}
        if not scope.offers(next(iter(revisions.values())).object.ref):
            continue
        lifecycle = lifecycle_in(fleet.snapshot, name[0])
        history = judge_history(revisions, use.versions(name), lifecycle.revision_history)
        for number, version in enumerate(sorted(revisions, key=parse_version), start=1):
            revision = revisions[version]
            ends = _end(fleet, revision)
            if ends is None and version == history.should_end:
                ends = later(fleet.snapshot.at, lifecycle.grace or _GRACE)
            announced = known_announcement(revision, fleet.snapshot)
            status = RevisionStatus(
                announced_at=time_text(announced) if announced is not None else None,
                ends_at=time_text(ends) if ends is not None else None,
                plugins=use.plugins[name, version],
                pinned=(name, version) in use.pinned,
                offered=version in fleet.decisions.revisions.get(name, {}),
                prunable=version in history.prunable,
            )
            ref = revision.object.ref
            yield ListedRevision(
                api_version=API_VERSION,
                kind="PluginDefinitionRevision",
                metadata=ListedMetadata(name=f"{ref.name}-{version}", namespace=ref.organization),
                spec=_revision_spec(fleet, revision, number),
                status=status,
            )


class _Use:
    """Who uses which versions: what runs, what is wanted, what is pinned, what was healthy last."""

    def __init__(self, fleet: Fleet) -> None:
        self.plugins: Counter[tuple[Name, str]] = Counter()
        self.pinned: set[tuple[Name, str]] = set()
        self._needed: set[tuple[Name, str]] = set()
        templates: dict[Ref, PluginTemplate | PluginSpec] = {}
        templates.update((ref, each.spec.plugin) for ref, each in fleet.snapshot.presets.items())
        templates.update((ref, each.spec) for ref, each in fleet.snapshot.plugins.items())
        # A pin counts whether or not it selects a cluster now.
        for ref, template in templates.items():
            if template.plugin_definition is not None:
                definition, wanted = definition_of(template.plugin_definition, template.plugin_definition_version)
                with suppress(RangeError):
                    exact = parse_range(wanted).exact if wanted is not None else None
                    if exact is not None:
                        self.pinned.add((_home(fleet, ref.organization, definition), exact))
        # Most plugins of a definition are alike.
        for one, number in Counter(_each_use(fleet)).items():
            revision = one.wanted or one.revision
            key = _home(fleet, one.organization, one.definition)
            if revision is not None:
                key = (revision.object.ref.organization, revision.object.ref.name)
            if one.revision is not None:
                self.plugins[key, one.revision.version] += number
            revisions = [each.version for each in (one.revision, one.wanted) if each is not None]
            needed = (*revisions, one.running, one.healthy)
            self._needed.update((key, version) for version in needed if version is not None)

    def versions(self, name: Name) -> set[str]:
        return {version for of, version in self._needed | self.pinned if of == name}


class _PluginUse(NamedTuple):
    """What one plugin uses: its revision, the one that is wanted, the versions that run and that were healthy last."""

    organization: str
    definition: str
    revision: Revision | None
    wanted: Revision | None
    running: str | None
    healthy: str | None


def _each_use(fleet: Fleet) -> Iterator[_PluginUse]:
    states = fleet.state.plugins
    for ref, here in fleet.decisions.clusters.items():
        known = states.get(ref, {})
        for name, plugin in here.plugins.items():
            target, upgrade, state = plugin.target, plugin.upgrade, known.get(name)
            healthy = state.last_healthy if state is not None else None
            wanted = upgrade.target.revision if upgrade is not None else None
            last = healthy.version if healthy is not None else None
            yield _PluginUse(ref.organization, target.definition, target.revision, wanted, plugin.running, last)


def _home(fleet: Fleet, organization: str, definition: str) -> Name:
    """Whose definition an organization is offered: its own, else the platform's."""
    own = (organization, definition)
    return own if own in fleet.decisions.revisions else (PLATFORM_NAMESPACE, definition)


def _end(fleet: Fleet, revision: Revision) -> datetime | None:
    """When a version ends: as a policy says, or as it was stamped."""
    ref = revision.object.ref
    ends = [fleet.snapshot.ends.get((ref, revision.version))]
    for home in (PLATFORM_NAMESPACE, ref.organization):
        policies = [each for each in fleet.snapshot.others.values() if each.ref[:2] == ("LifecyclePolicy", home)]
        rules = [rule for policy in policies for rule in policy.spec.support or [] if rule.definition == ref.name]
        for each in (each for rule in rules for each in rule.ends or []):
            # What cannot be read ends nothing, and is reported by checks.
            with suppress(RangeError, VersionError, ValueError):
                if parse_range(each.version).admits(revision.version):
                    ends.append(parse_time(each.at))
    return min((each for each in ends if each is not None), default=None)


def _revision_spec(fleet: Fleet, revision: Revision, number: int) -> RevisionSpec:
    spec = listed_object(revision.object, fleet.decisions.index).spec
    # Built of plain data, with masks for secrets: the hash is of what people may see.
    content = to_builtins({key: value for key, value in spec.items() if key not in FOR_PEOPLE})
    source = spec.get("source")
    if source is not None:
        source = {**source, "digest": fleet.digests((revision.object.ref, revision.version)).found or "unknown"}
    return RevisionSpec(
        number=number,
        version=revision.version,
        content_hash=f"sha256:{content_hash(content)}",
        options=spec.get("options", []),
        source=source,
    )
