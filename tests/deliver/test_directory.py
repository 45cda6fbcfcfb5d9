"""Delivery into a folder: the contract, and what only folders can do."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from deliver.contract import NOTE, A, B, DeliveryContract, parcel
from fleetform.deliver.directory import DirectoryDelivery
from fleetform.deliver.tree import INVENTORY, folder_of
from fleetform.outside.files import OUTPUT_MARK


def files_below(folder: Path) -> dict[str, str]:
    return {
        str(each.relative_to(folder)): each.read_text()
        for each in sorted(folder.rglob("*"))
        if each.is_file() and each.name not in (INVENTORY, OUTPUT_MARK)
    }


class TestDirectory(DeliveryContract):
    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self.folder = tmp_path / "out"
        self.folder.mkdir()
        self.delivery = DirectoryDelivery(str(self.folder))

    def seen(self) -> dict[str, str]:
        return files_below(self.folder)

    def put(self, path: str, text: str) -> None:
        (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / path).write_text(text)

    def take(self, path: str) -> None:
        (self.folder / path).unlink()

    @pytest.mark.rule("R0-19")
    def test_delivering_what_is_there_touches_no_file(self) -> None:
        self.delivery.deliver([parcel(A, one="1", two="2")], [], NOTE)
        before = {each: each.stat().st_mtime_ns for each in self.folder.rglob("*")}
        self.delivery.deliver([parcel(A, one="1", two="2")], [], NOTE)
        assert {each: each.stat().st_mtime_ns for each in self.folder.rglob("*")} == before

    @pytest.mark.parametrize("place", ["eu-1", "eu-1/cert-manager"])
    def test_nothing_is_written_through_a_linked_folder(self, place: str, tmp_path: Path) -> None:
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        (self.folder / place).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / place).symlink_to(elsewhere)
        failed = self.delivery.deliver([parcel(A, one="1")], [], NOTE)
        assert failed[A].refused
        assert list(elsewhere.iterdir()) == []

    def test_nothing_is_written_through_a_linked_file(self, tmp_path: Path) -> None:
        self.delivery.deliver([parcel(A, one="1")], [], NOTE)
        precious = tmp_path / "precious"
        precious.write_text("theirs")
        self.take("eu-1/cert-manager/one.yaml")
        (self.folder / "eu-1/cert-manager/one.yaml").symlink_to(precious)
        failed = self.delivery.deliver([parcel(A, one="2")], [], NOTE)
        assert "is a link" in failed[A].message
        assert precious.read_text() == "theirs"

    def test_a_file_takes_its_place_only_when_all_of_it_is_on_the_disk(self, monkeypatch: pytest.MonkeyPatch) -> None:
        on_disk: dict[int, int] = {}
        placed: dict[str, int] = {}
        sync, rename = os.fsync, os.rename

        def synced(handle: int) -> None:
            sync(handle)
            status = os.fstat(handle)
            on_disk[status.st_ino] = status.st_size

        def renamed(before: str, after: str, *, src_dir_fd: int, dst_dir_fd: int) -> None:
            rename(before, after, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)
            placed[after] = on_disk.get(os.stat(after, dir_fd=dst_dir_fd).st_ino, -1)

        monkeypatch.setattr(os, "fsync", synced)
        monkeypatch.setattr(os, "rename", renamed)
        self.delivery.deliver([parcel(A, one="1", two="2" * 100_000)], [], NOTE)
        there = {each.name: each.stat().st_size for each in (self.folder / folder_of(A)).iterdir()}
        assert there.keys() == {"one.yaml", "two.yaml", INVENTORY}
        assert placed == there

    def test_what_is_delivered_is_not_read_as_a_fleet(self) -> None:
        self.delivery.deliver([parcel(A, one="1")], [], NOTE)
        assert (self.folder / OUTPUT_MARK).exists()

    @pytest.mark.parametrize(
        ("code", "told"),
        [
            (errno.ENOSPC, "no space left on device"),
            (errno.EROFS, "read-only file system"),
            (errno.EACCES, "permission denied"),
        ],
    )
    def test_a_disk_that_is_full_or_read_only_is_told_and_the_rest_is_delivered(
        self, code: int, told: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        real = os.fsync
        calls = 0

        def full(handle: int) -> None:
            nonlocal calls
            calls += 1
            if calls == 4:
                raise OSError(code, os.strerror(code))
            real(handle)

        monkeypatch.setattr(os, "fsync", full)
        failed = self.delivery.deliver([parcel(A, one="1"), parcel(B, one="1")], [], NOTE)
        assert [each.message.rpartition(": ")[2] for each in failed.values()] == [told]
        assert not next(iter(failed.values())).refused
        monkeypatch.undo()
        assert [each for each in self.folder.rglob(".*") if each.name not in (INVENTORY, OUTPUT_MARK)] == []
        assert self.delivery.deliver([parcel(A, one="1"), parcel(B, one="1")], [], NOTE) == {}
        assert len(self.seen()) == 2


class _Killed(BaseException):
    """The process ends here."""


def _steps(monkeypatch: pytest.MonkeyPatch, die_at: int) -> Iterator[int]:
    """Counts what changes the disk, and dies at one of them: before it, so that it never happened."""
    count = 0

    def counted(name: str) -> None:
        real: Any = getattr(os, name)

        def step(*arguments: Any, **named: Any) -> Any:
            nonlocal count
            count += 1
            if count == die_at:
                # Nothing of a killed process runs any more, its cleaning up included.
                for each in _CHANGES:
                    monkeypatch.setattr(os, each, _dead)
                raise _Killed
            return real(*arguments, **named)

        monkeypatch.setattr(os, name, step)

    for name in _CHANGES:
        counted(name)
    yield 0
    yield count


_CHANGES = ("rename", "unlink", "fsync", "mkdir")


def _dead(*arguments: Any, **named: Any) -> None:
    raise _Killed


def test_killed_at_any_step_the_next_delivery_ends_in_the_same_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = parcel(A, one="1", two="2", three="3"), parcel(A, two="changed", three="3", four="4")
    expected = {
        "eu-1/cert-manager/four.yaml": "4",
        "eu-1/cert-manager/three.yaml": "3",
        "eu-1/cert-manager/two.yaml": "changed",
    }
    die_at, finished = 0, False
    while not finished:
        die_at += 1
        folder = tmp_path / str(die_at)
        delivery = DirectoryDelivery(str(folder))
        delivery.deliver([old], [], NOTE)
        with monkeypatch.context() as patched:
            steps = _steps(patched, die_at)
            next(steps)
            try:
                delivery.deliver([new], [], NOTE)
                finished = True
            except _Killed:
                pass
        place = folder / folder_of(A)
        # Whatever is there is whole, and every file is known to be ours.
        texts = {each.name: each.read_text() for each in place.iterdir() if not each.name.startswith(".")}
        assert all(text in ("1", "2", "3", "4", "changed") for text in texts.values())
        inventory = (place / INVENTORY).read_text()
        assert all(name in inventory for name in texts)
        assert delivery.deliver([new], [], NOTE) == {}
        assert files_below(folder) == expected
        delivery.deliver([], [A], NOTE)
        assert files_below(folder) == {}
    assert die_at > 10
