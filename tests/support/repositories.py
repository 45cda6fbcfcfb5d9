"""Git repositories in a few lines, a server for them, and the command line in a fleet that reads catalogs."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from textwrap import indent
from threading import Thread
from typing import Any, Self
from urllib.parse import urlsplit

import pytest

from support.command import Result, Runner
from support.fleets import CLUSTERS, NOW, PRESET
from support.servers import basic

# Of the first commit; each of the others is a minute after the one before.
START = 1_790_000_000

PLAIN_GIT = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}


class Repository:
    """A git repository, written without a checkout: what is committed is all there is."""

    def __init__(self, folder: Path, bare: bool = False) -> None:
        self.folder = folder
        self._commits = 0
        self._tips: dict[str, str] = {}
        _git("init", "--quiet", "--template=", *(["--bare"] if bare else []), str(folder))

    @property
    def url(self) -> str:
        return f"file://{self.folder}"

    def commit(
        self,
        files: Mapping[str, str | bytes | None],
        branch: str = "main",
        onto: str | None = None,
        merging: str | None = None,
        root: bool = False,
        author: str = "a@example.org",
    ) -> str:
        """Add a commit to a branch and answer its name; None deletes a file.

        author is an address. onto is the commit before it, where that is not the branch as it is; a root has none.
        """
        before = None if root else onto or self._tips.get(branch)
        person = f"A <a@example.org> {START + 60 * self._commits} +0000"
        self._commits += 1
        written = f"author A <{author}> {person.rpartition('> ')[2]}"
        lines = [f"commit refs/heads/{branch}", "mark :1", written, f"committer {person}", "data 0"]
        lines += [f"from {before}"] if before else []
        lines += [f"merge {merging}"] if merging else []
        stream = b"".join(f"{line}\n".encode() for line in lines)
        stream += b"".join(_change(path, content) for path, content in files.items())
        if root:
            self.git("update-ref", "-d", f"refs/heads/{branch}")
        self._tips[branch] = self.git("fast-import", "--quiet", "--force", stdin=stream + b"\nget-mark :1\n")
        return self._tips[branch]

    def tag(self, name: str, commit: str = "main", message: str | None = None) -> None:
        """Set a tag, or move it; one with a message is an object of its own."""
        self.git("tag", "--force", *(["--annotate", "--message", message] if message else []), name, commit)

    def drop_tag(self, name: str) -> None:
        self.git("tag", "--delete", name)

    def branch(self, name: str, commit: str) -> None:
        """Set a branch, or move it, as a forced push does."""
        self._tips[name] = commit
        self.git("update-ref", f"refs/heads/{name}", commit)

    def git(self, *arguments: str, stdin: bytes | None = None) -> str:
        return _git("-C", str(self.folder), *arguments, stdin=stdin)


def _git(*arguments: str, stdin: bytes | None = None) -> str:
    who = {f"GIT_{role}_{what}": "a@example.org" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    # A control plane in this process may have set it: it is about another repository.
    others = {name: value for name, value in os.environ.items() if name != "GIT_DIR"}
    environment = {**others, **PLAIN_GIT, **who}
    command = ["git", "-c", "init.defaultBranch=main", "-c", "fastimport.unpackLimit=0", *arguments]
    return (
        subprocess.run(command, check=True, capture_output=True, input=stdin, env=environment).stdout.decode().strip()
    )


def _change(path: str, content: str | bytes | None) -> bytes:
    if content is None:
        return f"D {path}\n".encode()
    data = content.encode() if isinstance(content, str) else content
    return f"M 100644 inline {path}\ndata {len(data)}\n".encode() + data + b"\n"


class GitServer:
    """A folder of repositories over HTTP, guarded by a user and a password, by git's own program."""

    def __init__(self, folder: Path, login: tuple[str, str] | None = None) -> None:
        self.folder, self.login = folder, login
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler_for(self))
        self._server.daemon_threads = True
        self._thread = Thread(target=lambda: self._server.serve_forever(poll_interval=0.002), daemon=True)

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def lets_in(self, authorization: str | None) -> bool:
        return self.login is None or authorization == basic(*self.login)


def http_backend() -> str | None:
    """The program that serves repositories over HTTP, where git brings it."""
    program = os.path.join(_git("--exec-path"), "git-http-backend")
    return program if os.path.exists(program) else None


def _handler_for(server: GitServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if not server.lets_in(self.headers.get("Authorization")):
                self.send_response(401)
                self.send_header("WWW-Authenticate", 'Basic realm="git"')
                self.end_headers()
                return
            head, _, body = self._ask_git().partition(b"\r\n\r\n")
            headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
            self.send_response(int(headers.pop("Status", "200").split()[0]))
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_GET  # noqa: N815

        def _ask_git(self) -> bytes:
            parts = urlsplit(self.path)
            environment = {
                **os.environ,
                **PLAIN_GIT,
                "GIT_PROJECT_ROOT": str(server.folder),
                "GIT_HTTP_EXPORT_ALL": "1",
                "PATH_INFO": parts.path,
                "QUERY_STRING": parts.query,
                "REQUEST_METHOD": self.command,
                "CONTENT_TYPE": self.headers.get("Content-Type", ""),
                "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
                "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            }
            asked = self.rfile.read(int(self.headers.get("Content-Length", "0")))
            return subprocess.run(
                [http_backend() or ""], check=True, capture_output=True, input=asked, env=environment
            ).stdout

        def log_message(self, *_: object) -> None:
            pass

    return Handler


def definition(name: str, version: str, default: int = 1, more: str = "") -> str:
    """A PluginDefinition with an option replicas; more are lines of its spec."""
    return (
        f"apiVersion: fleetform.dev/v1alpha1\nkind: PluginDefinition\nmetadata: {{name: {name}}}\n"
        f"spec:\n  version: {version}\n  options: [{{name: replicas, type: int, default: {default}}}]\n"
        f"  source: {{kustomize: {{git: {{url: https://git.example.org/{name}}}}}}}\n{indent(more, '  ')}"
    )


def catalog(*sources: str, name: str = "extensions", namespace: str = "acme") -> str:
    """A Catalog; sources are flow-style YAML."""
    listed = "".join(f"  - {source}\n" for source in sources)
    metadata = f"{{name: {name}, namespace: {namespace}}}"
    return f"apiVersion: fleetform.dev/v1alpha1\nkind: Catalog\nmetadata: {metadata}\nspec:\n  sources:\n{listed}"


class FleetCommand(Runner):
    """The command line in a fleet of three clusters and a preset web, with a cache, a git and a clock of its own."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__(folder / "fleet", capsys, monkeypatch)
        self.cache = folder / "cache"
        self.now = NOW
        monkeypatch.setattr("fleetform.wiring.clock.now", lambda: self.now)
        monkeypatch.setenv("FLEETFORM_CACHE_DIR", str(self.cache))
        monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(folder))
        for name, value in PLAIN_GIT.items():
            monkeypatch.setenv(name, value)
        self.write(clusters=CLUSTERS, preset=PRESET)

    def fetch(self, *arguments: str, code: int = 0) -> Result:
        """Read every catalog, and expect it to end so."""
        result = self("catalog", "fetch", "-A", *arguments)
        assert result.code == code, result
        return result

    def items(self, kind: str, *arguments: str) -> list[dict[str, Any]]:
        """What `get` answers of a kind."""
        result = self("get", kind, "-o", "json", *(arguments or ("-A",)))
        assert result.code == 0, result
        items: list[dict[str, Any]] = result.json["items"]
        return items

    def offered(self, *arguments: str) -> list[str]:
        """The names and versions of the definitions that are offered."""
        items = self.items("definitions", *arguments)
        return [f"{each['metadata']['name']} {each['spec']['version']}" for each in items]

    def revisions(self) -> dict[str, bool]:
        """Every version that is known, and whether it is offered."""
        return {each["metadata"]["name"]: each["status"]["offered"] for each in self.items("revisions")}

    def sources(self) -> list[dict[str, Any]]:
        """What became of each source of every catalog."""
        return [source for each in self.items("catalogs") for source in each["status"]["sources"]]

    def source(self) -> dict[str, Any]:
        (found,) = self.sources()
        return found

    def findings(self, *codes: str, valid: bool = True) -> list[str]:
        """What `validate` says of these codes."""
        result = self("validate", "-o", "json")
        assert (result.code, result.json["valid"]) == (0 if valid else 1, valid), result
        return [each["message"] for each in result.json["diagnostics"] if each["code"] in codes]

    def running(self, version: str) -> tuple[str, str]:
        """The flag for a state in which a version of web runs everywhere."""
        names = [cluster["metadata"]["name"] for cluster in self.items("clusters")]
        plugins = [
            {"organization": "acme", "cluster": name, "plugin": f"web-{name}", "admitted": {"version": version}}
            for name in names
        ]
        path = self.folder.parent / "state.json"
        path.write_text(json.dumps({"kind": "State", "version": 1, "stamps": [], "plugins": plugins}))
        return "--state", str(path)
