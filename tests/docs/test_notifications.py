"""The receiver that the page about notifications shows, held to messages that are really sent."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from fleetform.notify.notifier import HttpNotifier
from fleetform.outside.posts import Posts
from notify.test_notifier import KEY, LETTER, OTHER, hook
from support.servers import Reply, Request, WebServer

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "notifications.md"


@pytest.fixture
def verify() -> Any:
    found = re.search(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    names: dict[str, Any] = {}
    exec(found.group(1), names)
    return names["verify"]


def sent(at: datetime, **secrets: str) -> Request:
    with WebServer(lambda _: Reply(200)) as server:
        assert HttpNotifier(Posts(private=True)).send(hook(server.url, **secrets), LETTER, at).arrived
    return server.asked[0]


@pytest.mark.rule("R2-25")
def test_the_shown_receiver_takes_what_is_sent_and_nothing_else(verify: Any) -> None:
    now = datetime.now(UTC)
    message = sent(now, secret=KEY)
    assert verify(KEY, message.headers, message.body)
    assert not verify(OTHER, message.headers, message.body)
    assert not verify(KEY, message.headers, message.body + b" ")
    assert not verify(KEY, {**message.headers, "webhook-id": "msg_2"}, message.body)
    old = sent(now - timedelta(hours=1), secret=KEY)
    assert not verify(KEY, old.headers, old.body)


@pytest.mark.rule("R2-25")
def test_receivers_with_either_key_take_it_while_keys_are_changed(verify: Any) -> None:
    message = sent(datetime.now(UTC), secret=KEY, previous=OTHER)
    assert verify(KEY, message.headers, message.body)
    assert verify(OTHER, message.headers, message.body)
