"""How health is judged where delivery cannot tell."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from fleetform.model.kinds.fleet import AssumedHealth, ClusterHealth
from fleetform.observe.health import ClusterObserver
from fleetform.ports.observing import Delivered, Verdict

NOW = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
KEY = ("acme", "eu-1", "cert-manager")


def judged(
    health: ClusterHealth | None, folder: Path, now: datetime = NOW, commands: Path | None = None, hash_: str = "h1:new"
) -> Verdict:
    observer = ClusterObserver(str(commands) if commands is not None else None, seconds=5)
    return observer.observe([Delivered(KEY, hash_, NOW - timedelta(minutes=5), health, str(folder))], now)[KEY]


@pytest.mark.rule("S49")
def test_what_was_delivered_is_healthy_at_once_unless_the_cluster_says_otherwise(tmp_path: Path) -> None:
    assert judged(None, tmp_path).health == "Healthy"


def test_health_may_be_assumed_after_a_time(tmp_path: Path) -> None:
    health = ClusterHealth(assume=AssumedHealth(after="10m"))
    early = judged(health, tmp_path)
    assert (early.health, early.look_at) == ("Unknown", NOW + timedelta(minutes=5))
    assert judged(health, tmp_path, NOW + timedelta(minutes=5)).health == "Healthy"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plugins: {cert-manager: {health: Healthy, inputHash: 'h1:new'}}", "Healthy"),
        ("plugins: {cert-manager: {health: Failed, inputHash: 'h1:new'}}", "Failed"),
        ("plugins: {cert-manager: {health: Failed, inputHash: 'h1:old'}}", "Unknown"),
        ("plugins: {other: {health: Failed, inputHash: 'h1:new'}}", "Unknown"),
        ("health: Failed", "Failed"),
        ("health: Sick", "Unknown"),
        ("- a list", "Unknown"),
        ("{", "Unknown"),
        ("", "Unknown"),
    ],
)
def test_a_health_file_tells_of_one_hash_or_of_the_cluster(tmp_path: Path, text: str, expected: str) -> None:
    file = tmp_path / "health.yaml"
    file.write_text(text)
    os.utime(file, (NOW.timestamp(), NOW.timestamp()))
    assert judged(ClusterHealth(file="health.yaml"), tmp_path).health == expected


def test_a_health_file_with_a_typo_names_the_nearest_word(tmp_path: Path) -> None:
    (tmp_path / "health.yaml").write_text("health: healthy")
    said = judged(ClusterHealth(file="health.yaml"), tmp_path).message
    wrong = "health must be one of Failed, Healthy, Unknown, not 'healthy' (did you mean Healthy?)"
    assert said == f"{tmp_path}/health.yaml cannot be read: {wrong}"


@pytest.mark.rule("B1")
def test_a_file_from_before_the_delivery_tells_nothing_of_it(tmp_path: Path) -> None:
    file = tmp_path / "health.yaml"
    file.write_text("health: Healthy")
    old = (NOW - timedelta(minutes=6)).timestamp()
    os.utime(file, (old, old))
    found = judged(ClusterHealth(file="health.yaml"), tmp_path)
    assert found.health == "Unknown"
    when = "2026-03-02 11:54:00 UTC, delivered 2026-03-02 11:55:00 UTC"
    assert found.message == (
        f"the health file of eu-1 was written before this delivery ({when}): waiting for a newer one"
    )
    assert found.hint == f"write {file} again"


def test_what_keeps_anybody_from_telling_comes_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "other.yaml").write_text("plugins: {cert-manager: {health: Healthy, inputHash: 'h1:earlier'}}")
    (tmp_path / "mute.yaml").write_text("message: ''")
    (tmp_path / "broken.yaml").write_text("health: [")
    about_another = judged(ClusterHealth(file="other.yaml"), tmp_path)
    assert "is about another state (h1:earlier) than was delivered (h1:new)" in about_another.message
    assert "does not say how cert-manager is doing" in judged(ClusterHealth(file="mute.yaml"), tmp_path).message
    for health in (
        ClusterHealth(file="other.yaml"),
        ClusterHealth(file="mute.yaml"),
        ClusterHealth(file="none.yaml"),
        ClusterHealth(file="broken.yaml"),
        ClusterHealth(command="none"),
    ):
        found = judged(health, tmp_path)
        assert (found.health, bool(found.hint)) == ("Unknown", True), health
    assert judged(ClusterHealth(assume=AssumedHealth(after="1h")), tmp_path).hint == ""


def test_a_missing_file_is_unknown_and_looked_for_again(tmp_path: Path) -> None:
    found = judged(ClusterHealth(file="none.yaml"), tmp_path)
    assert (found.health, found.reachable) == ("Unknown", True)
    assert found.look_at is not None


@pytest.mark.rule("B25")
def test_a_cluster_that_does_not_answer_is_neither_healthy_nor_failed(tmp_path: Path) -> None:
    (tmp_path / "health.yaml").write_text("reachable: false\nhealth: Healthy")
    found = judged(ClusterHealth(file="health.yaml"), tmp_path)
    assert (found.health, found.reachable) == ("Unknown", False)


@pytest.mark.parametrize(
    ("script", "expected", "message"),
    [
        ("echo fine; exit 0", "Healthy", "fine"),
        ('echo "$1 $2 $3"; exit 1', "Failed", "eu-1 cert-manager h1:new"),
        ("exit 3", "Unknown", "the health command probe ended with exit code 3"),
        ('cat | grep -q \'"organization":"acme"\' && exit 0; exit 1', "Healthy", ""),
    ],
)
def test_a_command_answers_by_its_exit_code(tmp_path: Path, script: str, expected: str, message: str) -> None:
    command = tmp_path / "probe"
    command.write_text(f"#!/bin/sh\n{script}\n")
    command.chmod(0o755)
    found = judged(ClusterHealth(command="probe"), tmp_path, commands=tmp_path)
    assert (found.health, found.message) == (expected, message)


@pytest.mark.parametrize("name", ["missing", "../probe", "/bin/true", ".hidden", ""])
def test_only_commands_of_the_health_folder_run(tmp_path: Path, name: str) -> None:
    commands = tmp_path / "commands"
    commands.mkdir()
    for place in (tmp_path / "probe", commands / ".hidden"):
        place.write_text("#!/bin/sh\nexit 0\n")
        place.chmod(0o755)
    assert judged(ClusterHealth(command=name), tmp_path, commands=commands).health == "Unknown"
    assert judged(ClusterHealth(command="probe"), tmp_path).health == "Unknown"


def test_a_command_that_hangs_is_ended(tmp_path: Path) -> None:
    command = tmp_path / "probe"
    command.write_text("#!/bin/sh\nsleep 60\n")
    command.chmod(0o755)
    observer = ClusterObserver(str(tmp_path), seconds=0.3)
    delivered = Delivered(KEY, "h1:new", NOW, ClusterHealth(command="probe"))
    assert observer.observe([delivered], NOW)[KEY].health == "Unknown"


def wrote(folder: Path, name: str, text: str, when: datetime = NOW) -> ClusterHealth:
    (folder / name).write_text(text)
    os.utime(folder / name, (when.timestamp(), when.timestamp()))
    return ClusterHealth(file=name)


AGAIN = NOW + timedelta(seconds=10)


def test_a_verdict_by_a_file_is_whole(tmp_path: Path) -> None:
    """What is said, when to look again, and what to do."""
    file = tmp_path / "health.yaml"

    def told(text: str, when: datetime = NOW, hash_: str = "h1:new") -> Verdict:
        return judged(wrote(tmp_path, "health.yaml", text, when), tmp_path, hash_=hash_)

    assert told("{health: Healthy, message: all up}") == Verdict("Healthy", "all up", AGAIN)
    assert told("health: Failed") == Verdict("Failed", "", AGAIN)
    own = "{health: Failed, message: all down, plugins: {cert-manager: {health: Healthy, message: fine}}}"
    assert told(own) == Verdict("Healthy", "fine", AGAIN)
    assert told("plugins: {cert-manager: {}}") == Verdict(
        "Unknown",
        "the health file of eu-1 does not say how cert-manager is doing",
        AGAIN,
        hint=f"have {file} say health: Healthy or Failed",
    )
    assert told("message: starting").message == "starting"
    assert told("reachable: false") == Verdict(
        "Unknown", f"{file}: the cluster does not answer", AGAIN, reachable=False
    )
    assert told("{reachable: false, message: no route}").message == "no route"
    # Written at the very time of the delivery it is about it; a second before it is not, unless it names the hash.
    delivered = NOW - timedelta(minutes=5)
    assert told("health: Healthy", delivered).health == "Healthy"
    assert told("health: Healthy", delivered - timedelta(seconds=1)).health == "Unknown"
    named = "plugins: {cert-manager: {health: Healthy, inputHash: 'h1:new'}}"
    assert told(named, delivered - timedelta(seconds=1)) == Verdict("Healthy", "", AGAIN)
    assert told(named, hash_="h1:0123456789abcdef") == Verdict(
        "Unknown",
        "the health file of eu-1 is about another state (h1:new) than was delivered (h1:0123456789ab):"
        " waiting for a newer one",
        AGAIN,
        hint=f"write {file} again",
    )


def test_what_is_assumed_needs_no_second_look_once_it_is_healthy(tmp_path: Path) -> None:
    assert judged(None, tmp_path) == Verdict("Healthy")
    assert judged(ClusterHealth(), tmp_path) == Verdict("Healthy")
    health = ClusterHealth(assume=AssumedHealth(after="10m"))
    assert judged(health, tmp_path) == Verdict("Unknown", "assumed healthy after 10m", NOW + timedelta(minutes=5))


def test_each_plugin_is_told_of_by_the_file_of_its_own_cluster(tmp_path: Path) -> None:
    one, two = wrote(tmp_path, "one.yaml", "health: Healthy"), wrote(tmp_path, "two.yaml", "health: Failed")
    other = ("acme", "eu-2", "cert-manager")
    asked = [Delivered(KEY, "h1:a", NOW, one, str(tmp_path)), Delivered(other, "h1:a", NOW, two, str(tmp_path))]
    found = ClusterObserver().observe(asked, NOW)
    assert {key: each.health for key, each in found.items()} == {KEY: "Healthy", other: "Failed"}


def command(folder: Path, script: str) -> ClusterHealth:
    (folder / "probe").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "probe").chmod(0o755)
    return ClusterHealth(command="probe")


def test_a_verdict_by_a_command_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "probe"

    def told(script: str) -> Verdict:
        return judged(command(tmp_path, script), tmp_path, commands=tmp_path)

    assert told("printf '\\nfine\\nreally\\n'") == Verdict("Healthy", "fine", AGAIN)
    assert told("echo gone; exit 1") == Verdict("Failed", "gone", None), "what has failed is not asked about again"
    hint = f"{path} says 0 healthy, 1 failed; anything else is no answer"
    assert told("echo who knows; exit 2") == Verdict("Unknown", "who knows", AGAIN, hint=hint)
    assert told("printf '%600s' x | tr ' ' y").message == "y" * 500, "of a long line the beginning"
    path.write_text("no program")
    path.chmod(0o644)
    found = judged(ClusterHealth(command="probe"), tmp_path, commands=tmp_path)
    assert (found.health, found.look_at, found.hint) == ("Unknown", AGAIN, f"run {path} by hand")


@pytest.mark.parametrize(("size", "health"), [(1_000_000, "Healthy"), (1_000_001, "Unknown")])
def test_a_command_may_say_no_more_than_a_megabyte(tmp_path: Path, size: int, health: str) -> None:
    found = judged(command(tmp_path, f"head -c {size} /dev/zero | tr '\\0' x"), tmp_path, commands=tmp_path)
    assert found.health == health


def test_commands_that_cannot_run_say_where_they_were_looked_for(tmp_path: Path) -> None:
    assert judged(ClusterHealth(command="probe"), tmp_path) == Verdict(
        "Unknown",
        "the health command probe needs --health-dir",
        AGAIN,
        hint="start serve with --health-dir, the folder that the command is in",
    )
    assert judged(ClusterHealth(command="probe"), tmp_path, commands=tmp_path) == Verdict(
        "Unknown",
        f"there is no health command probe in {tmp_path}",
        AGAIN,
        hint="put it there, or name another in the cluster's spec.health",
    )


def test_a_health_file_is_read_up_to_4_megabytes(tmp_path: Path) -> None:
    most = 4 * 1024 * 1024
    text = "health: Healthy #"
    assert judged(wrote(tmp_path, "health.yaml", text.ljust(most, "x")), tmp_path).health == "Healthy"
    assert judged(wrote(tmp_path, "health.yaml", text.ljust(most + 1, "x")), tmp_path).health == "Unknown"


# ---- Many commands


def clusters(count: int, health: ClusterHealth, hash_: str = "h1:a") -> list[Delivered]:
    return [Delivered(("acme", f"eu-{number:02}", "web"), hash_, NOW, health) for number in range(count)]


def begun(folder: Path) -> list[str]:
    """The clusters whose commands were begun since this was asked last."""
    names = sorted(path.name for path in folder.iterdir() if path.name.startswith("eu-"))
    for name in names:
        (folder / name).unlink()
    return names


def test_sixteen_commands_run_at_a_time_and_answer_in_the_order_in_which_was_asked(tmp_path: Path) -> None:
    # Each waits until all of them have begun: one after the other none would ever end.
    script = f'touch "{tmp_path}/$1"; until [ $(ls "{tmp_path}" | grep -c eu-) -ge 16 ]; do sleep 0.05; done; echo "$1"'
    asked = clusters(20, command(tmp_path, script))[::-1]
    found = ClusterObserver(str(tmp_path), seconds=60).observe(asked, NOW)
    assert list(found) == [each.key for each in asked]
    assert [found[each.key] for each in asked] == [Verdict("Healthy", each.key[1], AGAIN) for each in asked]


def test_commands_that_hang_hold_up_a_look_for_a_bounded_time_and_all_have_their_turn(tmp_path: Path) -> None:
    asked = clusters(40, command(tmp_path, f'touch "{tmp_path}/$1"; sleep 60'))
    observer = ClusterObserver(str(tmp_path), seconds=3, begun_for=0)
    names = [each.key[1] for each in asked]
    found = observer.observe(asked, NOW)
    assert begun(tmp_path) == names[:16]
    assert list(found) == [each.key for each in asked]
    slow = Verdict("Unknown", "probe took longer than 3 s", AGAIN, hint=f"run {tmp_path}/probe by hand")
    assert [found[each.key] for each in asked[:16]] == [slow] * 16
    waits = Verdict("Unknown", "its health command has its turn at the next look", AGAIN)
    assert [found[each.key] for each in asked[16:]] == [waits] * 24
    # Those that had no turn are the first the next time; why nobody could tell of the others still stands.
    found = observer.observe(asked, NOW + timedelta(minutes=1))
    assert begun(tmp_path) == names[16:32]
    later = NOW + timedelta(minutes=1, seconds=10)
    assert {found[each.key] for each in asked[:32]} == {slow._replace(look_at=later)}
    observer.observe(asked, NOW)
    assert begun(tmp_path) == sorted([*names[32:], *names[:8]])


def test_a_command_that_had_no_turn_says_nothing_of_another_state_and_nothing_healthy(tmp_path: Path) -> None:
    first = clusters(17, command(tmp_path, f'touch "{tmp_path}/$1"; sleep 60'))
    observer = ClusterObserver(str(tmp_path), seconds=2, begun_for=0)
    observer.observe(first, NOW)
    begun(tmp_path)
    # The one that had no turn, and fifteen of the others; the one that is left has another state by now.
    again = clusters(17, first[0].health or ClusterHealth(), "h1:b")
    found = observer.observe(again, NOW)
    assert begun(tmp_path) == [*(each.key[1] for each in again[:15]), "eu-16"]
    waits = Verdict("Unknown", "its health command has its turn at the next look", AGAIN)
    assert found[again[15].key] == waits
    healthy = clusters(17, command(tmp_path, f'touch "{tmp_path}/$1"'))
    observer = ClusterObserver(str(tmp_path), seconds=5, begun_for=0)
    for _ in range(2):
        observer.observe(healthy, NOW)
    command(tmp_path, "exit 3")
    assert {each.health for each in observer.observe(healthy, NOW).values()} == {"Unknown"}


def test_after_a_look_that_took_long_there_is_a_pause(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fleetform.observe.health._AGAIN", timedelta(seconds=1))
    asked = clusters(17, command(tmp_path, "sleep 60"))
    found = ClusterObserver(str(tmp_path), seconds=2.5, begun_for=0).observe(asked, NOW)
    for verdict in found.values():
        assert verdict.look_at is not None
        assert verdict.look_at >= NOW + timedelta(seconds=3)


def test_files_and_what_is_assumed_do_not_wait_for_commands(tmp_path: Path) -> None:
    hangs = clusters(17, command(tmp_path, "sleep 60"))
    (tmp_path / "health.yaml").write_text("health: Healthy")
    os.utime(tmp_path / "health.yaml", (NOW.timestamp(), NOW.timestamp()))
    file = Delivered(("acme", "us-1", "web"), "h1:a", NOW, ClusterHealth(file="health.yaml"), str(tmp_path))
    assumed = Delivered(("acme", "us-2", "web"), "h1:a", NOW, None)
    found = ClusterObserver(str(tmp_path), seconds=0.5, begun_for=0).observe([*hangs, file, assumed], NOW)
    assert (found[file.key].health, found[assumed.key].health) == ("Healthy", "Healthy")
