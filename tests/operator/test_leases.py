"""Shards and their leases, on a real API server and by a clock that tests turn."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import pytest

from fleetform.operator.leases import Shards, Timing
from fleetform.outside.kubernetes.access import access_from_kubeconfig
from fleetform.outside.kubernetes.client import Client
from support.api_servers import ApiServer


class _Deployment:
    """Replicas of one deployment, whose clock stands until it is turned."""

    def __init__(self, client: Client) -> None:
        self.client, self.name = client, f"ff-{uuid4().hex[:6]}"
        self.now = 1000.0
        self.told: list[str] = []

    def replica(self, shards: int = 3) -> Shards:
        made = Shards(
            self.client,
            "default",
            shards,
            lambda: self.told.append(made.identity),
            name=self.name,
            timing=Timing(),
            clock=lambda: self.now,
        )
        return made

    def run(self, seconds: float, *replicas: Shards) -> None:
        """Every replica looks once in a second."""
        for _ in range(int(seconds)):
            for each in replicas:
                each.step()
            self.now += 1


@pytest.fixture
def deployment(hub: ApiServer) -> Iterator[_Deployment]:
    client = Client(access_from_kubeconfig(hub.kubeconfig()))
    yield _Deployment(client)
    client.close()


def test_a_replica_alone_takes_every_shard_one_after_the_other(deployment: _Deployment) -> None:
    alone = deployment.replica()
    deployment.run(4, alone)
    assert alone.held() == {0, 1, 2}
    assert deployment.told.count(alone.identity) >= 1


def test_replicas_that_begin_together_share(deployment: _Deployment) -> None:
    replicas = [deployment.replica() for _ in range(3)]
    deployment.run(5, *replicas)
    assert sorted(len(each.held()) for each in replicas) == [1, 1, 1]
    assert frozenset().union(*(each.held() for each in replicas)) == {0, 1, 2}


def test_no_shard_is_two_replicas_at_any_time(deployment: _Deployment) -> None:
    replicas = [deployment.replica() for _ in range(3)]
    silent = {5: 0, 20: 1, 30: 0}
    away: set[int] = set()
    for second in range(60):
        if second in silent:
            away ^= {silent[second]}
        deployment.run(1, *(each for number, each in enumerate(replicas) if number not in away))
        held = [shard for each in replicas for shard in each.held()]
        assert len(held) == len(set(held)), f"second {second}"


def test_a_replica_that_is_killed_is_followed_within_twenty_seconds(deployment: _Deployment) -> None:
    gone, other = deployment.replica(1), deployment.replica(1)
    deployment.run(2, gone)
    assert gone.held() == {0}
    deployment.run(1, other)
    deployment.run(10, other)
    assert not gone.may_write(0)
    assert other.held() == frozenset()
    deployment.run(9, other)
    assert other.held() == {0}


def test_one_that_ends_hands_over_at_once(deployment: _Deployment) -> None:
    ending, other = deployment.replica(1), deployment.replica(1)
    deployment.run(2, ending, other)
    ending.release([0])
    assert not ending.may_write(0)
    deployment.run(1, other)
    assert other.held() == {0}


def test_a_frozen_replica_may_not_write_when_it_wakes(deployment: _Deployment) -> None:
    frozen, other = deployment.replica(1), deployment.replica(1)
    deployment.run(2, frozen, other)
    deployment.now += 3600
    assert not frozen.may_write(0)
    deployment.run(18, other)
    assert other.held() == {0}
    deployment.run(3, frozen, other)
    assert frozen.held() == frozenset()
    assert other.held() == {0}


def test_a_replica_alone_takes_its_shard_again_after_the_server_was_away(deployment: _Deployment) -> None:
    alone = deployment.replica(1)
    deployment.run(2, alone)
    deployment.now += 11
    deployment.run(1, alone)
    assert alone.held() == frozenset()
    alone.release([0])
    deployment.run(2, alone)
    assert alone.held() == {0}


def test_one_that_joins_gets_a_shard_of_who_has_two_more(deployment: _Deployment) -> None:
    first = deployment.replica()
    deployment.run(4, first)
    joining = deployment.replica()
    for _ in range(6):
        deployment.run(1, first, joining)
        # Its work ends, and it lets go of what it was asked for.
        first.release({0, 1, 2} - first.held())
    assert (len(first.held()), len(joining.held())) == (2, 1)
