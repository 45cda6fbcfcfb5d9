"""Rules of ignore files, held to what git itself answers."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from fleetform.syntax.ignore_rules import is_ignored, parse_ignore_rules

PATHS = (
    "a.yaml", "b.yaml", "#x.yaml", "!x.yaml", "sp ace.yaml", "a/a.yaml", "a/b/a.yaml", "a/b/c/d.yaml", "docs/x.yaml",
    "x/docs/y.yaml", "x/docs/z/y.yaml", "test1.yaml", "testA.yaml", "t.yaml", "foo/bar.yaml", "x/foo/bar.yaml",
    "foo/x/bar.yaml", "foo/x/y/bar.yaml", "foobar.yaml", "foo/xbar.yaml", "trail ", "back\\slash.yaml", "]x.yaml",
    "back\\", "[x", "[", "]", "-", "9", "\\", "Z",
)  # fmt: skip

RULES = (
    "*.yaml", "a.yaml", "/a.yaml", "a/", "/a/", "a", "a/*", "a/**", "**/a.yaml", "a/**/d.yaml", "docs/", "docs",
    "/docs", "x/docs", "**/docs/", "docs/*", "test[0-9].yaml", "test[!0-9].yaml", "test[^0-9].yaml", "?.yaml", "# no",
    "\\#x.yaml", "\\!x.yaml", "*.yaml\n!a.yaml", "a/\n!a/a.yaml", "a/*\n!a/b\n!a/b/a.yaml", "!a.yaml", "foo/bar.yaml",
    "foo/**/bar.yaml", "**/bar.yaml", "foo/**", "foo/*/bar.yaml", "foo**bar.yaml", "foo/**bar.yaml", "**", "*", "/*",
    "*/", "/", "sp ace.yaml", "sp ace.yaml   ", "trail\\ ", "trail ", "", "\r\na.yaml\r\n", "back\\\\slash.yaml",
    "[]]x.yaml", "a.y[a-", "x/**/", "/**/a.yaml", "***", "**/", "a.yaml/", "b.yaml\n\n# c\n/a", "**/b/**", "A.yaml",
    "a//", "*//", "//", "back\\", "*\\", "\\", "\\\\", "back\\\\", "*[", "[x", "[?", "\\[x", "[!", "[\\", "[]", "[]]",
    "[\\]]", "[\\]", "[\\\\]", "[!\\]]", "[+\\--]", "[9-0]", "[!9-0]", "[9-]", "[--9]", "[0-\\9]", "[[-]]", "[[:]",
    "[[:upper:]]", "[[:digit:]-]", "[![:alnum:]]", "[[:none:]]", "[[:digit:]", "[[:punct:]]", "[[:digit]",
)  # fmt: skip


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ignoring")
    subprocess.run(["git", "init", "-q", folder], check=True)
    for each in PATHS:
        file = folder / each
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("")
    return folder


def answer_of_git(folder: Path) -> set[str]:
    asked = "\0".join(PATHS)
    command = ["git", "-C", str(folder), "check-ignore", "-z", "--stdin", "--no-index"]
    told = subprocess.run(command, input=asked, capture_output=True, text=True, check=False)
    return {each for each in told.stdout.split("\0") if each}


@pytest.mark.rule("S64")
@pytest.mark.parametrize("rules", RULES)
def test_rules_leave_out_what_git_leaves_out(repository: Path, rules: str) -> None:
    (repository / ".gitignore").write_bytes(rules.encode())
    parsed = {"": parse_ignore_rules(rules)}
    assert {path for path in PATHS if is_ignored(path, False, parsed)} == answer_of_git(repository)


@pytest.mark.rule("S64")
@pytest.mark.parametrize(
    ("above", "inside"),
    [("*.yaml", "!a.yaml"), ("a/", "!a.yaml"), ("", "/b"), ("", "b/a.yaml"), ("!a.yaml", "*.yaml"), ("", "c/d.yaml")],
)
def test_rules_of_a_folder_inside_count_before_those_above(repository: Path, above: str, inside: str) -> None:
    (repository / ".gitignore").write_text(above)
    (repository / "a" / ".gitignore").write_text(inside)
    parsed = {"": parse_ignore_rules(above), "a": parse_ignore_rules(inside)}
    expected = answer_of_git(repository)
    (repository / "a" / ".gitignore").unlink()
    assert {path for path in PATHS if is_ignored(path, False, parsed)} == expected
