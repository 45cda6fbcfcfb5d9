"""Servers that run inside a test: anything over HTTP, Helm repositories, OCI registries; and what they serve."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import re
import tarfile
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, NamedTuple, Self
from urllib.parse import parse_qs, urlsplit

from fleetform.syntax.yaml_out import write_yaml


class Request(NamedTuple):
    """A request that came in; names of headers are in lower case."""

    path: str
    headers: dict[str, str]
    method: str = "GET"
    body: bytes = b""


class Reply(NamedTuple):
    """What goes back; content in parts is sent part by part, with no length."""

    status: int = 200
    content: bytes | Iterator[bytes] = b""
    headers: Mapping[str, str] = {}


class WebServer:
    """Answers as it is told, on a port of its own, and remembers what it was asked."""

    def __init__(self, answer: Callable[[Request], Reply]) -> None:
        self.answer = answer
        self.asked: list[Request] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler_for(self))
        self._server.daemon_threads = True
        self._thread = Thread(target=lambda: self._server.serve_forever(poll_interval=0.002), daemon=True)

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self._server.server_port}"

    @property
    def url(self) -> str:
        return f"http://{self.host}"

    @property
    def paths(self) -> list[str]:
        """What was asked for, in order."""
        return [each.path for each in self.asked]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def _handler_for(server: WebServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # Waiting for more to send costs 40 ms an answer.
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            body = self.rfile.read(int(headers.get("content-length", 0)))
            asked = Request(self.path, headers, self.command, body)
            server.asked.append(asked)
            # Where the other side has had enough, as some tests want it to, that is all.
            with suppress(ConnectionError):
                self._send(server.answer(asked))

        do_HEAD = do_POST = do_PATCH = do_PUT = do_DELETE = do_GET  # noqa: N815

        def _send(self, reply: Reply) -> None:
            self.send_response(reply.status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            parts = [reply.content] if isinstance(reply.content, bytes) else reply.content
            self.send_header(*_ending(parts))
            self.end_headers()
            for part in parts if self.command != "HEAD" else ():
                self.wfile.write(part)

        def log_message(self, *_: object) -> None:
            pass

    return Handler


def _ending(parts: Iterable[bytes]) -> tuple[str, str]:
    """The header that says where an answer ends."""
    return ("Content-Length", str(len(parts[0]))) if isinstance(parts, list) else ("Connection", "close")


def basic(username: str, password: str) -> str:
    return "Basic " + b64encode(f"{username}:{password}".encode()).decode()


def digest_of(content: bytes) -> str:
    return "sha256:" + hashlib.sha256(content).hexdigest()


def packed(files: Mapping[str, bytes | str]) -> bytes:
    """A .tar.gz of files."""
    unzipped = io.BytesIO()
    with tarfile.open(fileobj=unzipped, mode="w") as archive:
        for path, content in files.items():
            member = tarfile.TarInfo(path)
            data = content.encode() if isinstance(content, str) else content
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return gzip.compress(unzipped.getvalue(), mtime=0)


def packed_chart(
    name: str, version: str, values: str | None = None, schema: Any = None, about: Mapping[str, Any] | None = None
) -> bytes:
    """A chart as Helm packs it."""
    files = {"Chart.yaml": write_yaml({"apiVersion": "v2", "name": name, "version": version, **(about or {})})}
    if values is not None:
        files["values.yaml"] = values
    if schema is not None:
        files["values.schema.json"] = schema if isinstance(schema, str) else json.dumps(schema)
    files["templates/service.yaml"] = "kind: Service\n"
    return packed({f"{name}/{path}": content for path, content in files.items()})


class HelmServer(WebServer):
    """A Helm repository at /charts, which a user and a password may guard."""

    def __init__(self, login: tuple[str, str] | None = None) -> None:
        super().__init__(self._serve)
        self.files: dict[str, bytes] = {}
        self.entries: dict[str, list[dict[str, Any]]] = {}
        self._login = login

    @property
    def repository(self) -> str:
        return f"{self.url}/charts"

    def add(self, name: str, version: str, archive: bytes | None = None, **entry: Any) -> bytes:
        """Publish a version; entry changes what the index says of it, and None leaves a part out."""
        content = packed_chart(name, version, "replicas: 1\n") if archive is None else archive
        file = f"{name}-{version}.tgz"
        self.files[f"/charts/{file}"] = content
        digest = digest_of(content).removeprefix("sha256:")
        said = {"apiVersion": "v2", "name": name, "version": version, "urls": [file], "digest": digest, **entry}
        listed = self.entries.setdefault(name, [])
        listed.insert(0, {key: value for key, value in said.items() if value is not None})
        return content

    def index(self) -> bytes:
        return write_yaml({"apiVersion": "v1", "entries": self.entries}).encode()

    def _serve(self, asked: Request) -> Reply:
        if self._login is not None and asked.headers.get("authorization") != basic(*self._login):
            return Reply(401)
        path = urlsplit(asked.path).path
        content = self.files.get(path, self.index() if path == "/charts/index.yaml" else None)
        return Reply(404) if content is None else Reply(200, content)


class OciServer(WebServer):
    """An OCI registry that is read; login guards it, by tokens or by the password itself."""

    TOKEN = "token-of-the-registry"

    def __init__(self, login: tuple[str, str] | None = None, tokens: bool = False, page: int = 1_000) -> None:
        super().__init__(self._serve)
        self.blobs: dict[str, bytes] = {}
        self.manifests: dict[tuple[str, str], bytes] = {}
        self._login, self._tokens, self._page = login, tokens, page

    def repository(self, name: str) -> str:
        return f"oci://{self.host}/{name}"

    def push(
        self,
        name: str,
        tag: str,
        layers: Sequence[Mapping[str, Any]],
        config: str = "application/vnd.oci.empty.v1+json",
        annotations: Mapping[str, str] | None = None,
    ) -> str:
        """Store an artifact, and answer the digest of its manifest."""
        tree = {
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "config": {"mediaType": config, **self.blob(b"{}")},
            "layers": list(layers),
            **({"annotations": annotations} if annotations else {}),
        }
        return self.push_manifest(name, tag, tree)

    def push_manifest(self, name: str, tag: str, tree: Mapping[str, Any]) -> str:
        content = json.dumps(tree).encode()
        self.manifests[name, tag] = content
        return digest_of(content)

    def push_chart(self, name: str, tag: str, archive: bytes, annotations: Mapping[str, str] | None = None) -> str:
        layer = {"mediaType": "application/vnd.cncf.helm.chart.content.v1.tar+gzip", **self.blob(archive)}
        return self.push(name, tag, [layer], "application/vnd.cncf.helm.config.v1+json", annotations)

    def blob(self, content: bytes) -> dict[str, Any]:
        """Store bytes, and answer what a manifest says of them."""
        digest = digest_of(content)
        self.blobs[digest] = content
        return {"digest": digest, "size": len(content)}

    def spoil(self, digest: str) -> None:
        """From now on, the digest stands for other bytes."""
        self.blobs[digest] = b"something else"

    def _serve(self, asked: Request) -> Reply:
        parts = urlsplit(asked.path)
        if parts.path == "/token":
            return self._give_token(asked, parse_qs(parts.query))
        if not self._lets_in(asked):
            return Reply(401, headers={"WWW-Authenticate": self._challenge()})
        match = re.match(r"/v2/(.+)/(tags|manifests|blobs)/([^/]+)\Z", parts.path)
        if match is None:
            return Reply(200 if parts.path == "/v2/" else 404)
        name, kind, which = match.groups()
        if kind == "tags":
            return self._list_tags(name, parse_qs(parts.query))
        if kind == "blobs":
            return Reply(200, self.blobs[which]) if which in self.blobs else Reply(404)
        return self._manifest(name, which)

    def _manifest(self, name: str, which: str) -> Reply:
        """By tag or by digest."""
        for (of, tag), content in self.manifests.items():
            digest = digest_of(content)
            if of == name and which in (tag, digest):
                type_ = json.loads(content).get("mediaType", "application/vnd.oci.image.manifest.v1+json")
                return Reply(200, content, {"Content-Type": type_, "Docker-Content-Digest": digest})
        return Reply(404)

    def _lets_in(self, asked: Request) -> bool:
        given = asked.headers.get("authorization")
        if self._tokens:
            return given == f"Bearer {self.TOKEN}"
        return self._login is None or given == basic(*self._login)

    def _challenge(self) -> str:
        if not self._tokens:
            return 'Basic realm="registry"'
        return f'Bearer realm="{self.url}/token",service="registry",scope="repository:x:pull"'

    def _give_token(self, asked: Request, query: dict[str, list[str]]) -> Reply:
        if self._login is not None and asked.headers.get("authorization") != basic(*self._login):
            return Reply(401)
        if query != {"service": ["registry"], "scope": ["repository:x:pull"]}:
            return Reply(400)
        return Reply(200, json.dumps({"token": self.TOKEN}).encode())

    def _list_tags(self, name: str, query: dict[str, list[str]]) -> Reply:
        tags = sorted(tag for each, tag in self.manifests if each == name)
        after = query.get("last", [""])[0]
        rest = [tag for tag in tags if tag > after]
        page, more = rest[: self._page], len(rest) > self._page
        link = {"Link": f'</v2/{name}/tags/list?n=1000&last={page[-1]}>; rel="next"'} if more else {}
        return Reply(200, json.dumps({"name": name, "tags": page}).encode(), link)
