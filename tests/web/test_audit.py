"""fleetform audit: who did what, exported and verified."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx2
import pytest

from fleetform.outside import control_plane
from support.api import TOKEN, ServedPlane
from support.command import Runner
from web.test_answers import FILES

URL = "http://127.0.0.1:8080"


@pytest.fixture
def served(tmp_path: Path) -> ServedPlane:
    found = ServedPlane(tmp_path, FILES)
    found.plane.settle()
    found.ask("web", "pause", reason="INC-1")
    found.ask("web", "resume")
    found.ask("web", "resume")
    return found


@pytest.fixture
def exported(served: ServedPlane, run: Runner) -> Path:
    found = run("audit", "--state", "sqlite:fleet.db", "-o", "json")
    assert (found.code, found.json["kind"], found.json["whole"]) == (0, "AuditLog", True)
    (run.folder / "audit.json").write_text(found.out)
    return run.folder / "audit.json"


def test_it_tells_who_did_what_and_what_came_of_it(served: ServedPlane, run: Runner) -> None:
    lines = run("audit", "--state", "sqlite:fleet.db").out.splitlines()
    assert lines[0].split() == ["AT", "WHO", "WHAT", "OF", "OUTCOME", "DETAIL"]
    assert [line.split()[1:6] for line in lines[1:]] == [
        ["ada", "rollout", "pause", "web", "done"],
        ["ada", "rollout", "resume", "web", "done"],
        ["ada", "rollout", "resume", "web", "refused"],
    ]
    assert len(run("audit", "--state", "sqlite:fleet.db", "--after", "2").out.splitlines()) == 2


def test_an_export_is_verified_and_its_head_is_kept_elsewhere(exported: Path, run: Runner) -> None:
    found = run("audit", "--verify", "--from", "audit.json")
    head = json.loads(exported.read_text())["items"][-1]["hash"]
    assert (found.code, found.out) == (0, f"3 entries, unbroken, the last one is {head}\n")
    assert run("audit", "--verify", "--state", "sqlite:fleet.db", "--head", head).code == 0


@pytest.mark.parametrize(
    ("change", "entry"),
    [
        (lambda items: items[1].update(actor="mallory"), 2),
        (lambda items: items[2].update(outcome="done"), 3),
        (lambda items: items.pop(0), 1),
        (lambda items: items.pop(1), 2),
        (lambda items: items.insert(1, items[2]), 2),
        (lambda items: items[0].update(at="2026-11-01T12:00:01Z"), 1),
    ],
)
def test_what_was_changed_is_found(exported: Path, run: Runner, change: Any, entry: int) -> None:
    log = json.loads(exported.read_text())
    change(log["items"])
    exported.write_text(json.dumps(log))
    found = run("audit", "--verify", "--from", "audit.json")
    assert (found.code, f"entry {entry} does not follow" in found.err) == (1, True)


def test_what_was_cut_off_is_found_by_a_head(exported: Path, run: Runner) -> None:
    log = json.loads(exported.read_text())
    head = log["items"].pop()["hash"]
    exported.write_text(json.dumps(log))
    assert run("audit", "--verify", "--from", "audit.json").code == 0
    found = run("audit", "--verify", "--from", "audit.json", "--head", head)
    assert (found.code, "was cut off" in found.err) == (1, True)


def test_a_server_is_asked_page_by_page(served: ServedPlane, run: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    client = httpx2.Client

    def sent(request: httpx2.Request) -> httpx2.Response:
        headers = {name: value for name, value in request.headers.items() if name != "host"}
        found = served.send(request.method, request.url.raw_path.decode(), token=None, headers=headers)
        return httpx2.Response(found.status_code, headers=found.headers, content=found.content)

    def connected(**settings: Any) -> httpx2.Client:
        return client(transport=httpx2.MockTransport(sent), **settings)

    monkeypatch.setattr("fleetform.outside.control_plane.httpx2.Client", connected)
    monkeypatch.setattr(control_plane, "_PAGE", 2)
    monkeypatch.setenv("FLEETFORM_TOKEN", TOKEN)
    found = run("audit", "--server", URL, "--verify")
    assert (found.code, found.out.startswith("3 entries, unbroken")) == (0, True)


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (("--head", "sha256:x"), "--head belongs to --verify"),
        (("--verify", "--after", "1"), "drop --after"),
        (("--from", "clusters.yaml"), "is not an export"),
    ],
)
def test_what_makes_no_sense_is_refused(
    served: ServedPlane, run: Runner, arguments: tuple[str, ...], part: str
) -> None:
    found = run("audit", *arguments)
    assert (found.code, part in found.err) == (2, True)


def test_a_part_of_the_log_cannot_be_verified(exported: Path, run: Runner) -> None:
    log = json.loads(exported.read_text())
    exported.write_text(json.dumps({**log, "whole": False}))
    found = run("audit", "--verify", "--from", "audit.json")
    assert (found.code, "entries of other organizations are left out" in found.err) == (2, True)
