"""When sources are looked at: every interval give or take a tenth, and never before their time."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import pytest

from fleetform.catalogs.schedule import next_look
from fleetform.syntax.times import parse_time, time_text
from support.repositories import FleetCommand, Repository, catalog, definition

TRIED = "2026-11-01T12:00:00Z"
HOUR = timedelta(hours=1)


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> FleetCommand:
    return FleetCommand(tmp_path, capsys, monkeypatch)


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    made = Repository(tmp_path / "repository")
    made.commit({"web.yaml": definition("web", "1.0.0")})
    return made


def pause(key: str, interval: str | None = None, tried: str = TRIED) -> timedelta:
    look = next_look(key, tried, interval)
    assert look is not None
    return look - parse_time(tried)


def minutes_later(number: int) -> str:
    return time_text(parse_time(TRIED) + timedelta(minutes=number))


@pytest.mark.rule("R2-34")
@pytest.mark.parametrize(
    ("interval", "meant"), [(None, HOUR), ("10m", HOUR / 6), ("90s", HOUR / 40), ("1d12h", 36 * HOUR)]
)
def test_the_next_look_is_an_interval_later_give_or_take_a_tenth(interval: str | None, meant: timedelta) -> None:
    pauses = [pause(f"key {number}", interval) for number in range(300)]
    # In whole seconds, so that one is lost at the lower end.
    assert meant * 0.9 - timedelta(seconds=1) <= min(pauses) < meant * 0.92
    assert meant * 1.08 < max(pauses) <= meant * 1.1


@pytest.mark.rule("R2-34")
def test_sources_that_are_read_together_do_not_come_together_again() -> None:
    assert len({pause(f"key {number}") for number in range(50)}) > 40


@pytest.mark.rule("R2-34")
def test_every_look_of_a_source_is_spread_anew() -> None:
    assert len({pause("key", None, minutes_later(number)) for number in range(50)}) > 40


@pytest.mark.rule("R2-34")
def test_all_who_ask_get_the_same_time() -> None:
    assert next_look("key", TRIED, "1h") == next_look("key", TRIED, "1h")
    assert next_look("key", TRIED, None) == next_look("key", TRIED, "1h")


def test_what_was_never_looked_at_is_to_be_looked_at_now() -> None:
    assert next_look("key", None, "1h") is None


def test_an_interval_beyond_all_time_is_no_crash(run: FleetCommand, repository: Repository) -> None:
    run.write(catalog=catalog(f"{{git: {{url: {repository.url}}}, interval: 9999999d}}"))
    run.fetch()
    assert run("get", "catalogs").code == 0


def next_look_at(run: FleetCommand) -> datetime:
    return parse_time(run.source()["nextLookAt"])


@pytest.mark.rule("R2-34")
def test_only_what_is_due_is_read(run: FleetCommand, repository: Repository) -> None:
    run.write(catalog=catalog("{git: {url: ../repository}, interval: 10m}"))
    assert run.source()["nextLookAt"] is None
    run.fetch("--due")
    assert run.source()["readAt"] == time_text(run.now)
    look = next_look_at(run)
    assert 9 <= (look - run.now) / timedelta(minutes=1) <= 11
    repository.commit({"db.yaml": definition("db", "1.0.0")})
    run.now = look - timedelta(seconds=1)
    run.fetch("--due")
    assert run.offered() == ["web 1.0.0"]
    run.now = look
    run.fetch("--due")
    assert run.offered() == ["db 1.0.0", "web 1.0.0"]
    assert run.source()["readAt"] == time_text(look)
    assert next_look_at(run) > look


@pytest.mark.rule("R2-34")
def test_a_source_that_is_not_due_is_not_contacted(run: FleetCommand, repository: Repository) -> None:
    run.write(catalog=catalog("{git: {url: ../repository}}"))
    run.fetch()
    repository.folder.rename(repository.folder.parent / "elsewhere")
    run.fetch("--due")
    run.now += 2 * HOUR
    run.fetch("--due", code=4)


@pytest.mark.rule("R2-34")
def test_a_source_that_fails_waits_for_its_interval_too(run: FleetCommand, tmp_path: Path) -> None:
    run.write(catalog=catalog("{git: {url: ../repository}}"))
    run.fetch(code=4)
    failed = run.now
    Repository(tmp_path / "repository").commit({"web.yaml": definition("web", "1.0.0")})
    run.now += timedelta(minutes=30)
    run.fetch("--due", code=4)
    assert (run.source()["failedSince"], run.source()["readAt"]) == (time_text(failed), None)
    run.now += HOUR
    run.fetch("--due")
    assert run.source()["failedSince"] is None


@pytest.mark.rule("R2-34")
def test_a_shorter_interval_counts_at_once_and_forgets_nothing(run: FleetCommand, repository: Repository) -> None:
    run.write(catalog=catalog(f"{{git: {{url: {repository.url}}}, interval: 1d}}"))
    run.fetch()
    run.write(catalog=catalog(f"{{git: {{url: {repository.url}}}, interval: 1m}}"))
    assert run.offered() == ["web 1.0.0"]
    assert next_look_at(run) - run.now < timedelta(minutes=2)


@pytest.mark.rule("R2-34")
def test_of_two_sources_the_one_whose_time_has_come_is_read(run: FleetCommand, repository: Repository) -> None:
    run.write(
        catalog=catalog(
            f"{{git: {{url: {repository.url}, versions: Head}}, interval: 1d, include: [web.yaml]}}",
            f"{{git: {{url: {repository.url}, versions: Head}}, interval: 10m, include: [db.yaml]}}",
        )
    )
    run.fetch()
    then = time_text(run.now)
    run.now += HOUR
    run.fetch("--due")
    assert [each["readAt"] for each in run.sources()] == [then, time_text(run.now)]


def test_folders_are_always_read(run: FleetCommand) -> None:
    run.write(catalog=catalog("{directory: definitions}"), definitions__web=definition("web", "1.0.0"))
    run.fetch("--due")
    assert run.offered() == ["web 1.0.0"]
    assert run.source()["nextLookAt"] is None
