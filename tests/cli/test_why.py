"""Why is a cluster not updated? In every state an answer that one can act on."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from msgspec import structs

from fleetform.engine.plan.requests import pause
from fleetform.load.state import StateFile
from fleetform.model.objects import Ref
from fleetform.syntax.times import time_text
from support.command import Result, Runner
from support.worlds import Folder, cluster, definition, installed, manifest, policy, preset

NEW = definition("1.0.0") + "---\n" + definition("1.1.0")
EU_1 = cluster("qa-1", tier="qa") + "---\n" + cluster("eu-2", tier="gold") + "---\n"
HOUR = timedelta(hours=1)


@pytest.fixture
def ask(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Asks about a folder: its files and what is stored are written down, and the command line reads them."""

    def asked(folder: Folder, *arguments: str) -> Result:
        runner = Runner(tmp_path, capsys, monkeypatch)
        runner.write(**{name.removesuffix(".yaml"): text for name, text in folder.files.items()})
        StateFile(str(tmp_path / "state.json")).write(folder.known)
        return runner(*arguments, "--state", "state.json", "--at", time_text(folder.now))

    return asked


def upgrading(**files: str) -> Folder:
    """1.0.0 runs everywhere, and 1.1.0 is on its way: started on the QA cluster."""
    folder = installed(**files)
    folder.edit(certs=NEW)
    folder.go()
    return folder


# ---- The ten states


def up_to_date() -> Folder:
    return installed()


def behind_a_stage() -> Folder:
    return upgrading()


def soaking() -> Folder:
    soak = "{name: qa, clusterSelector: {matchLabels: {tier: qa}}, minSuccessTime: 6h}, {name: gold, remainder: true}"
    folder = installed(policy=policy(soak))
    folder.now += 6 * HOUR
    folder.finish()
    folder.now += 6 * HOUR
    folder.finish()
    folder.edit(certs=NEW)
    folder.go()
    folder.healthy("qa-1")
    folder.go()
    return folder


def outside_of_a_window() -> Folder:
    nights = "{type: Allow, schedule: '0 22 * * *', duration: 4h}"
    folder = installed(
        window=manifest("UpdateWindow", "nights", nights),
        policy=policy("{name: all, remainder: true}"),
        organization=manifest(
            "Organization", "acme", "{defaultRolloutPolicy: standard, defaultUpdateWindows: [nights]}"
        ),
        clusters=EU_1 + cluster("eu-1", "{timeZone: Europe/Berlin}", tier="gold"),
    )
    folder.edit(certs=NEW)
    return folder


def without_approval() -> Folder:
    asks = "{name: all, remainder: true, approvals: {required: 2, from: {users: [ada, bob, cy]}}}"
    folder = installed(policy=policy("{name: all, remainder: true}"))
    folder.edit(certs=NEW, policy=policy(asks))
    return folder


def held() -> Folder:
    folder = installed(policy=policy("{name: all, remainder: true}"))
    folder.edit(certs=NEW, clusters=EU_1 + cluster("eu-1", "{hold: database migration}", tier="gold"))
    return folder


def blocked_by_a_value() -> Folder:
    folder = installed(policy=policy("{name: all, remainder: true}"))
    requires = "options: [{name: host, type: string, required: true}]"
    needs = manifest("PluginDefinition", "certs", f"{{version: 1.1.0, {requires}}}")
    folder.edit(certs=definition("1.0.0") + "---\n" + needs)
    return folder


def failed() -> Folder:
    folder = upgrading(policy=policy("{name: all, remainder: true, maxFailures: 3}"))
    folder.fail("eu-1")
    return folder


def in_flight() -> Folder:
    return upgrading(policy=policy("{name: all, remainder: true}"))


def unreachable() -> Folder:
    folder = installed(policy=policy("{name: all, remainder: true}"))
    folder.edit(certs=NEW)
    silent = {Ref("Cluster", "acme", "eu-1"): folder.now - HOUR}
    folder.store(structs.replace(folder.known.rollouts, silent_since=silent))
    return folder


def paused() -> Folder:
    folder = upgrading()
    folder.healthy("qa-1")
    folder.store(folder.known.rollouts.with_rollout(structs.replace(pause(folder.rollout), note="ada: INC-7")))
    return folder


def frozen() -> Folder:
    audit = "{type: HardFreeze, from: '2026-11-01T00:00:00Z', to: '2026-11-03T00:00:00Z'}"
    folder = installed(policy=policy("{name: all, remainder: true}"))
    folder.edit(certs=NEW, window=manifest("UpdateWindow", "audit", audit))
    return folder


def halted() -> Folder:
    folder = upgrading()
    for wait in (0, 1, 2, 4):
        folder.now += wait * timedelta(minutes=1)
        folder.go()
        folder.fail("qa-1")
    folder.go()
    return folder


def behind_a_dependency() -> Folder:
    all_at_once = policy("{name: all, remainder: true, maxFailures: 3}")
    folder = installed(policy=all_at_once, crds=definition("1.0.0", "crds") + "---\n" + preset(name="crds", of="crds"))
    folder.edit(crds=folder.files["crds.yaml"] + "---\n" + definition("1.1.0", "crds"))
    folder.go()
    folder.observe("Failed", "eu-1", plugin="crds-eu-1")
    needs = definition("1.1.0", more="dependsOn: [{name: crds}]")
    folder.edit(certs=definition("1.0.0") + "---\n" + needs)
    folder.go()
    return folder


def queued() -> Folder:
    gold_first = "{name: gold, clusterSelector: {matchLabels: {tier: gold}}}, {name: rest, remainder: true}"
    folder = upgrading(policy=policy(gold_first))
    folder.healthy("eu-1")
    folder.edit(certs=NEW + "---\n" + definition("1.2.0"))
    folder.go()
    return folder


def before_a_newer_change() -> Folder:
    """As queued, asked of a cluster that 1.1.0 has not reached yet."""
    folder = upgrading()
    folder.edit(certs=NEW + "---\n" + definition("1.2.0"))
    folder.go()
    return folder


ANSWERS = [
    (
        before_a_newer_change,
        1,
        "Waiting",
        ["certs 1.0.0 → 1.1.0   waiting, starts once the stages before it are done; 1.2.0 is queued behind it"],
    ),
    (
        frozen,
        1,
        "Waiting",
        ["waiting, earliest Tue 00:00 UTC (in 1 d 12 h)", "▸ freeze  the hard freeze audit holds, until Tue 00:00"],
    ),
    (
        halted,
        3,
        "Blocked",
        [
            "the failures are dealt with",
            "too many failures in stage qa: 1 failed, 0 allowed",
            "fleetform rollout retry certs",
        ],
    ),
    (
        behind_a_dependency,
        1,
        "Waiting",
        ["what it depends on is healthy", "dependency", "crds"],
    ),
    (
        queued,
        1,
        "Waiting",
        ["certs 1.1.0 → 1.2.0   waiting, starts once the rollout that runs is over", "▸ queue  rollout certs-"],
    ),
    (up_to_date, 0, "UpToDate", ["certs 1.0.0   up to date"]),
    (
        behind_a_stage,
        1,
        "Waiting",
        [
            "certs 1.0.0 → 1.1.0   waiting, starts once the stages before it are done",
            "▸ stage  stage gold follows qa, where 0 of 1 are healthy",
            "fleetform plan --at 2026-11-01T12:00:00Z --state state.json",
        ],
    ),
    (
        soaking,
        1,
        "Waiting",
        [
            "waiting, earliest Mon 06:00 UTC (in 6 h)",
            "▸ soak  stage qa is healthy and must stay so first, until Mon 06:00",
        ],
    ),
    (
        outside_of_a_window,
        1,
        "Waiting",
        [
            "waiting, earliest Sun 22:00 Europe/Berlin (in 9 h)",
            "▸ window  outside of nights, until Sun 22:00 Europe/Berlin (in 9 h)",
        ],
    ),
    (
        without_approval,
        1,
        "Waiting",
        [
            "starts once it is approved",
            "decide now; later moves the end as much",
            "▸ approval  0 of 2 people have approved stage all",
            "fleetform rollout approve certs-",
        ],
    ),
    (
        held,
        3,
        "Blocked",
        ["the cluster's hold is removed", "▸ veto  eu-1 holds: database migration", "spec.hold"],
    ),
    (blocked_by_a_value, 3, "Blocked", ["blocked", "required-option", "host"]),
    (
        failed,
        1,
        "Failed",
        ["failed once, last Sun 12:00 UTC (now), earliest Sun 12:01", "it failed and is tried again"],
    ),
    (in_flight, 1, "InFlight", ["is being changed, since Sun 12:00 UTC (now)"]),
    (
        unreachable,
        1,
        "Unreachable",
        ["unreachable, starts once the cluster answers again", "eu-1 has not answered since 2026-11-01 11:00 UTC"],
    ),
    (
        paused,
        1,
        "Paused",
        [
            "once it is resumed",
            "▸ suspended  rollout certs-",
            "is paused by ada: INC-7",
            "fleetform rollout resume certs-",
        ],
    ),
]


@pytest.mark.rule("S24", "S48")
@pytest.mark.parametrize(("make", "code", "state", "texts"), ANSWERS, ids=[make.__name__ for make, *_ in ANSWERS])
def test_every_state_has_an_answer_to_act_on(
    ask: Callable[..., Result], make: Callable[[], Folder], code: int, state: str, texts: list[str]
) -> None:
    folder = make()
    told = ask(folder, "why", "eu-1", "certs")
    assert told.code == code, told.out + told.err
    for text in texts:
        assert text in told.out
    (item,) = ask(folder, "why", "eu-1", "certs", "-o", "json").json["items"]
    assert item["state"] == state
    for reason in item["reasons"]:
        assert reason["message"]
        assert reason["do"]
        assert reason["object"]["kind"]
    assert sum(reason["decides"] for reason in item["reasons"]) == (1 if item["action"] in ("wait", "block") else 0)


@pytest.mark.rule("S24")
def test_without_a_state_nothing_runs_and_dependencies_are_not_yet_healthy(run: Runner) -> None:
    run.write(
        definition=manifest("PluginDefinition", "web", "{version: 1.0.0, dependsOn: [{name: crds}]}"),
        crds=manifest("PluginDefinition", "crds", "{version: 1.0.0}"),
        preset=manifest("PluginPreset", "web", "{clusterSelector: {}, plugin: {pluginDefinition: {name: web}}}"),
        more=manifest("PluginPreset", "crds", "{clusterSelector: {}, plugin: {pluginDefinition: {name: crds}}}"),
    )
    answer = run("why", "eu-1", "-o", "json")
    items = {each["preset"]: each for each in answer.json["items"]}
    assert answer.code == 1
    assert [each["from"] for each in items.values()] == [None, None]
    assert (items["crds"]["action"], items["crds"]["reasons"]) == ("start", [])
    assert [each["gate"] for each in items["web"]["reasons"]][-1] == "dependency"


def test_a_plugin_is_named_by_its_preset_its_definition_or_itself(ask: Callable[..., Result]) -> None:
    folder = installed()
    for name in ("certs", "certs-eu-1"):
        assert len(ask(folder, "why", "eu-1", name, "-o", "json").json["items"]) == 1
    wrong = ask(folder, "why", "eu-1", "cert")
    assert (wrong.code, "did you mean certs" in wrong.err) == (1, True)


def test_states_are_chosen_and_left_out(ask: Callable[..., Result]) -> None:
    folder = upgrading()

    def clusters(*filters: str) -> list[str]:
        found = ask(folder, "why", *[part for each in filters for part in ("--state-is", each)], "-o", "json")
        return [each["cluster"] for each in found.json["items"]]

    assert clusters("Waiting") == ["eu-1", "eu-2"]
    assert clusters("inflight") == ["qa-1"]
    assert clusters("!Waiting") == ["qa-1"]
    assert clusters("UpToDate") == []
    listed = ask(folder, "get", "plugins", "--state-is", "!InFlight", "-o", "name")
    assert listed.out.split() == ["plugin/certs-eu-1", "plugin/certs-eu-2"]
    assert ask(folder, "why", "--state-is", "Wating").code == 2


def test_those_that_wait_alike_are_told_once(ask: Callable[..., Result]) -> None:
    told = ask(upgrading(), "why", "--state-is", "Waiting")
    assert told.out.count("stage gold follows qa") == 1
    assert "certs 1.0.0 → 1.1.0 on 2 clusters" in told.out


def test_a_cluster_is_needed_or_a_filter(ask: Callable[..., Result]) -> None:
    assert ask(installed(), "why").code == 2


@pytest.mark.rule("B30")
def test_what_cannot_be_compared_is_said_to_be_unknown(ask: Callable[..., Result]) -> None:
    folder = installed()
    state = folder.state("eu-1")
    assert state.admitted is not None
    folder.put("eu-1", structs.replace(state, admitted=structs.replace(state.admitted, input_hash=None), attempt=None))
    answer = ask(folder, "why", "eu-1", "-o", "json")
    (item,) = answer.json["items"]
    assert (answer.code, item["unknown"], item["state"]) == (1, True, "Waiting")
    assert "is not known here" in item["summary"]


def test_the_plan_groups_what_waits_and_counts_stages(ask: Callable[..., Result]) -> None:
    folder = upgrading()
    told = ask(folder, "plan")
    assert told.code == 0
    assert told.out.startswith("1 in flight · 2 wait\n")
    assert "2  stage  stage gold follows qa, where 0 of 1 are healthy" in told.out
    answer = ask(folder, "plan", "-o", "json").json
    (rollout,) = answer["rollouts"]
    assert (answer["kind"], rollout["preset"], rollout["from"], rollout["to"]) == (
        "Plan",
        "certs",
        ["1.0.0"],
        ["1.1.0"],
    )
    qa, gold = rollout["stages"]
    assert (qa["name"], qa["start"], [each["state"] for each in qa["waiting"]]) == ("qa", [], ["InFlight"])
    assert (gold["budget"], [each["cluster"] for each in gold["waiting"]]) == ({"max": 0, "used": 0}, ["eu-1", "eu-2"])


@pytest.mark.rule("R2-32")
def test_the_plan_tells_by_when_each_approval_is_due(ask: Callable[..., Result]) -> None:
    told = ask(without_approval(), "plan")
    assert "  approval of all: decide now; later moves the end as much\n" in told.out


@pytest.mark.rule("B22")
def test_plugins_that_nobody_wants_are_planned_to_go(ask: Callable[..., Result]) -> None:
    folder = installed()
    del folder.files["preset.yaml"]
    found = ask(folder, "plan", "-o", "json").json["removals"]
    assert [each["cluster"] for each in found["start"]] == ["eu-1", "eu-2", "qa-1"]
    assert {each["to"] for each in found["start"]} == {None}


@pytest.mark.rule("S29", "R2-18")
def test_a_presets_status_adds_up_its_plugins(ask: Callable[..., Result]) -> None:
    folder = upgrading()
    (status,) = [each["status"] for each in ask(folder, "get", "presets", "-o", "json").json["items"]]
    assert status["plugins"] == {
        "total": 3, "updated": 1, "ready": 0, "waiting": 2, "blocked": 0, "failed": 0, "unreachable": 0,
    }  # fmt: skip


def test_windows_say_when_they_open_on_each_clock(ask: Callable[..., Result]) -> None:
    (window,) = ask(outside_of_a_window(), "get", "windows", "-o", "json").json["items"]
    zones = {each["zone"]: each["opensAt"] for each in window["status"]["openings"]}
    assert zones == {"Europe/Berlin": "2026-11-01T21:00:00Z", "UTC": "2026-11-01T22:00:00Z"}
    assert (window["status"]["namedBy"], window["status"]["clusters"]) == (["certs"], 3)


def test_policies_say_how_many_clusters_each_stage_has(ask: Callable[..., Result]) -> None:
    (found,) = ask(installed(), "get", "policies", "-o", "json").json["items"]
    assert found["status"]["stages"] == [{"name": "qa", "clusters": 1}, {"name": "gold", "clusters": 2}]


def test_policies_are_listed_with_the_rules_of_lifecycles(ask: Callable[..., Result]) -> None:
    folder = installed(rules=manifest("LifecyclePolicy", "default", "{notice: 2h}"))
    assert ask(folder, "get", "policies", "-o", "name").out.split() == [
        "lifecyclepolicy/default",
        "rolloutpolicy/standard",
    ]


def test_a_plan_of_one_cluster_has_that_one_alone(ask: Callable[..., Result]) -> None:
    (rollout,) = ask(upgrading(), "plan", "-c", "eu-1", "-o", "json").json["rollouts"]
    waiting = [one["cluster"] for each in rollout["stages"] for one in each["waiting"]]
    assert waiting == ["eu-1"]


def test_policies_say_which_presets_they_are_for(ask: Callable[..., Result]) -> None:
    more = [
        preset("rolloutPolicy: careful", name="named"),
        preset("rollout: External", name="outside"),
        preset("rolloutPolicy: standard", name="same"),
        manifest("RolloutPolicy", "careful", "{stages: [{name: all, remainder: true}]}"),
        manifest("RolloutPolicy", "idle", "{stages: [{name: all, remainder: true}]}"),
    ]
    found = ask(Folder(more="---\n".join(more)), "get", "policies", "-o", "json").json["items"]
    assert {each["metadata"]["name"]: each["status"]["presets"] for each in found} == {
        "careful": ["named"],
        "idle": [],
        "standard": ["certs", "same"],
    }


def behind_a_stage_of_a_group() -> Folder:
    """The group rolls out by itself: what people write and look at is its preset."""
    stages = "{name: first, clusterSelector: {clusterNames: [eu-2]}}, {name: others, remainder: true}"
    select = "clusterSelector: {matchLabels: {tier: gold}}"
    return upgrading(preset=preset(f"groups: [{{name: gold, {select}, rollout: {{stages: [{stages}]}}}}]"))


@pytest.mark.rule("S24")
@pytest.mark.parametrize(
    ("make", "gate", "object_", "place"),
    [
        (held, "veto", "Cluster/eu-1", "clusters.yaml:11"),
        (unreachable, "unreachable", "Cluster/eu-1", "clusters.yaml:6"),
        (behind_a_stage, "stage", "PluginPreset/certs", "preset.yaml:1"),
        (behind_a_stage_of_a_group, "stage", "PluginPreset/certs", "preset.yaml:1"),
        (paused, "suspended", "PluginPreset/certs", "preset.yaml:1"),
    ],
)
def test_a_reason_names_the_object_to_look_at_and_where_it_is_written(
    ask: Callable[..., Result], make: Callable[[], Folder], gate: str, object_: str, place: str
) -> None:
    (item,) = ask(make(), "why", "eu-1", "-o", "json").json["items"]
    (found,) = [each["object"] for each in item["reasons"] if each["gate"] == gate]
    assert f"{found['kind']}/{found['name']}" == object_
    assert f"{found['place']['file']}:{found['place']['line']}" == place


@pytest.mark.rule("B8")
def test_a_cluster_in_flight_says_what_is_queued_behind_its_change(ask: Callable[..., Result]) -> None:
    folder = before_a_newer_change()
    told = ask(folder, "why", "qa-1").out
    assert "certs 1.0.0 → 1.1.0   is being changed, since Sun 12:00 UTC (now); 1.2.0 is queued behind it" in told


@pytest.mark.rule("B8")
def test_newer_values_of_the_same_version_are_told_as_a_newer_change(ask: Callable[..., Result]) -> None:
    folder = upgrading()
    folder.edit(preset=preset(values="[{name: host, value: x}]"))
    folder.go()
    assert "the stages before it are done; a newer change is queued behind it" in ask(folder, "why", "eu-1").out


@pytest.mark.rule("B11")
@pytest.mark.parametrize(
    ("end", "told"),
    [("2026-11-05", "ends Thu 00:00 UTC (in 3 d 12 h)"), ("2026-11-01T12:00:00Z", "ended Sun 12:00 UTC (now)")],
)
def test_the_end_of_support_of_what_runs_is_told(ask: Callable[..., Result], end: str, told: str) -> None:
    rules = f"{{support: [{{definition: certs, ends: [{{version: 1.0.x, at: '{end}'}}]}}]}}"
    folder = installed()
    folder.edit(rules=manifest("LifecyclePolicy", "default", rules))
    assert f"; support of 1.0.0 {told}" in ask(folder, "why", "eu-1").out
    (item,) = ask(folder, "why", "eu-1", "-o", "json").json["items"]
    assert item["supportEnds"] == (end if "T" in end else f"{end}T00:00:00Z")


@pytest.mark.rule("B22")
def test_what_is_blocked_for_want_of_a_version_is_not_told_as_a_removal(ask: Callable[..., Result]) -> None:
    folder = installed()
    folder.edit(preset=preset(version="2.0.0"))
    told = ask(folder, "why", "eu-1")
    assert "certs 1.0.0 " in told.out
    ended = "{support: [{definition: certs, ends: [{version: 1.0.x, at: '2026-11-01T12:00:00Z'}]}]}"
    folder = installed()
    folder.edit(rules=manifest("LifecyclePolicy", "default", ended))
    told = ask(folder, "why", "eu-1")
    assert (told.code, told.out.partition("   ")[0]) == (3, "certs 1.0.0")
    assert ask(folder, "why", "eu-1", "-o", "json").json["items"][0]["removal"] is False
    never = installed(rules=manifest("LifecyclePolicy", "default", ended))
    assert ask(never, "why", "eu-1").out.startswith("certs without a version   blocked")
