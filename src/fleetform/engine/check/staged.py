"""What decisions show about rollouts: clusters that no stage has, and plugins that no window reaches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from fleetform.engine.check.gathered import Clusters, Gathered, Owner
from fleetform.engine.check.report import listed
from fleetform.engine.decisions import Decisions
from fleetform.engine.plan.policy import compile_policy
from fleetform.engine.versions.lifecycle import policies_in
from fleetform.engine.world.opening import Openings
from fleetform.engine.world.parts import MovingGroups
from fleetform.model.kinds.fleet import OrganizationSpec
from fleetform.model.kinds.lifecycle import RolloutPolicySpec
from fleetform.model.objects import Object, Path, Ref
from fleetform.model.results.diagnostics import Diagnostic
from fleetform.model.snapshot import Snapshot


class _Part(NamedTuple):
    """An owner, or a group of it that moves by itself, by name."""

    owner: Owner
    group: str | None


class _Written(NamedTuple):
    """A policy with stages, where it is written."""

    object: Object[Any]
    path: Path


def lint_staged(decisions: Decisions, gathered: Gathered | None = None) -> Iterator[Diagnostic]:
    gathered = gathered or Gathered(decisions)
    snapshot = decisions.index.snapshot
    made_of = (snapshot.organizations, snapshot.others, snapshot.presets, snapshot.plugins, decisions.index.placements)
    yield from gathered.staged(made_of, lambda: _lint_staged(decisions, gathered))


def _lint_staged(decisions: Decisions, gathered: Gathered) -> Iterator[Diagnostic]:
    moving = MovingGroups(decisions)
    owned: dict[_Part, Clusters] = {}
    for owner, clusters in gathered.owned.items():
        if not moving.has_any(owner):
            owned[_Part(owner, None)] = clusters
            continue
        for name, cluster in clusters.items():
            group = moving.of(owner, name)
            owned.setdefault(_Part(owner, group.name if group is not None else None), {})[name] = cluster
    yield from _lint_leftovers(decisions.index.snapshot, owned)
    yield from _lint_windows(decisions, owned)


def _lint_leftovers(snapshot: Snapshot, owned: dict[_Part, Clusters]) -> Iterator[Diagnostic]:
    """Clusters with plugins of a policy that no stage of it selects: they would never be updated (R2-8).

    A policy is reported once, whoever uses it.
    """
    users: dict[_Written, tuple[RolloutPolicySpec, Clusters]] = {}
    for part, clusters in owned.items():
        found = _policy(snapshot, part)
        if found is not None:
            users.setdefault(found[0], (found[1], {}))[1].update(clusters)
    for (object_, path), (spec, clusters) in users.items():
        _, selectors = compile_policy(object_.ref.name, spec)
        left = sorted(name for name, each in clusters.items() if selectors.stage_of(name, each.labels) is None)
        if left:
            one = len(left) == 1
            message = f"no stage selects {listed(left)}, which {'has' if one else 'have'} plugins that roll out by it"
            hint = "add a stage with remainder: true, or one that selects " + ("it" if one else "them")
            at = object_.at(*path, "stages")
            yield Diagnostic("unstaged-cluster", message, hint, "error", object_.ref, at)


def _policy(snapshot: Snapshot, part: _Part) -> tuple[_Written, RolloutPolicySpec] | None:
    """The policy with stages that plugins roll out by: of their group, of their owner, or of its organization."""
    owner, group = part
    path: Path = ("spec", "rollout")
    spec = owner.spec.rollout
    object_: Object[Any] | None = owner
    if group is not None:
        index = [each.name for each in owner.spec.groups or ()].index(group)
        spec, path = owner.spec.groups[index].rollout, ("spec", "groups", index, "rollout")
    elif spec is None:
        name = owner.spec.rollout_policy or _organization(snapshot, owner).default_rollout_policy
        object_ = snapshot.others.get(Ref("RolloutPolicy", owner.ref.organization, name)) if name is not None else None
        spec, path = getattr(object_, "spec", None), ("spec",)
    if object_ is None or not isinstance(spec, RolloutPolicySpec) or not spec.stages:
        return None
    return _Written(object_, path), spec


def _lint_windows(decisions: Decisions, owned: dict[_Part, Clusters]) -> Iterator[Diagnostic]:
    """Where windows are mandatory, each plugin must be reached by one (R2-29)."""
    snapshot = decisions.index.snapshot
    by_owner: dict[Owner, Clusters] = {}
    for part, clusters in owned.items():
        if part.owner.spec.rollout != "External":
            by_owner.setdefault(part.owner, {}).update(clusters)
    openings: dict[str, Openings | None] = {}
    for owner, clusters in by_owner.items():
        organization = owner.ref.organization
        if organization not in openings:
            policies = policies_in(snapshot, organization)
            required = any(each is not None and each.require_update_window for each in policies)
            openings[organization] = Openings(snapshot, organization) if required else None
        opening = openings[organization]
        if opening is not None:
            yield from _lint_reached(decisions, opening, owner, clusters)


def _lint_reached(decisions: Decisions, openings: Openings, owner: Owner, clusters: Clusters) -> Iterator[Diagnostic]:
    named, calendars = openings.named(owner), openings.calendars
    definition = decisions.index.owners[owner].definition
    left = [
        name
        for name, each in clusters.items()
        if calendars is None or not calendars.reaches(named, definition, name, each.labels)
    ]
    if left:
        what = f"none of {', '.join(sorted(named))} reaches" if named else "none is named for"
        message = f"update windows are mandatory, and {what} {definition} on {listed(sorted(left))}"
        hint = "name a window that reaches them, in updateWindows or as the organization's default"
        field = ("updateWindows",) if owner.spec.update_windows is not None else ()
        yield Diagnostic("missing-window", message, hint, "error", owner.ref, owner.at("spec", *field))


def _organization(snapshot: Snapshot, owner: Owner) -> OrganizationSpec:
    name = owner.ref.organization
    found = snapshot.organizations.get(Ref("Organization", name, name))
    return found.spec if found is not None else OrganizationSpec()
