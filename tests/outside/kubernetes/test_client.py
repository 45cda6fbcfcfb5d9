"""The client against a real API server."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from threading import Event, Thread
from time import sleep
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

import msgspec
import pytest

from fleetform.outside.errors import OutsideError
from fleetform.outside.kubernetes.access import Access, AccessError, access_from_kubeconfig
from fleetform.outside.kubernetes.client import Client
from fleetform.outside.kubernetes.errors import (
    BusyError,
    ConflictError,
    DeniedError,
    ExpiredError,
    InvalidError,
    MissingError,
    NotLeaderError,
    UnauthorizedError,
)
from fleetform.outside.kubernetes.reflector import ObjectKey, Reflector, is_newer
from support.api_servers import ApiServer, ApiServers
from support.servers import Reply, Request, WebServer
from support.waiting import until


@pytest.fixture(scope="module")
def client(hub: ApiServer) -> Iterator[Client]:
    made = Client(access_from_kubeconfig(hub.kubeconfig()))
    yield made
    made.close()


@pytest.fixture
def namespace(client: Client) -> str:
    name = f"test-{uuid4().hex[:8]}"
    client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    return name


def config(namespace: str, name: str = "a", **data: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def test_an_object_is_made_read_changed_and_deleted(client: Client, namespace: str) -> None:
    maps = client.resource("v1", "ConfigMap")
    assert client.get(maps, namespace, "a") is None
    made = client.create(config(namespace, x="1"))
    changed = client.replace({**made, "data": {"x": "2"}})
    assert is_newer(changed["metadata"]["resourceVersion"], made["metadata"]["resourceVersion"])
    with pytest.raises(ConflictError):
        client.replace({**made, "data": {"x": "3"}})
    merged = client.merge(maps, namespace, "a", {"data": {"y": "1"}})
    assert merged["data"] == {"x": "2", "y": "1"}
    assert client.delete(maps, namespace, "a")
    assert not client.delete(maps, namespace, "a")


def test_how_requests_were_answered_is_told(client: Client, namespace: str) -> None:
    answers: list[tuple[str, int]] = []
    telling = Client(client.access, answered=lambda *answer: answers.append(answer))
    made = telling.create(config(namespace, x="1"))
    telling.replace({**made, "data": {"x": "2"}})
    with pytest.raises(ConflictError):
        telling.replace({**made, "data": {"x": "3"}})
    telling.close()
    # The first is the question which kinds there are.
    assert answers == [("GET", 200), ("POST", 201), ("PUT", 200), ("PUT", 409)]
    silent = Client(Access("https://127.0.0.1:1"), answered=lambda *answer: answers.append(answer))
    with pytest.raises(BusyError):
        silent.raw("PUT", "/x", b"{}")
    assert answers[-1] == ("PUT", 0)


def test_a_field_that_is_no_longer_applied_leaves(client: Client, namespace: str) -> None:
    client.apply(config(namespace, x="1", y="1"))
    assert client.apply(config(namespace, x="1"))["data"] == {"x": "1"}


def test_a_conflict_of_applies_names_manager_and_field(client: Client, namespace: str) -> None:
    client.apply(config(namespace, x="1"))
    other = Client(client.access, "somebody")
    with pytest.raises(ConflictError) as caught:
        other.apply(config(namespace, x="2"))
    (cause,) = caught.value.causes
    assert cause.field == ".data.x"
    assert '"fleetform"' in cause.message
    assert other.apply(config(namespace, x="2"), force=True)["data"] == {"x": "2"}


def test_only_the_object_with_that_uid_is_deleted(client: Client, namespace: str) -> None:
    made = client.create(config(namespace))
    maps = client.resource("v1", "ConfigMap")
    with pytest.raises(ConflictError):
        client.delete(maps, namespace, "a", uid="another")
    assert client.delete(maps, namespace, "a", uid=made["metadata"]["uid"])


def test_a_dry_run_writes_nothing(client: Client, namespace: str) -> None:
    assert client.apply(config(namespace, x="1"), dry_run=True)["data"] == {"x": "1"}
    assert client.get(client.resource("v1", "ConfigMap"), namespace, "a") is None


def test_what_will_never_be_accepted_is_told_from_what_may_be_later(client: Client, namespace: str) -> None:
    with pytest.raises(InvalidError):
        client.apply({**config(namespace), "dataa": {}})
    with pytest.raises(InvalidError):
        client.create(config(namespace, "Not A Name"))
    with pytest.raises(InvalidError):
        client.create(config(namespace, x="x" * 3_200_000))
    with pytest.raises(MissingError):
        client.apply(config("no-such-namespace"))
    with pytest.raises(MissingError):
        client.resource("v1", "Nonsense")


def test_a_list_comes_in_pages_and_by_label(client: Client, namespace: str) -> None:
    for index in range(5):
        labelled = config(namespace, f"c{index}")
        labelled["metadata"]["labels"] = {"odd": str(index % 2)}
        client.create(labelled)
    maps = client.resource("v1", "ConfigMap")
    first = client.page(maps, namespace, limit=2)
    assert len(first.items) == 2
    assert first.token
    names = [each["metadata"]["name"] for each in client.items(maps, namespace, limit=2)]
    assert names == ["c0", "c1", "c2", "c3", "c4"]
    odd = client.page(maps, namespace, labels="odd=1", metadata_only=True)
    assert [each["metadata"]["name"] for each in odd.items] == ["c1", "c3"]
    assert "data" not in odd.items[0]


def test_a_watch_goes_on_where_the_list_ended(client: Client, namespace: str) -> None:
    maps = client.resource("v1", "ConfigMap")
    start = client.page(maps, namespace).version
    client.create(config(namespace, x="1"))
    client.merge(maps, namespace, "a", {"data": {"x": "2"}})
    client.delete(maps, namespace, "a")
    seen = list(islice(client.watch(maps, start, namespace), 3))
    assert [each.type for each in seen] == ["ADDED", "MODIFIED", "DELETED"]
    assert seen[1].object["data"] == {"x": "2"}


def test_a_watch_that_stays_silent_is_given_up(client: Client, namespace: str) -> None:
    maps = client.resource("v1", "ConfigMap")
    future = str(10**9)
    with pytest.raises(BusyError):
        list(client.watch(maps, future, namespace, silence=0.3))


def test_a_version_that_the_server_does_not_have_is_expired(client: Client, namespace: str) -> None:
    with pytest.raises(ExpiredError):
        client.page(client.resource("v1", "ConfigMap"), namespace, version=str(10**9))


def test_who_is_not_allowed_is_told_so(client: Client, hub: ApiServer, namespace: str) -> None:
    maps = client.resource("v1", "ConfigMap")
    stranger = Client(client.access.acting_as("somebody", ["a", "b"]))
    with pytest.raises(DeniedError) as caught:
        stranger.get(maps, namespace, "a")
    assert 'User "somebody"' in caught.value.message
    unknown = Client(Access(hub.url, hub.ca.read_bytes(), token="wrong"))
    with pytest.raises(UnauthorizedError):
        unknown.get(maps, namespace, "a")


def test_groups_that_we_act_for_are_told_apart(client: Client, namespace: str) -> None:
    groups = ["system:masters", "another"]
    made = Client(client.access.acting_as("somebody", groups)).create(config(namespace))
    assert made["metadata"]["uid"]


def test_who_no_longer_leads_sends_nothing(client: Client, namespace: str) -> None:
    led = [True]
    writer = Client(client.access, may_write=lambda: led[0])
    maps = writer.resource("v1", "ConfigMap")
    writer.apply(config(namespace, x="1"))
    led[0] = False
    before = writer.requests
    with pytest.raises(NotLeaderError):
        writer.apply(config(namespace, x="2"))
    assert writer.requests == before
    assert (writer.get(maps, namespace, "a") or {})["data"] == {"x": "1"}


def test_a_certificate_of_somebody_else_is_not_trusted(hub: ApiServer, client: Client) -> None:
    with pytest.raises(BusyError):
        Client(Access(hub.url, None, "token"), tries=1).resource("v1", "ConfigMap")
    with pytest.raises(AccessError):
        Client(Access(hub.url, b"no certificate"))


# ---- What a real server does seldom


def busy_then_fine(times: int, status: int, headers: dict[str, str]) -> WebServer:
    left = [times]

    def answer(_: Request) -> Reply:
        if left[0]:
            left[0] -= 1
            return Reply(status, b'{"kind":"Status","message":"later"}', headers)
        return Reply(200, b'{"data":{"x":"1"}}')

    return WebServer(answer)


def test_a_server_that_is_overloaded_is_asked_again_when_it_says() -> None:
    waited: list[float] = []
    with busy_then_fine(2, 429, {"Retry-After": "3"}) as server:
        client = Client(Access(server.url), sleep=waited.append)
        assert client.raw("PATCH", "/api/v1/x", b"{}") == b'{"data":{"x":"1"}}'
    assert len(waited) == 2
    assert all(3.0 <= each <= 3.6 for each in waited)


def test_a_write_whose_answer_is_lost_is_not_sent_twice() -> None:
    with busy_then_fine(1, 500, {}) as server:
        with pytest.raises(BusyError):
            Client(Access(server.url), sleep=lambda _: None).raw("POST", "/api/v1/x", b"{}")
        assert len(server.asked) == 1


def test_a_read_is_tried_again() -> None:
    with busy_then_fine(2, 500, {}) as server:
        assert Client(Access(server.url), sleep=lambda _: None).raw("GET", "/api/v1/x")


# ---- Lists that follow changes


class Following:
    """A reflector in a thread of its own, and what it told."""

    def __init__(self, client: Client, namespace: str, silence: float = 70.0) -> None:
        self.news: list[frozenset[ObjectKey]] = []
        self.problems: list[OutsideError] = []
        self._told, self._stop = Event(), Event()
        self.reflector: Reflector[dict[str, Any]] = Reflector(
            client,
            client.resource("v1", "ConfigMap"),
            lambda each: ObjectKey(each["metadata"]["namespace"], each["metadata"]["name"]),
            lambda each: str(each["metadata"]["resourceVersion"]),
            namespace=namespace,
            changed=self._changed,
            failed=self.problems.append,
            page=2,
            silence=silence,
        )
        self._thread = Thread(target=self.reflector.run, args=(self._stop,), daemon=True)

    def __enter__(self) -> Following:
        self._thread.start()
        assert self.reflector.listed.wait(30)
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()

    def _changed(self, keys: frozenset[ObjectKey]) -> None:
        self.news.append(keys)
        self._told.set()

    def until(self, names: dict[str, str]) -> bool:
        """Waits until these are known, each with its data x."""
        for _ in range(600):
            if {key.name: each.get("data", {}).get("x") for key, each in self.reflector.objects().items()} == names:
                return True
            self._told.wait(0.1)
            self._told.clear()
        return False


def test_a_list_follows_what_happens(client: Client, namespace: str) -> None:
    for name in ("a", "b", "c"):
        client.create(config(namespace, name, x="1"))
    maps = client.resource("v1", "ConfigMap")
    with Following(client, namespace) as following:
        assert following.until({"a": "1", "b": "1", "c": "1"})
        client.merge(maps, namespace, "a", {"data": {"x": "2"}})
        client.delete(maps, namespace, "b")
        client.create(config(namespace, "d", x="1"))
        assert following.until({"a": "2", "c": "1", "d": "1"})
    assert following.news[0] == {ObjectKey(namespace, name) for name in "abc"}


def test_what_we_wrote_ourselves_is_behind_until_it_comes_back(client: Client, namespace: str) -> None:
    made = client.create(config(namespace, x="1"))
    key = ObjectKey(namespace, "a")
    with Following(client, namespace) as following:
        # The first list may be older than what was just made.
        assert following.until({"a": "1"})
        following.reflector.wrote(key, made["metadata"]["resourceVersion"])
        assert not following.reflector.is_behind(key)
        future = str(int(made["metadata"]["resourceVersion"]) + 1)
        following.reflector.wrote(key, future)
        assert following.reflector.is_behind(key)
        client.merge(client.resource("v1", "ConfigMap"), namespace, "a", {"data": {"x": "2"}})
        assert following.until({"a": "2"})
        assert not following.reflector.is_behind(key)


def test_a_list_goes_on_after_the_server_was_away(api_servers: ApiServers) -> None:
    (server,) = api_servers.start(f"away-{uuid4().hex[:6]}")
    client = Client(access_from_kubeconfig(server.kubeconfig()))
    client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "acme"}})
    client.create(config("acme", "a", x="1"))
    with Following(client, "acme") as following:
        assert following.until({"a": "1"})
        server.process.kill()
        server.process.wait()
        api_servers.start_again(server)
        client.create(config("acme", "b", x="1"))
        client.delete(client.resource("v1", "ConfigMap"), "acme", "a")
        assert following.until({"b": "1"})
        assert following.problems
        assert following.reflector.restarts >= len(following.problems)


class Restored(Client):
    """A client whose server gave this version with the first list, and was restored from an older backup since."""

    def __init__(self, access: Access, version: int) -> None:
        super().__init__(access)
        self._given = [str(version)]

    def page(self, *arguments: Any, **query: Any) -> Any:
        found = super().page(*arguments, **query)
        return found._replace(version=self._given.pop()) if self._given and not found.token else found


def test_a_watch_from_a_version_that_the_server_lost_is_followed_by_the_newest_list(
    client: Client, namespace: str
) -> None:
    """A server waits for a version that is yet to come: it is the list after a silence that is refused."""
    client.create(config(namespace, x="1"))
    with Following(Restored(client.access, 10**9), namespace, silence=0.5) as following:
        assert following.until({"a": "1"})
        client.merge(client.resource("v1", "ConfigMap"), namespace, "a", {"data": {"x": "2"}})
        assert following.until({"a": "2"})
        client.create(config(namespace, "b", x="1"))
        assert following.until({"a": "2", "b": "1"})
    assert following.reflector.restarts
    assert not following.problems, "nothing that anybody has to do something about"


def test_what_we_wrote_before_a_backup_was_restored_is_not_waited_for(client: Client, namespace: str) -> None:
    """And whoever waits for it is told, though the object is as it was known."""
    client.create(config(namespace, x="1"))
    key = ObjectKey(namespace, "a")
    with Following(Restored(client.access, 10**9), namespace, silence=0.5) as following:
        assert following.until({"a": "1"})
        following.news.clear()
        following.reflector.wrote(key, str(10**9 + 5))
        assert following.reflector.is_behind(key)
        until(lambda: not following.reflector.is_behind(key))
        until(lambda: any(key in each for each in following.news))
        # What is written from now on is waited for again.
        made = client.merge(client.resource("v1", "ConfigMap"), namespace, "a", {"data": {"x": "2"}})
        following.reflector.wrote(key, str(int(made["metadata"]["resourceVersion"]) + 1))
        assert following.until({"a": "2"})
        assert following.reflector.is_behind(key)


def test_a_write_during_the_newest_list_is_still_waited_for(client: Client, namespace: str) -> None:
    """It may be later than what the list tells."""
    client.create(config(namespace, x="1"))
    key = ObjectKey(namespace, "a")
    following: Following

    class WritingMeanwhile(Restored):
        def page(self, *arguments: Any, **query: Any) -> Any:
            found = super().page(*arguments, **query)
            if not query["version"] and not found.token:
                following.reflector.wrote(key, str(10**9 + 6))
                listed.set()
            return found

    listed = Event()
    following = Following(WritingMeanwhile(client.access, 10**9), namespace, silence=0.5)
    with following:
        following.reflector.wrote(key, str(10**9 + 5))
        assert listed.wait(60)
        until(lambda: bool(following.reflector.restarts))
        assert following.reflector.is_behind(key)


def test_a_watch_that_ends_with_an_error_begins_again_with_the_newest_list() -> None:
    """Compaction is told within a stream that began with 200, where no status can be another any more."""
    expired = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version: 5 (9)"}
    error = msgspec.json.encode({"type": "ERROR", "object": expired}) + b"\n"

    def a_map(version: str) -> dict[str, Any]:
        made = config("acme", x=version)
        made["metadata"]["resourceVersion"] = version
        return made

    def nothing_for_a_while() -> Iterator[bytes]:
        sleep(0.5)
        yield b""

    def answer(request: Request) -> Reply:
        address = urlsplit(request.path)
        if address.path == "/api/v1":
            kinds = [{"name": "configmaps", "kind": "ConfigMap", "namespaced": True, "verbs": ["list", "watch"]}]
            return Reply(200, msgspec.json.encode({"resources": kinds}))
        query = parse_qs(address.query)
        since = query["resourceVersion"][0] if "resourceVersion" in query else ""
        if "watch" in query:
            return Reply(200, error if since == "5" else nothing_for_a_while())
        version = "5" if since == "0" else "9"
        return Reply(200, msgspec.json.encode({"metadata": {"resourceVersion": version}, "items": [a_map(version)]}))

    with WebServer(answer) as server, Following(Client(Access(server.url)), "acme") as following:
        assert following.until({"a": "9"})
        assert following.reflector.restarts == 1
        assert not following.problems


def test_a_watch_that_is_silent_is_checked_by_a_list(client: Client, namespace: str) -> None:
    client.create(config(namespace, x="1"))
    asking = Client(client.access)
    with Following(asking, namespace, silence=0.2) as following:
        assert following.until({"a": "1"})
        while asking.requests < 7:
            following._told.wait(0.05)
        client.create(config(namespace, "b", x="1"))
        assert following.until({"a": "1", "b": "1"})
    # Nothing was wrong: nobody had anything to say.
    assert (following.problems, following.reflector.restarts) == ([], 0)
