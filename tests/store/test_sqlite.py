"""The database on disk: who may hold it, what it refuses, what a crash leaves."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from threading import Timer

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fleetform.model.objects import Ref
from fleetform.ports.store import (
    Commit,
    ConflictError,
    Deed,
    Delete,
    ExpiredError,
    Message,
    Put,
    UnavailableError,
    UnusableError,
    plugin_key,
    plugin_ref,
)
from fleetform.store import hold, sqlite
from fleetform.store.audit_chain import first_broken
from fleetform.store.memory import MemoryStore
from fleetform.store.schema import APPLICATION_ID, NEWEST, STEPS
from fleetform.store.sqlite import SqliteStore
from fleetform.store.sqlite_reader import SqliteReader
from support.databases import version_of, write_database

NOW = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
A = Ref("Rollout", "acme", "a")


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "fleet.db")


@pytest.fixture
def store(path: str) -> Iterator[SqliteStore]:
    found = SqliteStore(path)
    yield found
    found.close()


def test_what_was_committed_is_there_after_reopening(path: str) -> None:
    first = SqliteStore(path)
    first.commit(Commit([Put(A, b"one")]), NOW)
    first.close()
    second = SqliteStore(path)
    assert second.get(A) is not None
    assert second.version() == 1
    second.close()


def test_a_second_one_that_would_write_is_refused_and_told_who_holds_it(store: SqliteStore, path: str) -> None:
    with pytest.raises(UnavailableError, match=f"another Fleetform holds .* \\(process {os.getpid()}\\)"):
        SqliteStore(path)


def test_who_is_refused_leaves_nothing_open(store: SqliteStore, path: str) -> None:
    """A command that waits for a database tries it again and again."""
    before = len(os.listdir("/dev/fd"))
    for _ in range(3):
        with pytest.raises(UnavailableError):
            SqliteStore(path)
    assert len(os.listdir("/dev/fd")) == before


@pytest.mark.rule("B18")
def test_a_new_database_and_its_log_are_for_its_user_alone(store: SqliteStore, path: str) -> None:
    """The files that were accepted are in it, Secrets among them."""
    files = [path, f"{path}-wal", f"{path}-shm", f"{path}.lock"]
    assert {os.stat(each).st_mode & 0o777 for each in files} == {0o600}


def test_permissions_that_somebody_gave_a_database_stay(path: str) -> None:
    SqliteStore(path).close()
    os.chmod(path, 0o640)
    SqliteStore(path).close()
    assert os.stat(path).st_mode & 0o777 == 0o640


def test_the_hold_ends_with_closing(path: str) -> None:
    SqliteStore(path).close()
    SqliteStore(path).close()


def test_readers_see_each_commit_and_keep_nothing_open(store: SqliteStore, path: str) -> None:
    reader = SqliteReader(path)
    for number in range(3):
        store.commit(Commit([Put(A, b"%d" % number)]), NOW)
        found = reader.get(A)
        assert found is not None
        assert found.body == b"%d" % number
        reader.list("Rollout")
    store.compact(keep=10)
    # A checkpoint that truncates would be refused if the reader still kept the log.
    assert store._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE) == (0, 0)
    reader.close()


def test_a_commit_waits_for_another_program_that_writes_for_a_moment(store: SqliteStore, path: str) -> None:
    with closing(apsw.Connection(path)) as other:
        other.execute("BEGIN IMMEDIATE")
        done = Timer(0.05, other.execute, ("COMMIT",))
        done.start()
        try:
            store.commit(Commit([Put(A, b"1")]), NOW)
        finally:
            done.join()
    record = store.get(A)
    assert record is not None
    assert record.body == b"1"


def test_a_reader_cannot_write(store: SqliteStore, path: str) -> None:
    reader = SqliteReader(path)
    with pytest.raises(apsw.ReadOnlyError):
        reader._connection.execute("DELETE FROM record")
    reader.close()


def test_every_commit_is_synced_to_the_disk(store: SqliteStore) -> None:
    assert store._connection.execute("PRAGMA synchronous").get == 2
    assert store._connection.execute("PRAGMA journal_mode").get == "wal"


def test_a_database_of_a_newer_release_is_refused_and_left_alone(path: str) -> None:
    SqliteStore(path).close()
    connection = apsw.Connection(path)
    connection.execute(f"PRAGMA user_version = {NEWEST + 1}")
    connection.close()
    for opened in (SqliteStore, SqliteReader):
        with pytest.raises(UnusableError, match=f"newer release \\(version {NEWEST + 1}; this one knows {NEWEST}\\)"):
            opened(path)


def test_the_database_of_another_program_is_refused_and_left_alone(path: str) -> None:
    connection = apsw.Connection(path)
    connection.execute("CREATE TABLE theirs (x)")
    connection.close()
    with pytest.raises(UnusableError, match="another program"):
        SqliteStore(path)
    connection = apsw.Connection(path)
    assert connection.execute("SELECT name FROM sqlite_schema").get == "theirs"
    connection.close()


def test_a_file_that_is_no_database_is_refused(path: str) -> None:
    Path(path).write_bytes(b"kind: Cluster\n" * 400)
    with pytest.raises(UnusableError, match="is not a database"):
        SqliteStore(path)


def test_there_is_nothing_to_read_where_there_is_no_database(path: str) -> None:
    with pytest.raises(UnusableError, match="there is no database"):
        SqliteReader(path)
    Path(path).touch()
    with pytest.raises(UnusableError, match="is empty"):
        SqliteReader(path)


def test_a_file_is_marked_as_ours(store: SqliteStore) -> None:
    assert store._connection.execute("PRAGMA application_id").get == APPLICATION_ID


@pytest.mark.parametrize("statement", ["DELETE FROM audit", "UPDATE audit SET hash = 'x'"])
def test_the_audit_log_cannot_be_changed(store: SqliteStore, statement: str) -> None:
    store.commit(Commit(deeds=[Deed(NOW, "alice", "approve", "r", "done")]), NOW)
    with pytest.raises(apsw.ConstraintError, match="append-only"):
        store._connection.execute(statement)


def test_an_entry_changed_behind_the_log_s_back_is_found(store: SqliteStore) -> None:
    for number in range(4):
        store.commit(Commit(deeds=[Deed(NOW, "alice", f"verb{number}", "r", "done")]), NOW)
    store._connection.execute("DROP TRIGGER audit_holds")
    store._connection.execute("UPDATE audit SET deed = replace(deed, 'verb2', 'verb9') WHERE number = 3")
    assert first_broken(store.audit()) == 3


_WRITER = """
import sys
from datetime import UTC, datetime
from fleetform.model.objects import Ref
from fleetform.ports.store import Commit, Put
from fleetform.store.sqlite import SqliteStore
store = SqliteStore(sys.argv[1])
number = 0
while True:
    number += 1
    writes = [Put(Ref("Rollout", "acme", f"r{each}"), b"%d" % number) for each in range(50)]
    store.commit(Commit(writes), datetime.now(UTC))
    print(number, flush=True)
"""


def test_a_killed_writer_leaves_whole_commits_and_no_hold(path: str) -> None:
    for _ in range(3):
        process = subprocess.Popen([sys.executable, "-c", _WRITER, path], stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        told = 0
        while told < 5:
            told = int(process.stdout.readline())
        process.send_signal(signal.SIGKILL)
        last = max([told, *map(int, process.stdout.read().split())])
        process.wait()
        process.stdout.close()
        store = SqliteStore(path)
        bodies = {each.body for each in store.list("Rollout").records}
        assert len(bodies) == 1
        assert int(bodies.pop()) in (last, last + 1)
        store.close()


_writes = st.lists(
    st.lists(
        st.tuples(
            st.sampled_from("abcd"), st.sampled_from([b"1", b"2", None]), st.sampled_from([None, None, 0, 1, 2, 3])
        ),
        max_size=4,
        unique_by=lambda each: each[0],
    ),
    max_size=12,
)


@given(_writes, st.integers(0, 12), st.integers(0, 3))
@settings(max_examples=60)
def test_both_stores_answer_the_same(
    commits: list[list[tuple[str, bytes | None, int | None]]], at: int, limit: int
) -> None:

    with tempfile.TemporaryDirectory() as folder:
        disk, memory = SqliteStore(f"{folder}/fleet.db"), MemoryStore()
        for number, commit in enumerate(commits):
            writes = [
                Put(Ref("Rollout", "acme", name), body, expected)
                if body is not None
                else Delete(Ref("Rollout", "acme", name), expected)
                for name, body, expected in commit
            ]
            answers = []
            for store in (disk, memory):
                try:
                    answers.append(str(store.commit(Commit(writes), NOW)))
                except ConflictError as error:
                    answers.append(str(error))
            assert answers[0] == answers[1]
            if number == 6:
                disk.compact(4)
                memory.compact(4)
        for question in ("changes", "list"):
            found = []
            for store in (disk, memory):
                try:
                    if question == "changes":
                        found.append(str(store.changes(at, limit)))
                    else:
                        found.append(str(store.list("Rollout", version=at, limit=limit)))
                except ExpiredError as error:
                    found.append(str(error))
            assert found[0] == found[1]
        disk.close()


@pytest.mark.parametrize("version", range(1, NEWEST + 1))
def test_a_database_of_each_earlier_release_is_brought_up_to_date_with_all_that_it_holds(
    path: str, version: int
) -> None:
    write_database(path, version)
    store = SqliteStore(path)
    try:
        record = store.get(Ref("Rollout", "acme", "web-1"))
        assert record is not None
        assert (record.version, record.created, record.body) == (7, 4, b"{}")
        assert [each.body for each in store.list("Rollout", version=5).records] == [b"[]"]
        assert first_broken(store.audit()) is None
        assert store.blob("sha256:1") == b"\0"
        assert store.commit(Commit([Put(Ref("Rollout", "acme", "web-2"), b"{}")]), NOW) == 8
    finally:
        store.close()
    assert version_of(path) == NEWEST


def test_records_of_plugins_are_found_in_a_database_that_had_them_by_cluster(path: str) -> None:
    connection = apsw.Connection(path)
    for step in STEPS[:2]:
        list(connection.execute(step))
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = 2")
    connection.execute("UPDATE counter SET version = 7, oldest = 3")
    # A cluster may be named as a plugin is, and the other way round.
    for kind in ("PluginState", "Delivery"):
        for name, body in (("eu/us", b"us on eu"), ("us/eu", b"eu on us")):
            connection.execute("INSERT INTO record VALUES (?, 'acme', ?, 7, 4, ?)", (kind, name, body))
            connection.execute("INSERT INTO past VALUES (?, 'acme', ?, 4, 7, 4, ?)", (kind, name, body + b" before"))
        connection.execute("INSERT INTO removed VALUES (?, 'acme', 'ap/web-ap', 6)", (kind,))
    connection.close()
    store = SqliteStore(path)
    try:
        for kind in ("PluginState", "Delivery"):
            now = {plugin_key(each.ref): each.body for each in store.list(kind).records}
            assert now == {("acme", "eu", "us"): b"us on eu", ("acme", "us", "eu"): b"eu on us"}
            then = {plugin_key(each.ref): each.body for each in store.list(kind, version=5).records}
            assert then == {key: body + b" before" for key, body in now.items()}
            assert plugin_ref(kind, ("acme", "ap", "web-ap")) in [ref for ref, _ in store.changes(5).removed]
    finally:
        store.close()


def test_a_damaged_database_is_refused_when_it_is_opened(path: str) -> None:
    store = SqliteStore(path)
    for number in range(200):
        store.commit(Commit([Put(Ref("Thing", "acme", f"n{number:04}"), b"x" * 500)]), NOW)
    store.close()
    content = bytearray(Path(path).read_bytes())
    middle = len(content) // 2
    content[middle : middle + 8192] = b"\xff" * 8192
    Path(path).write_bytes(content)
    with pytest.raises(UnusableError, match="is damaged"):
        SqliteStore(path)


def test_a_log_that_grew_too_long_is_cut(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "_LONGEST_LOG", 100_000)
    store = SqliteStore(path)
    try:
        for number in range(30):
            store.commit(Commit([Put(Ref("Thing", "acme", f"n{number}"), b"x" * 20_000)]), NOW)
        assert store.log_size() < 200_000
    finally:
        store.close()


def test_records_that_come_and_go_for_ever_need_no_more_room_once_they_are_compacted(path: str) -> None:
    store = SqliteStore(path)
    sizes = []
    for turn in range(8):
        refs = [Ref("Thing", "acme", f"{turn}-{number}") for number in range(500)]
        store.commit(Commit([Put(each, b"x" * 100) for each in refs]), NOW)
        store.commit(Commit([Delete(each) for each in refs]), NOW)
        store.compact(keep=0)
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as reader:
            sizes.append(reader.execute("PRAGMA page_count").fetchone()[0])
    store.close()
    assert sizes[-1] == sizes[1]


def test_a_network_file_system_is_refused(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hold, "_file_system", lambda _: "nfs4")
    with pytest.raises(UnusableError, match="network file system"):
        SqliteStore(path)


def test_a_database_of_every_earlier_version_is_brought_up_to_date(tmp_path: Path) -> None:
    for version in range(1, NEWEST):
        path = str(tmp_path / f"{version}.db")
        connection = apsw.Connection(path)
        for step in STEPS[:version]:
            list(connection.execute(step))
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {version}")
        connection.close()
        with pytest.raises(UnusableError, match="written by an earlier release"):
            SqliteReader(path)
        store = SqliteStore(path)
        store.commit(Commit(messages=[Message("Started/c1:1", NOW, "acme", "Started", b"{}")]), NOW)
        assert [each.message.key for each in store.feed("acme")] == ["Started/c1:1"]
        store.close()
        SqliteReader(path).close()


MOUNTS = """\
/dev/sda1 / ext4 rw 0 0
proc /proc proc rw 0 0
server:/export /data nfs4 rw 0 0
/dev/sdb1 /data/local xfs rw 0 0
/dev/sdc1 /database btrfs rw 0 0
broken /data/local/db
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/srv/x.db", "ext4"),
        ("/data/x.db", "nfs4"),
        ("/data", "nfs4"),
        ("/data/local/x.db", "xfs"),
        ("/data/local", "xfs"),
        ("/data/locals/x.db", "nfs4"),
        ("/database/x.db", "btrfs"),
        ("/data/local/db/x.db", "xfs"),
    ],
)
def test_the_file_system_of_a_path_is_that_of_the_deepest_mount(
    path: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(MOUNTS)
    monkeypatch.setattr(hold, "_MOUNTS", str(mounts))
    assert hold._file_system(path) == kind
    mounts.write_text("")
    assert hold._file_system(path) == ""
    mounts.unlink()
    assert hold._file_system(path) == "", "the system does not tell"
