"""Consent over the API: it counts for the person that the token proves, once, and never for who made the change."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from textwrap import dedent

import pytest
from msgspec import structs

from fleetform.app.fleet import Fleet
from fleetform.loop.asking import Reply, RolloutRequest, carry_out
from fleetform.model.identity import Identity
from fleetform.model.objects import Ref
from support.fleets import BASE
from support.plane import Files, Plane

POLICY = dedent(
    """
    apiVersion: fleetform.dev/v1alpha1
    kind: RolloutPolicy
    metadata: {name: standard, namespace: acme}
    spec:
      stages: [{name: all, remainder: true, approvals: {required: 2, from: {groups: [sre]}}}]
    ---
    apiVersion: fleetform.dev/v1alpha1
    kind: Organization
    metadata: {name: acme, namespace: acme}
    spec:
      roles: [{role: approver, groups: [sre]}, {role: operator, groups: [lead]}]
      people: [{name: Ada, emails: [ada@example.org], subjects: [ada]}]
    """
)
FILES = {
    **BASE,
    "preset.yaml": BASE["preset.yaml"].replace("spec:\n", "spec:\n  rolloutPolicy: standard\n", 1),
    "policy.yaml": POLICY,
}
ISSUER = "https://idp.example"
ADA_BY_LOGIN = Identity("ada", groups=("sre",))
ADA_BY_TOKEN = Identity(f"{ISSUER}#1", ("ada@example.org",), ("sre",))
BOB = Identity(f"{ISSUER}#2", ("bob@example.org",), ("sre", "lead"))
BOB_MOVED = Identity(f"{ISSUER}#2", ("robert@example.org",), ("sre",))
EVE = Identity(f"{ISSUER}#3", (), ("sre",))


class WrittenBy(dict[str, str]):
    """Who made which file."""

    def removers(self, objects: Collection[Ref], /) -> Mapping[Ref, str]:
        return {}


def fleet_by(author: str = "") -> Fleet:
    """A fleet whose change waits for consent, made by somebody."""
    plane = Plane(Files(FILES))
    plane.settle()
    fleet = plane.control.fleet
    assert fleet is not None
    authors = dict.fromkeys(FILES, author) if author else {}
    return replace(fleet, input=replace(fleet.input, authors=WrittenBy(authors)))


def ask(fleet: Fleet, who: Identity, **more: object) -> tuple[Reply, Fleet]:
    """A reply, and the fleet with what is known then."""
    request = structs.replace(RolloutRequest(verb="approve", name="web", who=who, stage="all"), **more)
    reply, known, _ = carry_out(fleet, request)
    return reply, replace(fleet, state=known) if known is not None else fleet


@pytest.mark.rule("R2-32", "S47")
def test_two_names_of_one_person_are_one() -> None:
    fleet = fleet_by()
    first, fleet = ask(fleet, ADA_BY_LOGIN)
    assert first.message.endswith(": 1 of 2")
    again, fleet = ask(fleet, ADA_BY_TOKEN)
    assert again.message.endswith(": 1 of 2")
    bob, fleet = ask(fleet, BOB)
    assert bob.message.endswith(": 2 of 2")


@pytest.mark.rule("R2-32")
def test_a_person_whose_address_is_another_by_now_is_the_same_person() -> None:
    _, fleet = ask(fleet_by(), BOB)
    again, _ = ask(fleet, BOB_MOVED)
    assert again.message.endswith(": 1 of 2")


@pytest.mark.rule("R2-32", "S47")
@pytest.mark.parametrize(
    ("author", "who"),
    [("ada@example.org", ADA_BY_TOKEN), ("ada@example.org", ADA_BY_LOGIN), ("bob@example.org", BOB)],
    ids=["joined by people", "joined by people, by login", "by the address that the issuer has verified"],
)
def test_who_made_the_change_does_not_approve_it_by_any_name(author: str, who: Identity) -> None:
    reply, _ = ask(fleet_by(author), who)
    assert reply.problem is not None
    assert (reply.problem.status, "made this change" in reply.problem.detail) == (403, True)
    other, _ = ask(fleet_by(author), EVE)
    assert other.message.endswith(": 1 of 2")


@pytest.mark.rule("R2-32", "S47")
def test_who_made_the_change_does_not_count_for_its_emergency() -> None:
    asked = {"verb": "start", "emergency": True, "reason": "INC-1"}
    mine, _ = ask(fleet_by("bob@example.org"), BOB, **asked)
    assert ": 0 of " in mine.message
    others, _ = ask(fleet_by("ada@example.org"), BOB, **asked)
    assert ": 1 of " in others.message
