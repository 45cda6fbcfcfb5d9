"""The health of objects of custom kinds on a real API server: before their controllers saw them, and after."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from fleetform.observe import applied
from fleetform.observe.applied import _judged
from fleetform.ports.observing import Applied, Verdict
from support.targets import KEY, Target, custom
from support.waiting import finished

HEALTHY = Verdict("Healthy")


@pytest.fixture
def group() -> str:
    return f"{uuid4().hex[:8]}.example.com"


def _health(target: Target) -> Verdict:
    return finished(_judged({KEY: Applied(target.namespace, ("acme", "eu-1"))}, target.client))[KEY]


def _at(patch: pytest.MonkeyPatch, moment: datetime) -> None:
    class Then(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return moment

    patch.setattr(applied, "datetime", Then)


def _unseen(target: Target) -> Verdict:
    return Verdict("Unknown", f"Thing {target.namespace}/one: its controller has not said anything of it yet")


def test_one_with_a_status_is_waited_for_until_its_controller_says_something(target: Target, group: str) -> None:
    kind, thing = custom(group, status={})
    assert target.apply(kind, thing, digest="one") == []
    assert _health(target) == _unseen(target)
    things = target.client.resource(f"{group}/v1", "Thing")
    said: dict[str, Any] = {"status": {"conditions": [{"type": "Ready", "status": "False", "message": "no token"}]}}
    target.client.merge(things, target.namespace, "one", said, "status")
    assert _health(target) == Verdict("Unknown", f"Thing {target.namespace}/one: no token")
    said["status"]["conditions"][0]["status"] = "True"
    target.client.merge(things, target.namespace, "one", said, "status")
    assert _health(target) == HEALTHY


def test_one_of_which_nothing_is_ever_said_is_healthy_after_a_minute_and_waited_for_again_once_changed(
    target: Target, group: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind, thing = custom(group, status={})
    assert target.apply(kind, thing, digest="one") == []
    with monkeypatch.context() as patch:
        _at(patch, datetime.now(UTC) + timedelta(seconds=61))
        assert _health(target) == HEALTHY
        # Applied again as it is, it was not changed.
        assert target.apply(kind, thing, digest="one") == []
        assert _health(target) == HEALTHY
    # The server tells times in seconds.
    time.sleep(1.1)
    assert target.apply(kind, {**thing, "spec": {"size": 2}}, digest="two") == []
    live = target.get("Thing", "one", f"{group}/v1") or {}
    made = datetime.fromisoformat(live["metadata"]["creationTimestamp"])
    with monkeypatch.context() as patch:
        _at(patch, made + timedelta(seconds=60))
        assert _health(target) == _unseen(target)
        _at(patch, made + timedelta(seconds=70))
        assert _health(target) == HEALTHY


def test_one_whose_kind_has_no_status_has_nothing_to_wait_for(target: Target, group: str) -> None:
    assert target.apply(*custom(group), digest="one") == []
    assert _health(target) == HEALTHY


def test_one_whose_kind_is_called_as_one_of_kubernetes_own_is_judged_by_what_it_says(
    target: Target, group: str
) -> None:
    kind, role = custom(group, kind="Role", status={})
    assert target.apply(kind, role, digest="one") == []
    said = {"status": {"conditions": [{"type": "Ready", "status": "False", "message": "no account"}]}}
    target.client.merge(target.client.resource(f"{group}/v1", "Role"), target.namespace, "one", said, "status")
    assert _health(target) == Verdict("Unknown", f"Role {target.namespace}/one: no account")
