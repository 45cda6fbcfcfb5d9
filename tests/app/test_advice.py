"""What people are told to do: the engine names the deed, and each place that tells of it has its own words."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import click
import pytest

from fleetform.app.answering.advice import COMMANDS, in_commands
from fleetform.cli.main import cli
from fleetform.model.objects import Ref
from fleetform.model.results.advice import DEEDS, Advice, Deed
from fleetform.operator.advice import WITH_KUBECTL, with_kubectl

COMMAND = re.compile(r"\bfleetform ([a-z-]+)(?: ([a-z-]+))?")


def advice(deed: Deed) -> Advice:
    part = Ref("PluginPreset", "acme", "web/eu")
    return Advice(deed, "acme", part, "web-7f3a12bc", "gold", "c1:7f3a12bc00", "eu-1", "web_Main")


def test_every_deed_has_words_in_both_places() -> None:
    assert set(COMMANDS) == set(WITH_KUBECTL) == set(DEEDS)


@pytest.mark.parametrize("deed", DEEDS)
def test_on_kubernetes_nobody_is_sent_to_a_command_that_speaks_to_serve(deed: Deed) -> None:
    told = with_kubectl(advice(deed))
    assert "fleetform " not in told
    assert "{" not in re.sub(r"spec: {[^}]*}", "", told), "every hole is filled in"


@pytest.mark.parametrize("deed", DEEDS)
def test_a_command_that_is_named_is_one_of_the_command_line(deed: Deed) -> None:
    for verb, below in COMMAND.findall(in_commands(advice(deed))):
        found = cli.get_command(click.Context(cli), verb)
        assert found is not None, verb
        if verb == "rollout":
            assert isinstance(found, click.Group)
            assert below in found.commands


def test_objects_are_named_as_they_are_on_the_server() -> None:
    """Names that no object can have are changed there, and a part of a preset is no object."""
    assert re.fullmatch(r"kubectl describe plugin web-main-[0-9a-f]+ -n acme", with_kubectl(advice("see-plugin")))
    assert "change what the PluginPreset web gives, " in with_kubectl(advice("change-or-retry"))


def test_an_approval_says_all_that_has_to_stand_in_it() -> None:
    told = with_kubectl(advice("approve"))
    assert 'spec: {rollout: web-7f3a12bc, stage: gold, changeId: "c1:7f3a12bc00", user: NAME}' in told


def test_the_engine_names_no_command(root: Path) -> None:
    """It does not know where people are told of what it decides."""
    named = re.compile(r"\b(fleetform|kubectl) (rollout|why|render|plan|get|explain|create|describe|[a-z]+ -)")
    found = [
        f"{path.relative_to(root)}:{node.lineno}: {node.value}"
        for path in sorted((root / "src" / "fleetform" / "engine").rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and named.search(node.value)
    ]
    assert found == []
