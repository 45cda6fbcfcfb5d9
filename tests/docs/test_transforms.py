"""The pages about transforms: their examples run, and they tell all options."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest

from fleetform.transform import Runner
from fleetform.transformers.builtin import built_in_plugins
from fleetform.transformers.discover import discover
from fleetform.transformers.executables import StreamPlugin, Workshop
from fleetform.transformers.plugins import BoundPlugin
from support.plugins import script

PAGES = Path(__file__).parents[2] / "docs" / "reference"
POD: dict[str, Any] = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "annotations": {}}}


def blocks(page: str, language: str) -> list[str]:
    text = (PAGES / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def test_the_examples_of_the_library_run() -> None:
    names: dict[str, Any] = {}
    for block in blocks("transform-library.md", "python"):
        exec(compile(block, "transform-library.md", "exec"), names)
    assert names["run"](POD, {"zone": "us-1"})[0]["value"] == "us-1"


@pytest.mark.parametrize("language", ["sh", "python"])
def test_the_plugins_of_the_wire_format_run(language: str, tmp_path: Path) -> None:
    (text,) = blocks("transform-wire-format.md", language)
    script(tmp_path, "owner", text.replace("/usr/bin/env python3", sys.executable))
    with Workshop() as workshop:
        found = discover(str(tmp_path), workshop)
        assert found.problems == ()
        assert isinstance(found.plugins[0], StreamPlugin) == (language == "python")
        for streams in (True, False):
            plugins = [BoundPlugin(each) for each in discover(str(tmp_path), workshop, streams).plugins]
            outcome = Runner(plugins).run(POD)
            assert outcome.failures == ()
            assert outcome.kept[0].operation.path == "/metadata/annotations/example.com~1owner"


def test_the_page_of_plugins_tells_every_option() -> None:
    page = (PAGES / "transform-plugins.md").read_text(encoding="utf-8")
    for name, plugin in built_in_plugins().items():
        section = page.partition(f"\n## {name}\n")[2].partition("\n## ")[0]
        for option in plugin.optional_fields:
            assert f"| `{option.flag_name}` | {option.help} | `{option.example}` |" in section
