"""Context: what all owners of an organization have in common: its people, policies and windows, each compiled once."""

from __future__ import annotations

from msgspec import structs

from fleetform.engine.decisions import Decisions
from fleetform.engine.desired import Inputs
from fleetform.engine.plan.policy import limits_of
from fleetform.engine.plan.records import Limits
from fleetform.engine.versions.lifecycle import Lifecycle, lifecycle_of
from fleetform.engine.world.candidate import Candidates
from fleetform.engine.world.consent import Consents, Persons, organization_of
from fleetform.engine.world.opening import Openings
from fleetform.engine.world.parts import Part
from fleetform.engine.world.staging import Staging, Stagings
from fleetform.engine.world.stored import Stored
from fleetform.model.authors import Authors
from fleetform.model.kinds import PLATFORM_NAMESPACE
from fleetform.model.kinds.lifecycle import LifecyclePolicySpec
from fleetform.model.objects import Ref

_KINDS = frozenset({"RolloutPolicy", "UpdateWindow", "LifecyclePolicy", "Approval"})


class Context:
    """Of one organization. key is what it was made of: while that is the same, what is compiled may be taken over."""

    def __init__(
        self, decisions: Decisions, inputs: Inputs, stored: Stored, organization: str, authors: Authors
    ) -> None:
        snapshot = decisions.index.snapshot
        homes = (PLATFORM_NAMESPACE, organization)
        policies = [each for ref, each in snapshot.others.items() if ref.kind in _KINDS and ref.organization in homes]
        self.key = (
            snapshot.organizations.get(Ref("Organization", organization, organization)),
            policies,
            decisions.index.placements if decisions.index.placements.objects else None,
            snapshot.announced,
            Same(inputs.transforms),
            tuple(each for each in stored.approvals if each.organization == organization),
            Same(authors if any(each.ref.kind == "Approval" for each in policies) else None),
        )
        lifecycles = [snapshot.others.get(Ref("LifecyclePolicy", home, "default")) for home in homes]
        platform, own = (
            each.spec if each is not None and isinstance(each.spec, LifecyclePolicySpec) else None
            for each in lifecycles
        )
        self.lifecycle: Lifecycle = lifecycle_of(platform, own)
        home = organization_of(snapshot, organization)
        self.persons = Persons(home)
        limits = limits_of(platform, own, home.approvers)
        self.limits: Limits = structs.replace(limits, deletes_approval=self.persons.of_rule(limits.deletes_approval))
        self.candidates = Candidates(decisions, inputs, self.lifecycle)
        self.consents = Consents(snapshot, organization, stored.approvals, self.persons, authors)
        self._stagings = Stagings(snapshot, decisions.index.placements, organization, self.lifecycle)
        self.openings = Openings(snapshot, organization)

    def take_over(self, before: Context) -> None:
        """What depends on nothing but the key. Candidates are of one pass: they read its decisions."""
        self.key, self.limits = before.key, before.limits
        self._stagings, self.openings, self.consents = before._stagings, before.openings, before.consents

    def staging(self, part: Part) -> Staging:
        own = self._stagings.of_group(part.owner, part.group) if part.group is not None else None
        return own if own is not None else self._stagings.of(part.owner)


class Same:
    """Compares by identity: what is in it is looked at by nobody before it is needed."""

    def __init__(self, thing: object) -> None:
        self._thing = thing

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and other._thing is self._thing

    def __hash__(self) -> int:
        return id(self._thing)
