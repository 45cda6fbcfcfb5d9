"""The feed of what people were told, over the API and on the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx2
import pytest

from fleetform.outside import control_plane
from support.api import TOKEN, ServedPlane
from support.command import Runner
from web.test_answers import FILES


@pytest.fixture
def served(tmp_path: Path) -> ServedPlane:
    found = ServedPlane(tmp_path, FILES)
    found.plane.wait(hours=2)
    found.ask("web", "abort", reason="wrong day")
    return found


def events(answer: dict[str, Any]) -> list[str]:
    return [each["event"] for each in answer["items"]]


@pytest.mark.rule("R2-25")
def test_the_feed_is_served_page_by_page_the_latest_first(served: ServedPlane) -> None:
    everything = served.get("notifications")
    assert everything["kind"] == "NotificationList"
    assert events(everything) == ["Halted", "ApprovalNeeded", "Started"]
    pages, address = [], "/api/v1/notifications?limit=1"
    while address:
        page = served.send("GET", address)
        pages += page.json()["items"]
        address = page.links.get("next", {}).get("url", "")
    assert pages == everything["items"]
    assert events(served.get("notifications", event="Started,Halted")) == ["Halted", "Started"]
    assert events(served.get("notifications", organization="umbra")) == []
    gone = served.send("GET", "/api/v1/notifications?after=msg_x")
    assert (gone.status_code, gone.json()["code"]) == (404, "not-found")


@pytest.mark.rule("R2-25")
def test_the_command_line_reads_the_database(served: ServedPlane, run: Runner) -> None:
    found = run("notifications", "--state", "sqlite:fleet.db")
    header, *lines = found.out.splitlines()
    assert header.split() == ["AT", "ORGANIZATION", "EVENT", "CLUSTERS", "WHAT"]
    assert [line.split()[2] for line in lines] == ["Halted", "ApprovalNeeded", "Started"]
    assert "was aborted by ada: wrong day" in lines[0]
    wide = run("notifications", "--state", "sqlite:fleet.db", "-o", "wide", "--event", "ApprovalNeeded").out
    assert "fleetform rollout approve web-" in wide
    assert "0 of 1 people have approved stage gold: eu-1, us-1" in wide
    few = run("notifications", "--state", "sqlite:fleet.db", "--limit", "1", "-o", "json").json
    assert events(few) == ["Halted"]


def test_a_server_is_asked_for_as_many_as_are_wanted(
    served: ServedPlane, run: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
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
    ask = ("notifications", "--server", "http://127.0.0.1:8080", "-o", "json")
    assert events(run(*ask, "--limit", "0").json) == ["Halted", "ApprovalNeeded", "Started"]
    assert events(run(*ask, "--limit", "1").json) == ["Halted"]


def test_an_event_that_does_not_exist_is_refused(run: Runner) -> None:
    found = run("notifications", "--event", "Blokked")
    assert (found.code, "Blocked" in found.err) == (2, True)
