"""--server: the command line asks a control plane, and prints what it would print of files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest

from fleetform.app.get import kinds
from fleetform.outside.files import write_private
from fleetform.outside.tokens import make_token, token_file
from support.api import TOKEN, ServedPlane
from support.command import Result, Runner
from web.test_answers import FILES

URL = "http://127.0.0.1:8080"
Ask = Callable[..., Result]


@pytest.fixture
def served(tmp_path: Path) -> ServedPlane:
    found = ServedPlane(tmp_path, FILES)
    found.plane.settle()
    return found


@pytest.fixture
def ask(served: ServedPlane, run: Runner, monkeypatch: pytest.MonkeyPatch) -> Ask:
    """The command line, whose requests reach the API in this process."""

    def sent(request: httpx2.Request) -> httpx2.Response:
        path = request.url.raw_path.decode()
        headers = {name: value for name, value in request.headers.items() if name != "host"}
        found = served.send(request.method, path, token=None, content=request.content, headers=headers)
        return httpx2.Response(found.status_code, headers=found.headers, content=found.content)

    client = httpx2.Client

    def connected(**settings: object) -> httpx2.Client:
        return client(transport=httpx2.MockTransport(sent), **settings)  # type: ignore[arg-type]

    monkeypatch.setattr("fleetform.outside.control_plane.httpx2.Client", connected)
    monkeypatch.setenv("FLEETFORM_TOKEN", TOKEN)
    return lambda *arguments: run(*arguments, "--server", URL)


def test_every_answer_is_printed_as_the_api_gives_it(ask: Ask, served: ServedPlane) -> None:
    for plural in kinds():
        assert ask("get", plural, "-o", "json").json == served.get(plural), plural
    assert ask("explain", "web", "-c", "eu-1", "-o", "json").json == served.get("explain", plugin="web", cluster="eu-1")
    assert ask("why", "eu-1", "-o", "json").json == served.get("why", cluster="eu-1")
    assert ask("plan", "-o", "json").json == served.get("plan")
    assert ask("history", "eu-2", "-o", "json").json["running"] == served.get("history", cluster="eu-2")["running"]
    assert ask("rollout", "status", "web", "-o", "json").json == served.get("rollouts/web")
    statuses = [each["status"] for each in served.get("rollouts")["items"]]
    assert ask("rollout", "list", "-o", "json").json["items"] == statuses


def test_tables_are_those_of_files(ask: Ask) -> None:
    listed = ask("get", "plugins", "-l", "tier=dev").out.splitlines()
    assert len(listed) == 2
    assert listed[1].split()[:5] == ["acme", "web-eu-2", "eu-2", "web", "1.0.0"]
    assert [line.split()[1] for line in ask("get", "clusters", "eu-1", "us-1").out.splitlines()[1:]] == ["eu-1", "us-1"]
    one = ask("explain", "web", "-c", "eu-1", "replicas").out
    assert "● 2" in one
    waits = ask("why", "eu-1")
    assert waits.code == 1
    assert f"fleetform rollout approve web-{waits.out.split('approve web-')[1].split()[0]}" in waits.out
    assert f"--server {URL}" in waits.out
    assert "START NOW" in ask("plan").out
    assert "1.0.0" in ask("history", "eu-2").out
    assert ask("why", "eu-2").code == 0


def test_a_secret_is_a_word_and_no_value(ask: Ask, served: ServedPlane) -> None:
    token = "    - {name: token, valueFrom: {secret: {name: keys, key: token}}}\n"
    served.plane.files.files["preset.yaml"] += token
    served.plane.settle()
    line = next(each for each in ask("explain", "web", "-c", "eu-1").out.splitlines() if "token" in each)
    assert line.split()[:2] == ["token", "(secret)"]


def test_many_pages_are_one_list(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fleetform.outside.control_plane._PAGE", 2)
    assert ask("get", "clusters", "-o", "name").out.split() == ["cluster/eu-1", "cluster/eu-2", "cluster/us-1"]


@pytest.mark.rule("R2-33")
def test_a_rollout_is_asked_for_over_the_server(ask: Ask, served: ServedPlane) -> None:
    assert "would be stored: web-" in ask("rollout", "pause", "web", "--dry-run").out
    assert served.get("rollouts/web")["phase"] != "Paused"
    assert "is paused" in ask("rollout", "pause", "web", "--reason", "INC-7").out
    assert served.get("rollouts/web")["note"] == "ada: INC-7"
    assert "goes on" in ask("rollout", "resume", "web").out
    approved = ask("rollout", "approve", "web", "--stage", "gold", "-o", "json")
    assert (approved.code, approved.json["kind"]) == (0, "Rollout")
    served.plane.wait(hours=2)
    assert list(served.plane.versions) == ["eu-1", "eu-2", "us-1"]
    assert [each.deed.verb for each in served.plane.store.audit()] == [
        "rollout pause",
        "rollout resume",
        "rollout approve",
    ]


@pytest.mark.parametrize(
    ("arguments", "code", "part"),
    [
        (("why", "eu-9"), 1, "there is no cluster eu-9"),
        (("get", "presets", "wbe"), 1, "did you mean web?"),
        (("explain", "web"), 2, "web-eu-2"),
        (("rollout", "approve", "web", "--stage", "dev"), 2, "asks for no approval"),
        (("rollout", "approve", "web", "--stage", "gold", "--change", "c1:other"), 3, "is not the change"),
        (("validate",), 2, "validate works on files: drop --server"),
        (("get", "clusters", "-f", "."), 2, "drop -f"),
        (("why", "eu-1", "--at", "2026-12-01"), 2, "drop --at"),
        (("get", "clusters", "--as", "bob"), 2, "drop --as"),
        (("rollout", "approve", "web", "--stage", "gold", "--as", "ada"), 3, "for nobody else"),
        (
            ("explain", "web", "-c", "eu-1", "--manifest", "ConfigMap/web:/data"),
            2,
            "--manifest renders on this machine",
        ),
        (("explain", "--placement", "x", "-c", "eu-1"), 2, "--placement reads files"),
    ],
)
def test_what_has_no_answer_ends_as_it_does_with_files(
    ask: Ask, arguments: tuple[str, ...], code: int, part: str
) -> None:
    found = ask(*arguments)
    assert (found.code, part in found.err) == (code, True), found.err


def test_a_failure_is_a_document_too(ask: Ask) -> None:
    found = ask("why", "eu-9", "-o", "json")
    assert (found.code, found.json["kind"], found.json["diagnostics"][0]["code"]) == (1, "Why", "not-found")


@pytest.mark.rule("S52")
def test_a_stranger_is_denied(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLEETFORM_TOKEN", "somebody-else")
    found = ask("get", "clusters")
    assert (found.code, "does not know you" in found.err) == (3, True)


@pytest.mark.rule("S52")
def test_a_server_that_was_restarted_since_its_token_was_looked_for_knows_its_user(
    ask: Ask, served: ServedPlane, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("FLEETFORM_TOKEN")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    make_token("127.0.0.1:8080")
    send = served.send

    def restarted(*arguments: Any, **more: Any) -> httpx2.Response:
        found = send(*arguments, **more)
        write_private(token_file("127.0.0.1:8080"), TOKEN.encode())
        return found

    monkeypatch.setattr(served, "send", restarted)
    assert ask("get", "clusters", "-o", "name").code == 0


@pytest.mark.rule("S52")
def test_where_nobody_listens_it_is_unavailable(run: Runner) -> None:
    found = run("get", "clusters", "--server", "http://127.0.0.1:1")
    assert (found.code, "nobody answers at http://127.0.0.1:1" in found.err) == (4, True)
    assert run("get", "clusters", "--server", "here").code == 2
