"""Which organizations can be asked about, who may know of them, and what is suggested instead."""

from __future__ import annotations

import pytest

from fleetform.app.errors import NotFoundError
from fleetform.app.fleet import Fleet
from fleetform.app.scope import Scope, scope_of, scope_over
from fleetform.model.kinds import PLATFORM_NAMESPACE
from support.answers import get
from support.fleets import BASE, CLUSTERS, DEFINITION, documents, fleet_of, fleet_with

OFFERED = DEFINITION.replace("namespace: acme", f"namespace: {PLATFORM_NAMESPACE}").replace("name: web", "name: db")
GLOBEX = CLUSTERS.replace("namespace: acme", "namespace: globex")
ALONE = fleet_of(BASE)
OFFERING = fleet_with(offered=OFFERED)


def refusal(fleets: list[Fleet], organization: str, visible: frozenset[str] | None = None) -> tuple[str, str] | None:
    """What is said instead of an answer about an organization, and the hint."""
    try:
        scope_over(fleets, organization, visible=visible)
    except NotFoundError as error:
        return error.message, error.hint
    return None


def test_an_organization_of_the_input_can_be_asked_about_and_no_other() -> None:
    assert refusal([ALONE], "acme") is None
    there = fleet_with(globex=GLOBEX)
    assert refusal([there], "globex") is None
    assert refusal([ALONE], "umbra") == ("there is no organization umbra in the input", "the input holds acme")
    assert refusal([there], "acne") == ("there is no organization acne in the input", "did you mean acme?")
    assert refusal([there], "umbra") == ("there is no organization umbra in the input", "the input holds acme, globex")


def test_the_platform_can_be_asked_about_where_the_input_has_something_of_it() -> None:
    assert refusal([OFFERING], PLATFORM_NAMESPACE) is None
    told = (f"there is no organization {PLATFORM_NAMESPACE} in the input", "the input holds acme")
    assert refusal([ALONE], PLATFORM_NAMESPACE) == told
    # It is no organization itself, and what it offers makes none.
    assert refusal([OFFERING], "umbra") == ("there is no organization umbra in the input", "the input holds acme")


@pytest.mark.parametrize("organization", ["globex", PLATFORM_NAMESPACE])
def test_one_that_is_on_either_side_of_a_comparison_can_be_asked_about(organization: str) -> None:
    more = fleet_with(globex=GLOBEX, offered=OFFERED)
    assert refusal([ALONE, more], organization) is None
    assert refusal([more, ALONE], organization) is None
    assert refusal([ALONE, ALONE], organization) is not None


def test_what_the_asker_may_not_know_of_is_as_if_it_were_not_there() -> None:
    there, mine = fleet_with(globex=GLOBEX, offered=OFFERED), frozenset({"acme"})
    assert refusal([there], "acme", mine) is None
    for other in ("globex", PLATFORM_NAMESPACE):
        told = (f"there is no organization {other} in the input", "the input holds acme")
        assert refusal([there], other, mine) == refusal([ALONE], other, mine) == told
    assert refusal([there], PLATFORM_NAMESPACE, mine | {PLATFORM_NAMESPACE}) is None


def test_an_input_without_any_organization_refuses_none() -> None:
    assert refusal([fleet_of({})], "acme") is None
    assert scope_of(fleet_of({}), None, everywhere=False).organization == "default"


# ---- Without an organization


# Another organization, with a cluster of a name that acme has, too, and one that only it has.
EU_1 = CLUSTERS.split("---")[0].replace("namespace: acme", "namespace: globex")
TWO = fleet_with(globex=documents(EU_1, EU_1.replace("eu-1", "x-1")))


@pytest.mark.rule("S7")
@pytest.mark.parametrize(
    ("cluster", "owner", "organization"),
    [
        (None, None, "default"),
        ("eu-2", None, "acme"),
        ("x-1", None, "globex"),
        (None, "web", "acme"),
        (None, "web-eu-1", "acme"),
        (None, "webs", "default"),
        ("eu-1", "web", "acme"),
        ("eu-1", "web-eu-1", "acme"),
        ("x-1", "wbe", "globex"),
    ],
)
def test_without_an_organization_the_only_one_that_has_what_is_asked_about_is_meant(
    cluster: str | None, owner: str | None, organization: str
) -> None:
    assert scope_of(TWO, None, everywhere=False, cluster=cluster, owner=owner).organization == organization
    assert scope_of(ALONE, None, everywhere=False).organization == "acme"


def test_a_cluster_that_is_not_there_is_told_with_where_there_is_one_or_one_of_a_like_name() -> None:
    def told(organization: str | None, cluster: str, visible: frozenset[str] | None = None) -> tuple[str, str]:
        with pytest.raises(NotFoundError) as refused:
            scope_of(TWO, organization, organization is None, cluster, visible=visible)
        return refused.value.message, refused.value.hint

    assert told("acme", "x-1") == ("there is no cluster x-1 in acme", "there is one in globex: choose with -n")
    assert told("acme", "eu-3")[1].startswith("did you mean eu-")
    assert told("acme", "other") == ("there is no cluster other in acme", "see `fleetform get clusters`")
    assert told(None, "other") == ("there is no cluster other", "see `fleetform get clusters`")
    # A name that only another organization has is not suggested, nor where it is to one who may not know of that.
    assert told(None, "x-12")[1] == "did you mean x-1?"
    assert told("acme", "x-12")[1] == "see `fleetform get clusters`"
    hidden = told("acme", "x-1", frozenset({"acme"}))
    assert "globex" not in "".join(hidden)
    assert told(None, "x-1", frozenset({"acme"}))[0] == "there is no cluster x-1"


@pytest.mark.rule("B15")
@pytest.mark.parametrize(
    ("scope", "told"),
    [
        (Scope("acme"), ["acme", PLATFORM_NAMESPACE]),
        (Scope("globex"), [PLATFORM_NAMESPACE, "globex"]),
        (Scope(None), ["acme", PLATFORM_NAMESPACE, "globex"]),
        (Scope(None, visible=frozenset({"acme"})), ["acme", PLATFORM_NAMESPACE]),
    ],
    ids=["acme", "globex", "all", "all that one may see"],
)
def test_a_listing_tells_what_is_wrong_in_its_organization_and_with_what_the_platform_offers(
    scope: Scope, told: list[str]
) -> None:
    window = "apiVersion: fleetform.dev/v1alpha1\nkind: UpdateWindow\nmetadata: {name: w, namespace: %s}\n"
    odd = {name: f"{window % name}spec: {{type: Allow, tpye: x}}\n" for name in ("acme", "globex", PLATFORM_NAMESPACE)}
    found = get(fleet_with(**odd), scope, "windows")["diagnostics"]
    assert [(each["code"], each["object"]) for each in found] == [
        ("unknown-field", f"UpdateWindow/{name}/w") for name in told
    ]
