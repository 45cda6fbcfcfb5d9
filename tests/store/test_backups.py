"""Backup, restore and the check of a database."""

from __future__ import annotations

import os
import shutil
import stat
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import apsw
import pytest

from fleetform.model.objects import Ref
from fleetform.ports.store import Commit, Deed, Put, UnavailableError, UnusableError
from fleetform.store.audit_chain import first_broken
from fleetform.store.backups import back_up, check, restore
from fleetform.store.schema import NEWEST
from fleetform.store.sqlite import SqliteStore
from fleetform.store.sqlite_reader import SqliteReader
from support.databases import version_of, write_database

NOW = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
A, B = Ref("Rollout", "acme", "a"), Ref("Rollout", "acme", "b")


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "fleet.db")


def test_a_backup_taken_beside_a_writer_restores_on_another_path(path: str, tmp_path: Path) -> None:
    store = SqliteStore(path)
    store.commit(Commit([Put(A, b"one")], deeds=[Deed(NOW, "alice", "approve", "r", "done")]), NOW)
    copy, elsewhere = str(tmp_path / "copy.db"), str(tmp_path / "elsewhere" / "fleet.db")
    back_up(path, copy)
    store.commit(Commit([Put(B, b"later")]), NOW)
    store.close()
    restore(copy, elsewhere)
    restored = SqliteStore(elsewhere)
    found = restored.get(A)
    assert found is not None
    assert (found.body, found.version) == (b"one", 1)
    assert restored.get(B) is None
    assert restored.commit(Commit([Put(B, b"new")]), NOW) == 2
    restored.close()
    assert stat.S_IMODE(os.stat(copy).st_mode) == 0o600


def test_a_folder_that_is_not_there_is_said_of_the_copy(path: str, tmp_path: Path) -> None:
    SqliteStore(path).close()
    target = str(tmp_path / "nowhere" / "backup.db")
    with pytest.raises(UnavailableError) as raised:
        back_up(path, target)
    assert raised.value.message == f"{target} cannot be written: no such file or directory"


@pytest.mark.parametrize("name", ["fleet.db", "link.db"])
def test_a_database_in_use_is_not_replaced_by_a_backup(path: str, tmp_path: Path, name: str) -> None:
    """Not by one of its own either: what is stored later would be lost with the file that it is stored in."""
    other, target = str(tmp_path / "other.db"), str(tmp_path / name)
    SqliteStore(other).close()
    (tmp_path / "link.db").symlink_to(path)
    with closing(SqliteStore(path)) as store:
        for source in (path, other):
            with pytest.raises(UnusableError, match=f"{target} is a database that is in use"):
                back_up(source, target)
        store.commit(Commit([Put(A, b"mine")]), NOW)
    with closing(SqliteReader(target)) as reader:
        assert reader.get(A) is not None


def test_restoring_keeps_what_was_there_beside_it(path: str, tmp_path: Path) -> None:
    copy = str(tmp_path / "copy.db")
    store = SqliteStore(path)
    store.commit(Commit([Put(A, b"old")]), NOW)
    back_up(path, copy)
    store.commit(Commit([Put(A, b"new")]), NOW)
    store.close()
    restore(copy, path)
    before, now = SqliteReader(f"{path}.before-restore"), SqliteReader(path)
    assert [reader.get(A).body for reader in (before, now)] == [b"new", b"old"]  # type: ignore[union-attr]
    before.close()
    now.close()


def test_a_database_that_somebody_holds_is_not_restored(path: str, tmp_path: Path) -> None:
    store = SqliteStore(path)
    store.commit(Commit([Put(A, b"one")]), NOW)
    back_up(path, str(tmp_path / "copy.db"))
    with pytest.raises(UnavailableError, match="another Fleetform holds"):
        restore(str(tmp_path / "copy.db"), path)
    assert store.get(A) is not None
    store.close()


def test_a_damaged_backup_is_refused_and_the_database_stays(path: str, tmp_path: Path) -> None:
    store = SqliteStore(path)
    store.commit(Commit([Put(Ref("Rollout", "acme", str(each)), os.urandom(200)) for each in range(500)]), NOW)
    copy = tmp_path / "copy.db"
    back_up(path, str(copy))
    store.close()
    content = bytearray(copy.read_bytes())
    content[len(content) // 2 : len(content) // 2 + 6000] = bytes(6000)
    copy.write_bytes(content)
    with pytest.raises(UnusableError, match="damaged"):
        restore(str(copy), path)
    again = SqliteStore(path)
    assert len(again.list("Rollout").records) == 500
    again.close()


def test_a_backup_whose_audit_log_was_changed_is_refused(path: str, tmp_path: Path) -> None:
    store = SqliteStore(path)
    store.commit(Commit(deeds=[Deed(NOW, "alice", "approve", "r", "done")] * 3), NOW)
    copy = str(tmp_path / "copy.db")
    back_up(path, copy)
    store.close()
    connection = apsw.Connection(copy)
    connection.execute("DROP TRIGGER audit_holds")
    connection.execute("UPDATE audit SET deed = replace(deed, 'alice', 'bob__') WHERE number = 2")
    connection.close()
    with pytest.raises(UnusableError, match="changed at entry 2"):
        check(copy)


@pytest.mark.parametrize("version", range(1, NEWEST + 1))
def test_a_database_of_each_earlier_release_is_backed_up_at_its_version(
    path: str, tmp_path: Path, version: int
) -> None:
    """Before `serve` of a new release changes it, so that the way back to the old release stays open."""
    write_database(path, version)
    copy = str(tmp_path / "copy.db")
    back_up(path, copy)
    check(copy)
    assert (version_of(path), version_of(copy)) == (version, version)


@pytest.mark.parametrize("version", range(1, NEWEST + 1))
def test_a_backup_of_each_earlier_release_is_restored_and_brought_up_to_date(
    path: str, tmp_path: Path, version: int
) -> None:
    copy = str(tmp_path / "copy.db")
    write_database(copy, version)
    restore(copy, path)
    assert (version_of(path), version_of(copy)) == (NEWEST, version)
    with closing(SqliteReader(path)) as restored:
        record = restored.get(Ref("Rollout", "acme", "web-1"))
        assert record is not None
        assert (record.version, record.body) == (7, b"{}")
        assert [each.body for each in restored.list("Rollout", version=5).records] == [b"[]"]
        assert restored.blob("sha256:1") == b"\0"
        assert [each.number for each in restored.audit()] == [1, 2]
        assert first_broken(restored.audit()) is None


@pytest.mark.parametrize("version", range(1, NEWEST + 1))
def test_an_audit_log_that_was_changed_is_found_at_each_version(path: str, tmp_path: Path, version: int) -> None:
    write_database(path, version)
    with closing(apsw.Connection(path)) as connection:
        connection.execute("DROP TRIGGER audit_holds")
        connection.execute("UPDATE audit SET deed = replace(deed, 'ann', 'bob') WHERE number = 2")
    copy = tmp_path / "copy.db"
    said = f"the audit log of {path} was changed at entry 2"
    with pytest.raises(UnusableError, match=said):
        back_up(path, str(copy))
    assert not copy.exists()
    with pytest.raises(UnusableError, match=said):
        restore(path, str(tmp_path / "elsewhere.db"))
    assert not (tmp_path / "elsewhere.db").exists()


@pytest.mark.parametrize(
    ("content", "said"), [(None, "there is no database"), (b"", "is empty"), (b"x" * 999, "is not a")]
)
def test_what_is_no_database_is_not_backed_up(path: str, tmp_path: Path, content: bytes | None, said: str) -> None:
    if content is not None:
        Path(path).write_bytes(content)
    with pytest.raises(UnusableError, match=said):
        back_up(path, str(tmp_path / "copy.db"))
    assert not list(tmp_path.glob("copy.db*"))


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (f"PRAGMA user_version = {NEWEST + 1}", "written by a newer release"),
        ("PRAGMA application_id = 7", "of another program"),
    ],
)
def test_neither_a_newer_nor_a_foreign_database_is_backed_up_or_restored(
    path: str, tmp_path: Path, spoil: str, said: str
) -> None:
    write_database(path, NEWEST)
    with closing(apsw.Connection(path)) as connection:
        connection.execute(spoil)
    with pytest.raises(UnusableError, match=said):
        back_up(path, str(tmp_path / "copy.db"))
    with pytest.raises(UnusableError, match=said):
        restore(path, str(tmp_path / "elsewhere.db"))
    assert not (tmp_path / "copy.db").exists()
    assert not (tmp_path / "elsewhere.db").exists()


def test_a_step_that_cannot_be_taken_leaves_the_database_as_it_was(path: str, tmp_path: Path) -> None:
    """On the copy, before it takes the place of what is there."""
    with closing(SqliteStore(path)) as store:
        store.commit(Commit([Put(A, b"mine")]), NOW)
    copy = str(tmp_path / "copy.db")
    write_database(copy, 2)
    with closing(apsw.Connection(copy)) as connection:
        connection.execute("CREATE TABLE ended (in_the_way)")
    with pytest.raises(apsw.SQLError):
        restore(copy, path)
    with closing(SqliteReader(path)) as reader:
        assert reader.get(A) is not None
    assert not os.path.exists(f"{path}.part")


@pytest.mark.parametrize("ending", ["-journal", "-wal"])
def test_what_a_restore_left_that_was_cut_short_is_not_taken_into_the_next_one(
    path: str, tmp_path: Path, ending: str
) -> None:
    """SQLite takes a journal or a log for that of the file whose name it bears."""
    spilt, copy = str(tmp_path / "spilt.db"), str(tmp_path / "copy.db")
    write_database(copy, 1)
    with closing(apsw.Connection(spilt)) as connection:
        connection.execute(f"PRAGMA journal_mode = {'WAL' if ending == '-wal' else 'DELETE'}; PRAGMA cache_size = 1")
        connection.execute("CREATE TABLE other AS SELECT randomblob(5000) AS bytes FROM json_each('[1,2,3,4,5,6]')")
        connection.execute("BEGIN; UPDATE other SET bytes = randomblob(5000)")
        shutil.copy(f"{spilt}{ending}", f"{path}.part{ending}")
    restore(copy, path)
    with closing(SqliteReader(path)) as restored:
        assert restored.get(Ref("Rollout", "acme", "web-1")) is not None
    assert not list(tmp_path.glob("*.part*"))


@pytest.mark.parametrize("content", [None, b"", b"not a database" * 300])
def test_what_is_no_backup_is_refused(tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "copy.db"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(UnusableError):
        restore(str(file), str(tmp_path / "fleet.db"))
    assert not (tmp_path / "fleet.db").exists()


def test_a_restore_that_was_cut_short_is_begun_anew(path: str, tmp_path: Path) -> None:
    copy = str(tmp_path / "copy.db")
    store = SqliteStore(path)
    store.commit(Commit([Put(A, b"one")]), NOW)
    store.close()
    back_up(path, copy)
    for half in (f"{path}.part", f"{copy}.part"):
        Path(half).write_bytes(b"half of a database")
    restore(copy, path)
    back_up(path, copy)
    assert sorted(each.name for each in tmp_path.iterdir() if each.suffix == ".part") == []


def test_restoring_keeps_what_was_there_whole_while_somebody_still_reads_it(path: str, tmp_path: Path) -> None:
    copy = str(tmp_path / "copy.db")
    store = SqliteStore(path)
    store.commit(Commit([Put(A, b"old")]), NOW)
    back_up(path, copy)
    reader = SqliteReader(path)
    store.commit(Commit([Put(A, b"new")]), NOW)
    # With a reader there, the last writer leaves its log behind.
    store.close()
    assert os.path.getsize(f"{path}-wal")
    restore(copy, path)
    reader.close()
    before = SqliteReader(f"{path}.before-restore")
    assert before.get(A).body == b"new"  # type: ignore[union-attr]
    before.close()


def test_a_database_that_somebody_is_reading_is_not_taken_away(path: str, tmp_path: Path) -> None:
    copy = str(tmp_path / "copy.db")
    store = SqliteStore(path)
    store.commit(Commit([Put(A, b"one")]), NOW)
    back_up(path, copy)
    reading = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
    reading.execute("BEGIN").execute("SELECT count(*) FROM sqlite_schema").fetchall()
    store.commit(Commit([Put(B, b"two")]), NOW)
    store.close()
    with pytest.raises(UnavailableError, match="another process reads"):
        restore(copy, path)
    reading.close()
    restore(copy, path)
    before = SqliteReader(f"{path}.before-restore")
    assert before.get(B) is not None
    before.close()
