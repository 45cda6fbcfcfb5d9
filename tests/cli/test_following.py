"""rollout status --watch and --wait: until the end, on one screen, with the right exit code."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from msgspec import structs

from cli.test_rollout import Desk, upgrading
from fleetform.app.errors import NoAnswerError
from fleetform.app.rollout import Person, Rollouts
from fleetform.app.scope import Scope
from fleetform.cli.rollout.following import Follower, Standing, is_over, missing_text
from fleetform.cli.rollout.view import cause_text, status_lines
from fleetform.cli.text import Painter
from fleetform.loop.deciding import decided
from fleetform.outside.control_plane import ServerError
from fleetform.syntax.times import parse_time, time_text
from loop.test_control import installed, plane, upgraded
from support.command import Runner
from support.plane import Plane


def standing(found: Plane, name: str = "web") -> Standing:
    assert found.control.fleet is not None
    return Standing(Rollouts(found.control.fleet, Scope("acme"), Person("ann")).status(name), found.clock.at)


def follower(*answers: Standing | NoAnswerError, seconds: float | None = None) -> Follower:
    """One that gets these answers, a second after each other."""
    left: Iterator[Standing | NoAnswerError] = iter(answers)
    ticks = iter(range(10_000))

    def read(name: str) -> Standing:
        found = next(left)
        if isinstance(found, NoAnswerError):
            raise found
        return found

    timeout = timedelta(seconds=seconds) if seconds is not None else None
    return Follower(read, True, Painter(False), timeout, lambda _: None, lambda: next(ticks))


def of_an_upgrade(failing: bool = False) -> list[Standing]:
    """A rollout from its start to its end, as it is seen from time to time."""
    found = installed()
    if failing:
        found.health.says["us-1", "1.1.0"] = "Failed"
    upgraded(found)
    seen = []
    for _ in range(4 if not failing else 60):
        found.settle()
        seen.append(standing(found))
        found.wait(minutes=31 if not failing else 2)
    return seen


def test_it_follows_a_rollout_to_its_end_and_tells_each_change_once(capsys: pytest.CaptureFixture[str]) -> None:
    seen = of_an_upgrade()
    twice = [each for each in seen for _ in range(2)]
    found, code = follower(*twice).follow("web")
    assert (found.item.phase, code) == ("Succeeded", 0)
    lines = [line[10:] for line in capsys.readouterr().err.splitlines()]
    assert lines == [
        "dev 1 of 1 healthy · gold 0 of 2 healthy · Soaking",
        "dev 1 of 1 healthy · gold 2 of 2 healthy · Succeeded",
    ]


def test_one_that_failed_ends_with_1_after_its_retries_and_its_way_back_and_says_with_what() -> None:
    seen = of_an_upgrade(failing=True)
    assert any(each.item.phase == "Halted" and each.item.ended is None for each in seen), "a retry may heal it"
    found, code = follower(*seen).follow("web")
    assert (found.item.phase, found.item.rejected, code) == ("Halted", True, 1)
    assert found.item.ended is not None
    assert [(each.state, each.names) for each in found.item.causes] == [("Failed", ["us-1"])]


def test_one_whose_next_try_is_due_at_this_moment_is_not_over() -> None:
    found = installed()
    found.health.says["us-1", "1.1.0"] = "Failed"
    upgraded(found)
    while (seen := standing(found)).item.phase != "Halted":
        found.wait(minutes=1)
    [failed] = [each for each in seen.item.causes if each.state == "Failed"]
    assert failed.until is not None
    # The pass that makes the try has not been there yet.
    due = parse_time(failed.until)
    assert found.control.fleet is not None
    later = decided(found.control.fleet, found.control.image.known, due, None)
    item = Rollouts(later, Scope("acme"), Person("ann")).status("web")
    [failed] = [each for each in item.causes if each.state == "Failed"]
    assert (item.phase, failed.until, is_over(item)) == ("Halted", time_text(due), False)
    assert cause_text(failed, due) == "it failed, next try now  (us-1)"


def test_what_takes_too_long_ends_with_5_and_names_what_is_missing() -> None:
    found, code = follower(*[of_an_upgrade()[0]] * 9, seconds=3).follow("web")
    assert code == 5
    said = missing_text(found)
    assert said.startswith("  stage dev: 0 of 1 clusters to go\n  stage gold: 2 of 2 clusters to go\n  Waiting: ")
    assert "(eu-1, us-1)" in said


def test_a_server_that_is_restarted_is_waited_for_and_one_that_is_gone_is_not(
    capsys: pytest.CaptureFixture[str],
) -> None:
    gone = ServerError("nobody answers", "", "unavailable", 4)
    first, *_, last = of_an_upgrade()
    _, code = follower(first, gone, gone, last).follow("web")
    assert code == 0
    lines = [line[10:] for line in capsys.readouterr().err.splitlines()]
    assert lines == [
        "dev 1 of 1 healthy · gold 0 of 2 healthy · Soaking",
        "nobody answers; trying again",
        "dev 1 of 1 healthy · gold 2 of 2 healthy · Succeeded",
    ]
    with pytest.raises(ServerError):
        follower(first, *[gone] * 100).follow("web")


@pytest.mark.rule("B33")
def test_failures_are_told_by_their_cause_and_not_by_their_cluster() -> None:
    cluster = "apiVersion: fleetform.dev/v1alpha1\nkind: Cluster\nmetadata: {name: c%02d, namespace: acme}\n"
    found = plane(**{"more.yaml": "---\n".join(cluster % number for number in range(30))})
    policy = found.files.files["policy.yaml"]
    found.files.files["policy.yaml"] = policy.replace("maxConcurrency: 1", "maxConcurrency: 100%, maxFailures: 100%")
    found.health.says.update({f"c{number:02d}": "Failed" for number in range(30)})
    found.wait(hours=9)
    item, now = standing(found)
    assert [(each.clusters.healthy, each.clusters.failed) for each in item.stages] == [(1, 0), (2, 30)]
    failed = [each for each in item.causes if each.state == "Failed"]
    assert [(each.clusters, len(each.names)) for each in failed] == [(30, 20)]
    lines = status_lines(item, now, Painter(False), 100, 12)
    assert len(lines) <= 12
    assert max(map(len, lines)) <= 100
    assert any("30 clusters" in line and "c00, c01" in line for line in lines)


@pytest.mark.rule("B33")
def test_failures_that_are_alike_are_told_as_one_cause() -> None:
    found = plane()
    policy = found.files.files["policy.yaml"]
    found.files.files["policy.yaml"] = policy.replace("maxConcurrency: 1", "maxConcurrency: 100%, maxFailures: 100%")
    for number, cluster in enumerate(("eu-1", "us-1")):
        found.health.says[cluster, "1.0.0"] = "Failed"
        found.health.messages[cluster] = f"{cluster}: {number + 3} of 9 pods are down"
    found.wait(hours=9)
    item, _ = standing(found)
    failed = [each for each in item.causes if each.state == "Failed"]
    assert [(each.message, each.names) for each in failed] == [("its cluster: … of 9 pods are down", ["eu-1", "us-1"])]


def test_a_rollout_that_leads_nowhere_any_more_and_one_that_somebody_asked_about_read_well() -> None:
    found = installed()
    upgraded(found)
    found.settle()
    item, now = standing(found)
    lines = status_lines(structs.replace(item, from_="1.0.0", to=None, note="ann: INC-1"), now, Painter(False))
    assert lines[0] == f"{item.name}  web 1.0.0   {item.phase} (last asked for by ann: INC-1)"


@pytest.mark.rule("S50")
def test_on_a_state_wait_times_out_and_names_the_stage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    at = Desk(upgrading(), Runner(tmp_path, capsys, monkeypatch))
    found = at.ask("rollout", "status", "certs", "--wait", "--timeout", "0s")
    assert found.code == 5
    assert "not over after 0s:" in found.err
    assert "  stage " in found.err
    assert found.out.startswith("certs-")
    assert at.ask("rollout", "status", "certs", "--timeout", "1s").code == 2
    waiting = at.ask("rollout", "start", "certs", "--supersede", "--yes", "--wait", "--timeout", "0s", "-o", "json")
    assert (waiting.code, waiting.json["kind"]) == (5, "Rollout")
