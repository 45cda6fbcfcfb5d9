"""Sources of a control plane: commits are read when they are others, a repository elsewhere as it was fetched last."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fleetform.load.sources import FileSource, RepositorySource, folder_finder
from fleetform.outside import authorship
from fleetform.outside.authorship import AuthorMemory
from fleetform.outside.mirrors import Mirror
from support.repositories import Repository
from support.silent import SilentServer

NAMES = ["git:main:fleet"]


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    monkeypatch.setenv("GIT_DIR", "")
    monkeypatch.delenv("GIT_DIR")
    found = Repository(tmp_path / "repository")
    found.commit({"fleet/a.yaml": "kind: A\n", "other.yaml": "kind: X\n"}, author="ann@example.org")
    return found


def test_a_branch_is_read_with_its_commit_and_author_and_only_when_it_moved(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(repository.folder)
    source = FileSource(NAMES)
    first = source.read()
    assert dict(first.files) == {"git:main/fleet/a.yaml": b"kind: A\n"}
    assert (first.revision, first.author) == (repository.git("rev-parse", "main"), "ann@example.org")
    assert source.read() is first
    commit = repository.commit({"fleet/a.yaml": "kind: B\n"}, author="bob@example.org")
    second = source.read()
    assert (dict(second.files), second.revision) == ({"git:main/fleet/a.yaml": b"kind: B\n"}, commit)
    assert second.author == "bob@example.org"


def test_a_branch_that_is_gone_is_a_problem_and_no_empty_fleet(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(repository.folder)
    source = FileSource(NAMES)
    source.read()
    repository.git("update-ref", "-d", "refs/heads/main")
    found = source.read()
    assert [each.code for each in found.problems] == ["cannot-read"]


@pytest.mark.rule("R2-34")
def test_a_repository_elsewhere_is_read_as_it_was_fetched_and_a_failure_is_said(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = tmp_path / "fleet.db.git"
    monkeypatch.setenv("GIT_DIR", str(copy))
    monkeypatch.chdir(tmp_path)
    source = RepositorySource(Mirror(str(copy), repository.url), NAMES)
    source.fetch()
    first = source.read()
    assert dict(first.files) == {"git:main/fleet/a.yaml": b"kind: A\n"}
    commit = repository.commit({"fleet/b.yaml": "kind: B\n"})
    assert source.read() is first, "what is read moves when it was fetched"
    source.fetch()
    assert source.read().revision == commit
    away = repository.folder.rename(tmp_path / "away")
    source.fetch()
    (problem,) = source.read().problems
    assert problem.message.startswith("git cannot fetch file://")
    away.rename(repository.folder)
    source.fetch()
    assert source.read().revision == commit
    assert not source.read().problems


def test_a_repository_whose_server_is_silent_is_given_up_and_leaves_what_was_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [each for each in os.environ if each.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "fleet.db.git"))
    with SilentServer() as server:
        url = f"http://{server.host}/fleet.git"
        source = RepositorySource(Mirror(str(tmp_path / "fleet.db.git"), url, silence=1), NAMES)
        source.fetch()
    found = source.read()
    assert [(each.code, each.message) for each in found.problems] == [
        ("cannot-read", f"git cannot fetch {url}: nothing came from there for 1 s")
    ]


def test_a_branch_that_was_rewritten_or_deleted_elsewhere_is_so_here(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = tmp_path / "fleet.db.git"
    monkeypatch.setenv("GIT_DIR", str(copy))
    source = RepositorySource(Mirror(str(copy), repository.url), NAMES)
    repository.commit({"fleet/a.yaml": "kind: B\n"}, branch="other", root=True)
    source.fetch()
    source.read()
    rewritten = repository.commit({"fleet/c.yaml": "kind: C\n"}, root=True)
    source.fetch()
    found = source.read()
    assert (dict(found.files), found.revision) == ({"git:main/fleet/c.yaml": b"kind: C\n"}, rewritten)
    repository.git("update-ref", "-d", "refs/heads/main")
    source.fetch()
    assert [each.code for each in source.read().problems] == ["cannot-read"]


def test_paths_in_files_of_a_commit_are_relative_to_where_a_checkout_would_have_them() -> None:
    folder_of = folder_finder(["git:main:fleet", "plain"])
    assert folder_of("git:main/fleet/presets/a.yaml") == "fleet/presets"
    assert folder_of("plain/a.yaml") == "plain"


@pytest.mark.rule("S47")
def test_authors_are_remembered_and_only_new_commits_are_read(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, memory = str(repository.folder), AuthorMemory()
    asked: list[str] = []
    inner = authorship.committed_authors

    def noted(root: str, revision: str, wanted: set[str], below: str = "") -> dict[str, str]:
        asked.append(revision)
        return inner(root, revision, wanted, below)

    monkeypatch.setattr(authorship, "committed_authors", noted)
    first = repository.git("rev-parse", "main")
    both = {"fleet/a.yaml", "other.yaml"}
    assert set(memory.authors(root, "main", both).values()) == {"ann@example.org"}
    memory.authors(root, "main", both)
    second = repository.commit({"other.yaml": "kind: Y\n", "new.yaml": "kind: Z\n"}, author="bob@example.org")
    wanted = {*both, "new.yaml"}
    assert memory.authors(root, "main", wanted) == inner(root, "main", wanted)
    assert asked == [first, f"{first}..{second}"]
    repository.commit({"fleet/a.yaml": "kind: A\n", "other.yaml": "kind: Q\n"}, root=True, author="eve@example.org")
    assert set(memory.authors(root, "main", both).values()) == {"eve@example.org"}
