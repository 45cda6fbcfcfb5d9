"""File events: hints that something changed below a folder, and word where there are none."""

from __future__ import annotations

import errno
import threading
from pathlib import Path

import pytest
import watchfiles

from fleetform.outside.files import KnownFiles
from fleetform.outside.watching import FileWatcher


class Told:
    def __init__(self, folder: Path) -> None:
        self.changed, self.reasons = threading.Event(), list[str]()
        self.watcher = FileWatcher(
            [str(folder)], ".fleetform-output", (".fleetformignore",), self.changed.set, self.reasons.append
        )


def test_an_edit_and_a_file_in_a_new_folder_are_told_and_output_is_not(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / ".fleetform-output").touch()
    told = Told(tmp_path)
    counts = told.watcher._counts
    assert not counts(str(tmp_path / "out" / "a" / "b.yaml"))
    assert not counts(str(tmp_path / ".git" / "index"))
    assert not counts("/elsewhere/a.yaml")
    assert counts(str(tmp_path / "new" / "a.yaml"))
    assert counts(str(tmp_path / "new" / ".fleetformignore"))
    told.watcher.start()
    assert told.watcher.watching.wait(30)
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "a.yaml").write_text("kind: A")
    assert told.changed.wait(30)
    told.watcher.stop()
    assert told.reasons == []


def test_where_there_are_no_watches_left_that_is_said_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def exhausted(*_: object, **__: object) -> object:
        raise OSError(errno.ENOSPC, "OS file watch limit reached")

    monkeypatch.setattr(watchfiles, "watch", exhausted)
    told = Told(tmp_path)
    told.watcher.start()
    told.watcher.stop()
    assert told.reasons == ["OS file watch limit reached"]


def test_a_file_that_looks_the_same_is_not_read_again_and_one_that_was_just_changed_is(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text("one")
    ahead = [0]
    known = KnownFiles(lambda: file.stat().st_ctime_ns + ahead[0])
    assert known.read(str(file)) == b"one"
    known.finish()
    assert known._last == {}, "it was changed just now"
    ahead[0] = 5_000_000_000
    first = known.read(str(file))
    known.finish()
    assert known.read(str(file)) is first
    known.finish()
    file.write_text("two")
    assert known.read(str(file)) == b"two"
    known.finish()
    known.finish()
    assert known._last == {}
