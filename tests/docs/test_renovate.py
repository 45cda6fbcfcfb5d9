"""The page on Renovate: its configuration finds what presets pin, and its feed is what the command writes."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from fleetform.app.feed import feed
from fleetform.app.scope import Scope
from support.answers import plain
from support.fleets import fleet_with

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "renovate.md"
BLOCKS = re.findall(r"```json\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
CONFIGURATION = json.loads(BLOCKS[1])
(MANAGER,) = CONFIGURATION["customManagers"]

PINNED = {
    "flow": ("pluginDefinition: {name: web, version: 1.2.3}", ("web", "1.2.3")),
    "flow with a kind": ('pluginDefinition: {kind: PluginDefinition, name: web, version: "v1.2.3"}', ("web", "v1.2.3")),
    "block": (
        "pluginDefinition:\n      name: cert-manager  # the one\n      version: '1.2.3-rc.1'",
        ("cert-manager", "1.2.3-rc.1"),
    ),
    "block with a kind": (
        "pluginDefinition:\n  name: web\n  kind: PluginDefinition\n  version: 1.2.3+build.1", ("web", "1.2.3+build.1"),
    ),
    "text": ("pluginDefinition: web\n    pluginDefinitionVersion: 1.2.3", ("web", "1.2.3")),
}  # fmt: skip
LEFT_ALONE = {
    "range": "pluginDefinition: {name: web, version: ^1.2.0}",
    "wildcard": "pluginDefinition: {name: web, version: 1.x}",
    "newest": "pluginDefinition: {name: web}\n    other: {version: 1.2.3}",
    "text without": "pluginDefinition: web\n    optionValues: []",
}


def matches(text: str) -> list[tuple[str, str]]:
    """What the configuration finds; JavaScript writes named groups without the P."""
    found = []
    for pattern in MANAGER["matchStrings"]:
        for match in re.finditer(pattern.replace("(?<", "(?P<"), text):
            found.append((match["depName"], match["currentValue"]))
    return found


@pytest.mark.rule("R2-46")
@pytest.mark.parametrize("what", PINNED)
def test_renovate_finds_what_is_pinned(what: str) -> None:
    text, expected = PINNED[what]
    assert matches(f"spec:\n  plugin:\n    {text}\n    optionValues: []\n") == [expected]


@pytest.mark.rule("R2-46")
@pytest.mark.parametrize("what", LEFT_ALONE)
def test_renovate_leaves_ranges_alone(what: str) -> None:
    assert matches(f"spec:\n  plugin:\n    {LEFT_ALONE[what]}\n") == []


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not there")
def test_the_patterns_are_ones_that_javascript_reads() -> None:
    text = "\n".join(text for text, _ in PINNED.values())
    script = (
        "const [patterns, text] = JSON.parse(require('fs').readFileSync(0));"
        "const found = patterns.flatMap(p => [...text.matchAll(new RegExp(p, 'g'))]"
        ".map(m => [m.groups.depName, m.groups.currentValue])); console.log(JSON.stringify(found));"
    )
    given = json.dumps([MANAGER["matchStrings"], text])
    done = subprocess.run(["node", "-e", script], input=given, capture_output=True, text=True, check=True)
    assert sorted(map(tuple, json.loads(done.stdout))) == sorted(expected for _, expected in PINNED.values())


@pytest.mark.rule("R2-46")
def test_the_page_shows_the_feed_that_is_written() -> None:
    shown: dict[str, Any] = json.loads(BLOCKS[0])
    written = plain(feed(fleet_with(), Scope("acme"))["web"])
    assert shown.keys() == written.keys() == {"releases"}
    assert {key for release in shown["releases"] for key in release} == {"version", "releaseTimestamp", "changelogUrl"}
    assert written["releases"] == [{"version": "1.0.0"}]
    (source,) = CONFIGURATION["customDatasources"].values()
    assert source["defaultRegistryUrlTemplate"].endswith("/{{packageName}}.json")
    assert MANAGER["datasourceTemplate"] == "custom.fleetform"
