"""OCI registries, read only: tags, manifests and blobs of one repository, each checked against its digest."""

from __future__ import annotations

import hashlib
import re
from http import HTTPStatus
from urllib.parse import parse_qsl, urlencode, urljoin, urlsplit

import msgspec

from fleetform.outside.credentials import Credentials
from fleetform.outside.errors import OutsideError
from fleetform.outside.http import LIMIT, Answer, Web, authorization_of, bearer, refusal, same_origin
from fleetform.syntax.addresses import shown
from fleetform.syntax.trees import YamlMap

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
DOCKER_MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
INDEX = "application/vnd.oci.image.index.v1+json"
DOCKER_INDEX = "application/vnd.docker.distribution.manifest.list.v2+json"
MAX_PAGES = 1_000
# The limit of registries themselves.
MAX_MANIFEST = 4 * 1024 * 1024

_STEP = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_ADDRESS = re.compile(
    rf"oci://(?P<host>[A-Za-z0-9.-]+(?::[0-9]+)?|\[[0-9a-fA-F:]+\](?::[0-9]+)?)/(?P<name>{_STEP}(?:/{_STEP})*)/?\Z"
)
_REFERENCE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}\Z|sha256:[0-9a-f]{64}\Z")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}\Z")
_LOCAL = ("localhost", "127.0.0.1", "::1")
_NEXT = re.compile(r'<([^>]*)>\s*;[^,]*\brel="?next\b')
_BEARER = re.compile(r"\bBearer\s", re.IGNORECASE)
_BASIC = re.compile(r"\bBasic\b", re.IGNORECASE)
_PARAMETER = re.compile(r'(\w+)\s*=\s*"([^"]*)"')
# Its own name does not serve the API.
_SERVED_BY = {"docker.io": "registry-1.docker.io", "index.docker.io": "registry-1.docker.io"}


def digest_of(content: bytes) -> str:
    """The digest that registries and lock files know bytes by."""
    return "sha256:" + hashlib.sha256(content).hexdigest()


def is_reference(text: str) -> bool:
    """Whether a text may be a tag or a digest."""
    return _REFERENCE.match(text) is not None


class Registry:
    """One repository of a registry, reached through the web; plain http is for this machine alone."""

    def __init__(self, repository: str, web: Web, credentials: Credentials | None = None) -> None:
        match = _ADDRESS.match(repository)
        if match is None:
            raise OutsideError(
                f"{shown(repository)} is not an OCI repository",
                "write oci://host/path/name in lower case, without a tag or a password",
            )
        host, self.name = match["host"], match["name"]
        self.address = f"oci://{host}/{self.name}"
        self._web, self._credentials = web, credentials
        self._local = urlsplit(self.address).hostname in _LOCAL
        self._root = f"{'http' if self._local else 'https'}://{_SERVED_BY.get(host, host)}/v2/{self.name}"
        # Names and passwords are sent only when the registry asks for them, to the address that it gives.
        self._authorization = bearer(credentials.token) if credentials and credentials.token else None

    def tags(self) -> list[str]:
        """Every tag, as the registry orders them."""
        url, found = f"{self._root}/tags/list?n=1000", list[str]()
        for _ in range(MAX_PAGES):
            answer = self._get(url, "application/json", LIMIT)
            tags = _json_map(url, answer.content).get("tags") or []
            found += [tag for tag in tags if isinstance(tag, str)]
            following = _NEXT.search(answer.headers.get("link", ""))
            if following is None or not tags:
                return found
            url = urljoin(url, following[1])
            if not same_origin(url, self._root):
                raise OutsideError(f"{self.address} goes on at another server", "check the address")
        raise OutsideError(f"{self.address} has too many tags", "read a smaller repository")

    def manifest(self, reference: str) -> tuple[str, YamlMap]:
        """The digest and the tree of a tag's manifest, or of a digest's; an index of several is refused."""
        if not is_reference(reference):
            raise OutsideError(f"{self.address}: {reference!r} is neither a tag nor a digest", "check the tag")
        url = f"{self._root}/manifests/{reference}"
        answer = self._get(url, ", ".join((MANIFEST, DOCKER_MANIFEST, INDEX, DOCKER_INDEX)), MAX_MANIFEST)
        digest = digest_of(answer.content)
        for expected in (reference, answer.headers.get("docker-content-digest", "")):
            if _DIGEST.match(expected) and expected != digest:
                raise self._altered(f"the manifest of {reference}")
        tree = _json_map(url, answer.content)
        if "manifests" in tree or tree.get("mediaType") in (INDEX, DOCKER_INDEX):
            raise OutsideError(f"{self.address}:{reference} is an index of several artifacts", "name one of them")
        return digest, tree

    def blob(self, digest: str) -> bytes:
        """The bytes of a digest."""
        if not _DIGEST.match(digest):
            raise OutsideError(
                f"{self.address} names a blob by {digest!r}, which is not a sha256 digest", "push it again"
            )
        content = self._get(f"{self._root}/blobs/{digest}", "*/*", LIMIT).content
        if digest_of(content) != digest:
            raise self._altered(f"the blob {digest}")
        return content

    def _altered(self, what: str) -> OutsideError:
        hint = "somebody changed it on the way or in the registry: push it again, and find out who"
        return OutsideError(f"{self.address}: {what} does not match its digest", hint)

    def _get(self, url: str, accept: str, limit: int) -> Answer:
        answer = self._web.ask(url, accept, self._authorization, limit)
        if answer.status == HTTPStatus.UNAUTHORIZED:
            # Also with a token: tokens of registries expire after minutes.
            self._authorization = self._authorize(url, answer.headers.get("www-authenticate", ""))
            answer = self._web.ask(url, accept, self._authorization, limit)
        if answer.status != HTTPStatus.OK:
            raise refusal(url, answer.status)
        return answer

    def _authorize(self, url: str, challenge: str) -> str:
        """The authorization that a challenge asks for."""
        if self._credentials and self._credentials.token:
            raise refusal(url, HTTPStatus.UNAUTHORIZED)
        wanted = _BEARER.search(challenge)
        if wanted is not None:
            # Reversed: the parameters of a second challenge in the same header do not count.
            return self._token(dict(reversed(_PARAMETER.findall(challenge[wanted.end() :]))))
        authorization = authorization_of(self._credentials)
        if authorization is None or not _BASIC.search(challenge):
            raise refusal(url, HTTPStatus.UNAUTHORIZED)
        return authorization

    def _token(self, challenge: dict[str, str]) -> str:
        address = challenge.get("realm", "")
        # Credentials are sent to this address, so nobody may be able to listen.
        if not address.startswith("https://") and not (self._local and address.startswith("http://")):
            message = f"{self.address} asks for credentials at {shown(address)}, which is not https"
            raise OutsideError(message, "check the address of the registry")
        realm = urlsplit(address)
        asked = {"service": challenge.get("service"), "scope": challenge.get("scope", f"repository:{self.name}:pull")}
        query = urlencode([*parse_qsl(realm.query), *((key, value) for key, value in asked.items() if value)])
        url = realm._replace(query=query, fragment="").geturl()
        answer = self._web.ask(url, "application/json", authorization_of(self._credentials), MAX_MANIFEST)
        if answer.status != HTTPStatus.OK:
            raise refusal(url, answer.status)
        tree = _json_map(url, answer.content)
        token = tree.get("token") or tree.get("access_token")
        if not isinstance(token, str):
            raise OutsideError(f"{shown(url)} gives no token", "check the address of the registry")
        return bearer(token)


def _json_map(url: str, content: bytes) -> YamlMap:
    try:
        tree = msgspec.json.decode(content)
    except (msgspec.DecodeError, RecursionError):
        tree = None
    if not isinstance(tree, dict):
        raise OutsideError(f"{shown(url)} does not answer as a registry does", "check the address")
    return tree
