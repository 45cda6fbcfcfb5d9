"""Roles over the API: what somebody may not see is not there, and what they may not do is refused and told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx2
import pytest

from fleetform.model.identity import Identity
from fleetform.model.kinds import PLATFORM_NAMESPACE
from fleetform.web.endpoints import EVENTS, READS, REQUESTS
from support.api import ServedPlane
from support.askers import GivenTokens, token_of
from web.test_answers import FILES

ORGANIZATION = """
apiVersion: fleetform.dev/v1alpha1
kind: Organization
metadata: {name: %s, namespace: %s}
spec: %s
"""
ROLES = (
    "{roles: [{role: viewer, users: [vera]}, {role: editor, users: [ed]}, {role: operator, groups: [on-call]},"
    " {role: approver, users: [ada]}]}"
)
OTHERS = "{roles: [{role: operator, users: [uma]}]}"
PEOPLE = GivenTokens(
    Identity("vera"),
    Identity("ed"),
    Identity("ada"),
    Identity("oz", groups=("on-call",)),
    Identity("uma"),
    Identity("root-of-all"),
    Identity("nobody"),
)


def renamed(text: str) -> str:
    """The same fleet in another organization, with clusters and presets of other names."""
    text = text.replace("namespace: acme", "namespace: umbra").replace("name: web", "name: shadow")
    for name in ("eu-1", "eu-2", "us-1"):
        text = text.replace(name, f"dark-{name}")
    return text.replace("pluginDefinition: web", "pluginDefinition: shadow")


ACME = {**FILES, "acme.yaml": ORGANIZATION % ("acme", "acme", ROLES)}
UMBRA = {f"umbra-{name}": renamed(text) for name, text in FILES.items()}
UMBRA["umbra.yaml"] = ORGANIZATION % ("umbra", "umbra", OTHERS)


def served_to_all(folder: Path, files: dict[str, str]) -> ServedPlane:
    folder.mkdir(exist_ok=True)
    found = ServedPlane(folder, files, "root", PEOPLE)
    found.plane.settle()
    return found


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[ServedPlane, ServedPlane]:
    """Both organizations, and acme alone: for what changes nothing."""
    folder = tmp_path_factory.mktemp("pair")
    return served_to_all(folder / "both", {**ACME, **UMBRA}), served_to_all(folder / "alone", ACME)


@pytest.fixture
def served(tmp_path: Path) -> ServedPlane:
    return served_to_all(tmp_path, {**ACME, **UMBRA})


# For every address: how to ask about something of the other organization there.
QUERIES: dict[str, list[str]] = {
    "/api/v1/explain": ["plugin=shadow&cluster=dark-eu-1", "plugin=shadow-dark-eu-1", "definition=shadow"],
    "/api/v1/why": ["", "cluster=dark-eu-1", "plugin=shadow", "organization=umbra"],
    "/api/v1/plan": ["", "cluster=dark-eu-1", "organization=umbra"],
    "/api/v1/history": [
        "cluster=dark-eu-2",
        "cluster=dark-eu-2&organization=umbra",
        "cluster=dark-eu-2&plugin=shadow-dark-eu-2",
    ],
    "/api/v1/rollouts/{name}": ["", "organization=umbra", "organization=acme"],
    "/api/v1/audit": [""],
    "/api/v1/notifications": ["", "organization=umbra"],
    "/api/v1/whoami": [""],
    "/version": [""],
}
LISTS = [
    "",
    "organization=umbra",
    "organization=acme",
    "organization=acme&cluster=dark-eu-1",
    "name=shadow",
    "name=dark-eu-1",
    "cluster=dark-eu-1",
]
NAMES = ["shadow", "umbra", "dark-eu-1"]


@pytest.mark.rule("B15")
@pytest.mark.parametrize("path", [each.path for each in READS])
@pytest.mark.parametrize("user", ["vera", "oz"])
def test_what_is_not_yours_is_answered_as_if_it_were_not_there(
    pair: tuple[ServedPlane, ServedPlane], path: str, user: str
) -> None:
    for query in QUERIES.get(path, LISTS):
        for name in NAMES if "{name}" in path else [""]:
            address = path.replace("{name}", name) + (f"?{query}" if query else "")
            with_others, without = (each.send("GET", address, token_of(user)) for each in pair)
            assert (with_others.status_code, with_others.text) == (without.status_code, without.text), address


@pytest.mark.rule("B15")
@pytest.mark.parametrize("verb", [each.verb for each in REQUESTS])
@pytest.mark.parametrize("user", ["vera", "oz"])
def test_a_request_about_what_is_not_yours_is_refused_as_if_it_were_not_there(
    pair: tuple[ServedPlane, ServedPlane], verb: str, user: str
) -> None:
    both, _ = pair
    for more in ({}, {"organization": "umbra"}):
        body: dict[str, Any] = {"stage": "gold", "emergency": True, "reason": "x", **more}
        with_others, without = (each.ask("shadow", verb, token=token_of(user), **body) for each in pair)
        assert (with_others.status_code, with_others.text) == (without.status_code, without.text)
        assert with_others.status_code == 404
    assert both.ask("web", verb, token=token_of("uma"), stage="gold").status_code == 404
    deletes = both.ask("shadow", "approve", token=token_of(user), stage="deletes")
    assert deletes.status_code == 404


def statuses(served: ServedPlane, user: str) -> dict[str, int]:
    """What comes of each verb, each time on the same fleet."""
    bodies: dict[str, dict[str, Any]] = {"approve": {"stage": "gold"}, "start": {"supersede": True}}
    found: dict[str, int] = {}
    for each in REQUESTS:
        answer = served.ask("web", each.verb, token=token_of(user), dryRun=True, **bodies.get(each.verb, {}))
        found[each.verb] = answer.status_code
    return found


def test_each_role_may_do_what_is_its_own(served: ServedPlane) -> None:
    def allowed(user: str) -> set[str]:
        return {verb for verb, status in statuses(served, user).items() if status != 403}

    assert allowed("vera") == set()
    assert allowed("ed") == {"pause", "resume", "retry"}
    assert allowed("ada") == {"approve"}
    # An operator may ask to approve; whether it counts is the stage's rule to say, and here it names ada alone.
    assert allowed("oz") == {each.verb for each in REQUESTS} - {"approve"}
    assert set(statuses(served, "uma").values()) == {404}


def test_a_refusal_says_who_may_and_is_kept(served: ServedPlane) -> None:
    found = served.ask("web", "abort", token=token_of("ed"))
    assert (found.status_code, found.json()["code"]) == (403, "denied")
    assert found.json()["detail"] == "ed may not abort rollouts in acme"
    assert found.json()["hint"] == "these may: group on-call"
    assert served.ask("web", "abort", token=token_of("ed"), dryRun=True).status_code == 403
    deeds = [each.deed for each in served.plane.store.audit()]
    assert [(each.actor, each.verb, each.outcome, each.organization) for each in deeds] == [
        ("ed", "rollout abort", "denied", "acme"),
        ("ed", "rollout abort", "denied", "acme"),
    ]


def test_who_has_no_role_learns_nothing_at_all(served: ServedPlane) -> None:
    answers: list[httpx2.Response] = []
    for each in READS:
        if each.path not in ("/version", "/api/v1/whoami"):
            query = "?cluster=eu-1&plugin=web" if each.path in ("/api/v1/explain", "/api/v1/history") else ""
            for name in ("web", "nothing"):
                answers.append(served.send("GET", each.path.replace("{name}", name) + query, token_of("nobody")))
    answers += [served.ask("web", each.verb, token=token_of("nobody"), stage="gold") for each in REQUESTS]
    answers.append(served.send("GET", EVENTS, token_of("nobody")))
    tagged = served.send("GET", "/api/v1/clusters").headers["etag"]
    answers.append(served.send("GET", "/api/v1/clusters", token_of("nobody"), headers={"If-None-Match": tagged}))
    assert {(each.status_code, each.json()["detail"]) for each in answers} == {(403, "nobody has no role here")}


def test_where_nobody_gave_roles_only_its_own_user_gets_in(tmp_path: Path) -> None:
    served = served_to_all(tmp_path, FILES)
    assert served.send("GET", "/api/v1/clusters", token_of("vera")).status_code == 403
    assert served.send("GET", "/api/v1/clusters").status_code == 200
    assert served.ask("web", "pause").status_code == 200


def test_roles_of_the_platform_count_everywhere(tmp_path: Path) -> None:
    platform = ORGANIZATION % (
        PLATFORM_NAMESPACE,
        PLATFORM_NAMESPACE,
        "{roles: [{role: viewer, users: [root-of-all]}]}",
    )
    served = served_to_all(tmp_path, {**ACME, **UMBRA, "platform.yaml": platform})
    listed = served.send("GET", "/api/v1/clusters", token_of("root-of-all")).json()["items"]
    assert {each["metadata"]["namespace"] for each in listed} == {"acme", "umbra"}
    assert served.ask("web", "pause", token=token_of("root-of-all")).status_code == 403
    mine = served.send("GET", "/api/v1/clusters", token_of("vera")).json()["items"]
    assert {each["metadata"]["namespace"] for each in mine} == {"acme"}


def test_who_am_i_says_what_a_token_allows(served: ServedPlane) -> None:
    found = served.send("GET", "/api/v1/whoami", token_of("oz")).json()
    assert (found["user"], found["groups"], found["everywhere"]) == ("oz", ["on-call"], [])
    there = {"organization": "acme", "roles": ["operator"], "rights": ["view", "edit", "approve", "operate"]}
    assert found["organizations"] == [there]
    assert served.get("whoami")["everywhere"] == ["view", "edit", "approve", "operate"]
    assert served.send("GET", "/api/v1/whoami", token_of("nobody")).json()["organizations"] == []


def test_only_operators_ask_in_the_name_of_others_and_never_to_consent(served: ServedPlane) -> None:
    denied = served.ask("web", "pause", token=token_of("ed"), behalf="ada")
    assert (denied.status_code, "in the name of others" in denied.json()["detail"]) == (403, True)
    assert served.ask("web", "pause", token=token_of("oz"), behalf="ed", reason="INC-1").status_code == 200
    assert served.get("rollouts/web")["note"] == "ed: asked by oz, INC-1"
    assert [each.deed.actor for each in served.plane.store.audit()] == ["ed as ada", "oz as ed"]
    forged = served.ask("web", "approve", token=token_of("oz"), behalf="ada", stage="gold")
    assert (forged.status_code, forged.json()["code"]) == (403, "denied")
    agreed = served.ask("web", "start", token=token_of("oz"), behalf="ada", emergency=True, reason="x")
    assert agreed.status_code == 403
    as_root = served.ask("web", "approve", behalf="ada", stage="gold")
    assert as_root.status_code == 403
    assert not list(served.plane.store.list("Approval").records)


def test_the_log_is_told_to_operators_of_what_is_theirs(served: ServedPlane) -> None:
    served.ask("web", "pause", token=token_of("ed"))
    served.ask("shadow", "pause", token=token_of("uma"))
    assert served.send("GET", "/api/v1/audit", token_of("vera")).status_code == 403
    mine = served.send("GET", "/api/v1/audit", token_of("oz")).json()
    assert (mine["whole"], [each["organization"] for each in mine["items"]]) == (False, ["acme"])
    all_ = served.get("audit")
    assert (all_["whole"], [each["organization"] for each in all_["items"]]) == (True, ["acme", "umbra"])
