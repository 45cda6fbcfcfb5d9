"""A Helm repository offers one definition of every version of its charts."""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from fleetform.catalogs.helm import read_helm
from fleetform.catalogs.listing import SourceListing
from fleetform.outside.credentials import Credentials
from fleetform.outside.errors import OutsideError
from fleetform.outside.http import Web
from fleetform.syntax.yaml_in import read_one
from support.servers import HelmServer, OciServer, Reply, Request, WebServer, basic, digest_of, packed_chart

CANARY = "c4nary"


@pytest.fixture
def server() -> Iterator[HelmServer]:
    with HelmServer() as started:
        yield started


def read(
    server: HelmServer,
    include: list[str] | None = None,
    known: Mapping[str, str] | None = None,
    credentials: Credentials | None = None,
    repository: str | None = None,
) -> SourceListing:
    with Web(credentials, sleep=lambda _: None) as web:
        return read_helm(repository or server.repository, include, known or {}, web)


def files(listing: SourceListing) -> list[str]:
    return [holding.file for holding in listing.found]


def test_every_version_becomes_a_definition(server: HelmServer) -> None:
    archive = server.add("web", "1.2.0", created="2024-05-06T09:08:07.123456789+02:00")
    (holding,) = (listing := read(server)).found
    assert (holding.file, holding.revision, holding.digest) == ("web-1.2.0", "1.2.0", digest_of(archive))
    assert (holding.published, holding.mark) == ("2024-05-06T07:08:07Z", "web-1.2.0")
    assert read_one(holding.text)["spec"] == {
        "version": "1.2.0",
        "source": {"helm": {"repository": server.repository, "chart": "web", "version": "1.2.0"}},
        "options": [{"name": "replicas", "type": "int"}],
    }
    assert listing.problems == []
    assert listing.revision == digest_of(server.index())
    assert listing.marks == {"web-1.2.0": digest_of(archive)}


def test_charts_come_by_name_and_versions_oldest_first(server: HelmServer) -> None:
    for name, version in [("web", "1.10.0"), ("web", "1.9.0"), ("web", "1.10.0-rc.1"), ("db", "v3.0.0"), ("db", "2")]:
        server.add(name, version)
    assert files(read(server)) == ["db-2", "db-v3.0.0", "web-1.9.0", "web-1.10.0-rc.1", "web-1.10.0"]


@pytest.mark.parametrize("created", [None, "yesterday", "0001-01-01T00:00:00Z", 7])
def test_a_time_that_is_none_is_left_out(server: HelmServer, created: object) -> None:
    server.add("web", "1.0.0", created=created)
    assert [holding.published for holding in read(server).found] == [None]


def test_include_chooses_charts_by_name(server: HelmServer) -> None:
    for name in ("web", "web-admin", "db"):
        server.add(name, "1.0.0")
    assert files(read(server, ["web*"])) == ["web-1.0.0", "web-admin-1.0.0"]
    assert files(read(server, [])) == []
    assert not any("db-" in path for path in server.paths)


def test_what_is_known_is_not_fetched_again(server: HelmServer) -> None:
    server.add("web", "1.0.0")
    marks = read(server).marks
    server.add("web", "1.1.0")
    server.asked.clear()
    listing = read(server, known=marks)
    assert files(listing) == ["web-1.1.0"]
    assert set(listing.marks) == {"web-1.0.0", "web-1.1.0"}
    assert sorted(server.paths) == ["/charts/index.yaml", "/charts/web-1.1.0.tgz"]


def test_what_changed_is_fetched_again(server: HelmServer) -> None:
    server.add("web", "1.0.0")
    marks = read(server).marks
    server.entries.clear()
    changed = server.add("web", "1.0.0", packed_chart("web", "1.0.0", "other: 1\n"))
    listing = read(server, known=marks)
    assert files(listing) == ["web-1.0.0"]
    assert listing.marks == {"web-1.0.0": digest_of(changed)}


def test_an_index_without_digests_says_nothing_of_changes(server: HelmServer) -> None:
    server.add("web", "1.0.0", digest=None)
    marks = read(server).marks
    server.add("web", "2.0.0", digest=None)
    assert files(read(server, known=marks)) == ["web-2.0.0"]


def test_what_is_known_and_cannot_be_had_now_is_not_gone(server: HelmServer) -> None:
    server.add("web", "1.0.0")
    marks = read(server).marks
    server.entries.clear()
    server.add("web", "1.0.0", packed_chart("web", "1.0.0", "other: 1\n"), urls=["missing.tgz"])
    listing = read(server, known=marks)
    assert (listing.found, len(listing.problems), listing.marks) == ([], 1, marks)


def test_what_is_gone_has_no_mark(server: HelmServer) -> None:
    server.add("web", "1.0.0")
    marks = read(server).marks
    server.entries.clear()
    assert read(server, known=marks).marks == {}


def test_a_version_that_cannot_be_had_leaves_the_others(server: HelmServer) -> None:
    server.add("web", "1.0.0")
    server.add("web", "1.1.0", urls=["missing.tgz"])
    server.add("web", "1.2.0", b"no archive")
    server.add("web", "1.3.0", digest="0" * 64)
    server.add("web", "1.4.0", urls=[])
    server.add("web", "1.5.0", packed_chart("web", "9.9.9"))
    server.add("web", "1.6.0", urls=["http://[::1/x.tgz"])
    server.add("web", "1.7.0", urls=["file:///etc/passwd"])
    server.add("web", "not-a-version")
    server.entries["web"].insert(0, {"urls": ["web.tgz"]})
    server.add("Bad_Name", "1.0.0")
    listing = read(server)
    assert files(listing) == ["web-1.0.0"]
    assert list(listing.marks) == ["web-1.0.0"]
    assert listing.problems == [
        "web: the index lists one without a version",
        "web not-a-version: 'not-a-version' is not a semantic version such as 1.4.0",
        "Bad_Name: it cannot be the name of a definition",
        f"web 1.1.0: {server.repository}/missing.tgz does not exist (404); check the address",
        "web 1.2.0: it is not a .tar.gz archive, or a broken one",
        f"web 1.3.0: the archive is {digest_of(server.files['/charts/web-1.3.0.tgz'])}, "
        f"and the index lists sha256:{'0' * 64}",
        "web 1.4.0: the index gives no address",
        "web 1.5.0: the archive is of web 9.9.9",
        "web 1.6.0: the index gives an address that cannot be read",
        "web 1.7.0: the index names a file of this machine",
    ]


def test_what_a_definition_cannot_say_is_told(server: HelmServer) -> None:
    server.add("web", "1.0.0", packed_chart("web", "1.0.0", "/a: 1\nb: 1\n"))
    listing = read(server)
    assert files(listing) == ["web-1.0.0"]
    assert listing.all_problems == ["web 1.0.0: the value '/a' cannot be an option, and is left out"]


def test_of_two_of_one_version_the_first_counts(server: HelmServer) -> None:
    server.add("web", "1.0.0", urls=["missing.tgz"])
    server.add("web", "1.0.0")
    listing = read(server)
    assert (files(listing), listing.problems) == (["web-1.0.0"], [])


@pytest.mark.parametrize(
    ("index", "reason"),
    [
        (b"<html>", "it lists no entries"),
        (b"entries: [1]", "it lists no entries"),
        (b"apiVersion: v1", "it lists no entries"),
        (b"a: b: c", "line 1: mapping values are not allowed in this context"),
        (b"\xff", "it is not UTF-8"),
    ],
)
def test_what_is_no_index_is_refused(server: HelmServer, index: bytes, reason: str) -> None:
    server.files["/charts/index.yaml"] = index
    with pytest.raises(OutsideError) as caught:
        read(server)
    where = f"{server.repository}/index.yaml"
    assert caught.value.message == f"{where} is not the index of a Helm repository: {reason}"


@pytest.mark.parametrize("index", [b"entries:\n", b"entries: {}\n", b"entries: {web: }\n", b'{"entries": {}}'])
def test_a_repository_may_be_empty(server: HelmServer, index: bytes) -> None:
    server.files["/charts/index.yaml"] = index
    listing = read(server)
    assert (listing.found, listing.problems, listing.marks) == ([], [], {})


def test_addresses_are_relative_to_the_repository(server: HelmServer) -> None:
    archive = packed_chart("web", "1.0.0")
    server.files |= {"/charts/deep/1.tgz": archive, "/root.tgz": archive}
    for url in ("deep/1.tgz", "/root.tgz", f"{server.url}/root.tgz"):
        server.entries["web"] = [{"version": "1.0.0", "urls": [url]}]
        for repository in (server.repository, server.repository + "/"):
            assert files(read(server, repository=repository)) == ["web-1.0.0"]


def test_what_an_address_is_asked_with_goes_for_all_below_it_and_is_not_written_down(server: HelmServer) -> None:
    server.add("web", "1.0.0")
    repository = f"http://someone:{CANARY}@{server.host}/charts?key={CANARY}"
    listing = read(server, repository=repository)
    assert server.paths == [f"/charts/index.yaml?key={CANARY}", f"/charts/web-1.0.0.tgz?key={CANARY}"]
    assert {asked.headers["authorization"] for asked in server.asked} == {basic("someone", CANARY)}
    assert CANARY not in repr(listing)
    assert read_one(listing.found[0].text)["spec"]["source"]["helm"]["repository"] == server.repository


@pytest.mark.parametrize("repository", [f"https://u:{CANARY}@[x", f"https://u:{CANARY}", "charts", ""])
def test_what_is_no_address_is_refused(repository: str) -> None:
    with Web() as web, pytest.raises(OutsideError, match="is not an address that can be read") as caught:
        read_helm(repository, None, {}, web)
    assert CANARY not in "".join(traceback.format_exception(caught.value))


def test_credentials_open_the_repository() -> None:
    with HelmServer(("someone", CANARY)) as server:
        server.add("web", "1.0.0")
        assert files(read(server, credentials=Credentials("someone", CANARY))) == ["web-1.0.0"]
        with pytest.raises(OutsideError) as caught:
            read(server, credentials=Credentials("someone", f"{CANARY}!"))
    assert caught.value.message == f"{server.repository}/index.yaml refuses access (401)"
    assert CANARY not in repr(caught.value)


def test_credentials_do_not_go_where_an_index_points_to() -> None:
    archive = packed_chart("web", "1.0.0")
    with HelmServer(("someone", CANARY)) as server, WebServer(lambda _: Reply(200, archive)) as other:
        server.add("web", "1.0.0", archive, urls=[f"{other.url}/web.tgz"])
        assert files(read(server, credentials=Credentials("someone", CANARY))) == ["web-1.0.0"]
    assert "authorization" not in other.asked[0].headers


def test_no_problem_tells_a_credential() -> None:
    def refuse(asked: Request) -> Reply:
        return Reply(403, asked.headers.get("authorization", "").encode())

    with HelmServer(("someone", CANARY)) as server, WebServer(refuse) as other:
        server.add("web", "1.0.0", urls=[f"http://u:{CANARY}@{other.host}/web.tgz?sig={CANARY}"])
        server.add("web", "1.1.0", urls=["missing.tgz"])
        server.add("web", "1.2.0", urls=[f"http://u:{CANARY}@[/"])
        server.add("web", "1.3.0", urls=[f"http://u:{CANARY}/@x:y/"])
        listing = read(server, credentials=Credentials("someone", CANARY))
    assert len(listing.problems) == 4
    assert CANARY not in repr(listing)


def test_an_index_may_point_to_a_registry(server: HelmServer) -> None:
    archive = packed_chart("web", "1.0.0+a")
    with OciServer() as registry:
        registry.push_chart("charts/web", "1.0.0_a", archive)
        server.add("web", "1.0.0+a", archive, urls=[f"{registry.repository('charts/web')}:1.0.0+a"])
        server.add("web", "1.1.0", urls=[f"{registry.repository('charts/web')}:1.1.0"])
        listing = read(server)
    assert files(listing) == ["web-1.0.0+a"]
    assert [problem.partition(": ")[0] for problem in listing.problems] == ["web 1.1.0"]


def test_a_repository_may_be_a_folder(tmp_path: Path) -> None:
    (tmp_path / "web.tgz").write_bytes(packed_chart("web", "1.0.0"))
    (tmp_path / "index.yaml").write_text('entries: {web: [{version: "1.0.0", urls: [web.tgz]}]}')
    with Web() as web:
        assert files(read_helm(tmp_path.as_uri(), None, {}, web)) == ["web-1.0.0"]
