"""An OCI repository is read tag by tag, held to its digests, and let in only where it must be."""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from fleetform.catalogs.listing import SourceListing
from fleetform.catalogs.oci import read_oci
from fleetform.outside.credentials import Credentials
from fleetform.outside.errors import OutsideError
from fleetform.outside.http import Web
from fleetform.outside.oci import Registry
from fleetform.syntax.yaml_in import read_one
from support.servers import OciServer, Reply, Request, WebServer, basic, digest_of, packed, packed_chart

CANARY = "c4nary"
LOGIN = Credentials("someone", CANARY)
PACKED = "application/vnd.cncf.flux.content.v1.tar+gzip"
Open = Callable[..., Registry]


@pytest.fixture
def server() -> Iterator[OciServer]:
    with OciServer() as started:
        yield started


@pytest.fixture
def opened() -> Iterator[Open]:
    with Web(sleep=lambda _: None) as web:
        yield lambda repository, credentials=None: Registry(repository, web, credentials)


def failure_of(action: Callable[[], object]) -> OutsideError:
    with pytest.raises(OutsideError) as caught:
        action()
    told = "".join([*traceback.format_exception(caught.value), repr(caught.value), caught.value.hint])
    assert CANARY not in told
    assert OciServer.TOKEN not in told
    return caught.value


def push_files(server: OciServer, name: str, tag: str, files: Mapping[str, bytes | str], **more: Any) -> str:
    return server.push(name, tag, [{"mediaType": PACKED, **server.blob(packed(files))}], **more)


def texts(listing: SourceListing) -> dict[tuple[str, str], str]:
    return {(holding.revision, holding.file): holding.text for holding in listing.found}


def test_tags_come_from_every_page(opened: Open) -> None:
    with OciServer(page=2) as server:
        for number in range(5):
            server.push("a/b", f"1.{number}", [])
        assert opened(server.repository("a/b")).tags() == ["1.0", "1.1", "1.2", "1.3", "1.4"]
        assert len(server.asked) == 3


@pytest.mark.parametrize("listed", [b'{"tags": null}', b'{"name": "a"}', b'{"tags": []}'])
def test_a_repository_may_have_no_tags(opened: Open, listed: bytes) -> None:
    with WebServer(lambda _: Reply(200, listed)) as server:
        assert opened(f"oci://{server.host}/a").tags() == []


def test_pages_end(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fleetform.outside.oci.MAX_PAGES", 10)

    def again(asked: Request) -> Reply:
        return Reply(200, b'{"tags": ["a"]}', {"Link": f'<{asked.path}>; rel="next"'})

    with WebServer(again) as server:
        error = failure_of(lambda: opened(f"oci://{server.host}/a").tags())
    assert error.message == f"oci://{server.host}/a has too many tags"


def test_pages_stay_with_the_registry(opened: Open) -> None:
    page = Reply(200, b'{"tags": ["a"]}', {"Link": '<https://elsewhere.example.org/v2/>; rel="next"'})
    with WebServer(lambda _: page) as server:
        error = failure_of(lambda: opened(f"oci://{server.host}/a", Credentials(token=CANARY)).tags())
    assert error.message == f"oci://{server.host}/a goes on at another server"


def test_a_manifest_has_the_digest_of_its_bytes(server: OciServer, opened: Open) -> None:
    digest = server.push("a", "1.0.0", [])
    assert opened(server.repository("a")).manifest("1.0.0") == (digest, json.loads(server.manifests["a", "1.0.0"]))


def test_a_manifest_of_other_bytes_is_refused(opened: Open) -> None:
    wrong = f"sha256:{'0' * 64}"
    with WebServer(lambda _: Reply(200, b"{}", {"Docker-Content-Digest": wrong})) as server:
        by_tag = failure_of(lambda: opened(f"oci://{server.host}/a").manifest("1.0"))
    with WebServer(lambda _: Reply(200, b"{}")) as server:
        by_digest = failure_of(lambda: opened(f"oci://{server.host}/a").manifest(wrong))
    assert by_tag.message.endswith("/a: the manifest of 1.0 does not match its digest")
    assert by_digest.message.endswith(f"/a: the manifest of {wrong} does not match its digest")


def test_an_index_of_several_is_refused(server: OciServer, opened: Open) -> None:
    server.push_manifest("a", "1.0", {"manifests": []})
    error = failure_of(lambda: opened(server.repository("a")).manifest("1.0"))
    assert error.message == f"{server.repository('a')}:1.0 is an index of several artifacts"


def test_a_blob_is_held_to_its_digest(server: OciServer, opened: Open) -> None:
    registry, digest = opened(server.repository("a")), server.blob(b"content")["digest"]
    assert registry.blob(digest) == b"content"
    server.spoil(digest)
    error = failure_of(lambda: registry.blob(digest))
    assert error.message == f"{server.repository('a')}: the blob {digest} does not match its digest"


@pytest.mark.parametrize("digest", ["", "sha256:0", "md5:0", "../../x", f"sha512:{'0' * 128}"])
def test_a_blob_is_asked_for_by_digest_only(server: OciServer, opened: Open, digest: str) -> None:
    assert "not a sha256 digest" in failure_of(lambda: opened(server.repository("a")).blob(digest)).message
    assert server.asked == []


@pytest.mark.parametrize("reference", ["", "../x", "a b", "-a", "a" * 129, "sha256:x"])
def test_a_manifest_is_asked_for_by_tag_or_digest_only(server: OciServer, opened: Open, reference: str) -> None:
    assert (
        "neither a tag nor a digest" in failure_of(lambda: opened(server.repository("a")).manifest(reference)).message
    )
    assert server.asked == []


@pytest.mark.parametrize(
    "repository",
    [
        "https://host/a",
        "oci://host",
        "oci://host/",
        "oci://host/A",
        "oci://host/a:1.0",
        "oci://host/a@sha256:0",
        "oci://host/a/../b",
        f"oci://someone:{CANARY}@host/a",
        f"oci://host/a?token={CANARY}",
        "oci://host/a\n",
    ],
)
def test_what_is_no_repository_is_refused(opened: Open, repository: str) -> None:
    assert failure_of(lambda: opened(repository)).message.endswith("is not an OCI repository")


def test_only_this_machine_is_asked_without_tls() -> None:
    asked: list[str] = []

    class Listening(Web):
        def ask(self, url: str, *_: object, **__: object) -> Any:
            asked.append(url)
            raise OutsideError("enough")

    for host in ("localhost:5000", "127.0.0.1", "[::1]:5000", "docker.io", "127.0.0.1.example.org", "host:80"):
        failure_of(Registry(f"oci://{host}/a/b", Listening()).tags)
    assert [url.removesuffix("/v2/a/b/tags/list?n=1000") for url in asked] == [
        "http://localhost:5000",
        "http://127.0.0.1",
        "http://[::1]:5000",
        "https://registry-1.docker.io",
        "https://127.0.0.1.example.org",
        "https://host:80",
    ]


@pytest.mark.parametrize("answer", [b"<html>", b"[]", b'"a"', b"{" * 10_000])
def test_what_is_no_registry_is_refused(opened: Open, answer: bytes) -> None:
    with WebServer(lambda _: Reply(200, answer)) as server:
        error = failure_of(lambda: opened(f"oci://{server.host}/a").tags())
    assert error.message == f"http://{server.host}/v2/a/tags/list does not answer as a registry does"


@pytest.mark.parametrize("tokens", [True, False])
def test_a_password_lets_us_in(opened: Open, tokens: bool) -> None:
    with OciServer(("someone", CANARY), tokens) as server:
        server.push("a", "1.0", [])
        registry = opened(server.repository("a"), LOGIN)
        assert registry.tags() == ["1.0"]
        before = len(server.asked)
        registry.manifest("1.0")
        assert len(server.asked) == before + 1
    assert "authorization" not in server.asked[0].headers
    password = basic("someone", CANARY)
    shown_to = {asked.path.partition("?")[0] for asked in server.asked if password in asked.headers.values()}
    assert shown_to == ({"/token"} if tokens else {"/v2/a/tags/list", "/v2/a/manifests/1.0"})


def test_anonymous_readers_get_tokens_too(opened: Open) -> None:
    with OciServer(tokens=True) as server:
        server.push("a", "1.0", [])
        assert opened(server.repository("a")).tags() == ["1.0"]
    assert [asked.path.partition("?")[0] for asked in server.asked] == ["/v2/a/tags/list", "/token", "/v2/a/tags/list"]


def test_a_token_of_our_own_lets_us_in(opened: Open) -> None:
    with OciServer(tokens=True) as server:
        server.push("a", "1.0", [])
        assert opened(server.repository("a"), Credentials(token=OciServer.TOKEN)).tags() == ["1.0"]
        assert len(server.asked) == 1
        error = failure_of(lambda: opened(server.repository("a"), Credentials(token=CANARY)).tags())
    assert error.hint == "check the credentials in secretRef"


def test_a_token_that_ended_is_renewed(opened: Open) -> None:
    with OciServer(("someone", CANARY), tokens=True) as server:
        server.push("a", "1.0", [])
        registry = opened(server.repository("a"), LOGIN)
        registry.tags()
        server.TOKEN = "another-token"
        assert registry.tags() == ["1.0"]


@pytest.mark.parametrize("tokens", [True, False])
@pytest.mark.parametrize("credentials", [None, Credentials("someone", f"{CANARY}!"), Credentials(token=CANARY)])
def test_who_may_not_read_is_told(opened: Open, tokens: bool, credentials: Credentials | None) -> None:
    with OciServer(("someone", CANARY), tokens) as server:
        error = failure_of(lambda: opened(server.repository("a"), credentials).tags())
    assert error.message.endswith("refuses access (401)")
    assert error.hint == "check the credentials in secretRef"


@pytest.mark.parametrize(
    ("challenge", "message"),
    [
        ('Bearer realm="ftp://x/"', "asks for credentials at ftp://x/, which is not https"),
        ("Bearer", "refuses access (401)"),
        ('Bearer service="a"', "which is not https"),
        ('Digest realm="a"', "refuses access (401)"),
        ("", "refuses access (401)"),
    ],
)
def test_odd_challenges_get_no_credentials(opened: Open, challenge: str, message: str) -> None:
    with WebServer(lambda _: Reply(401, headers={"WWW-Authenticate": challenge})) as server:
        error = failure_of(lambda: opened(f"oci://{server.host}/a", LOGIN).tags())
    assert error.message.endswith(message)
    assert not any("authorization" in asked.headers for asked in server.asked)


@pytest.mark.parametrize("given", [b"{}", b'{"token": 7}', b"nothing"])
def test_a_token_must_come(opened: Open, given: bytes) -> None:
    def answer(asked: Request) -> Reply:
        realm = f'Basic realm="b", Bearer realm="http://{asked.headers["host"]}/token?account=a", Basic realm="c"'
        return Reply(200, given) if "/token" in asked.path else Reply(401, headers={"WWW-Authenticate": realm})

    with WebServer(answer) as server:
        failure_of(lambda: opened(f"oci://{server.host}/a", LOGIN).tags())
    assert server.asked[-1].path == "/token?account=a&scope=repository%3Aa%3Apull"


def test_a_chart_offers_its_versions(server: OciServer, opened: Open) -> None:
    archive = packed_chart("web", "1.2.0+a", "replicas: 1\n")
    annotations = {"org.opencontainers.image.created": "2024-05-06T09:08:07.5+02:00"}
    digest = server.push_chart("charts/web", "1.2.0_a", archive, annotations)
    listing = read_oci(opened(server.repository("charts/web")), None, {})
    (holding,) = listing.found
    assert (holding.file, holding.revision, holding.digest) == ("web-1.2.0+a", "1.2.0+a", digest_of(archive))
    assert (holding.published, holding.mark) == ("2024-05-06T07:08:07Z", "1.2.0_a")
    source = {"repository": f"oci://{server.host}/charts", "chart": "web", "version": "1.2.0+a"}
    assert read_one(holding.text)["spec"]["source"] == {"helm": source}
    assert (listing.problems, listing.marks) == ([], {"1.2.0_a": digest})


def test_versions_come_oldest_first_and_other_tags_last(server: OciServer, opened: Open) -> None:
    for tag in ("latest", "1.10.0", "1.9.0", "1.10.0-rc.1"):
        push_files(server, "a", tag, {"a.yaml": tag})
    found = read_oci(opened(server.repository("a")), None, {}).found
    assert [holding.revision for holding in found] == ["1.9.0", "1.10.0-rc.1", "1.10.0", "latest"]


def test_a_chart_that_cannot_be_read_leaves_the_others(server: OciServer, opened: Open) -> None:
    where = server.repository("web")
    server.push_chart("web", "1.0.0", packed_chart("web", "1.0.0", "/a: 1\n"))
    server.push_chart("web", "1.1.0", b"no archive")
    server.push_chart("web", "1.2.0", packed_chart("web", "9.9.9"))
    server.push_chart("web", "latest", packed_chart("web", "1.0.0"))
    server.push("web", "1.3.0", [], config="application/vnd.cncf.helm.config.v1+json")
    spoiled = packed_chart("web", "1.4.0")
    server.push_chart("web", "1.4.0", spoiled)
    server.spoil(digest_of(spoiled))
    server.push_manifest("web", "1.5.0", {"manifests": []})
    listing = read_oci(opened(where), None, {})
    assert [holding.file for holding in listing.found] == ["web-1.0.0"]
    assert list(listing.marks) == ["1.0.0"]
    assert [problem.removeprefix(where).partition(";")[0] for problem in sorted(listing.all_problems)] == [
        ":1.0.0: the value '/a' cannot be an option, and is left out",
        ":1.1.0: it is not a .tar.gz archive, or a broken one",
        ":1.2.0: the chart in it is version 9.9.9",
        ":1.3.0: it has no chart",
        f":1.4.0: {where}: the blob {digest_of(spoiled)} does not match its digest",
        f":1.5.0: {where}:1.5.0 is an index of several artifacts",
        ":latest: 'latest' is not a semantic version such as 1.4.0",
    ]


def test_include_chooses_a_chart_by_name(server: OciServer, opened: Open) -> None:
    server.push_chart("charts/web", "1.0.0", packed_chart("web", "1.0.0"))
    registry = opened(server.repository("charts/web"))
    assert len(read_oci(registry, ["w*"], {}).found) == 1
    assert read_oci(registry, ["db"], {}).found == []


def test_packed_folders_hold_manifests(server: OciServer, opened: Open) -> None:
    files = {"./a.yaml": "\ufeffn: 1", "b/c.yml": "n: 2", "b/d.json": "{}", "notes.txt": "n"}
    annotations = {"org.opencontainers.image.created": "2024-05-06T07:08:07Z"}
    push_files(server, "a", "1.0", files, annotations=annotations)
    listing = read_oci(opened(server.repository("a")), None, {})
    assert texts(listing) == {("1.0", "a.yaml"): "n: 1", ("1.0", "b/c.yml"): "n: 2", ("1.0", "b/d.json"): "{}"}
    told = {(holding.published, holding.digest, holding.mark) for holding in listing.found}
    assert told == {("2024-05-06T07:08:07Z", None, "1.0")}


def test_include_chooses_files(server: OciServer, opened: Open) -> None:
    push_files(server, "a", "1.0", {"x/def.yaml": "1", "def.yaml": "2", "x/notes.txt": "3"})
    registry = opened(server.repository("a"))
    assert [holding.text for holding in read_oci(registry, ["*/def.yaml"], {}).found] == ["1"]
    assert [holding.text for holding in read_oci(registry, ["**/def.yaml", "**/*.txt"], {}).found] == ["1", "2", "3"]


def test_single_files_are_named_by_their_title(server: OciServer, opened: Open) -> None:
    titled = {"annotations": {"org.opencontainers.image.title": "x/def.yaml"}}
    layers: list[dict[str, Any]] = [
        {"mediaType": "application/yaml", **server.blob(b"n: 1"), **titled},
        {"mediaType": "application/x-yaml", **server.blob(b"n: 2")},
        {"mediaType": "application/vnd.dev.cosign.simplesigning.v1+json", **server.blob(b"n: 3")},
    ]
    server.push("some/name", "1.0", layers)
    registry = opened(server.repository("some/name"))
    assert texts(read_oci(registry, None, {})) == {("1.0", "x/def.yaml"): "n: 1", ("1.0", "name.yaml"): "n: 2"}
    assert texts(read_oci(registry, ["x/*"], {})) == {("1.0", "x/def.yaml"): "n: 1"}


def test_files_that_lead_out_of_their_folder_are_refused(server: OciServer, opened: Open) -> None:
    push_files(server, "a", "1.0", {"../a.yaml": ""})
    titled = {"annotations": {"org.opencontainers.image.title": "../b.yaml"}}
    server.push("a", "2.0", [{"mediaType": "application/yaml", **server.blob(b""), **titled}])
    listing = read_oci(opened(server.repository("a")), None, {})
    assert listing.found == []
    assert [problem.rpartition(", ")[2] for problem in listing.problems] == ["'../a.yaml'", "'../b.yaml'"]


def test_a_file_that_is_no_text_leaves_the_others(server: OciServer, opened: Open) -> None:
    push_files(server, "a", "1.0", {"a.yaml": b"\xff", "b.yaml": "n: 1"})
    listing = read_oci(opened(server.repository("a")), None, {})
    assert texts(listing) == {("1.0", "b.yaml"): "n: 1"}
    assert listing.all_problems == [f"{server.repository('a')}:1.0: a.yaml is not UTF-8"]


def test_what_is_known_is_not_fetched_again(server: OciServer, opened: Open) -> None:
    registry = opened(server.repository("a"))
    push_files(server, "a", "1.0", {"a.yaml": "n: 1"})
    push_files(server, "a", "latest", {"a.yaml": "n: 1"})
    first = read_oci(registry, None, {})
    push_files(server, "a", "latest", {"a.yaml": "n: 2"})
    server.asked.clear()
    second = read_oci(registry, None, first.marks)
    assert texts(second) == {("latest", "a.yaml"): "n: 2"}
    assert second.marks["1.0"] == first.marks["1.0"]
    assert second.marks["latest"] != first.marks["latest"]
    assert second.revision != first.revision
    assert len([path for path in server.paths if "/blobs/" in path]) == 1
    assert read_oci(registry, None, second.marks) == SourceListing(second.revision, marks=second.marks)


def test_what_is_known_and_cannot_be_had_now_is_not_gone(server: OciServer, opened: Open) -> None:
    registry = opened(server.repository("a"))
    push_files(server, "a", "1.0", {"a.yaml": "n: 1"})
    first = read_oci(registry, None, {})
    server.push_manifest("a", "1.0", {"manifests": []})
    second = read_oci(registry, None, first.marks)
    assert (second.found, len(second.problems), second.marks) == ([], 1, first.marks)


def test_signatures_beside_a_tag_are_passed_over(server: OciServer, opened: Open) -> None:
    push_files(server, "a", "1.0", {"a.yaml": "n: 1"})
    server.push_manifest("a", f"sha256-{'0' * 64}", {"manifests": []})
    server.push("a", f"sha256-{'0' * 64}.sig", [])
    listing = read_oci(opened(server.repository("a")), None, {})
    assert (list(texts(listing)), listing.problems) == ([("1.0", "a.yaml")], [])


def test_tags_that_are_none_are_told(opened: Open) -> None:
    with WebServer(lambda _: Reply(200, b'{"tags": ["../x", 7]}')) as server:
        listing = read_oci(opened(f"oci://{server.host}/a"), None, {})
    assert listing.problems == [f"oci://{server.host}/a:../x: it is not a tag"]


@pytest.mark.parametrize(
    "manifest",
    [
        {},
        {"layers": 7},
        {"layers": [7, {}, {"mediaType": 7}]},
        {"config": 7, "annotations": 7},
        {"layers": [{"mediaType": "application/yaml", "annotations": 7}]},
    ],
)
def test_odd_manifests_hold_nothing(server: OciServer, opened: Open, manifest: dict[str, Any]) -> None:
    server.push_manifest("a", "1.0", manifest)
    assert read_oci(opened(server.repository("a")), None, {}).found == []


def test_a_repository_that_is_not_there(opened: Open) -> None:
    with WebServer(lambda _: Reply(404)) as empty:
        error = failure_of(lambda: read_oci(opened(f"oci://{empty.host}/a"), None, {}))
    assert error.message == f"http://{empty.host}/v2/a/tags/list does not exist (404)"


def test_no_problem_tells_a_credential(opened: Open) -> None:
    with OciServer(("someone", CANARY), tokens=True) as server:
        server.push_chart("web", "1.0.0", b"no archive")
        listing = read_oci(opened(server.repository("web"), LOGIN), None, {})
        assert len(listing.problems) == 1
        assert CANARY not in repr(listing)
        assert OciServer.TOKEN not in repr(listing)
