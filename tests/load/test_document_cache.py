"""An input that is read again: files that did not change give the same documents, and are not parsed."""

from __future__ import annotations

from pathlib import Path

import pytest

from fleetform.load import reader
from fleetform.load.reader import DocumentCache, load_input
from fleetform.model.objects import At
from fleetform.ports.inputs import Document, Input

TWO = "apiVersion: v1\nkind: A\n---\napiVersion: v1\nkind: B\n"
ONE = "apiVersion: v1\nkind: C\n"


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    (tmp_path / "one.yaml").write_text(ONE)
    (tmp_path / "two.yaml").write_text(TWO)
    return tmp_path


def of_file(read: Input, path: Path) -> list[Document]:
    return [each for each in read.documents if each.origin.file == str(path)]


def test_a_folder_that_did_not_change_gives_the_very_same_documents_and_parses_nothing(
    fleet: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = DocumentCache()
    first = load_input([str(fleet)], cache)

    def parse(*_: object) -> None:
        raise AssertionError("a file was parsed again")

    monkeypatch.setattr(reader, "read_file", parse)
    again = load_input([str(fleet)], cache)
    assert list(map(id, again.documents)) == list(map(id, first.documents))
    assert (again.files, again.name) == (first.files, first.name)


def test_only_a_changed_file_is_parsed_again(fleet: Path) -> None:
    cache = DocumentCache()
    first = load_input([str(fleet)], cache)
    (fleet / "one.yaml").write_text(ONE + "spec: {}\n")
    again = load_input([str(fleet)], cache)
    assert of_file(again, fleet / "two.yaml") == of_file(first, fleet / "two.yaml")
    assert all(
        one is other
        for one, other in zip(of_file(again, fleet / "two.yaml"), of_file(first, fleet / "two.yaml"), strict=True)
    )
    (changed,) = of_file(again, fleet / "one.yaml")
    assert changed.tree["spec"] == {}


def test_what_is_wrong_in_an_unchanged_file_is_reported_every_time(fleet: Path) -> None:
    (fleet / "broken.yaml").write_text("a: [1\n")
    (fleet / "bytes.yaml").write_bytes(b"\xff\n")
    cache = DocumentCache()
    first, again = load_input([str(fleet)], cache), load_input([str(fleet)], cache)
    assert len(first.diagnostics) == 2
    assert list(again.diagnostics) == list(first.diagnostics)


def test_lines_of_unchanged_documents_are_found(fleet: Path) -> None:
    cache = DocumentCache()
    load_input([str(fleet)], cache)
    again = load_input([str(fleet)], cache)
    last = again.documents[-1]
    assert again.locator.place(At(last.origin, ("kind",))).line == 5
    assert again.locator.lines(last.origin.file, 5, 5) == ["kind: B"]


def test_a_file_that_moved_is_read_under_its_new_name(fleet: Path) -> None:
    cache = DocumentCache()
    load_input([str(fleet)], cache)
    (fleet / "one.yaml").rename(fleet / "other.yaml")
    again = load_input([str(fleet)], cache)
    assert [Path(each.origin.file).name for each in again.documents] == ["other.yaml", "two.yaml", "two.yaml"]


def test_a_file_that_was_gone_for_one_reading_is_parsed_anew(fleet: Path) -> None:
    cache = DocumentCache()
    first = load_input([str(fleet)], cache)
    (fleet / "one.yaml").unlink()
    assert len(load_input([str(fleet)], cache).documents) == 2
    (fleet / "one.yaml").write_text(ONE)
    again = load_input([str(fleet)], cache)
    assert of_file(again, fleet / "one.yaml")[0] is not of_file(first, fleet / "one.yaml")[0]


def test_without_a_cache_every_reading_parses(fleet: Path) -> None:
    first, again = load_input([str(fleet)]), load_input([str(fleet)])
    assert all(one is not other for one, other in zip(again.documents, first.documents, strict=True))
