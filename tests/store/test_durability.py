"""A disk that forgets what was not synced: what a commit that returned stored is there after the power went."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from pathlib import Path

import apsw
import pytest

from fleetform.model.objects import Ref
from fleetform.ports.store import Commit, Deed, Event, Put, UnavailableError
from fleetform.store.sqlite import SqliteStore
from fleetform.store.sqlite_reader import SqliteReader

NOW = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)


class ForgetfulDisk(apsw.VFS):
    """Keeps a copy of each file of a folder as it was last synced. writes_left is how many writes there are before it
    fails; full says how: the disk is full, or the power goes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.synced: dict[str, bytes] = {}
        self.writes_left: int | None = None
        self.full = False
        self.name = f"forgetful-{id(self)}"
        super().__init__(self.name, "")

    def xOpen(self, name: object, flags: list[int]) -> _ForgetfulFile:  # noqa: N802
        return _ForgetfulFile(self, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802
        super().xDelete(filename, syncdir)
        self.synced.pop(filename, None)

    def before_write(self) -> None:
        if self.writes_left is None:
            return
        self.writes_left -= 1
        if self.writes_left < 0:
            raise apsw.FullError("no space left") if self.full else apsw.IOError("the power is gone")

    def after_power_loss(self, folder: Path) -> str:
        """A folder with the files as the disk has them."""
        folder.mkdir()
        for name, content in self.synced.items():
            (folder / Path(name).name).write_bytes(content)
        return str(folder / "fleet.db")


class _ForgetfulFile(apsw.VFSFile):
    def __init__(self, disk: ForgetfulDisk, name: object, flags: list[int]) -> None:
        self._disk = disk
        self._path = name.filename() if isinstance(name, apsw.URIFilename) else str(name)
        super().__init__("", name, flags)  # type: ignore[arg-type]

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        self._disk.before_write()
        super().xWrite(data, offset)

    def xSync(self, flags: int) -> None:  # noqa: N802
        self._disk.before_write()
        super().xSync(flags)
        if Path(self._path).parent == self._disk.folder:
            self._disk.synced[self._path] = Path(self._path).read_bytes()


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ForgetfulDisk:
    """Every connection that is opened to write is on it."""
    found = ForgetfulDisk(tmp_path)
    connect = apsw.Connection

    def on_disk(path: str, **options: object) -> apsw.Connection:
        return connect(path, vfs=found.name, **options) if "flags" not in options else connect(path, **options)  # type: ignore[arg-type]

    monkeypatch.setattr("fleetform.store.sqlite.apsw.Connection", on_disk)
    return found


def _commit(number: int) -> Commit:
    """Records, an event and an audit entry that belong together, over several pages."""
    body = b"%d" % number * 3_000
    puts = [Put(Ref("Rollout", "acme", f"{number}-{part}"), body) for part in range(3)]
    event = Event(NOW, "acme", "eu-1", "web", f"Started-{number}")
    return Commit(puts, [event], [Deed(NOW, "ann", "approve", str(number), "done")])


def _whole(path: str) -> list[int]:
    """The commits that a database holds; each must be there whole."""
    store = SqliteStore(path)
    try:
        found = []
        for number in range(20):
            records = [store.get(Ref("Rollout", "acme", f"{number}-{part}")) is not None for part in range(3)]
            told = any(each.event == f"Started-{number}" for each in store.events("acme", "eu-1"))
            audited = any(each.deed.subject == str(number) for each in store.audit())
            assert len({*records, told, audited}) == 1, f"commit {number} is there in part"
            found += [number] if told else []
        return found
    finally:
        store.close()


def test_the_disk_forgets_what_is_not_synced(tmp_path: Path, disk: ForgetfulDisk) -> None:
    """Otherwise the tests below would prove nothing."""
    store = SqliteStore(str(tmp_path / "fleet.db"))
    store._connection.execute("PRAGMA synchronous = OFF")
    store.commit(_commit(0), NOW)
    assert _whole(disk.after_power_loss(tmp_path / "after")) == []
    store.close()


@pytest.mark.rule("B1")
def test_a_commit_that_returned_outlives_the_power(tmp_path: Path, disk: ForgetfulDisk) -> None:
    store = SqliteStore(str(tmp_path / "fleet.db"))
    for number in range(6):
        store.commit(_commit(number), NOW)
        path = disk.after_power_loss(tmp_path / f"after-{number}")
        assert _whole(path) == list(range(number + 1))
    store.close()


@pytest.mark.rule("B1")
@pytest.mark.parametrize("full", [False, True])
def test_a_commit_that_did_not_return_is_there_whole_or_not_at_all(
    tmp_path: Path, disk: ForgetfulDisk, full: bool
) -> None:
    """The power goes, or the disk is full, at each write of a commit in turn; with room again it goes on."""
    store = SqliteStore(str(tmp_path / "fleet.db"))
    store.commit(_commit(0), NOW)
    disk.full = full
    said = set()
    for writes in range(40):
        disk.writes_left = writes
        try:
            store.commit(_commit(1), NOW)
            break
        except UnavailableError as error:
            said.add(error.message.rpartition("fleet.db ")[2].partition(":")[0])
        disk.writes_left = None
        assert _whole(disk.after_power_loss(tmp_path / f"after-{writes}")) in ([0], [0, 1])
        shutil.rmtree(tmp_path / f"after-{writes}")
    assert writes > 3
    assert said == ({"is full"} if full else {"cannot be read or written"})
    disk.writes_left = None
    store.commit(_commit(2), NOW)
    store.close()
    assert _whole(str(tmp_path / "fleet.db")) == [0, 1, 2]
    SqliteReader(str(tmp_path / "fleet.db")).close()
