"""Real API servers for tests: one etcd, and as many kube-apiservers on it as a test wants, each its own cluster."""

from __future__ import annotations

import shutil
import socket
import ssl
import subprocess
import tempfile
import time
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self
from urllib.error import URLError
from urllib.request import Request, urlopen

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from tools.servers import etcd, kube_apiserver

from fleetform.syntax.yaml_out import write_yaml

TOKEN = "the-administrator"
_PATIENCE = 60.0


@dataclass(frozen=True)
class ApiServer:
    """A cluster's API server, with the token of its administrator."""

    name: str
    url: str
    ca: Path
    process: subprocess.Popen[bytes]
    command: Sequence[str]
    token: str = TOKEN

    def kubeconfig(self) -> str:
        """A kubeconfig with everything in it, as one would put into a Secret."""
        cluster = {"server": self.url, "certificate-authority-data": _base64(self.ca.read_bytes())}
        context = {"cluster": self.name, "user": "admin"}
        return write_yaml(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "clusters": [{"name": self.name, "cluster": cluster}],
                "users": [{"name": "admin", "user": {"token": self.token}}],
                "contexts": [{"name": self.name, "context": context}],
                "current-context": self.name,
            }
        )


class ApiServers:
    """An etcd and its API servers; all of them end with the block."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="fleetform-api-"))
        self._processes: list[subprocess.Popen[bytes]] = []
        self._etcd_url = ""

    def __enter__(self) -> Self:
        client, peer = free_port(), free_port()
        self._etcd_url = f"http://127.0.0.1:{client}"
        peers = f"http://127.0.0.1:{peer}"
        flags = {
            "data-dir": str(self._folder / "etcd"),
            "listen-client-urls": self._etcd_url,
            "advertise-client-urls": self._etcd_url,
            "listen-peer-urls": peers,
            "initial-advertise-peer-urls": peers,
            "initial-cluster": f"default={peers}",
            "log-level": "warn",
        }
        # Nothing here must outlive the machine.
        self._run("etcd", [str(etcd()), *_flags(flags), "--unsafe-no-fsync"])
        (self._folder / "tokens.csv").write_text(f'{TOKEN},admin,admin,"system:masters"\n', encoding="utf-8")
        key = ec.generate_private_key(ec.SECP256R1())
        private = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        public = key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        (self._folder / "accounts.key").write_bytes(private)
        (self._folder / "accounts.pub").write_bytes(public)
        return self

    def __exit__(self, *_: object) -> None:
        # Servers first: they complain at length about an etcd that is gone.
        for process in reversed(self._processes):
            process.kill()
            process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    def start(self, *names: str) -> list[ApiServer]:
        """API servers of clusters with these names, ready to be asked."""
        servers = [self._start(name, free_port()) for name in names]
        for server in servers:
            _wait_until_ready(server, self._log(server.name))
        return servers

    def start_again(self, server: ApiServer) -> ApiServer:
        """The same server on the same address, after it was killed or stopped."""
        process = self._run(server.name, list(server.command))
        again = ApiServer(server.name, server.url, server.ca, process, server.command)
        _wait_until_ready(again, self._log(server.name))
        return again

    def _start(self, name: str, port: int) -> ApiServer:
        url, certificates = f"https://127.0.0.1:{port}", self._folder / f"{name}-certificates"
        flags = {
            "etcd-servers": self._etcd_url,
            "etcd-prefix": f"/{name}",
            "bind-address": "127.0.0.1",
            "advertise-address": "127.0.0.1",
            "secure-port": str(port),
            "cert-dir": str(certificates),
            "token-auth-file": str(self._folder / "tokens.csv"),
            "service-account-issuer": url,
            "service-account-key-file": str(self._folder / "accounts.pub"),
            "service-account-signing-key-file": str(self._folder / "accounts.key"),
            "authorization-mode": "RBAC",
            "service-cluster-ip-range": "10.0.0.0/24",
            "disable-admission-plugins": "ServiceAccount",
            "endpoint-reconciler-type": "none",
            # Without it a server that is asked to stop waits a minute for open watches.
            "shutdown-watch-termination-grace-period": "1s",
        }
        command = [str(kube_apiserver()), *_flags(flags)]
        return ApiServer(name, url, certificates / "apiserver.crt", self._run(name, command), command)

    def _run(self, name: str, command: Sequence[str]) -> subprocess.Popen[bytes]:
        with open(self._log(name), "ab") as log:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self._processes.append(process)
        return process

    def _log(self, name: str) -> Path:
        return self._folder / f"{name}.log"


def _flags(values: dict[str, str]) -> list[str]:
    return [f"--{name}={value}" for name, value in values.items()]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_until_ready(server: ApiServer, log: Path) -> None:
    """Ready is more than listening: until then the server answers some requests with 403 and 404."""
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end and server.process.poll() is None:
        if _is_ready(server):
            return
        time.sleep(0.05)
    last = log.read_text(encoding="utf-8", errors="replace")[-2000:]
    raise RuntimeError(f"the API server of {server.name} did not become ready:\n{last}")


def _is_ready(server: ApiServer) -> bool:
    if not server.ca.exists():
        return False
    try:
        context = ssl.create_default_context(cafile=str(server.ca))
        asking = Request(f"{server.url}/readyz", headers={"Authorization": f"Bearer {server.token}"})
        with urlopen(asking, context=context, timeout=5) as answer:
            return bool(answer.status == 200)
    except (URLError, OSError):
        return False


def _base64(content: bytes) -> str:
    return b64encode(content).decode()
