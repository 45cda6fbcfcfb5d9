"""Delivery into a branch: the contract, and what only git can do."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from deliver.contract import NOTE, A, B, DeliveryContract, parcel
from fleetform.deliver.git import Branch, GitDelivery
from fleetform.deliver.tree import INVENTORY
from fleetform.model.results.decisions import PluginKey
from fleetform.outside.errors import OutsideError
from fleetform.outside.mirrors import Mirror
from fleetform.ports.delivery import Failure
from support.silent import SilentServer


def git(folder: Path, *arguments: str, stdin: str | None = None) -> str:
    settings = ["-c", "user.name=ann", "-c", "user.email=ann@example.com", "-c", "init.defaultBranch=main"]
    command = ["git", "-C", str(folder), *settings, *arguments]
    return subprocess.run(command, capture_output=True, check=True, text=True, input=stdin).stdout


class TestGit(DeliveryContract):
    @pytest.fixture(autouse=True)
    def _repository(self, tmp_path: Path) -> None:
        self.remote, self.work = tmp_path / "remote.git", tmp_path / "work"
        git(tmp_path, "init", "--quiet", "--bare", str(self.remote))
        git(tmp_path, "clone", "--quiet", str(self.remote), str(self.work))
        self.pauses: list[float] = []
        self.delivery = self._delivery(tmp_path)

    def _delivery(self, tmp_path: Path, branch: Branch = Branch("main", "clusters")) -> GitDelivery:  # noqa: B008
        mirror = Mirror(str(tmp_path / "mirror"), str(self.remote))
        return GitDelivery(mirror, branch, lambda: None, self.pauses.append)

    def seen(self) -> dict[str, str]:
        listed = git(self.remote, "ls-tree", "-r", "-z", "--name-only", "main").split("\0")
        paths = [each for each in listed if each and not each.endswith(INVENTORY)]
        return {each.removeprefix("clusters/"): git(self.remote, "show", f"main:{each}") for each in paths}

    def _pull(self) -> None:
        if git(self.remote, "branch", "--list", "main"):
            git(self.work, "pull", "--quiet", "origin", "main")
        else:
            git(self.work, "checkout", "--quiet", "-B", "main")

    def _push(self) -> None:
        git(self.work, "add", "--all", "--force")
        git(self.work, "commit", "--quiet", "-m", "by hand")
        git(self.work, "push", "--quiet", "origin", "HEAD:main")

    def put(self, path: str, text: str) -> None:
        self._pull()
        file = self.work / "clusters" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        self._push()

    def take(self, path: str) -> None:
        self._pull()
        (self.work / "clusters" / path).unlink()
        self._push()

    def test_one_commit_lists_all_that_a_pass_delivers_and_why(self) -> None:
        self.delivery.deliver([parcel(A, one="1"), parcel(B, one="1")], [], NOTE)
        assert git(self.remote, "rev-list", "--count", "main").strip() == "1"
        assert git(self.remote, "log", "--format=%an%n%B", "main").split("\n")[:4] == [
            "Fleetform",
            "2 plugins",
            "",
            NOTE.lines[A],
        ]
        self.delivery.deliver([parcel(A, one="2")], [], NOTE)
        assert git(self.remote, "log", "-1", "--format=%B", "main").strip() == NOTE.lines[A]

    @pytest.mark.rule("R0-19")
    def test_delivering_what_is_there_makes_no_commit(self) -> None:
        for _ in range(2):
            assert self.delivery.deliver([parcel(A, one="1")], [], NOTE) == {}
        assert git(self.remote, "rev-list", "--count", "main").strip() == "1"

    def test_a_branch_that_moves_meanwhile_is_built_upon_and_not_overwritten(self, tmp_path: Path) -> None:
        self.put("theirs.yaml", "first")
        mirror = Mirror(str(tmp_path / "mirror"), str(self.remote))
        real = mirror.push
        moved: list[str] = []

        def late(commit: str, branch: str, credentials: None) -> bool:
            if len(moved) < 2:
                moved.append(commit)
                self.put(f"theirs-{len(moved)}.yaml", "meanwhile")
            return real(commit, branch, credentials)

        mirror.push = late  # type: ignore[method-assign, assignment]
        delivery = GitDelivery(mirror, Branch("main", "clusters"), lambda: None, self.pauses.append)
        assert delivery.deliver([parcel(A, one="1")], [], NOTE) == {}
        assert set(self.seen()) == {
            "theirs.yaml",
            "theirs-1.yaml",
            "theirs-2.yaml",
            "eu-1/cert-manager/one.yaml",
        }
        assert self.pauses == [1.0, 1.5]
        assert git(self.remote, "log", "--merges", "--format=%H", "main") == ""

    def test_a_push_whose_answer_was_lost_is_found_and_not_repeated(self, tmp_path: Path) -> None:
        mirror = Mirror(str(tmp_path / "mirror"), str(self.remote))
        real = mirror.push

        def lost(commit: str, branch: str, credentials: None) -> bool:
            real(commit, branch, credentials)
            return False

        mirror.push = lost  # type: ignore[method-assign, assignment]
        delivery = GitDelivery(mirror, Branch("main", "clusters"), lambda: None, self.pauses.append)
        assert delivery.deliver([parcel(A, one="1")], [], NOTE) == {}
        assert git(self.remote, "rev-list", "--count", "main").strip() == "1"

    def test_a_remote_that_is_gone_fails_every_parcel_and_comes_back(self, tmp_path: Path) -> None:
        self.remote.rename(tmp_path / "gone.git")
        failed = self.delivery.deliver([parcel(A, one="1")], [B], NOTE)
        assert set(failed) == {A, B}
        assert not failed[A].refused
        (tmp_path / "gone.git").rename(self.remote)
        assert self.delivery.deliver([parcel(A, one="1")], [B], NOTE) == {}
        assert self.seen() == {"eu-1/cert-manager/one.yaml": "1"}

    def test_a_remote_that_is_silent_fails_every_parcel_and_is_tried_again_later(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in [each for each in os.environ if each.lower().endswith("_proxy")]:
            monkeypatch.delenv(name)
        for scheme in ("http", "https"):
            with SilentServer() as server:
                mirror = Mirror(str(tmp_path / scheme), f"{scheme}://{server.host}/x.git", silence=1)
                delivery = GitDelivery(mirror, Branch("main", "clusters"), lambda: None, self.pauses.append)
                failed = delivery.deliver([parcel(A, one="1")], [B], NOTE)
                assert set(failed) == {A, B}
                message = f"git cannot fetch {scheme}://{server.host}/x.git: nothing came from there for 1 s"
                assert failed[A] == Failure(message, "check the server and the network")
                with pytest.raises(OutsideError, match="nothing came from there"):
                    delivery.drift([A])
        assert self.pauses == []

    def test_a_hook_that_refuses_is_told(self) -> None:
        hook = self.remote / "hooks" / "pre-receive"
        hook.write_text("#!/bin/sh\necho 'policy: no' >&2\nexit 1\n")
        hook.chmod(0o755)
        failed = self.delivery.deliver([parcel(A, one="1")], [], NOTE)
        assert "cannot push" in failed[A].message
        assert "pre-receive hook declined" in failed[A].message

    def test_a_folder_is_compared_by_what_its_inventory_names_alone(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.delivery.deliver([parcel(A, one="alike", two="2"), parcel(B, one="alike")], [], NOTE)
        monkeypatch.setattr("fleetform.outside.git.MAX_FILE", 1000)
        self.put("eu-1/cert-manager/theirs.bin", "x" * 1001)
        self.put(f"eu-2/cert-manager/{INVENTORY}", "torn")
        assert self.delivery.drift([A]) == []
        # An inventory that cannot be read is one that is not there, and hides nothing of the others.
        self.put("eu-1/cert-manager/two.yaml", "edited")
        found = [(each.key, each.file, each.missing) for each in self.delivery.drift([B, A])]
        assert found == [(B, INVENTORY, True), (A, "two.yaml", False)]

    def test_a_link_in_the_place_of_a_file_is_drift(self) -> None:
        self.delivery.deliver([parcel(A, one="1")], [], NOTE)
        self._pull()
        (self.work / "clusters/eu-1/cert-manager/one.yaml").unlink()
        (self.work / "clusters/eu-1/cert-manager/one.yaml").symlink_to("../elsewhere")
        self._push()
        assert [(each.file, each.missing) for each in self.delivery.drift([A])] == [("one.yaml", False)]

    def test_any_number_of_plugins_is_compared_by_two_processes(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        keys: list[PluginKey] = [("acme", f"eu-{number}", "web") for number in range(30)]
        assert self.delivery.deliver([parcel(key, one="alike", two=key[1]) for key in keys], [], NOTE) == {}
        mirror = Mirror(str(tmp_path / "mirror"), str(self.remote))
        delivery = GitDelivery(mirror, Branch("main", "clusters"), lambda: None, self.pauses.append)
        real, read = mirror.contents, list[int]()

        def contents(blobs: list[str]) -> Iterator[bytes]:
            read.append(len(blobs))
            return real(blobs)

        monkeypatch.setattr(mirror, "contents", contents)
        assert delivery.drift(keys) == []
        assert read == [30, 31], "every inventory, and each content once"

    def test_nothing_is_written_over_a_link_on_the_branch(self) -> None:
        self.delivery.deliver([parcel(A, one="1")], [], NOTE)
        self._pull()
        file = self.work / "clusters/eu-1/cert-manager/one.yaml"
        file.unlink()
        file.symlink_to("elsewhere.yaml")
        self._push()
        failed = self.delivery.deliver([parcel(A, one="2")], [], NOTE)
        assert failed[A].message == "eu-1/cert-manager/one.yaml is a link or no plain file"
        assert failed[A].refused
        assert self.seen() == {"eu-1/cert-manager/one.yaml": "elsewhere.yaml"}

    def test_commits_are_signed_if_asked_for(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        key = tmp_path / "key"
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
        monkeypatch.setenv("GIT_CONFIG_COUNT", "2")
        monkeypatch.setenv("GIT_CONFIG_KEY_0", "gpg.format")
        monkeypatch.setenv("GIT_CONFIG_VALUE_0", "ssh")
        monkeypatch.setenv("GIT_CONFIG_KEY_1", "user.signingkey")
        monkeypatch.setenv("GIT_CONFIG_VALUE_1", f"{key}.pub")
        delivery = self._delivery(tmp_path, Branch("main", "clusters", sign=True))
        assert delivery.deliver([parcel(A, one="1")], [], NOTE) == {}
        assert "SSH SIGNATURE" in git(self.remote, "cat-file", "commit", "main")

    def test_the_branch_s_root_can_be_the_folder(self, tmp_path: Path) -> None:
        delivery = self._delivery(tmp_path, Branch("deploy"))
        delivery.deliver([parcel(A, one="1")], [], NOTE)
        listed = git(self.remote, "ls-tree", "-r", "--name-only", "deploy").split()
        assert listed == [f"eu-1/cert-manager/{INVENTORY}", "eu-1/cert-manager/one.yaml"]
        assert not os.path.exists(tmp_path / "mirror" / "index")
