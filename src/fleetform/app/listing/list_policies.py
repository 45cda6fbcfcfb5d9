"""Policies and windows, with what follows from them: who moves by them, and when they open."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Literal

from msgspec import structs

from fleetform.app.answering.manifests import listed_object
from fleetform.app.fleet import Fleet
from fleetform.app.scope import Scope
from fleetform.engine.plan.policy import compile_policy
from fleetform.engine.plan.windows.calendar import next_usable
from fleetform.engine.plan.windows.compile import ScopedWindow, compile_window
from fleetform.engine.plan.windows.openings import Window
from fleetform.engine.plan.windows.useless import is_rare, never_opens
from fleetform.engine.world.opening import Openings, is_zone
from fleetform.model.answers.listed import Listed
from fleetform.model.answers.listed_rollouts import (
    ListedPolicy,
    ListedWindow,
    PolicyStage,
    PolicyStatus,
    WindowOpening,
    WindowStatus,
)
from fleetform.model.kinds.lifecycle import LifecyclePolicySpec, RolloutPolicySpec, UpdateWindowSpec
from fleetform.model.objects import Object
from fleetform.syntax.times import time_text


def list_policies(fleet: Fleet, scope: Scope) -> Iterator[Listed]:
    for object_ in fleet.snapshot.others.values():
        if not scope.offers(object_.ref):
            continue
        if isinstance(object_.spec, RolloutPolicySpec):
            status = _policy(fleet, object_, object_.spec)
            yield ListedPolicy(**structs.asdict(listed_object(object_)), status=status)
        elif isinstance(object_.spec, LifecyclePolicySpec):
            yield listed_object(object_)


def _policy(fleet: Fleet, object_: Object[object], spec: RolloutPolicySpec) -> PolicyStatus:
    organization = object_.ref.organization
    home = next((each.spec for ref, each in fleet.snapshot.organizations.items() if ref.name == organization), None)
    default = home.default_rollout_policy if home is not None else None
    owners = [each for each in fleet.index.owners if each.ref.organization == organization]
    presets = [
        each.ref.name
        for each in owners
        if each.spec.rollout is None and (each.spec.rollout_policy or default) == object_.ref.name
    ]
    policy, selectors = compile_policy(object_.ref.name, spec)
    counts: Counter[str | None] = Counter()
    unstaged = []
    for name, cluster in sorted(fleet.index.clusters.of(organization).items()):
        stage = selectors.stage_of(name, cluster.labels)
        counts[stage] += 1
        unstaged += [name] if stage is None else []
    stages = [PolicyStage(name=each.name, clusters=counts[each.name]) for each in policy.stages]
    return PolicyStatus(presets=sorted(presets), stages=stages, unstaged=unstaged)


def list_windows(fleet: Fleet, scope: Scope) -> Iterator[ListedWindow]:
    for object_ in fleet.snapshot.others.values():
        if isinstance(object_.spec, UpdateWindowSpec) and scope.offers(object_.ref):
            status = _window(fleet, object_, object_.spec)
            yield ListedWindow(**structs.asdict(listed_object(object_)), status=status)


def _window(fleet: Fleet, object_: Object[object], spec: UpdateWindowSpec) -> WindowStatus:
    organization, name = object_.ref.organization, object_.ref.name
    openings = Openings(fleet.snapshot, organization)
    owners = [each for each in fleet.index.owners if each.ref.organization == organization]
    named_by = sorted(each.ref.name for each in owners if name in openings.named(each))
    try:
        scoped = compile_window(name, spec)
        if not is_zone(spec.time_zone):
            raise ValueError(spec.time_zone)
    except ValueError:
        return WindowStatus(clusters=0, named_by=named_by, openings=[], findings=["unreadable"])
    clusters = fleet.index.clusters.of(organization)
    definitions = scoped.definitions or frozenset({""})
    reached = [
        each
        for cluster, each in clusters.items()
        if any(scoped.reaches(definition, cluster, each.labels) for definition in definitions)
    ]
    zones = {scoped.window.zone} if scoped.own_zone else {_zone(each.spec.time_zone) for each in reached} or {"UTC"}
    windows = [_on_clock(scoped, zone) for zone in sorted(zones)]
    now = fleet.snapshot.at
    findings: list[Literal["never-opens", "rare", "unreadable"]] = []
    if spec.type == "Allow" and all(never_opens(each, now) for each in windows):
        findings.append("never-opens")
    elif spec.type == "Allow" and spec.from_ is None and any(is_rare(each, now) for each in windows):
        findings.append("rare")
    shown = [_opening(fleet, each) for each in windows]
    return WindowStatus(clusters=len(reached), named_by=named_by, openings=shown, findings=findings)


def _zone(name: str | None) -> str:
    return name if name is not None and is_zone(name) else "UTC"


def _on_clock(scoped: ScopedWindow, zone: str) -> Window:
    return scoped.window if scoped.own_zone else structs.replace(scoped.window, zone=zone)


def _opening(fleet: Fleet, window: Window) -> WindowOpening:
    now = fleet.snapshot.at
    current, following = window.current(now), next_usable(window, now)
    ends = current.end if current is not None and current.end.year < 9999 else None
    return WindowOpening(
        zone=window.zone,
        open=current is not None,
        until=time_text(ends) if ends is not None else None,
        opens_at=time_text(following.begin) if following is not None else None,
    )
