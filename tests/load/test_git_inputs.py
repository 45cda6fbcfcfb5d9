"""Any commit of a git repository is an input, without a checkout."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from fleetform.load.inputs import InputFile, git_folder, read_inputs
from fleetform.load.reader import load_input
from fleetform.model.results.diagnostics import Diagnostic


def git(*arguments: str) -> str:
    identity = {f"GIT_{who}_{what}": "a@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    plain = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(
        ["git", *arguments], check=True, capture_output=True, text=True, env={**os.environ, **identity, **plain}
    )
    return done.stdout


def commit(files: dict[str, str], tag: str) -> None:
    for name, text in files.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text)
    git("add", "--all")
    git("commit", "--quiet", "--message", tag)
    git("tag", tag)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two commits, tagged one and two, and a change that is not committed."""
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    folder = tmp_path / "repository"
    folder.mkdir()
    monkeypatch.chdir(folder)
    git("init", "--quiet")
    commit({"a.yaml": "n: 1\n", "prod/b.yaml": "n: 1\n", "notes.txt": "n\n", ".ci/c.yaml": "n: 1\n"}, "one")
    commit(
        {"a.yaml": "n: 2\n", "web/Chart.yaml": "n: 2\n", "web/templates/x.yaml": "n: 2\n", "web/d.yaml": "n: 2\n"},
        "two",
    )
    (folder / "a.yaml").write_text("n: 3\n")
    return folder


def read(*inputs: str) -> dict[str, str]:
    """The files that are read, by name, with their texts."""
    return {found.name: found.content.decode() for found in read_inputs(inputs) if isinstance(found, InputFile)}


def problem_of(name: str) -> Diagnostic:
    (found,) = read_inputs([name])
    assert isinstance(found, Diagnostic)
    return found


@pytest.mark.usefixtures("repository")
def test_a_commit_is_read_as_it_was() -> None:
    assert read("git:one") == {"git:one/a.yaml": "n: 1\n", "git:one/prod/b.yaml": "n: 1\n"}


@pytest.mark.usefixtures("repository")
def test_folders_of_charts_and_hidden_ones_of_a_commit_are_left_alone() -> None:
    beside = {"git:two/web/d.yaml": "n: 2\n"}
    assert read("git:two") == {"git:two/a.yaml": "n: 2\n", "git:two/prod/b.yaml": "n: 1\n", **beside}


@pytest.mark.usefixtures("repository")
def test_an_input_that_names_no_revision_is_refused() -> None:
    assert [each.code for each in load_input(["git:"]).diagnostics] == ["cannot-read"]


@pytest.mark.usefixtures("repository")
def test_a_folder_of_a_commit_is_read_alone() -> None:
    assert list(read("git:one:prod").values()) == ["n: 1\n"]


def test_the_folder_one_stands_in_counts(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(repository / "prod")
    assert read("git:one") == {"git:one/b.yaml": "n: 1\n"}


def test_files_beside_the_folder_one_stands_in_are_named_by_their_revision(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(repository / "prod")
    assert read("git:two:../web/") == {"git:two/../web/d.yaml": "n: 2\n"}
    assert list(read("git:one:..")) == ["git:one/../a.yaml", "git:one/../prod/b.yaml"]
    assert git_folder("git:one/../a.yaml") == ("one", "../a.yaml")


def test_reading_a_commit_touches_neither_files_nor_index(repository: Path) -> None:
    before = (git("status", "--porcelain"), (repository / "a.yaml").read_text(), git("rev-parse", "HEAD"))
    read("git:one")
    after = (git("status", "--porcelain"), (repository / "a.yaml").read_text(), git("rev-parse", "HEAD"))
    assert before == after == (" M a.yaml\n", "n: 3\n", git("rev-parse", "two"))


@pytest.mark.usefixtures("repository")
def test_documents_of_a_commit_have_their_place() -> None:
    document = load_input(["git:one:prod"]).documents[0]
    assert (document.origin.file, document.origin.first_line) == ("git:one/prod/b.yaml", 1)


@pytest.mark.usefixtures("repository")
@pytest.mark.parametrize("ref", ["nope", "--help", "one..two"])
def test_an_unknown_revision_is_reported(ref: str) -> None:
    problem = problem_of(f"git:{ref}")
    assert problem.code == "cannot-read"
    assert problem.message.startswith(f"cannot read git:{ref}: there is no git revision {ref}")


@pytest.mark.usefixtures("repository")
def test_an_unknown_folder_is_reported() -> None:
    assert problem_of("git:one:nope").message == "cannot read git:one:nope: one has no folder nope"


def test_outside_a_repository_git_inputs_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    monkeypatch.chdir(tmp_path)
    problem = problem_of("git:HEAD")
    assert "not a git repository" in problem.message
    assert problem.hint == "run it inside the repository, and check the name"


def test_without_git_itself_the_problem_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert problem_of("git:HEAD").message == "cannot read git:HEAD: git is not installed"


@pytest.mark.usefixtures("repository")
def test_two_folders_of_a_commit_are_both_read() -> None:
    commit({"dev/b.yaml": "n: 9\n"}, "three")
    assert sorted(read("git:three:prod", "git:three:dev").values()) == ["n: 1\n", "n: 9\n"]


@pytest.mark.usefixtures("repository")
def test_hidden_files_of_a_commit_are_left_alone() -> None:
    commit({".x.yaml": "n: 9\n"}, "three")
    assert "git:three/.x.yaml" not in read("git:three")


@pytest.mark.usefixtures("repository")
def test_a_commit_is_read_in_the_order_of_the_folder() -> None:
    commit({"prod.yaml": "n: 9\n", "prod-old.yaml": "n: 9\n"}, "three")
    assert [name.removeprefix("git:three/") for name in read("git:three")] == list(read("."))


def test_a_file_of_a_commit_is_not_read_beyond_the_limit(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fleetform.outside.git.MAX_FILE", 100)
    commit({"large/b.yaml": "kind: B\n# " + "x" * 100}, "large")
    (found,) = [each for each in read_inputs(["git:large"]) if isinstance(each, Diagnostic)]
    assert found.message == "cannot read git:large: large/b.yaml: it is larger than 100 bytes"


@pytest.mark.rule("S64")
def test_the_ignore_file_of_the_commit_counts(repository: Path) -> None:
    kept, left_out = "kind: A\n", "kind: B\n"
    commit({".fleetformignore": "/left/\n*.tmp.yaml\n", "left/x.yaml": left_out, "a/b.tmp.yaml": left_out}, "three")
    (repository / ".fleetformignore").write_text("*\n")
    commit({"a/left/x.yaml": kept}, "four")
    contents = {found.content for found in read_inputs(["git:three"]) if isinstance(found, InputFile)}
    assert left_out.encode() not in contents
    assert list(read_inputs(["git:four"])) == []


@pytest.mark.rule("S64")
@pytest.mark.usefixtures("repository")
def test_the_ignore_file_of_a_folder_counts_below_it_only() -> None:
    commit({"prod/.fleetformignore": "b.yaml\n", "prod/c.yaml": "n: 9\n", "dev/b.yaml": "n: 9\n"}, "three")
    names = [name.removeprefix("git:three/") for name in read("git:three")]
    assert names == ["a.yaml", "dev/b.yaml", "prod/c.yaml", "web/d.yaml"]


@pytest.mark.usefixtures("repository")
def test_who_wants_to_know_is_told_how_many_files_of_a_commit_are_read() -> None:
    told: list[tuple[int, int]] = []
    list(read_inputs(["git:one"], report=lambda done, all_: told.append((done, all_))))
    assert told == [(0, 2), (1, 2)]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("prod/b.yaml", None),
        ("git:one/prod/b.yaml", ("one", "prod/b.yaml")),
        ("git:one/b.yaml", ("one", "b.yaml")),
        ("git:team/eu/prod/b.yaml", ("team/eu", "prod/b.yaml")),
        ("git:gone/prod/b.yaml", ("gone", "prod/b.yaml")),
        ("git:one", ("one", "")),
        # One is a tag, the other a branch: that counts which has the file, and the shorter name where both do.
        ("git:two/web/a.yaml", ("two/web", "a.yaml")),
        ("git:two/web/d.yaml", ("two", "web/d.yaml")),
        ("git:two/web/templates/x.yaml", ("two", "web/templates/x.yaml")),
        ("git:two/web/gone.yaml", ("two", "web/gone.yaml")),
    ],
)
@pytest.mark.usefixtures("repository")
def test_the_revision_of_a_path_may_have_slashes_in_its_name(path: str, expected: tuple[str, str] | None) -> None:
    git("branch", "team/eu")
    git("branch", "two/web")
    assert git_folder(path) == expected
