"""Laws between two answers about one random fleet: before and after a migration, and on both sides of a diff."""

from __future__ import annotations

import json
from typing import Any

import yaml

from fleetform.app.fleet import Fleet as Read
from fleetform.app.migrate import migrate
from fleetform.app.scope import Scope
from rulebook.comparing import explained, state_of
from rulebook.inventing import NOW, Invented
from rulebook.model import Fleet, Plugin
from rulebook.options import options_of
from rulebook.telling import Resolved
from rulebook.trees import Steps, found_at
from support.answers import diff, get
from support.fleets import fleet_of


def changed_by_migrating(fleet: Invented) -> str | None:
    """A migration that is written down changes nothing (R2-6, S58): what it did change."""
    text = yaml.safe_dump_all(fleet.documents, sort_keys=False)
    before = _read(text, fleet)
    if before.findings.errors:
        return None
    written = migrate(before, _Text(text))
    if not written.files:
        return None
    after = _read(written.files["all.yaml"], fleet)
    if after.findings.errors:
        return f"it no longer loads: {after.findings.errors[0].message}"
    for plugin in Fleet(fleet.documents, fleet.state, NOW).plugins:
        if _decided(after, plugin) != _decided(before, plugin):
            return plugin.name
    return None if _hashes(after) == _hashes(before) else "a hash"


def left_out_of_a_diff(fleet: Invented) -> str | None:
    """No change is never said of a plugin that changes or may (B30): one of which it was said."""
    overrides = [each for each in fleet.documents if each["kind"] == "PluginOverride"]
    for override in overrides[:2]:
        # Nothing runs: both sides are asked what they want.
        others = [each for each in fleet.documents if each is not override]
        sides = [Invented(each, {**fleet.state, "plugins": []}) for each in (others, fleet.documents)]
        one, other = (_read("\n---\n".join(map(json.dumps, each.documents)), each) for each in sides)
        if one.findings.errors or other.findings.errors:
            continue
        view = diff(one, other, Scope("acme"))
        missing = _changed(*sides) - {each["plugin"] for each in (*view["changes"], *view["unknown"])}
        if missing:
            return f"{override['metadata']['name']}: {', '.join(sorted(missing))}"
    return None


LAWS = (changed_by_migrating, left_out_of_a_diff)


class _Text:
    """One file."""

    def __init__(self, text: str) -> None:
        self.text = text

    def read(self, name: str) -> str:
        return self.text


def _read(text: str, fleet: Invented) -> Read:
    return fleet_of(text, state=state_of(fleet))


def _decided(fleet: Read, plugin: Plugin) -> list[Any]:
    """What a migration must not change: what a plugin gets, and what stands in its way."""
    answer = explained(fleet, plugin)
    blocked = sorted({each["gate"] for each in (*answer["blocked"], *answer["waiting"])})
    return [answer["target"]["version"], answer["values"], blocked]


def _hashes(fleet: Read) -> dict[str, Any]:
    return {
        each["metadata"]["name"]: each["status"]["inputHash"] for each in get(fleet, Scope("acme"), "plugins")["items"]
    }


def _changed(one: Invented, other: Invented) -> set[str]:
    """The plugins of which the rules give another value, or another hole, on the other side."""
    then, now = (Fleet(each.documents, each.state, NOW) for each in (one, other))
    found = set()
    for plugin in then.plugins:
        before, after = (side.readings(plugin) for side in (then, now))
        paths = {path for each in (*before, *after) for path in _paths_of(each)}
        known = [
            [found_at(each.tree, path) for each in side for path in sorted(paths, key=str)] for side in (before, after)
        ]
        if known[0] != known[1] and then.older_owner(plugin) is None:
            found.add(plugin.name)
    return found


def _paths_of(reading: Resolved) -> set[Steps]:
    """Where something is said, and the options that are declared."""
    return {*options_of(reading.revision), *(each.steps for each in reading.items if each.skipped is None)}
