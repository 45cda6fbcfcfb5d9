"""Whole answers, kept: fleets in which much happens at once, and every line that commands print about them.

Other tests prove one rule each and look at the part of an answer that the rule is about. These hold the rest: words,
places, order, what is left out. A page is written as documentation is, and read like it. With APPROVE=1 the pages are
written anew from what is printed: read the difference before it is committed.
"""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

import pytest

from support.command import Runner
from support.pages import BLOCK, File, steps_of

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PAGES = sorted(each.stem for each in HERE.glob("*.md"))
# Where a page says nothing else, it is this time. Files are found below the examples where a page names them.
AT = ("--at", "2026-11-01T12:00:00Z")
_INSIDE = re.compile(r"^In `(examples/[\w/-]+)`:$", re.MULTILINE)


@pytest.mark.parametrize("page", PAGES)
def test_commands_print_what_the_page_says(
    page: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLEETFORM_CACHE_DIR", str(tmp_path / "cache"))
    text = (HERE / f"{page}.md").read_text(encoding="utf-8")
    inside = _INSIDE.search(text)
    folder = ROOT / inside[1] if inside else tmp_path / "fleet"
    folder.mkdir(exist_ok=True)
    run = Runner(folder, capsys, monkeypatch)
    printed: dict[tuple[int, str], list[str]] = {}
    for step in steps_of(text):
        if isinstance(step, File):
            assert inside is None, "examples stay as they are"
            (folder / step.name).parent.mkdir(parents=True, exist_ok=True)
            (folder / step.name).write_text(step.text, encoding="utf-8")
        else:
            printed[step.line, step.text] = _lines(run, step.text)
            if "APPROVE" not in os.environ:
                assert "\n".join(printed[step.line, step.text]) == "\n".join(step.printed), f"$ {step.text}"
    if "APPROVE" in os.environ:
        _approve(HERE / f"{page}.md", text, printed)


def _lines(run: Runner, command: str) -> list[str]:
    """What a command prints: answer, prose, and how it ends where that is not with 0."""
    verb, *arguments = shlex.split(command)[1:]
    code, out, err = run(verb, *arguments, *(() if "--at" in arguments else AT))
    ending = [f"[exit {code}]"] if code else []
    # A new field that is empty almost everywhere does not touch every page.
    said = [line.rstrip() for line in out.splitlines() if not line.endswith((": null", ": null,"))]
    return [*said, *(line.rstrip() for line in err.splitlines()), *ending]


def _approve(page: Path, text: str, printed: dict[tuple[int, str], list[str]]) -> None:
    blocks = []
    for block in BLOCK.finditer(text):
        if block["language"] == "console":
            first = text.count("\n", 0, block.start()) + 2
            last = first + block["text"].count("\n")
            lines = [[f"$ {command}", *found] for (line, command), found in printed.items() if first <= line < last]
            blocks.append((block, "\n".join(line for each in lines for line in each)))
    for block, new in reversed(blocks):
        fence = block["fence"]
        text = f"{text[: block.start()]}{fence}console\n{new}\n{fence}{text[block.end() :]}"
    page.write_text(text, encoding="utf-8")
