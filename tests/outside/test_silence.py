"""Repositories whose server says nothing: they are given up, and those that are only slow are not."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fleetform.outside.git import GitError
from fleetform.outside.mirrors import Mirror
from fleetform.outside.silence import SilentError, SilentServers, check_answers, ssh_command, with_limits
from support.repositories import PLAIN_GIT, Repository, http_backend
from support.servers import Reply, Request, WebServer
from support.silent import SilentServer

PROXY = "http://proxy.example.org:3128"
LIMITED = {"GIT_HTTP_LOW_SPEED_LIMIT": "1", "GIT_HTTP_LOW_SPEED_TIME": "60"}


@pytest.fixture(autouse=True)
def _plain(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [each for each in os.environ if each.startswith("GIT_") or each.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    for name, value in PLAIN_GIT.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def server() -> Iterator[SilentServer]:
    with SilentServer() as found:
        yield found


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_server_that_takes_a_connection_and_is_silent_is_given_up(
    tmp_path: Path, server: SilentServer, scheme: str
) -> None:
    url = f"{scheme}://robot:hunter2@{server.host}/x.git"
    with pytest.raises(SilentError) as caught:
        Mirror(str(tmp_path / "copy"), url, silence=1).update(None)
    shown = f"{scheme}://{server.host}/x.git"
    assert caught.value.message == f"git cannot fetch {shown}: nothing came from there for 1 s"
    assert caught.value.hint == "check the server and the network"
    assert server.taken > 0


@pytest.mark.skipif(shutil.which("ssh") is None, reason="there is no ssh here")
def test_a_silent_server_is_given_up_over_ssh(tmp_path: Path, server: SilentServer) -> None:
    with pytest.raises(SilentError):
        Mirror(str(tmp_path / "copy"), f"ssh://git@{server.host}/x.git", silence=1).update(None)


def test_a_push_to_a_server_that_fell_silent_is_given_up(tmp_path: Path, server: SilentServer) -> None:
    repository = Repository(tmp_path / "repository", bare=True)
    commit = repository.commit({"a": "1"})
    mirror = Mirror(str(repository.folder), f"http://{server.host}/x.git", silence=1)
    with pytest.raises(SilentError) as caught:
        mirror.push(commit, "main", None)
    assert caught.value.message.startswith("git cannot push to http://127.0.0.1:")


def test_what_comes_slowly_and_takes_longer_is_waited_for(tmp_path: Path) -> None:
    program = http_backend()
    if program is None:
        pytest.skip("git brings no http-backend here")
    repository = Repository(tmp_path / "served" / "x.git", bare=True)
    commit = repository.commit({"a": "1"})
    repository.git("update-server-info")

    def slowly(content: bytes) -> Iterator[bytes]:
        for first in range(0, len(content), 1 + len(content) // 6):
            time.sleep(0.5)
            yield content[first : first + 1 + len(content) // 6]

    def answer(request: Request) -> Reply:
        path = repository.folder / request.path.partition("?")[0].removeprefix("/x.git/")
        if not path.is_file():
            return Reply(404)
        content = path.read_bytes()
        return Reply(200, slowly(content) if path.name == "refs" else content)

    with WebServer(answer) as web:
        mirror = Mirror(str(tmp_path / "copy"), f"{web.url}/x.git", silence=2)
        mirror.update(None)
    assert mirror.tip("main") == commit


def test_of_a_server_that_was_silent_nobody_asks_again_at_once(tmp_path: Path, server: SilentServer) -> None:
    silent = SilentServers()
    taken = []
    for name in "xy":
        with pytest.raises(SilentError):
            Mirror(str(tmp_path / name), f"http://{server.host}/{name}.git", silence=1, silent=silent).update(None)
        taken.append(server.taken)
    assert taken[0] == taken[1], "the second repository is on the same server"
    assert silent.holds(f"http://{server.host.upper()}/z")
    assert silent.holds(f"https://robot:secret@{server.host}/z")
    assert not silent.holds("http://127.0.0.1:1/x.git")
    elsewhere = SilentServers(seconds=0)
    elsewhere.note("git@example.org:acme/x.git")
    assert not elsewhere.holds("git@example.org:acme/x.git"), "after a while it is"
    known = SilentServers()
    known.note("git@example.org:acme/x.git")
    assert known.holds("git@example.org:acme/y.git")
    assert not known.holds("/srv/x.git")


def test_what_people_configured_themselves_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    http, ssh = "https://git.example.org/x.git", "git@git.example.org:x.git"
    folder = str(Repository(tmp_path / "copy", bare=True).folder)

    def limits(url: str, **environment: str) -> dict[str, str]:
        before = {**os.environ, **environment}
        after = with_limits(url, folder, before, 60)
        assert before.items() <= after.items()
        return {name: value for name, value in after.items() if name not in before}

    def configure(text: str) -> None:
        (tmp_path / "gitconfig").write_text(text)
        monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))

    assert limits(http) == LIMITED
    assert limits(ssh) == limits("ssh://git.example.org/x") == {"GIT_SSH_COMMAND": ssh_command(60)}
    assert limits(http, GIT_HTTP_LOW_SPEED_TIME="9") == {"GIT_HTTP_LOW_SPEED_LIMIT": "1"}
    assert limits(ssh, GIT_SSH_COMMAND="ssh -v") == limits(ssh, GIT_SSH="/bin/ssh") == {}
    configure("[http]\nlowSpeedTime = 5\n[core]\nsshCommand = ssh -v\n")
    assert limits(http) == limits(ssh) == {}
    configure('[http "https://git.example.org"]\nlowSpeedLimit = 1000\n')
    assert limits(http) == {}
    assert limits("https://elsewhere.example.org/x.git") == LIMITED


def test_ssh_asks_nobody_and_notices_silence_at_the_beginning_and_later() -> None:
    alive = "-oServerAliveInterval=15 -oServerAliveCountMax=4"
    assert ssh_command(60) == f"ssh -oBatchMode=yes -oConnectTimeout=60 {alive}"
    assert ssh_command(0.2).split()[2:4] == ["-oConnectTimeout=1", "-oServerAliveInterval=1"]


def test_servers_that_answer_anything_are_left_to_git(tmp_path: Path, server: SilentServer) -> None:
    folder = str(Repository(tmp_path / "copy", bare=True).folder)

    def check(url: str, **environment: str) -> None:
        check_answers(url, folder, {**os.environ, **environment}, "no", 0.5)

    with WebServer(lambda request: Reply(404)) as web:
        check(web.url)
        check(web.url.replace("http:", "https:"))
        free = web.host
    check(f"https://{free}/nobody-listens")
    check("https://name.invalid/x.git")
    check("https://127.0.0.1:99999/x.git")
    check("git@example.org:x.git")
    check(f"http://{server.host}/x.git")
    with pytest.raises(SilentError):
        check(f"https://{server.host}/x.git")


def test_what_goes_by_way_of_a_proxy_is_not_asked_itself(
    tmp_path: Path, server: SilentServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = str(Repository(tmp_path / "copy", bare=True).folder)
    url = f"https://{server.host}/x.git"
    (tmp_path / "gitconfig").write_text(f"[http]\nproxy = {PROXY}\n")
    for name, value in (
        ("https_proxy", PROXY),
        ("all_proxy", PROXY),
        ("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig")),
    ):
        with monkeypatch.context() as there:
            there.setenv(name, value)
            check_answers(url, folder, os.environ, "no", 0.5)
    monkeypatch.setenv("https_proxy", PROXY)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with pytest.raises(GitError):
        check_answers(url, folder, os.environ, "no", 0.5)
