"""The commands in the documentation, run as a reader would run them, page by page, and what they print."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.kit import tools
from support.pages import Command, File, steps_of

ROOT = Path(__file__).parents[2]
# Where a reader of the page stands. Else it is the top of the repository for examples, and an empty folder for others.
STARTS = {
    "README.md": "examples/fleet",
    "docs/how-to/approvals.md": "examples/fleet",
    "docs/how-to/find-out-why.md": "examples/fleet",
    "docs/how-to/fleeet.md": "examples/seed-3",
    "docs/how-to/move-a-namespace.md": "examples/seed-4",
    "docs/how-to/open-cluster-management.md": "examples/seed-1",
    "docs/how-to/pull-request-check.md": "examples/fleet",
    "docs/how-to/render.md": "examples/seed-3",
    "docs/how-to/roll-out-in-stages.md": "examples/fleet",
    "docs/how-to/specialise.md": "examples/seed-3",
    "docs/how-to/windows-and-freezes.md": "examples/fleet",
    "docs/reference/cli.md": "examples/fleet",
    "examples/fleet/README.md": ".",
    "examples/seed-0/README.md": "examples/seed-0",
    "examples/seed-1/README.md": "examples/seed-1",
    "examples/seed-3/README.md": "examples/seed-3",
    "examples/seed-4/README.md": "examples/seed-4",
    "examples/seed-3/fleeet/README.md": "examples/seed-3/fleeet",
}
PAGES = (
    "README.md",
    "docs/tutorial.md",
    "docs/tutorial-control-plane.md",
    "docs/how-to/*.md",
    "docs/reference/cli.md",
    "examples/fleet/README.md",
    "examples/seed-*/README.md",
    "examples/seed-*/*/README.md",
)
# What cannot run here: it sets up an environment, or needs a network.
NOT_RUN = ("make", "export", "git clone", "git push", "git fetch", "gh")
# What may be missing on a machine; commands that use it are skipped there.
MAYBE_MISSING = ("jq",)
# What needs helm and kubectl.
RENDERING = ("fleetform render", "--manifest", "--render")

_TOOL = re.compile(r"\b(helm|kustomize) v?\d[\w.+-]*")
_KEPT = ("PATH", "TMPDIR", "SYSTEMROOT")


def steps_on(page: str) -> Iterator[Command | File]:
    """What a page tells its reader to do, in order."""
    return steps_of((ROOT / page).read_text(encoding="utf-8"))


class Reader:
    """A shell in a copy of the examples: remembers the folder and the exit code from one command to the next."""

    def __init__(self, home: Path, start: str | None, *more: Path) -> None:
        self._home = home
        path = (os.path.dirname(sys.executable), *map(str, more), os.environ.get("PATH", os.defpath))
        self._environment = {
            **{name: os.environ[name] for name in _KEPT if name in os.environ},
            "PATH": os.pathsep.join(path),
            "HOME": str(home),
            "LC_ALL": "C",
            "PYTHONUTF8": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CEILING_DIRECTORIES": str(home),
        }
        for who in ("AUTHOR", "COMMITTER"):
            self._environment |= {f"GIT_{who}_NAME": "Reader", f"GIT_{who}_EMAIL": "reader@example.com"}
        self._code = 0
        self._folder = home / "work"
        self._folder.mkdir()
        if start is not None:
            shutil.copytree(ROOT / "examples", self._folder / "examples")
            self.run("git init --quiet && git add . && git commit --quiet -m examples")
            self._folder /= start

    def write(self, file: File) -> None:
        path = self._folder / file.name
        path.parent.mkdir(parents=True, exist_ok=True)
        before = path.read_text(encoding="utf-8") if file.append else ""
        path.write_text(before + file.text, encoding="utf-8")

    def run(self, command: str) -> list[str]:
        """The lines that a command prints, on stdout and stderr."""
        where = self._home / "folder"
        script = f'(exit {self._code})\n{command}\ncode=$?\npwd > "{where}"\nexit $code\n'
        done = subprocess.run(
            ["sh", "-c", script],
            cwd=self._folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
            timeout=60,
        )
        self._code = done.returncode
        self._folder = Path(where.read_text(encoding="utf-8").rstrip("\n"))
        return [line.rstrip() for line in done.stdout.decode("utf-8").splitlines()]


def passed_over(command: str) -> bool:
    """Whether a command cannot run here."""
    words = command.split()
    begins = any(words[: len(each.split())] == each.split() for each in NOT_RUN)
    return begins or any(tool in words and shutil.which(tool) is None for tool in MAYBE_MISSING)


def same(printed: list[str], expected: list[str]) -> bool:
    """Whether lines are as expected.

    A line `…` stands for any number of lines, blank lines at the end for none; versions of tools are not compared.
    """
    lines = [_without_versions(line) for line in _trimmed(expected)]
    pattern = "".join(r"(?:.*\n)*?" if line == "…" else re.escape(line) + "\n" for line in lines)
    return re.fullmatch(pattern, "".join(f"{_without_versions(line)}\n" for line in _trimmed(printed))) is not None


def _without_versions(line: str) -> str:
    return _TOOL.sub(r"\1", line)


def _trimmed(lines: list[str]) -> list[str]:
    return "\n".join(lines).rstrip("\n").split("\n") if any(lines) else []


def pages() -> list[str]:
    """Pages with commands, by name."""
    found = [path.relative_to(ROOT).as_posix() for pattern in PAGES for path in sorted(ROOT.glob(pattern))]
    return [page for page in found if "```console\n" in (ROOT / page).read_text(encoding="utf-8")]


def reader_for(page: str, home: Path) -> Reader:
    """A shell where a reader of the page stands, with helm and kubectl where the page renders."""
    start = STARTS.get(page, "." if page.startswith("examples/") else None)
    commands = [step.text for step in steps_on(page) if isinstance(step, Command)]
    renders = any(word in command for command in commands for word in RENDERING)
    return Reader(home, start, *((tools(),) if renders else ()))


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not there")
@pytest.mark.parametrize("page", pages())
def test_commands_print_what_the_page_says(page: str, tmp_path: Path) -> None:
    reader = reader_for(page, tmp_path)
    try:
        for step in steps_on(page):
            if isinstance(step, File):
                reader.write(step)
            elif not passed_over(step.text):
                printed = reader.run(step.text)
                if not same(printed, step.printed):
                    told = (f"{page}:{step.line}: $ {step.text}", "--- the page says", *step.printed)
                    pytest.fail("\n".join((*told, "--- it prints", *printed)), False)
    finally:
        # A page that lets a server run ends it itself, if it is played to its end.
        reader.run("if test -f serve.pid; then kill -9 $(cat serve.pid) 2> /dev/null || true; fi")


@pytest.mark.rule("R3-2")
@pytest.mark.skipif(shutil.which("git") is None, reason="git is not there")
def test_the_worked_examples_adapt_what_others_wrote_without_a_copy(tmp_path: Path) -> None:
    reader = reader_for("examples/seed-3/README.md", tmp_path)
    chart = reader.run("fleetform render gateway -c eu-1 -f native")
    page = reader.run("fleetform render status-page -c eu-1 -f native")
    assert "        image: images.eu-a.example.com/gateway:1.9" in chart
    assert "  title: platform, eu-a" in page
    # Theirs is the image, and ours is the patch alone.
    assert "        image: images.example.org/page:2.0.1" in page
    assert [file.name for file in (ROOT / "examples/seed-3/native/status-page").iterdir()] == ["kustomization.yaml"]


def test_a_line_of_three_dots_stands_for_any_number_of_lines() -> None:
    assert same(["a", "b", "c", "d"], ["a", "…", "d"])
    assert same(["a", "d"], ["a", "…", "d"])
    assert same(["a", "b", ""], ["a", "…"])
    assert not same(["a", "b", "c"], ["a", "…", "b"])
    assert not same(["a", "b"], ["a"])
    assert not same(["a"], [])
    assert same(["helm v4.2.3: no"], ["helm v3.19.0: no"])


def test_pages_are_found_and_begin_where_they_should() -> None:
    found = pages()
    assert {"README.md", "docs/tutorial.md", *STARTS} <= set(found)
    assert all((ROOT / start).is_dir() for start in STARTS.values())


def test_the_picture_of_a_rollout_is_what_the_command_beside_it_draws(tmp_path: Path) -> None:
    page, start = "docs/how-to/roll-out-in-stages.md", "examples/fleet"
    reader = Reader(tmp_path, start)
    commands = [each.text for each in steps_on(page) if isinstance(each, Command)]
    for command in [each for each in commands if each.startswith("sed ") or "--svg" in each]:
        assert reader.run(command) == []
    drawn, kept = tmp_path / "work" / start / "rollout.svg", ROOT / "docs" / "how-to" / "rollout.svg"
    assert drawn.read_text(encoding="utf-8") == kept.read_text(encoding="utf-8"), f"draw it anew: {page}"
