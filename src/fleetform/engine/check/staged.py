"""What decisions show about rollouts: clusters that no stage has, and plugins that no window reaches."""

from __future__ import annotations

from collections.abc import Iterator

from fleetform.engine.check.report import listed
from fleetform.engine.decisions import Decisions
from fleetform.engine.plan.policy import compile_policy
from fleetform.engine.plan.windows.compile import Calendars, compile_window
from fleetform.engine.versions.lifecycle import policies_in
from fleetform.model.kinds.fleet import ClusterSpec, OrganizationSpec
from fleetform.model.kinds.lifecycle import RolloutPolicySpec, UpdateWindowSpec
from fleetform.model.kinds.preset import OwnerSpec
from fleetform.model.objects import Object, Path, Ref
from fleetform.model.results.diagnostics import Diagnostic
from fleetform.model.snapshot import Snapshot

Owner = Object[OwnerSpec]
Clusters = dict[str, Object[ClusterSpec]]


def lint_staged(decisions: Decisions) -> Iterator[Diagnostic]:
    owned: dict[Owner, Clusters] = {}
    for plugin in decisions.plugins.values():
        owned.setdefault(plugin.target.owner, {})[plugin.cluster.ref.name] = plugin.cluster
    yield from _lint_leftovers(decisions.index.snapshot, owned)
    yield from _lint_windows(decisions, owned)


def _lint_leftovers(snapshot: Snapshot, owned: dict[Owner, Clusters]) -> Iterator[Diagnostic]:
    """Clusters with plugins of a policy that no stage of it selects: they would never be updated (R2-8).

    A policy is reported once, whoever uses it.
    """
    users: dict[Object[object], tuple[RolloutPolicySpec, Path, list[Owner]]] = {}
    for owner in owned:
        written = _policy(snapshot, owner)
        if written is not None:
            object_, spec, path = written
            users.setdefault(object_, (spec, path, []))[2].append(owner)
    for object_, (spec, path, owners) in users.items():
        _, selectors = compile_policy(object_.ref.name, spec)
        clusters = {name: each for owner in owners for name, each in owned[owner].items()}
        left = sorted(name for name, each in clusters.items() if selectors.stage_of(name, each.labels) is None)
        if left:
            one = len(left) == 1
            message = f"no stage selects {listed(left)}, which {'has' if one else 'have'} plugins that roll out by it"
            hint = "add a stage with remainder: true, or one that selects " + ("it" if one else "them")
            at = object_.at(*path, "stages")
            yield Diagnostic("unstaged-cluster", message, hint, "error", object_.ref, at)


def _policy(snapshot: Snapshot, owner: Owner) -> tuple[Object[object], RolloutPolicySpec, Path] | None:
    """The policy with stages that an owner rolls out by: its own, one that it names, or its organization's."""
    spec = owner.spec
    if isinstance(spec.rollout, RolloutPolicySpec):
        return (owner, spec.rollout, ("spec", "rollout")) if spec.rollout.stages else None
    if spec.rollout is not None:
        return None
    name = spec.rollout_policy or _organization(snapshot, owner).default_rollout_policy
    found = snapshot.others.get(Ref("RolloutPolicy", owner.ref.organization, name)) if name is not None else None
    if found is None or not isinstance(found.spec, RolloutPolicySpec) or not found.spec.stages:
        return None
    return found, found.spec, ("spec",)


def _lint_windows(decisions: Decisions, owned: dict[Owner, Clusters]) -> Iterator[Diagnostic]:
    """Where windows are mandatory, each plugin must be reached by one (R2-29)."""
    snapshot = decisions.index.snapshot
    calendars: dict[str, Calendars | None] = {}
    for owner, clusters in owned.items():
        organization = owner.ref.organization
        if organization not in calendars:
            policies = policies_in(snapshot, organization)
            required = any(each is not None and each.require_update_window for each in policies)
            calendars[organization] = _calendars(snapshot, organization) if required else None
        calendar = calendars[organization]
        if calendar is None or owner.spec.rollout == "External":
            continue
        named = owner.spec.update_windows
        if named is None:
            named = _organization(snapshot, owner).default_update_windows or []
        definition = decisions.index.owners[owner].definition
        windows = frozenset(named)
        left = [name for name, each in clusters.items() if not calendar.reaches(windows, definition, name, each.labels)]
        if left:
            what = f"none of {', '.join(named)} reaches" if named else "none is named for"
            message = f"update windows are mandatory, and {what} {definition} on {listed(sorted(left))}"
            hint = "name a window that reaches them, in updateWindows or as the organization's default"
            field = ("updateWindows",) if owner.spec.update_windows is not None else ()
            yield Diagnostic("missing-window", message, hint, "error", owner.ref, owner.at("spec", *field))


def _calendars(snapshot: Snapshot, organization: str) -> Calendars:
    windows = []
    for ref, object_ in snapshot.others.items():
        if ref.kind == "UpdateWindow" and ref.organization == organization:
            try:
                assert isinstance(object_.spec, UpdateWindowSpec)
                windows.append(compile_window(ref.name, object_.spec))
            except ValueError:
                # Reported where the window stands.
                continue
    return Calendars(windows)


def _organization(snapshot: Snapshot, owner: Owner) -> OrganizationSpec:
    name = owner.ref.organization
    found = snapshot.organizations.get(Ref("Organization", name, name))
    return found.spec if found is not None else OrganizationSpec()
