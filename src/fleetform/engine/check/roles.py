"""Roles: what somebody may do in an organization. Every front door asks here, about reading as about requests.

Roles are given by Organization.spec.roles; those of the platform's namespace count in every organization. Whoever an
organization names under approvers is an approver there. The one who runs the control plane may do everything, and
where nobody gives a role to anybody, that is the only one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

from fleetform.engine.world.consent import Persons
from fleetform.model.identity import Identity
from fleetform.model.kinds import PLATFORM_NAMESPACE
from fleetform.model.kinds.base import ClusterRole, People
from fleetform.model.kinds.fleet import OrganizationSpec, Role
from fleetform.model.objects import Object, Ref

Right = Literal["view", "edit", "approve", "operate"]
# Which roles have a right.
ROLES_WITH: Mapping[Right, frozenset[ClusterRole]] = {
    "view": frozenset({"viewer", "editor", "approver", "operator"}),
    "edit": frozenset({"editor", "operator"}),
    "approve": frozenset({"approver", "operator"}),
    "operate": frozenset({"operator"}),
}
RIGHTS: tuple[Right, ...] = tuple(ROLES_WITH)
Organizations = Mapping[Ref, Object[OrganizationSpec]]


class Roles:
    """The roles of one asker."""

    def __init__(self, organizations: Organizations, who: Identity) -> None:
        self._is_owner = who.owner
        self._in = {
            ref.organization: found
            for ref, each in organizations.items()
            if ref.name == ref.organization and (found := frozenset(_roles_in(each.spec, who)))
        }

    def may(self, right: Right, organization: str) -> bool:
        return self._is_owner or not ROLES_WITH[right].isdisjoint(self.roles_in(organization))

    def roles_in(self, organization: str) -> frozenset[ClusterRole]:
        """The roles that somebody was given, here or everywhere."""
        nothing: frozenset[ClusterRole] = frozenset()
        return self._in.get(organization, nothing) | self._in.get(PLATFORM_NAMESPACE, nothing)

    def where(self, right: Right) -> frozenset[str] | None:
        """The organizations in which something is allowed; None: in all of them, and beside them."""
        if self.may(right, PLATFORM_NAMESPACE):
            return None
        return frozenset(each for each in self._in if self.may(right, each))


def holders(organizations: Organizations, right: Right, organization: str) -> list[str]:
    """Who has a right in an organization, as it is written there: for somebody who does not."""
    found: list[str] = []
    for ref, each in sorted(organizations.items()):
        if ref.name == ref.organization and ref.name in (organization, PLATFORM_NAMESPACE):
            people = [given for given in _given(each.spec) if given.role in ROLES_WITH[right]]
            found += [name for given in people for name in given.users or ()]
            found += [f"group {name}" for given in people for name in given.groups or ()]
    return list(dict.fromkeys(found))


def _roles_in(organization: OrganizationSpec, who: Identity) -> Iterator[ClusterRole]:
    # Names are joined as this organization joins them: nobody else says who its people are.
    persons = Persons(organization)
    names = {*who.names, persons.name(*who.names)}
    for given in _given(organization):
        named = not names.isdisjoint(persons.names(given.users or ()))
        if named or not frozenset(who.groups).isdisjoint(given.groups or ()):
            yield given.role


def _given(organization: OrganizationSpec) -> list[Role]:
    approvers = organization.approvers or People()
    return [*(organization.roles or ()), Role("approver", approvers.users, approvers.groups)]
