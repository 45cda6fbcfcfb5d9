"""fleetform serve --listen: two processes over one database, from the first start to the last signal."""

from __future__ import annotations

import os
import re
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from fleetform.outside.listening import listen
from support.command import Runner
from support.fleets import BASE

POLICY = """
apiVersion: fleetform.dev/v1alpha1
kind: RolloutPolicy
metadata: {name: standard, namespace: acme}
spec:
  stages:
  - {name: dev, clusterSelector: {matchLabels: {tier: dev}}}
  - {name: gold, remainder: true, approvals: {required: 1, from: {users: ["%s"]}}}
"""


class Server:
    """A control plane that runs in a folder, with its API."""

    def __init__(self, folder: Path, *more: str) -> None:
        self.folder, self.said = folder, folder / "said.txt"
        command = [sys.executable, "-c", "from fleetform.cli.main import main; main()", "serve", "--interval", "1s"]
        environment = {**os.environ, "XDG_CONFIG_HOME": str(folder / "config")}
        with self.said.open("w") as output:
            self.process = subprocess.Popen(
                [*command, "--listen", "0", *more], cwd=folder, stderr=output, stdout=output, env=environment
            )
        self.url = self._until(lambda: re.search(r"answering at (https?://[\d.]+:\d+)", self.said.read_text())).group(1)
        self._until(lambda: self.get("/readyz").status_code == 200)

    @property
    def token_file(self) -> Path:
        return next((self.folder / "config" / "fleetform" / "tokens").iterdir())

    def get(self, path: str, token: str = "") -> httpx2.Response:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        try:
            return httpx2.get(self.url + path, headers=headers, timeout=30, trust_env=self.url.startswith("https"))
        except httpx2.ConnectError:
            return httpx2.Response(503)

    def _until(self, found: object, seconds: float = 60.0) -> re.Match[str]:
        assert callable(found)
        ends = time.monotonic() + seconds
        while not (there := found()):
            assert time.monotonic() < ends, self.said.read_text()
            assert self.process.poll() is None, self.said.read_text()
            time.sleep(0.1)
        return there  # type: ignore[no-any-return]

    until = _until


@pytest.fixture
def server(run: Runner) -> Iterator[Server]:
    import getpass

    preset = BASE["preset.yaml"].replace("spec:\n", "spec:\n  rolloutPolicy: standard\n", 1)
    policy = POLICY % getpass.getuser()
    run.write(clusters=BASE["clusters.yaml"], definition=BASE["definition.yaml"], preset=preset, policy=policy)
    (run.folder / "manifests").mkdir()
    (run.folder / "manifests" / "web.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n")
    found = Server(run.folder)
    try:
        yield found
    finally:
        found.process.kill()
        found.process.wait()


@pytest.mark.rule("S52", "R2-33")
def test_its_own_user_asks_approves_and_nobody_else_gets_in(
    server: Server, run: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert server.get("/api/v1/clusters").status_code == 401
    assert stat.S_IMODE(server.token_file.stat().st_mode) == 0o600
    token = server.token_file.read_text().strip()
    clusters = server.get("/api/v1/clusters", token).json()["items"]
    assert [each["metadata"]["name"] for each in clusters] == ["eu-1", "eu-2", "us-1"]
    server.until(lambda: server.get("/api/v1/rollouts/web", token).status_code == 200)
    assert run("rollout", "list", "--server", server.url).code == 3, "it has not found the token"
    monkeypatch.setenv("XDG_CONFIG_HOME", str(server.folder / "config"))
    assert "web-" in run("rollout", "list", "--server", server.url).out
    approved = run("rollout", "approve", "web", "--stage", "gold", "--server", server.url)
    assert (approved.code, approved.out.endswith(": 1 of 1\n")) == (0, True), approved.err
    server.until(lambda: (server.folder / "out" / "eu-1").exists() or list((server.folder / "out").rglob("*us-1*")))
    server.process.send_signal(signal.SIGTERM)
    assert server.process.wait(30) == 0, server.said.read_text()
    assert not list((server.folder / "config" / "fleetform" / "tokens").iterdir())
    assert run("rollout", "list", "--server", server.url).code == 4
    assert "Traceback" not in server.said.read_text()


def test_killed_without_warning_it_leaves_no_process_behind(server: Server) -> None:
    server.process.kill()
    server.process.wait()
    ends = time.monotonic() + 30
    while server.get("/healthz").status_code == 200:
        assert time.monotonic() < ends
        time.sleep(0.1)


def test_what_is_listened_on_is_tcp_by_name() -> None:
    """asyncio lets small answers go at once only then; else each waits 40 ms for the client's acknowledgement."""
    listening = listen("127.0.0.1:0")
    assert listening.socket.proto == socket.IPPROTO_TCP
    listening.socket.close()
