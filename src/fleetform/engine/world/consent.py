"""Consent: who agreed to what, and who is who (R2-32, R2-33, S47).

People are known by several names: the address in their commits, their login here, the subject of a token. An
organization joins them; everybody counts once, and nobody approves what they made by calling themselves otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import NamedTuple

from msgspec import structs

from fleetform.engine.plan.records import Approval, Emergency
from fleetform.engine.plan.rollouts import Policy
from fleetform.engine.plan.stages import ApprovalRule
from fleetform.model.authors import Admitted, Authors
from fleetform.model.kinds.fleet import OrganizationSpec
from fleetform.model.kinds.lifecycle import ApprovalSpec
from fleetform.model.kinds.preset import EmergencyChange
from fleetform.model.objects import AnyObject, Object, Ref
from fleetform.model.snapshot import Snapshot
from fleetform.syntax.times import parse_time


class Persons:
    """The people of an organization, each by one name."""

    def __init__(self, organization: OrganizationSpec) -> None:
        self._names: dict[str, str] = {}
        for person in organization.people or ():
            for alias in (person.name, *(person.emails or ()), *(person.subjects or ())):
                self._names.setdefault(alias, person.name)

    def name(self, alias: str, *more: str) -> str:
        """The person with that name; more are other names that are proved to be the same one's."""
        known = (self._names[each] for each in (alias, *more) if each in self._names)
        return next(known, alias)

    def names(self, aliases: Iterable[str]) -> frozenset[str]:
        return frozenset(map(self.name, aliases))

    def of_policy(self, policy: Policy) -> Policy:
        """The policy with the people that it names as they are known here."""
        if not self._names or not any(rule.approvals is not None and rule.approvals.users for rule in policy.stages):
            return policy
        stages = []
        for rule in policy.stages:
            if rule.approvals is not None:
                rule = structs.replace(rule, approvals=self.of_rule(rule.approvals))
            stages.append(rule)
        return structs.replace(policy, stages=tuple(stages))

    def of_rule(self, rule: ApprovalRule) -> ApprovalRule:
        return structs.replace(rule, users=self.names(rule.users))


class Doubt(NamedTuple):
    """An approval in a manifest, and who its file is by: empty if git does not know, None if it is not in git."""

    approval: Object[ApprovalSpec]
    author: str | None


class Consents:
    """The approvals of an organization, by rollout: as manifests, and as they are stored."""

    def __init__(
        self, snapshot: Snapshot, organization: str, stored: Iterable[Approval], persons: Persons, authors: Authors
    ) -> None:
        self._persons, self._authors = persons, authors
        self._stored: dict[str, list[Approval]] = {}
        for each in stored:
            if each.organization == organization:
                known = structs.replace(each, user=persons.name(each.user, *each.also))
                self._stored.setdefault(each.rollout, []).append(known)
        self._written: dict[str, list[Object[ApprovalSpec]]] = {}
        for ref, object_ in sorted(snapshot.others.items()):
            if ref.kind == "Approval" and ref.organization == organization and isinstance(object_.spec, ApprovalSpec):
                self._written.setdefault(object_.spec.rollout, []).append(object_)

    def of(self, rollout: str, policy: str) -> tuple[Approval, ...]:
        """Approvals of a rollout. A manifest counts for the policy of now, unless it was stored under another (B26)."""
        stored = self._stored.get(rollout, [])
        seen = {(each.stage, each.change_id, each.user) for each in stored}
        found = list(stored)
        for written in self._written.get(rollout, ()):
            each, user = written.spec, self._persons.name(written.spec.user or "")
            if user and (each.stage, each.change_id, user) not in seen and self._is_theirs(written):
                groups = frozenset(each.groups or ()) if self._are_admitted else frozenset[str]()
                bound = (rollout, each.stage, each.change_id, policy)
                given = _given(written)
                found.append(Approval(*bound, user, groups, comment=each.comment or "", at=given))
        return tuple(found)

    def doubtful(self, rollout: str) -> Iterator[Doubt]:
        """The manifests of a rollout that do not count, or that anybody could have written."""
        for written in self._written.get(rollout, ()) if not self._are_admitted else ():
            author = self._authors.get(written.origin.file)
            if author is None or not self._is_theirs(written):
                yield Doubt(written, author)

    @property
    def _are_admitted(self) -> bool:
        return isinstance(self._authors, Admitted)

    def _is_theirs(self, written: Object[ApprovalSpec]) -> bool:
        """Whether the author of its file gives it. In a plain folder nobody can tell: there it counts (S47)."""
        author = self._authors.get(written.origin.file)
        if author is None:
            return True
        return bool(author) and self._persons.name(author) == self._persons.name(written.spec.user or "")


def _given(written: Object[ApprovalSpec]) -> datetime | None:
    """When an API server took it; None where nobody says so, as in a folder."""
    try:
        return parse_time(written.metadata.creation_timestamp or "")
    except ValueError:
        return None


def emergency_of(written: EmergencyChange | None, asked: Emergency | None, persons: Persons) -> Emergency | None:
    """An emergency that an owner's manifest declares, else one that somebody asked for."""
    if written is None:
        return structs.replace(asked, approved_by=persons.names(asked.approved_by)) if asked is not None else None
    try:
        expires = parse_time(written.expires)
    except ValueError:
        # Validation says so; without an end it is none (B12).
        return None
    people = [written.approved_by] if isinstance(written.approved_by, str) else written.approved_by or []
    return Emergency(written.reason, expires, persons.names(people))


def organization_of(snapshot: Snapshot, name: str) -> OrganizationSpec:
    found = snapshot.organizations.get(Ref("Organization", name, name))
    return found.spec if found is not None else OrganizationSpec()


def authors_of(objects: Iterable[AnyObject], authors: Authors, persons: Persons) -> frozenset[str]:
    """The people who made the files of objects what they are, as far as they are known."""
    files = {each.origin.file for each in objects}
    return persons.names(found for found in map(authors.get, files) if found)


def asks_for_others(policy: Policy) -> bool:
    """Whether a policy wants consent of people who did not make the change: only then it matters who did."""
    return any(each.approvals is not None and each.approvals.not_author for each in policy.stages)
