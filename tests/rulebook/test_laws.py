"""Laws between two answers about one random fleet: before and after a migration, and on both sides of a diff."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from fleetform.app.fleet import Fleet as Read
from fleetform.app.migrate import migrate
from fleetform.app.scope import Scope
from rulebook.comparing import explained, state_of
from rulebook.inventing import NOW, Invented, invented
from rulebook.model import Fleet, Plugin
from rulebook.options import options_of
from rulebook.telling import Resolved
from rulebook.trees import Steps, found_at
from support.answers import diff, get
from support.fleets import fleet_of

BUNCHES, BUNCH = 4, 25


class Text:
    """One file."""

    def __init__(self, text: str) -> None:
        self.text = text

    def read(self, name: str) -> str:
        return self.text


def read(text: str, fleet: Invented) -> Read:
    return fleet_of(text, state=state_of(fleet))


def decided(fleet: Read, plugin: Plugin) -> list[Any]:
    """What a migration must not change: what a plugin gets, what stands in its way, and its hash."""
    answer = explained(fleet, plugin)
    blocked = sorted({each["gate"] for each in (*answer["blocked"], *answer["waiting"])})
    return [answer["target"]["version"], answer["values"], blocked]


def hashes(fleet: Read) -> dict[str, Any]:
    return {
        each["metadata"]["name"]: each["status"]["inputHash"] for each in get(fleet, Scope("acme"), "plugins")["items"]
    }


@pytest.mark.rule("R2-6", "S58")
@pytest.mark.parametrize("bunch", range(BUNCHES))
def test_a_migration_that_is_written_down_changes_nothing(bunch: int) -> None:
    for seed in range(bunch * BUNCH, (bunch + 1) * BUNCH):
        fleet = invented(seed)
        text = yaml.safe_dump_all(fleet.documents, sort_keys=False)
        before = read(text, fleet)
        if before.findings.errors:
            continue
        written = migrate(before, Text(text))
        if not written.files:
            continue
        after = read(written.files["all.yaml"], fleet)
        assert not after.findings.errors, f"seed {seed}"
        for plugin in Fleet(fleet.documents, fleet.state, NOW).plugins:
            assert decided(after, plugin) == decided(before, plugin), f"seed {seed}"
        assert hashes(after) == hashes(before), f"seed {seed}"


@pytest.mark.rule("B30")
@pytest.mark.parametrize("bunch", range(BUNCHES))
def test_no_change_is_never_said_of_a_plugin_that_changes_or_may(bunch: int) -> None:
    for seed in range(bunch * BUNCH, (bunch + 1) * BUNCH):
        fleet = invented(seed)
        overrides = [each for each in fleet.documents if each["kind"] == "PluginOverride"]
        for override in overrides[:2]:
            # Nothing runs: both sides are asked what they want.
            others = [each for each in fleet.documents if each is not override]
            sides = [Invented(each, {**fleet.state, "plugins": []}) for each in (others, fleet.documents)]
            one, other = (read(json_text(each), each) for each in sides)
            if one.findings.errors or other.findings.errors:
                continue
            view = diff(one, other, Scope("acme"))
            told = {each["plugin"] for each in (*view["changes"], *view["unknown"])}
            assert changed(*sides) <= told, f"seed {seed}, {override['metadata']['name']}"


def json_text(fleet: Invented) -> str:
    return "\n---\n".join(json.dumps(each) for each in fleet.documents)


def changed(one: Invented, other: Invented) -> set[str]:
    """The plugins of which the rules give another value, or another hole, on the other side."""
    then, now = (Fleet(each.documents, each.state, NOW) for each in (one, other))
    found = set()
    for plugin in then.plugins:
        before, after = (side.readings(plugin) for side in (then, now))
        paths = {path for each in (*before, *after) for path in paths_of(each)}
        known = [
            [found_at(each.tree, path) for each in side for path in sorted(paths, key=str)] for side in (before, after)
        ]
        if known[0] != known[1] and then.older_owner(plugin) is None:
            found.add(plugin.name)
    return found


def paths_of(reading: Resolved) -> set[Steps]:
    """Where something is said, and the options that are declared."""
    return {*options_of(reading.revision), *(each.steps for each in reading.items if each.skipped is None)}
