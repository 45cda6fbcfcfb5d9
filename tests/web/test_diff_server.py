"""diff … server: what a change would do to what a control plane has accepted."""

from __future__ import annotations

from pathlib import Path

import pytest

from fleetform.app.accepted import accepted_source
from fleetform.ports.state import KnownState
from support.api import ServedPlane
from support.command import Runner
from web.test_answers import FILES
from web.test_server_flag import Ask, ask, served

__all__ = ["ask", "served"]


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """The files that were accepted, in a folder."""
    folder = tmp_path / "mine"
    folder.mkdir()
    for name, text in FILES.items():
        (folder / name).write_text(text)
    return folder


def edited(files: Path) -> None:
    preset = (files / "preset.yaml").read_text()
    assert "value: 2" in preset
    (files / "preset.yaml").write_text(preset.replace("value: 2", "value: 7"))


def test_what_is_accepted_differs_in_nothing_from_itself(ask: Ask, files: Path) -> None:
    found = ask("diff", "server", str(files), "--exit-code")
    assert (found.code, found.err) == (0, "")


def test_an_edit_is_shown_as_it_would_change_clusters(ask: Ask, files: Path) -> None:
    edited(files)
    found = ask("diff", "server", str(files), "--exit-code", "-o", "json")
    assert found.code == 1
    assert found.json["from"] == "server"
    changed = [
        (each["cluster"], each["options"][0]["from"], each["options"][0]["to"]) for each in found.json["changes"]
    ]
    assert changed == [("eu-1", 2, 7), ("eu-2", 2, 7), ("us-1", 2, 7)]
    back = ask("diff", str(files), "server", "-o", "json")
    assert [each["options"][0]["to"] for each in back.json["changes"]] == [2, 2, 2]


def test_a_database_can_be_compared_with_without_a_server(
    served: ServedPlane, files: Path, run: Runner, tmp_path: Path
) -> None:
    edited(files)
    found = run("diff", "server", str(files), "--exit-code", "--state", f"sqlite:{tmp_path}/fleet.db")
    assert found.code == 1
    assert "3 clusters" in found.out


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (("diff", "server"), "give --server URL, or --state sqlite:PATH"),
        (("diff", "server", "server", "--server", "http://127.0.0.1:1"), "Both sides are the server"),
        (("diff", "--server", "http://127.0.0.1:1"), "Neither side is the server"),
        (("diff", "server", ".", "--render", "--server", "http://127.0.0.1:1"), "--render needs"),
    ],
)
def test_what_makes_no_sense_is_refused(run: Runner, arguments: tuple[str, ...], part: str) -> None:
    found = run(*arguments)
    assert (found.code, part in found.err) == (2, True), found.err


def test_nobody_there_is_unavailable(run: Runner) -> None:
    assert run("diff", "server", ".", "--server", "http://127.0.0.1:1").code == 4


@pytest.mark.rule("B18")
def test_values_of_secrets_are_not_sent() -> None:
    secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {password: hunter2}\n"
    listed = "apiVersion: v1\nkind: List\nitems:\n- {kind: Secret, apiVersion: v1, data: {k: aHVudGVyMg==}}\n"
    texts = {"a.yaml": secret + "---\nkind: Other\napiVersion: v1\n", "b.yaml": listed, "c.yaml": "kind: NoSecret\n"}
    found = accepted_source({name: text.encode() for name, text in texts.items()}, "", KnownState())
    assert "hunter2" not in str(found)
    assert "aHVudGVyMg" not in str(found)
    assert "password" in found.files["a.yaml"]
    assert "kind: Other" in found.files["a.yaml"]
    assert found.files["c.yaml"] == texts["c.yaml"]
