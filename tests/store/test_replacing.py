"""A restore that ends at any moment: what is at the path then, and what becomes of the database that was there."""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import apsw
import pytest

from fleetform.model.objects import Ref
from fleetform.ports.store import Commit, Put, UnavailableError, UnusableError
from fleetform.store.backups import back_up, restore
from fleetform.store.sqlite import SqliteStore
from fleetform.store.sqlite_reader import SqliteReader

NOW = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
A = Ref("Rollout", "acme", "a")
# What changes a folder or waits for the disk: a process may end before any of them, and is as it was in between.
STEPS = ("link", "unlink", "replace", "rename", "fsync")


class Ended(BaseException):
    """The process is gone."""


@contextmanager
def ended_before_step(number: int) -> Iterator[Callable[[], bool]]:
    """A process that ends before its step of that number, and does nothing any more then, cleaning up least of all."""
    taken = 0

    def counted(function: Callable[..., Any]) -> Callable[..., Any]:
        def step(*arguments: Any, **named: Any) -> Any:
            nonlocal taken
            taken += 1
            if taken > number:
                raise Ended
            return function(*arguments, **named)

        return step

    def not_awaited(_: int) -> None:
        """No test cuts the power."""

    with pytest.MonkeyPatch.context() as patch:
        for name in STEPS:
            patch.setattr(os, name, counted(not_awaited if name == "fsync" else getattr(os, name)))
        yield lambda: taken > number


def body(path: str) -> bytes | None:
    """What a database says, of which nothing but itself and its log is read."""
    with closing(sqlite3.connect(path)) as connection:
        return next((row[0] for row in connection.execute("SELECT body FROM record WHERE name = 'a'")), None)


@pytest.fixture
def backup(tmp_path: Path) -> str:
    path, copy = str(tmp_path / "other.db"), str(tmp_path / "backup.db")
    with closing(SqliteStore(path)) as store:
        store.commit(Commit([Put(A, b"of the backup")]), NOW)
    back_up(path, copy)
    return copy


@pytest.fixture
def killed(tmp_path: Path) -> Path:
    """The files of a control plane that was killed: its last commit is in the log alone."""
    path, folder = str(tmp_path / "running.db"), tmp_path / "killed"
    folder.mkdir()
    with closing(SqliteStore(path)) as store:
        store.commit(Commit([Put(A, b"earlier")]), NOW)
        with closing(apsw.Connection(path)) as other:
            other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        store.commit(Commit([Put(A, b"newest")]), NOW)
        for ending in ("", "-wal", "-shm"):
            shutil.copy(f"{path}{ending}", folder / f"fleet.db{ending}")
    return folder


def no_links(*_: object) -> None:
    raise OSError(errno.EPERM, "Operation not permitted")


@pytest.mark.parametrize("links", [True, False], ids=["links", "no-links"])
def test_wherever_a_restore_ends_a_whole_database_is_there_and_the_old_one_is_kept(
    tmp_path: Path, backup: str, killed: Path, links: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not links:
        monkeypatch.setattr(os, "link", no_links)
    found: list[bytes] = []
    ended = True
    while ended:
        folder = tmp_path / f"ended-{len(found)}"
        shutil.copytree(killed, folder)
        path = str(folder / "fleet.db")
        with ended_before_step(len(found)) as has_ended:
            with suppress(Ended):
                restore(backup, path)
            ended = has_ended()
        assert os.path.exists(path), "a control plane would begin an empty one"
        with closing(SqliteStore(path)) as store:
            record = store.get(A)
            assert record is not None
            found.append(record.body)
        if found[-1] == b"of the backup":
            assert body(f"{path}.before-restore") == b"newest"
        kept = restore(backup, path)
        assert kept is not None
        assert body(kept) == found[-1]
        assert body(path) == b"of the backup"
        assert b"newest" in {body(str(each)) for each in folder.glob("fleet.db.before-restore*")}
        assert not list(folder.glob("*.part*"))
    assert found == sorted(found), "the old one, and from some step on the new one"
    assert set(found) == {b"newest", b"of the backup"}


def test_a_restore_that_ended_with_the_old_database_in_place_leaves_no_second_copy(
    tmp_path: Path, backup: str, killed: Path
) -> None:
    """A name that it gave is that of the very file: the next restore takes it, and does not count on."""
    for number in range(100):
        folder = tmp_path / f"ended-{number}"
        shutil.copytree(killed, folder)
        path = str(folder / "fleet.db")
        with ended_before_step(number), pytest.raises(Ended):
            restore(backup, path)
        if body(path) == b"of the backup":
            break
        assert restore(backup, path) == f"{path}.before-restore"
    assert number


def test_each_restore_keeps_what_was_there_under_a_name_of_its_own(tmp_path: Path, backup: str) -> None:
    path = str(tmp_path / "fleet.db")
    assert restore(backup, path) is None
    for number, ending in enumerate(("", "-2", "-3")):
        with closing(SqliteStore(path)) as store:
            store.commit(Commit([Put(A, b"%d" % number)]), NOW)
        assert restore(backup, path) == f"{path}.before-restore{ending}"
    assert [body(f"{path}.before-restore{ending}") for ending in ("", "-2", "-3")] == [b"0", b"1", b"2"]


@pytest.mark.parametrize("left", ["-wal", "-shm", "-journal"])
def test_a_name_beside_which_something_was_left_is_not_given_to_another_database(
    tmp_path: Path, backup: str, left: str
) -> None:
    path = str(tmp_path / "fleet.db")
    restore(backup, path)
    Path(f"{path}.before-restore{left}").write_bytes(b"of one that is gone")
    assert restore(backup, path) == f"{path}.before-restore-2"


@pytest.mark.parametrize("left", ["-wal", "-shm", "-journal"])
def test_nothing_that_lay_beside_the_old_database_is_played_into_the_new_one(
    tmp_path: Path, backup: str, killed: Path, left: str
) -> None:
    """Also where the database itself is gone."""
    path = str(tmp_path / "fleet.db")
    shutil.copy(killed / "fleet.db-wal", f"{path}{left}")
    assert restore(backup, path) is None
    assert not os.path.exists(f"{path}{left}")
    assert body(path) == b"of the backup"


def test_a_damaged_database_is_replaced_and_kept_as_it_is(tmp_path: Path, backup: str) -> None:
    path = tmp_path / "fleet.db"
    path.write_bytes(b"nothing of a database is left" * 300)
    kept = restore(backup, str(path))
    assert kept == f"{path}.before-restore"
    assert Path(kept).read_bytes() == b"nothing of a database is left" * 300
    assert body(str(path)) == b"of the backup"


def test_the_log_of_a_damaged_database_is_kept_with_it_wherever_a_restore_ends(
    tmp_path: Path, backup: str, killed: Path
) -> None:
    """A reader that has it open keeps its log there."""
    number, ended = 0, True
    while ended:
        folder = tmp_path / f"ended-{number}"
        shutil.copytree(killed, folder)
        path = str(folder / "fleet.db")
        with closing(SqliteReader(path)) as reader:
            reader.get(A)
            for file, first_page in ((path, 0), (f"{path}-wal", 32 + 24)):
                with open(file, "r+b") as damaged:
                    damaged.seek(first_page)
                    damaged.write(b"x" * 100)
            log = Path(f"{path}-wal").read_bytes()
            with ended_before_step(number) as has_ended:
                with suppress(Ended):
                    restore(backup, path)
                ended = has_ended()
            number += 1
            assert os.path.exists(path)
            if Path(path).read_bytes()[:6] == b"xxxxxx":
                with pytest.raises(UnusableError):
                    SqliteStore(path)
            else:
                assert not os.path.exists(f"{path}-wal"), "it would be played into the new one"
            restore(backup, path)
        assert body(path) == b"of the backup"
        kept = [f"{folder}/fleet.db.before-restore{each}" for each in ("", "-2")]
        assert any(os.path.exists(f"{each}-wal") and Path(f"{each}-wal").read_bytes() == log for each in kept)
        assert Path(kept[0]).read_bytes()[:6] == b"xxxxxx"


def test_a_link_to_a_database_stays_a_link(tmp_path: Path, backup: str) -> None:
    """The lock and the log lie beside what it leads to."""
    disk = tmp_path / "disk"
    real, link = str(disk / "real.db"), str(tmp_path / "fleet.db")
    with closing(SqliteStore(real)) as store:
        store.commit(Commit([Put(A, b"mine")]), NOW)
    os.symlink(real, link)
    assert restore(backup, link) == f"{real}.before-restore"
    assert os.path.islink(link)
    assert (body(real), body(f"{real}.before-restore")) == (b"of the backup", b"mine")
    assert not list(tmp_path.glob("fleet.db?*"))


def test_a_database_that_cannot_be_kept_is_not_replaced(
    tmp_path: Path, backup: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(tmp_path / "fleet.db")
    with closing(SqliteStore(path)) as store:
        store.commit(Commit([Put(A, b"mine")]), NOW)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "link", no_links)
    monkeypatch.setattr(shutil, "copyfile", full)
    with pytest.raises(UnavailableError, match="no space left"):
        restore(backup, path)
    assert body(path) == b"mine"
    assert not list(tmp_path.glob("fleet.db.before-restore"))
    assert not list(tmp_path.glob("*.part"))
