"""rollout: requests of people are written to the state, whole or not at all, and the next plan reads them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from fleetform.load.state import StateFile
from fleetform.ports.state import Rejection
from fleetform.syntax.times import time_text
from support.command import Result, Runner
from support.repositories import PLAIN_GIT, Repository
from support.worlds import Folder, cluster, definition, installed, manifest, policy, preset

NEW = definition("1.0.0") + "---\n" + definition("1.1.0")
ASKS = "{name: all, remainder: true, approvals: {required: 2, from: {users: [ada, bob]}}}"
Ask = Callable[..., Result]


class Desk:
    """A folder on disk with its state: commands change the state, and the folder goes on from there."""

    def __init__(self, folder: Folder, runner: Runner) -> None:
        self.folder, self._runner = folder, runner
        self.file = StateFile(str(runner.folder / "state.json"))
        self.save()

    def save(self) -> None:
        self._runner.write(**{name.removesuffix(".yaml"): text for name, text in self.folder.files.items()})
        StateFile(str(self._runner.folder / "state.json")).write(self.folder.known)

    def ask(self, *arguments: str, state: bool = True) -> Result:
        given = ("--state", "state.json") if state else ()
        found = self._runner(*arguments, *given, "--at", time_text(self.folder.now))
        self.folder.known = StateFile(str(self._runner.folder / "state.json")).read()
        return found

    @property
    def name(self) -> str:
        return self.folder.rollout.name


@pytest.fixture
def desk(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[[Folder], Desk]:
    return lambda folder: Desk(folder, Runner(tmp_path, capsys, monkeypatch))


def upgrading(**files: str) -> Folder:
    folder = installed(**files)
    folder.edit(certs=NEW)
    folder.go()
    return folder


def asking_for_consent() -> Folder:
    folder = installed(policy=policy("{name: all, remainder: true}"))
    folder.edit(certs=NEW, policy=policy(ASKS))
    return folder


@pytest.mark.rule("S50")
@pytest.mark.parametrize("verb", ["list", "status x", "approve x --stage s", "pause x", "retry x", "start x"])
def test_without_a_state_there_is_nothing_to_ask(desk: Callable[[Folder], Desk], verb: str) -> None:
    found = desk(installed()).ask("rollout", *verb.split(), state=False)
    assert (found.code, "--state FILE" in found.err) == (2, True)


@pytest.mark.rule("S50", "R2-32", "R2-33", "B26")
def test_enough_people_approve_and_the_stage_starts(desk: Callable[[Folder], Desk]) -> None:
    at = desk(asking_for_consent())
    assert at.folder.go() == []
    at.save()
    assert at.ask("rollout", "approve", at.name, "--stage", "all", "--as", "ada").out.endswith(": 1 of 2\n")
    again = at.ask("rollout", "approve", at.name, "--stage", "all", "--as", "ada")
    assert again.out.endswith(": 1 of 2\n"), "one person is one person"
    assert at.folder.go() == []
    at.ask("rollout", "approve", at.name, "--stage", "all", "--as", "bob")
    assert sorted(at.folder.go()) == ["eu-1", "eu-2", "qa-1"]


@pytest.mark.rule("B26")
def test_an_approval_is_void_when_the_policy_or_the_change_is_another(desk: Callable[[Folder], Desk]) -> None:
    at = desk(asking_for_consent())
    for user in ("ada", "bob"):
        at.ask("rollout", "approve", at.name, "--stage", "all", "--as", user)
    at.folder.edit(policy=policy(ASKS.replace("remainder: true", "remainder: true, minSuccessTime: 1h")))
    assert at.folder.go() == []
    at.folder.edit(policy=policy(ASKS), certs=NEW + "---\n" + definition("1.2.0"))
    assert at.folder.go() == []


def test_who_is_not_asked_is_denied_and_so_is_a_change_that_was_not_looked_at(desk: Callable[[Folder], Desk]) -> None:
    at = desk(asking_for_consent())
    denied = at.ask("rollout", "approve", at.name, "--stage", "all", "--as", "eve")
    assert (denied.code, "these may: ada, bob" in denied.err) == (3, True)
    other = at.ask("rollout", "approve", at.name, "--stage", "all", "--as", "ada", "--change", "c1:0")
    assert other.code == 3
    assert at.ask("rollout", "approve", at.name, "--stage", "al", "--as", "ada").code == 1
    assert at.folder.known.rollouts.approvals == ()


@pytest.mark.rule("S50")
def test_a_stage_that_asks_nobody_says_which_do(desk: Callable[[Folder], Desk]) -> None:
    asks = "{name: gold, remainder: true, approvals: {required: 1, from: {users: [ada]}}}"
    at = desk(upgrading(policy=policy("{name: qa, clusterSelector: {matchLabels: {tier: qa}}}, " + asks)))
    found = at.ask("rollout", "approve", at.name, "--stage", "qa", "--as", "ada")
    assert "stage qa asks for no approval" in found.err
    assert "these do: gold" in found.err


def test_a_dry_run_stores_nothing(desk: Callable[[Folder], Desk]) -> None:
    at = desk(upgrading())
    before = Path(at._runner.folder / "state.json").read_bytes()
    found = at.ask("rollout", "pause", "certs", "--dry-run")
    assert found.out.startswith("would be stored: ")
    assert Path(at._runner.folder / "state.json").read_bytes() == before


def test_pause_and_resume(desk: Callable[[Folder], Desk]) -> None:
    at = desk(upgrading())
    assert at.ask("rollout", "pause", "certs", "--as", "ada", "--reason", "INC-7").code == 0
    at.folder.healthy("qa-1")
    assert at.folder.go() == []
    at.save()
    status = at.ask("rollout", "status", "certs", "-o", "json").json
    assert (status["kind"], status["phase"], status["note"]) == ("Rollout", "Paused", "ada: INC-7")
    assert at.ask("rollout", "resume", at.name).code == 0
    assert at.folder.go() == ["eu-1", "eu-2"]
    at.save()
    assert at.ask("rollout", "resume", at.name).code == 2


@pytest.mark.rule("S50")
def test_what_was_aborted_stays_and_starts_again_only_by_retry(desk: Callable[[Folder], Desk]) -> None:
    at = desk(upgrading())
    at.folder.healthy("qa-1")
    at.save()
    assert at.ask("rollout", "abort", at.name, "--yes").code == 0
    assert at.folder.go() == []
    admitted = at.folder.state("qa-1").admitted
    assert admitted is not None
    assert admitted.version == "1.1.0"
    assert at.folder.gates("eu-1") == ["rejected"]
    at.save()
    assert at.ask("rollout", "retry", "certs").code == 0
    assert at.folder.go() == ["eu-1", "eu-2"]


@pytest.mark.rule("S50", "R2-38", "B10")
def test_a_rollback_returns_what_was_started_until_a_newer_change(desk: Callable[[Folder], Desk]) -> None:
    at = desk(installed())
    at.folder.edit(certs=NEW)
    at.folder.finish()
    at.save()
    wrong = at.ask("rollout", "rollback", "certs", "--to", "0.9.0")
    assert (wrong.code, "rolls back to 1.0.0" in wrong.err) == (3, True)
    assert at.ask("rollout", "rollback", "certs", "--yes", "--to", "1.0.0").code == 0
    at.folder.finish()
    versions = [at.folder.state(each).admitted.version for each in ("qa-1", "eu-1", "eu-2")]  # type: ignore[union-attr]
    assert versions == ["1.0.0"] * 3
    assert at.folder.gates("eu-1") == ["rejected"], "a restart does not clear it"
    at.folder.edit(certs=NEW + "---\n" + definition("1.2.0"))
    assert at.folder.go() == ["qa-1"]


def test_what_waits_after_a_failed_version_says_that_it_is_what_is_asked_for(
    desk: Callable[[Folder], Desk],
) -> None:
    folder = installed()
    folder.edit(certs=NEW, preset=preset(version="1.1.0"))
    folder.known = replace(folder.known, rejected=(Rejection(folder.rollout.owner, "1.1.0"),))
    folder.go()
    at = desk(folder)
    assert "rejected" in folder.gates("eu-1")
    item = at.ask("rollout", "list", "-o", "json").json["items"][-1]
    assert (item["phase"], item["from"], item["to"]) == ("Pending", "1.0.0", "1.1.0")


@pytest.mark.rule("R2-39")
def test_there_is_no_way_back_over_an_irreversible_version(desk: Callable[[Folder], Desk]) -> None:
    at = desk(installed())
    at.folder.edit(certs=definition("1.0.0") + "---\n" + definition("1.1.0", more="changes: {irreversible: true}"))
    at.folder.finish()
    at.save()
    assert at.ask("rollout", "rollback", "certs", "--yes").code == 3


@pytest.mark.rule("B8")
def test_the_newest_change_replaces_the_one_that_runs_if_a_person_says_so(desk: Callable[[Folder], Desk]) -> None:
    at = desk(upgrading())
    at.folder.edit(certs=NEW + "---\n" + definition("1.2.0"))
    assert at.folder.go() == []
    at.folder.healthy("qa-1")
    at.save()
    assert at.ask("rollout", "start", "certs", "--supersede", "--yes").code == 0
    assert at.folder.go() == ["qa-1"]
    assert at.folder.step("qa-1").progress.admitted.version == "1.2.0"  # type: ignore[union-attr]


@pytest.mark.rule("B12", "R2-13")
def test_an_emergency_has_a_reason_and_passes_the_soak(desk: Callable[[Folder], Desk]) -> None:
    soak = "{name: qa, clusterSelector: {matchLabels: {tier: qa}}, minSuccessTime: 7d}, {name: gold, remainder: true}"
    at = desk(_soaking(soak))
    assert at.folder.go() == []
    assert at.ask("rollout", "start", "certs", "--emergency", "--as", "ada").code == 2, "it has no reason"
    found = at.ask("rollout", "start", "certs", "--emergency", "--as", "ada", "--reason", "CVE", "--yes")
    assert "1 of 1 people agree" in found.out
    assert at.folder.go() == ["eu-1", "eu-2"]


def _soaking(soak: str) -> Folder:
    folder = upgrading()
    folder.healthy("qa-1")
    folder.finish()
    folder.edit(policy=policy(soak), certs=NEW + "---\n" + definition("1.2.0"))
    folder.go()
    folder.healthy("qa-1")
    return folder


def test_the_list_has_what_runs_and_what_ended(desk: Callable[[Folder], Desk]) -> None:
    at = desk(upgrading())
    items = at.ask("rollout", "list", "-o", "json").json["items"]
    assert [(each["phase"], each["from"], each["to"]) for each in items] == [
        ("Succeeded", None, "1.0.0"),
        ("Progressing", "1.0.0", "1.1.0"),
    ]
    told = at.ask("rollout", "list").out
    assert "1 of 3" in told
    assert at.ask("get", "rollouts", "-o", "name").out.splitlines() == [f"rollout/{each['name']}" for each in items]


def test_the_list_of_a_cluster_has_rollouts_of_what_is_there(desk: Callable[[Folder], Desk]) -> None:
    plugin = "{pluginDefinition: {name: certs}, releaseName: other}"
    other = manifest("PluginPreset", "other", f"{{clusterSelector: {{clusterNames: [eu-1]}}, plugin: {plugin}}}")
    at = desk(installed(other=other))
    assert {each["preset"] for each in at.ask("rollout", "list", "-o", "json").json["items"]} == {"certs", "other"}
    for narrow, presets in (
        (("-c", "eu-1"), {"certs", "other"}),
        (("-c", "eu-2"), {"certs"}),
        (("-l", "tier=qa"), {"certs"}),
        (("-l", "tier=none"), set()),
    ):
        for question in (("rollout", "list"), ("get", "rollouts")):
            items = at.ask(*question, *narrow, "-o", "json").json["items"]
            assert {each.get("status", each)["preset"] for each in items} == presets


@pytest.mark.rule("S50")
@pytest.mark.parametrize("flag", ["-c", "-l"])
@pytest.mark.parametrize(
    "verb", ["status", "approve --stage s", "pause", "resume", "abort", "rollback --yes", "retry", "start --supersede"]
)
def test_a_rollout_is_one_on_all_its_clusters(desk: Callable[[Folder], Desk], verb: str, flag: str) -> None:
    """Whoever says one cluster believes that no other is touched."""
    at = desk(upgrading())
    before = at.folder.known
    found = at.ask("rollout", *verb.split(), at.name, flag, "eu-1")
    assert (found.code, f"drop {flag}" in found.err, at.folder.known) == (2, True, before)


def test_a_state_that_somebody_else_wrote_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    from fleetform.app.errors import StateChangedError

    folder = upgrading()
    path = tmp_path / "state.json"
    file = StateFile(str(path))
    file.write(folder.known)
    known = file.read()
    path.write_text(json.dumps({"kind": "State", "version": 1, "stamps": []}))
    with pytest.raises(StateChangedError):
        file.write(known)


@pytest.mark.rule("B22")
def test_only_what_a_change_deletes_is_approved_to_be_deleted(desk: Callable[[Folder], Desk]) -> None:
    dns = definition("2.0.0", "dns") + "---\n" + preset("deletionPolicy: Retain", name="dns", of="dns")
    folder = installed(dns=dns)
    kept = preset("deletionPolicy: Retain", name="dns", of="dns").replace(
        "clusterSelector: {}", "clusterSelector: {clusterNames: [eu-1]}"
    )
    folder.edit(preset=None, dns=definition("2.0.0", "dns") + "---\n" + kept)
    at = desk(folder)
    removals = folder.fleet.world.removals
    assert sorted({(each.owner.name, each.retain) for each in removals}) == [("certs", False), ("dns", True)]
    (certs,) = {each.rollout for each in removals if each.owner.name == "certs"}
    (dns_rollout,) = {each.rollout for each in removals if each.owner.name == "dns"}
    asked = at.ask("rollout", "approve", certs, "--stage", "deletes", "--as", "ada")
    assert "ada approved that 3 plugins are deleted" in asked.out
    for nothing in (dns_rollout, "web-00000000"):
        denied = at.ask("rollout", "approve", nothing, "--stage", "deletes", "--as", "ada")
        assert (denied.code, f"nothing of {nothing} waits to be deleted" in denied.err) == (1, True)


def test_each_rollout_of_the_list_has_the_counts_of_its_own_stages(desk: Callable[[Folder], Desk]) -> None:
    first, second = desk(upgrading()).ask("rollout", "list", "-o", "json").json["items"]
    counts = [
        [(each["name"], each["clusters"]["healthy"], each["clusters"]["waiting"]) for each in found["stages"]]
        for found in (first, second)
    ]
    assert counts == [[("qa", 1, 0), ("gold", 2, 0)], [("qa", 0, 0), ("gold", 0, 2)]]


@pytest.mark.rule("R2-32", "S47", "B22")
def test_who_removed_plugins_does_not_approve_their_deletion_and_somebody_else_does(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in PLAIN_GIT.items():
        monkeypatch.setenv(name, value)
    people = "people: [{name: ada, emails: [ada@example.com]}]"
    folder = installed(
        clusters="---\n".join(cluster(f"c-{number}", tier="gold") for number in range(6)),
        organization=manifest("Organization", "acme", f"{{defaultRolloutPolicy: standard, {people}}}"),
    )
    repository = Repository(tmp_path)
    repository.commit(folder.files, author="bob@example.com")
    del folder.files["preset.yaml"]
    repository.commit({"preset.yaml": None}, author="ada@example.com")
    repository.git("reset", "--quiet", "--hard", "main")
    at = Desk(folder, Runner(tmp_path, capsys, monkeypatch))
    planned = at.ask("plan")
    assert "ada made the change and does not count" in planned.out
    (reason,) = at.ask("why", "c-1", "-o", "json").json["items"][0]["reasons"]
    assert reason["gate"] == "deletes"
    rollout = reason["do"].split()[3]
    denied = at.ask("rollout", "approve", rollout, "--stage", "deletes", "--as", "ada")
    assert (denied.code, "ada made this change and cannot approve it" in denied.err) == (3, True)
    agreed = at.ask("rollout", "approve", rollout, "--stage", "deletes", "--as", "bob")
    assert (agreed.code, agreed.out) == (0, "bob approved that 6 plugins are deleted\n")
    assert len(at.ask("plan", "-o", "json").json["removals"]["start"]) == 6


@pytest.mark.rule("S47")
def test_a_plan_warns_where_nobody_knows_who_removed_plugins(desk: Callable[[Folder], Desk]) -> None:
    folder = installed(clusters="---\n".join(cluster(f"c-{number}", tier="gold") for number in range(6)))
    folder.edit(preset=None)
    at = desk(folder)
    (at._runner.folder / "preset.yaml").unlink(missing_ok=True)
    for verb in (("plan",), ("why", "c-1")):
        found = [each for each in at.ask(*verb, "-o", "json").json["diagnostics"] if each["code"] == "unknown-author"]
        assert [each["message"] for each in found] == ["nobody knows who removed plugins of certs: any approver counts"]


@pytest.mark.rule("B3b", "B26", "B27")
def test_a_change_that_a_preview_named_is_approved_by_that_name(desk: Callable[[Folder], Desk], tmp_path: Path) -> None:
    folder = asking_for_consent()
    at = desk(folder)
    earlier = tmp_path / "earlier"
    earlier.mkdir()
    for name, text in {**folder.files, "certs.yaml": definition("1.0.0")}.items():
        (earlier / name).write_text(text)
    seen = at._runner("diff", str(earlier), ".", "-o", "json").json
    (rollout,) = seen["rollouts"]
    for user in ("ada", "bob"):
        given = ("--stage", "all", "--change", rollout["changeId"], "--as", user)
        assert at.ask("rollout", "approve", rollout["name"], *given).code == 0
    assert sorted(at.folder.go()) == ["eu-1", "eu-2", "qa-1"]
    assert rollout["changeId"] in at._runner("diff", str(earlier), ".", "-o", "wide").out
    assert rollout["name"] in at._runner("diff", str(earlier), ".", "-o", "markdown").out


def test_a_list_without_rollouts_names_the_organizations_that_have_some(desk: Callable[[Folder], Desk]) -> None:
    told = desk(upgrading(other=manifest("Cluster", "fra-1", organization="globex"))).ask("rollout", "list")
    assert (told.code, told.out) == (0, "")
    assert told.err == "no rollouts\nthe input holds acme, globex: choose one with -n, or -A for all\n"


def test_rollouts_of_several_organizations_are_told_apart(desk: Callable[[Folder], Desk]) -> None:
    at = desk(upgrading())
    files = "---\n".join(text for _, text in sorted(at.folder.files.items()))
    at.folder.files["other.yaml"] = files.replace("acme", "globex")
    at.save()
    listed = at.ask("rollout", "list", "-A").out.splitlines()
    assert [line.split()[0] for line in listed] == ["ORGANIZATION", "acme", "acme", "globex"]
    assert at.ask("rollout", "list", "-n", "acme").out.startswith("NAME ")
    planned = at.ask("plan", "-A").out
    assert "  certs 1.0.0 → 1.1.0 · acme   Progressing\n" in planned
    assert "  certs 1.1.0 · globex   " in planned
    assert " · " not in at.ask("plan", "-n", "acme").out.partition("\n\n")[2]


def test_a_request_prints_the_name_of_its_rollout_where_names_are_asked_for(desk: Callable[[Folder], Desk]) -> None:
    here = desk(upgrading())
    told = here.ask("rollout", "pause", "certs", "--reason", "INC-7", "-o", "name")
    assert told.out == f"rollout/{here.name}\n"
    assert "paused" in told.err


@pytest.mark.rule("B33")
def test_a_rollout_names_at_most_100_clusters_whatever_they_wait_for(desk: Callable[[Folder], Desk]) -> None:
    held = [cluster(f"c-{number:03}", f"{{hold: reason {number // 15}}}", tier="gold") for number in range(120)]
    folder = installed(clusters="---\n".join((cluster("qa-1", tier="qa"), *held)))
    causes = desk(folder).ask("rollout", "status", "certs", "-o", "json").json["causes"]
    assert sum(each["clusters"] for each in causes) == 120
    assert [len(each["names"]) for each in causes] == [15] * 6 + [10, 0]
