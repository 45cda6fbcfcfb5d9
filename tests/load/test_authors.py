"""Who made files what they are, and who took objects out of them: asked of git for the files of an input (S47)."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

import pytest

from fleetform.load.authors import GitAuthors
from fleetform.load.inputs import InputFile, read_inputs
from fleetform.load.removers import RemoverSearch
from fleetform.model.objects import Ref
from support.repositories import PLAIN_GIT, Repository

ADA, BOB, CEM = "ada@example.com", "bob@example.com", "cem@example.com"


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    """The folder that tests work in: a work tree, in which nobody has said who they are."""
    for name, value in PLAIN_GIT.items():
        monkeypatch.setenv(name, value)
    for name in ("GIT_AUTHOR_EMAIL", "EMAIL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    folder = tmp_path / "fleet"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return Repository(folder)


def commit(repository: Repository, author: str, **files: str | None) -> None:
    named = {f"{name.replace('__', '/')}.yaml": text for name, text in files.items()}
    repository.commit(named, author=author)
    repository.git("reset", "--quiet", "--hard", "main")


def named_in(_path: str, content: bytes, wanted: Collection[Ref]) -> set[Ref]:
    """The objects of a file: here one for each line."""
    return {each for each in wanted if each.name in content.decode().split("\n")}


def authors(*sources: str, files: list[str] | None = None) -> dict[str, str]:
    read = files or [each.name for each in read_inputs(sources) if isinstance(each, InputFile)]
    return dict(GitAuthors(sources, lambda: read, named_in))


def removers(*sources: str, names: tuple[str, ...] = ("a", "b", "c")) -> dict[str, str]:
    found = GitAuthors(sources, lambda: (), named_in).removers([Ref("Cluster", "acme", name) for name in names])
    return {ref.name: author for ref, author in found.items()}


# ---- Authors


def test_a_file_is_by_whoever_touched_it_last_in_the_work_tree_and_at_a_revision(repository: Repository) -> None:
    commit(repository, ADA, one="1", eu__two="1")
    repository.tag("then")
    commit(repository, BOB, eu__two="2")
    assert authors(".") == {"one.yaml": ADA, "eu/two.yaml": BOB}
    assert authors("eu") == {"eu/two.yaml": BOB}
    assert authors("eu/two.yaml", "one.yaml") == {"eu/two.yaml": BOB, "one.yaml": ADA}
    assert authors("git:then") == {"git:then/one.yaml": ADA, "git:then/eu/two.yaml": ADA}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir("eu")
        assert authors("git:then:..") == {"git:then/../one.yaml": ADA, "git:then/../eu/two.yaml": ADA}
    assert authors("git:then:eu", "git:main") == {
        "git:then/eu/two.yaml": ADA,
        "git:main/one.yaml": ADA,
        "git:main/eu/two.yaml": BOB,
    }


def test_a_revision_is_asked_for_from_a_folder_inside_the_repository(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit(repository, ADA, one="a", eu__two="b")
    commit(repository, BOB, one="1", eu__two="2")
    monkeypatch.chdir("eu")
    assert authors("git:main") == {"git:main/two.yaml": BOB}
    assert authors("git:HEAD~1:.") == {"git:HEAD~1/two.yaml": ADA}
    assert removers("git:main") == {"b": BOB}
    assert removers("git:main:..") == {"a": BOB, "b": BOB}


def test_what_is_not_committed_is_by_whoever_works_here(repository: Repository) -> None:
    commit(repository, ADA, one="1", two="1")
    Path("two.yaml").write_text("2")
    Path("new.yaml").write_text("1")
    assert authors(".") == {"one.yaml": ADA, "two.yaml": "", "new.yaml": ""}
    repository.git("config", "user.email", CEM)
    assert authors(".") == {"one.yaml": ADA, "two.yaml": CEM, "new.yaml": CEM}


def test_a_file_outside_of_the_repository_or_ignored_by_it_has_no_author(
    repository: Repository, tmp_path: Path
) -> None:
    commit(repository, ADA, one="1")
    Path(".gitignore").write_text("mine.yaml\n")
    Path("mine.yaml").write_text("1")
    (tmp_path / "plain.yaml").write_text("1")
    assert authors("one.yaml", "mine.yaml", "../plain.yaml", "-", files=["one.yaml", "mine.yaml", "../plain.yaml"]) == {
        "one.yaml": ADA
    }
    assert authors("git:nowhere", files=["git:nowhere/one.yaml"]) == {"git:nowhere/one.yaml": ""}


def test_outside_of_any_repository_nobody_is_an_author(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    monkeypatch.chdir(tmp_path)
    Path("one.yaml").write_text("a")
    assert authors(".", "one.yaml", "git:main", files=["one.yaml", "git:main/one.yaml"]) == {}
    assert removers(".", "one.yaml", "git:main", "-") == {}


def test_links_are_followed_to_the_file_that_is_read(repository: Repository) -> None:
    commit(repository, ADA, real__one="1", real__two="1")
    commit(repository, BOB, real__two="2")
    os.symlink("real", "linked")
    os.symlink("real/two.yaml", "two.yaml")
    files = ["linked/one.yaml", "linked/two.yaml", "two.yaml", "real/one.yaml"]
    assert authors(".", files=files) == {
        "linked/one.yaml": ADA,
        "linked/two.yaml": BOB,
        "two.yaml": BOB,
        "real/one.yaml": ADA,
    }


def test_authors_are_a_mapping_that_is_found_once(repository: Repository) -> None:
    commit(repository, ADA, one="1", two="1")
    asked: list[int] = []

    def files() -> list[str]:
        asked.append(1)
        return ["one.yaml", "two.yaml"]

    found = GitAuthors(["."], files, named_in)
    assert asked == []
    assert (len(found), sorted(found), found["one.yaml"], found.get("three.yaml")) == (
        2,
        ["one.yaml", "two.yaml"],
        ADA,
        None,
    )
    assert asked == [1]


def test_files_of_another_repository_have_the_authors_that_it_knows(repository: Repository, tmp_path: Path) -> None:
    other = Repository(tmp_path / "other")
    commit(repository, ADA, one="a")
    commit(other, BOB, eu__one="b")
    commit(other, CEM, eu__one="")
    assert authors("one.yaml", "../other/eu/one.yaml") == {"one.yaml": ADA, "../other/eu/one.yaml": CEM}
    assert authors("../other") == {"../other/eu/one.yaml": CEM}
    assert removers("../other/eu/one.yaml") == removers("../other/eu") == removers("../other") == {"b": CEM}


# ---- Removers


def test_each_object_was_removed_by_the_commit_that_took_the_last_of_it_out(repository: Repository) -> None:
    commit(repository, ADA, one="a\nb\nc", two="a")
    repository.tag("then")
    commit(repository, BOB, one="b\nc")
    repository.tag("later")
    commit(repository, CEM, one="c", two=None)
    assert removers(".") == {"b": CEM, "a": CEM}, "a was in another file yet when bob took it out of the first"
    assert removers("git:main") == {"b": CEM, "a": CEM}
    assert removers("git:later") == {"a": BOB}
    assert removers("git:then") == {}
    assert removers(".", names=("b",)) == {"b": CEM}
    assert removers(".", names=("d",)) == {}


def test_only_what_lies_below_the_source_is_looked_at(repository: Repository) -> None:
    commit(repository, ADA, eu__one="a", us__one="b", one="c")
    commit(repository, BOB, eu__one="", us__one="", one="")
    Path("note.txt").write_text("")
    assert removers("eu") == {"a": BOB}
    assert removers("us/one.yaml") == {"b": BOB}
    assert removers("git:main:eu") == {"a": BOB}
    assert removers("eu", "git:main:us", "-") == {"a": BOB, "b": BOB}
    assert removers(str(Path.cwd())) == {"a": BOB, "b": BOB, "c": BOB}


def test_the_first_source_that_knows_says_who(repository: Repository) -> None:
    commit(repository, ADA, one="a\nb")
    commit(repository, BOB, one="b")
    repository.tag("then")
    commit(repository, ADA, one="a\nb")
    commit(repository, CEM, one="")
    assert removers("git:then", "git:main") == {"a": BOB, "b": CEM}
    assert removers("git:main", "git:then") == {"a": CEM, "b": CEM}


def test_only_files_that_could_be_read_count(repository: Repository) -> None:
    repository.commit({"notes.txt": "a", "one.json": "b", "two.yml": "c"}, author=ADA)
    repository.commit({"notes.txt": None, "one.json": None, "two.yml": None}, author=BOB)
    repository.git("reset", "--quiet", "--hard", "main")
    assert removers(".") == {"b": BOB, "c": BOB}


def test_what_is_removed_and_not_committed_is_by_whoever_works_here(repository: Repository) -> None:
    commit(repository, ADA, one="a\nb", two="c")
    commit(repository, BOB, one="b")
    repository.git("config", "user.email", CEM)
    Path("one.yaml").write_text("")
    Path("two.yaml").unlink()
    Path("new.yaml").write_text("a")
    assert removers(".") == {"a": BOB, "b": CEM, "c": CEM}
    Path("one.yaml").write_text("b\n# still there")
    assert removers(".") == {"a": BOB, "c": CEM}
    assert removers("one.yaml") == {"a": BOB}


def test_history_is_read_no_further_than_the_last_object_that_is_looked_for(
    repository: Repository,
) -> None:
    commit(repository, ADA, one="a\nb", two="a\nb")
    for number, author in enumerate((BOB, CEM, BOB, CEM)):
        commit(repository, author, **{f"one{number}": "a"})
        commit(repository, author, **{f"one{number}": None})
    commit(repository, ADA, one="b", two="b")
    opened: list[str] = []

    def objects_in(path: str, content: bytes, wanted: Collection[Ref]) -> set[Ref]:
        opened.append(path)
        return named_in(path, content, wanted)

    search = RemoverSearch([Ref("Cluster", "acme", "a")], objects_in)
    search.in_history(".", "main", "")
    assert {ref.name: author for ref, author in search.found.items()} == {"a": ADA}
    assert opened == ["one.yaml"], "the one before the commit; after it the name stands nowhere"


@pytest.mark.parametrize("names", [499, 500, 501, 1001])
def test_many_objects_are_looked_for_in_parts(repository: Repository, names: int) -> None:
    every = [f"c{number:04}" for number in range(names)]
    commit(repository, ADA, one="\n".join(every), two="z")
    commit(repository, BOB, one="", two=None)
    assert removers(".", names=(*every, "z")) == dict.fromkeys([*every, "z"], BOB)
