"""-o: every verb offers the formats that it has, answers in each of them, and refuses the others."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from fleetform.cli.main import cli
from fleetform.syntax.yaml_in import read_one
from support.command import Runner
from support.worlds import definition, fleet_files, manifest, policy

FORMATS = ("table", "wide", "json", "yaml", "name", "markdown")
# What each verb is asked, of a fleet whose first rollout waits for approval of its second stage.
QUESTIONS = {
    "audit": "audit --state sqlite:fleet.db",
    "catalog fetch": "catalog fetch -n acme",
    "convert": "convert certs.yaml -n acme",
    "diff": "diff . .",
    "explain": "explain certs-qa-1 -n acme",
    "get": "get clusters -n acme",
    "history": "history qa-1 -n acme --state sqlite:fleet.db",
    "notifications": "notifications -n acme --state sqlite:fleet.db",
    "plan": "plan -n acme --state sqlite:fleet.db",
    "render": "render -c qa-1 -n acme",
    "rollout abort": "rollout abort certs --dry-run",
    "rollout approve": "rollout approve certs --stage gold --dry-run --as ada",
    "rollout list": "rollout list",
    "rollout pause": "rollout pause certs --dry-run",
    "rollout status": "rollout status certs",
    "simulate": "simulate -n acme",
    "validate": "validate",
    "version": "version",
    "why": "why qa-1 -n acme",
}
# What is transformed are exports of clusters, by programs. The other requests answer as `pause` does, in other states.
ELSEWHERE = {"transform", "transform apply", "transform list-plugins", "transform optionals"}
ELSEWHERE |= {"rollout resume", "rollout retry", "rollout rollback", "rollout start"}
CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: certs}\n"
CATALOG = manifest("Catalog", "shared", "{sources: [{directory: definitions}]}")
STAGES = (
    "{name: qa, clusterSelector: {matchLabels: {tier: qa}}}, "
    "{name: gold, remainder: true, approvals: {required: 2, from: {users: [ada, bob]}}}"
)


def verbs(command: click.Command = cli, name: str = "") -> Iterator[tuple[str, click.Command]]:
    """All that can be called, by what one types for it."""
    if isinstance(command, click.Group):
        context = click.Context(command)
        for each in command.list_commands(context):
            found = command.get_command(context, each)
            assert found is not None
            yield from verbs(found, f"{name} {each}".strip())
    if not isinstance(command, click.Group) or command.invoke_without_command:
        yield name, command


def offered(command: click.Command) -> list[str]:
    """The formats that its help names; none if it gives no choice."""
    kinds = [each.type for each in command.params if isinstance(each, click.Option) and "-o" in each.opts]
    hidden = any(isinstance(each, click.Option) and "-o" in each.opts and each.hidden for each in command.params)
    return [] if hidden else [one for kind in kinds if isinstance(kind, click.Choice) for one in kind.choices]


OFFERED = {name: offered(command) for name, command in verbs()}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fleet after one pass of the control plane."""
    folder = tmp_path_factory.mktemp("served")
    certs = definition("1.0.0", more="source: {manifests: {path: ./manifests}}")
    for name, text in fleet_files(policy=policy(STAGES), certs=certs, catalog=CATALOG).items():
        (folder / name).write_text(text)
    for name, text in {"manifests": CONFIG_MAP, "definitions": definition("1.0.0", "dns")}.items():
        (folder / name).mkdir()
        (folder / name / "one.yaml").write_text(text)
    program = [sys.executable, "-c", "from fleetform.cli.main import main; main()"]
    subprocess.run([*program, "serve", "--once", "--state", "sqlite:fleet.db"], cwd=folder, check=True)
    return folder


def test_every_verb_that_offers_formats_is_asked_here() -> None:
    assert {name for name, formats in OFFERED.items() if formats} == QUESTIONS.keys() | ELSEWHERE


@pytest.mark.parametrize("verb", sorted(QUESTIONS))
def test_a_verb_answers_in_every_format_that_it_offers_and_refuses_the_others(
    verb: str, served: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Runner(served, capsys, monkeypatch)
    asked = QUESTIONS[verb].split()
    if verb.startswith("rollout"):
        asked += ["-n", "acme", "--state", "sqlite:fleet.db"]
    for format_ in FORMATS:
        found = run(*asked, "-o", format_)
        if format_ not in OFFERED[verb]:
            assert (found.code, found.out) == (2, "")
            assert f"'{format_}' is not one of" in found.err
            continue
        assert found.code in (0, 1), (format_, found.err)
        if format_ == "json":
            assert found.json["kind"]
        elif format_ == "yaml":
            assert "kind" in read_one(found.out)
        elif format_ == "name":
            assert re.fullmatch(r"(\S+/\S+( \S+/\S+)?\n)+", found.out), found.out
        else:
            assert found.out + found.err
