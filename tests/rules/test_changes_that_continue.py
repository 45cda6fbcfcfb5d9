"""A change that had succeeded without all clusters, and is wanted again when what came after it has gone back (B24)."""

from __future__ import annotations

from datetime import timedelta

import pytest
from msgspec import structs

from fleetform.engine.plan.requests import retry, roll_back
from fleetform.model.objects import Ref
from support.worlds import STAGES, Folder, cluster, definition, installed, manifest, policy, preset

HOUR = timedelta(hours=1)
NEW = definition("1.0.0") + "---\n" + definition("1.1.0")
SOAKS = STAGES.replace("tier: qa}}}", "tier: qa}}, maxConcurrency: 1, minSuccessTime: 1h}")
FACTS = preset(values='[{name: host, expression: "cluster.facts.host"}]')


STAYS = ("qa-1", "qa-2", "eu-2", "eu-3")
HALF = manifest("LifecyclePolicy", "default", "{maxUnreachable: 50%}", organization="fleetform-system")


def clusters(eu_2: str = "eu-2") -> str:
    """Two in qa and three in gold, each with a fact of its own."""
    hosts = {"qa-1": "qa-1", "qa-2": "qa-2", "eu-1": "eu-1", "eu-2": eu_2, "eu-3": "eu-3"}
    tiers = {name: "qa" if name.startswith("qa") else "gold" for name in hosts}
    found = [cluster(name, f"{{facts: {{host: {host}}}}}", tier=tiers[name]) for name, host in hosts.items()]
    return "---\n".join(found)


def silence(folder: Folder, *names: str) -> None:
    silent = {Ref("Cluster", "acme", each): folder.now - HOUR for each in names}
    folder.store(structs.replace(folder.known.rollouts, silent_since=silent))


def finish(folder: Folder) -> None:
    for _ in range(3):
        folder.finish()
        folder.now += 2 * HOUR


def goes_back(folder: Folder, release: str) -> None:
    """It fails on qa-1 for good, and then nobody wants it any more."""
    certs = folder.files["certs.yaml"]
    folder.edit(certs=certs + "---\n" + definition(release))
    assert folder.go() == ["qa-1"]
    for _ in range(4):
        folder.fail("qa-1")
        folder.wait(2 * HOUR)
    assert folder.state("qa-1").in_flight
    folder.healthy("qa-1")
    finish(folder)
    folder.edit(certs=certs)


def fails(folder: Folder, name: str) -> None:
    """For good."""
    for _ in range(4):
        folder.fail(name)
        folder.wait(2 * HOUR)


def after_a_way_back(*left_out: str) -> Folder:
    """1.1.0 is on all clusters that answered then; 1.2.0 failed on qa-1 and went back."""
    files = {"policy": policy(SOAKS, "onFailure: Rollback"), "clusters": clusters(), "preset": FACTS, "half": HALF}
    folder = installed(**files)
    finish(folder)
    silence(folder, *left_out)
    folder.edit(certs=NEW)
    finish(folder)
    goes_back(folder, "1.2.0")
    return folder


def version(folder: Folder, name: str) -> str | None:
    admitted = folder.state(name).admitted
    return admitted.version if admitted is not None else None


@pytest.mark.rule("B24", "R2-1")
@pytest.mark.parametrize("failing", ["qa-1", "qa-2"])
def test_what_failed_with_it_counts_where_it_had_not_come_to(failing: str) -> None:
    """Nobody has seen it work there by now, whatever was seen before."""
    folder = after_a_way_back("eu-1")
    fails(folder, failing)
    silence(folder)
    assert folder.go() == []
    assert folder.gates("eu-1") == ["budget", "stage"]
    again, changed = retry(folder.rollout, [(("acme", failing, f"certs-{failing}"), folder.state(failing))])
    folder.store(folder.known.rollouts.with_rollout(again))
    for (_, name, plugin), state in changed:
        folder.put(name, state, plugin)
    assert folder.go() == [failing]
    folder.healthy(failing)
    assert folder.wait(HOUR / 2) == []
    assert folder.gates("eu-1") == ["soak"], "what is healthy must have soaked"
    assert folder.wait(HOUR / 2) == ["eu-1"]


@pytest.mark.rule("B24")
def test_where_nothing_failed_with_it_it_goes_on() -> None:
    folder = after_a_way_back("eu-1")
    silence(folder)
    assert folder.go() == ["eu-1"]
    assert version(folder, "eu-1") == "1.1.0"
    finish(folder)
    assert folder.rollout.phase == "Succeeded"


@pytest.mark.rule("B24", "R2-1")
@pytest.mark.parametrize(
    "edit",
    [
        pytest.param({"clusters": clusters(eu_2="c")}, id="another fact of a cluster"),
        pytest.param(
            {
                "own": manifest(
                    "PluginOverride",
                    "own",
                    "{clusterSelector: {clusterNames: [eu-2]}, overrides: [{path: replicas, value: 4}]}",
                )
            },
            id="an override of one cluster",
        ),
    ],
)
def test_what_failed_with_it_is_no_matter_of_a_change_that_reaches_others_alone(edit: dict[str, str]) -> None:
    folder = after_a_way_back()
    fails(folder, "qa-1")
    assert folder.go() == []
    folder.edit(**edit)
    assert folder.go() == ["eu-2"]


@pytest.mark.rule("S45", "R2-38", "S50")
@pytest.mark.parametrize("by_hand", [False, True])
def test_it_goes_back_where_it_was_continued_and_stays_where_it_had_succeeded(by_hand: bool) -> None:
    folder = after_a_way_back("eu-1")
    silence(folder)
    assert folder.go() == ["eu-1"]
    if by_hand:
        finish(folder)
        folder.store(folder.known.rollouts.with_rollout(roll_back(folder.rollout)))
    else:
        for _ in range(4):
            folder.fail("eu-1")
            folder.wait(2 * HOUR)
    told = {name: (folder.step(name).state, folder.gates(name)) for name in STAYS}
    assert told == dict.fromkeys(STAYS, ("UpToDate", []))
    finish(folder)
    found = {name: (version(folder, name), folder.step(name).state) for name in (*STAYS, "eu-1")}
    assert found == {
        **dict.fromkeys(STAYS, ("1.1.0", "UpToDate")),
        "eu-1": ("1.0.0", "Blocked"),
    }


@pytest.mark.rule("B24")
def test_it_may_have_been_continued_before() -> None:
    """What came to a cluster by the first of them counts as what came by the last one."""
    folder = after_a_way_back("eu-1", "eu-2")
    silence(folder, "eu-1")
    assert folder.go() == ["eu-2"]
    finish(folder)
    assert folder.rollout.phase == "Succeeded"
    goes_back(folder, "1.3.0")
    fails(folder, "qa-2")
    silence(folder)
    assert folder.go() == []
    assert folder.gates("eu-1") == ["budget", "stage"]
