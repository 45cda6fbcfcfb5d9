"""Reading fields on clusters: how often, how many requests, and what is said of what cannot be read (B16)."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from threading import Event
from typing import Any

import pytest

from fleetform.clusters.work import Clusters
from fleetform.model.results.bindings import FieldOnCluster
from fleetform.observe.reading import ClusterReading
from fleetform.outside.kubernetes.access import Access
from fleetform.outside.kubernetes.client import Client
from fleetform.outside.kubernetes.errors import BusyError, DeniedError, MissingError
from fleetform.ports.observing import ClusterAnswer, FieldAnswer

HERE = ("acme", "eu-1")
NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)
KINDS = {"configmaps": "ConfigMap", "secrets": "Secret", "nodes": "Node"}
CORE = {"resources": [{"name": name, "kind": kind, "namespaced": kind != "Node"} for name, kind in KINDS.items()]}


def field(path: str, kind: str = "ConfigMap", name: str = "net") -> FieldOnCluster:
    return FieldOnCluster(None, kind, "infra", name, path)


class Cluster(Client):
    """A cluster that has these objects, by address; it opens no connection."""

    def __init__(self, access: Access, world: World) -> None:
        super().__init__(access)
        self._world = world

    def raw(self, method: str, path: str, *rest: Any, **more: Any) -> bytes:
        self._world.asked.append(path)
        if self._world.silent:
            raise BusyError("it does not answer")
        if path in ("/version", "/api/v1"):
            return json.dumps(CORE).encode()
        found = self._world.objects.get(path)
        if isinstance(found, Exception):
            raise found
        if found is None:
            raise MissingError(f"there is no {path}", 404)
        return json.dumps(found).encode()


class World:
    def __init__(self) -> None:
        self.objects: dict[str, Any] = {}
        self.silent = False
        self.asked: list[str] = []
        self.now = NOON
        self.woken = Event()
        self.times_woken = 0
        self.clusters = Clusters(self.wake, lambda access: Cluster(access, self), clock=lambda: self.now.timestamp())
        self.reading = ClusterReading(self.clusters, lambda cluster: Access("https://eu-1"), lambda least, most: least)

    def wake(self) -> None:
        self.times_woken += 1
        self.woken.set()

    def look(self, *fields: FieldOnCluster) -> ClusterAnswer:
        found = self.reading.read(
            {HERE: frozenset(fields)}, lambda organization, text: f"digest of {len(text)}", self.now
        )
        return found[HERE]

    def read(self, *fields: FieldOnCluster) -> ClusterAnswer:
        """Waits for what is under way."""
        found = self.look(*fields)
        while self.clusters.under_way(("read", HERE)) is not None:
            self.woken.wait(0.01)
        return self.look(*fields) if found.answered is None else found

    def pass_by(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)

    def requests(self) -> list[str]:
        """Since the last time, but for what kinds there are."""
        found, self.asked = [each for each in self.asked if each not in ("/version", "/api/v1")], []
        return found


@pytest.fixture
def world() -> Iterator[World]:
    found = World()
    found.objects["/api/v1/namespaces/infra/configmaps/net"] = {"data": {"zone": "a", "many.dots": "b", "on": True}}
    yield found
    found.clusters.close()


@pytest.mark.rule("B16")
def test_an_object_is_read_once_for_all_its_fields_and_then_about_once_a_minute(world: World) -> None:
    fields = (field("/data/zone"), field(".data.many.dots"), field("data"))
    found = world.read(*fields)
    assert [found.fields[each].value for each in fields] == ["a", "b", {"zone": "a", "many.dots": "b", "on": True}]
    assert world.requests() == ["/api/v1/namespaces/infra/configmaps/net"]
    assert found.look_at == NOON + timedelta(minutes=1)
    world.pass_by(55)
    world.read(*fields)
    assert world.requests() == []
    world.pass_by(5)
    world.read(*fields)
    assert world.requests() == ["/api/v1/namespaces/infra/configmaps/net"]


@pytest.mark.rule("B16")
def test_what_is_no_news_wakes_nobody(world: World) -> None:
    world.read(field("/data/zone"))
    before = world.times_woken
    world.pass_by(60)
    world.read(field("/data/zone"))
    assert world.times_woken == before
    world.objects["/api/v1/namespaces/infra/configmaps/net"] = {"data": {"zone": "b"}}
    world.pass_by(60)
    assert world.read(field("/data/zone")).fields[field("/data/zone")].value == "b"
    assert world.times_woken == before + 1


@pytest.mark.rule("B16")
def test_what_is_missing_is_looked_for_less_and_less_often(world: World) -> None:
    missing = field("/data/zone", name="other")
    pauses = []
    for _ in range(6):
        found = world.read(missing)
        pauses.append((found.look_at - world.now).total_seconds())
        world.now = found.look_at
    assert found.fields[missing] == FieldAnswer(do="there is no ConfigMap other: add it there")
    assert pauses == [5, 10, 20, 40, 60, 60]


@pytest.mark.rule("B16", "R3-26")
def test_a_key_that_is_missing_is_told_with_those_that_there_are(world: World) -> None:
    assert (
        world.read(field("/data/zome")).fields[field("/data/zome")].do == "it has /data/many.dots, /data/on, /data/zone"
    )


@pytest.mark.rule("B16")
@pytest.mark.parametrize(
    ("at", "wanted", "answer", "problem"),
    [
        ("configmaps/net", field("/data/zone"), DeniedError("it is forbidden", 403), "it is forbidden"),
        (
            "configmaps/net",
            field("/data/zone"),
            {"data": {"zone": "x" * 70_000}},
            "it has 68 KiB, and at most 64 are read",
        ),
        ("secrets/net", field("/data", "Secret"), {"data": {}}, "of a Secret one key of its data is read"),
        ("secrets/net", field("/data/k", "Secret"), {"data": {"k": "/w=="}}, "its bytes are not text"),
    ],
    ids=["forbidden", "large", "whole", "bytes"],
)
def test_what_cannot_be_read_is_said_with_what_to_do(
    world: World, at: str, wanted: FieldOnCluster, answer: Any, problem: str
) -> None:
    world.objects[f"/api/v1/namespaces/infra/{at}"] = answer
    found = world.read(wanted).fields[wanted]
    assert (found.value, found.problem) == (None, problem)
    assert found.do
    assert world.read(wanted).answered is None, "it answered, and is asked again later"


@pytest.mark.rule("B16", "B18")
def test_a_secret_becomes_a_digest_where_it_is_read(world: World) -> None:
    secret = {"data": {"token": b64encode(b"tell-nobody").decode()}}
    world.objects["/api/v1/namespaces/infra/secrets/net"] = secret
    wanted = field("/data/token", "Secret")
    assert world.read(wanted).fields[wanted] == FieldAnswer(digest="digest of 11")


@pytest.mark.rule("B16")
def test_a_kind_without_namespaces_is_read_by_its_name(world: World) -> None:
    world.objects["/api/v1/nodes/n1"] = {"metadata": {"labels": {"zone": "z"}}}
    wanted = field("/metadata/labels/zone", "Node", "n1")
    assert world.read(wanted).fields[wanted].value == "z"
    other = FieldOnCluster(None, "Nothing", "infra", "n1", "/spec")
    assert world.read(other).fields[other].value is None


@pytest.mark.rule("B16", "B25")
def test_a_cluster_that_does_not_answer_leaves_what_was_read(world: World) -> None:
    wanted = field("/data/zone")
    assert world.read(wanted).answered
    world.silent = True
    world.pass_by(60)
    found = world.read(wanted)
    assert (found.answered, found.fields[wanted].value) == (False, "a")
    world.silent = False
    world.pass_by(120)
    assert world.read(wanted).answered


@pytest.mark.rule("B25")
def test_a_cluster_on_which_nothing_is_read_is_asked_for_little_from_time_to_time(world: World) -> None:
    found = world.look()
    assert (world.asked, found.look_at) == ([], NOON + timedelta(minutes=5))
    world.pass_by(300)
    assert world.read().answered
    assert set(world.asked) == {"/version"}
    assert world.look().look_at == world.now + timedelta(minutes=5)
