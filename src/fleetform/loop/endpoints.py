"""Endpoints: where an organization wants to be told of what, as its files say now."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

import msgspec
from msgspec import Struct

from fleetform.app.fleet import Fleet
from fleetform.app.reading.secrets import secret_named
from fleetform.model.kinds.fleet import Notification as Wish
from fleetform.model.objects import Ref
from fleetform.ports.notify import Endpoint
from fleetform.ports.store import StoreReader

_DISABLED = "DisabledEndpoint"


class Wanted(NamedTuple):
    """An endpoint by its id, and the wish that it is. Another wish, in whatever field, is another endpoint."""

    id: str
    wish: Wish

    def wants(self, event: str) -> bool:
        return self.wish.events is None or event in self.wish.events


class Disabled(Struct, frozen=True):
    """Since when nobody is there any more; it stays so until the wish is another."""

    at: datetime
    reason: str


def endpoints_of(fleet: Fleet, organization: str) -> Iterator[Wanted]:
    found = fleet.snapshot.organizations.get(Ref("Organization", organization, organization))
    for wish in (found.spec.notifications if found is not None else None) or []:
        if wish.webhook is not None or wish.slack is not None:
            yield Wanted(hashlib.sha256(msgspec.json.encode(wish, order="sorted")).hexdigest()[:12], wish)


def endpoint(fleet: Fleet, organization: str, id_: str) -> Endpoint | str | None:
    """An endpoint with its secrets; None if it is no longer wanted, a text if something of it is missing."""
    wish = next((each.wish for each in endpoints_of(fleet, organization) if each.id == id_), None)
    if wish is None:
        return None
    target = wish.webhook or wish.slack
    ref = target.secret_ref if target is not None else None
    secrets: dict[str, str] = {}
    if ref is not None:
        found = secret_named(fleet.snapshot.others.values(), organization, ref.name)
        if found is None:
            return f"there is no Secret {ref.name} in the input"
        secrets = found
        if ref.key is not None:
            secrets = {"secret" if wish.webhook is not None else "token": secrets.get(ref.key, "")}
    kept = tuple(sorted(secrets.items()))
    if wish.webhook is not None:
        if ref is not None and not secrets.get("secret"):
            return f"the Secret {ref.name} has no key `{ref.key or 'secret'}`"
        return Endpoint(id_, organization, "webhook", wish.webhook.url, secrets=kept)
    channel = wish.slack.channel if wish.slack is not None else None
    if not secrets.get("url") and not (secrets.get("token") and channel):
        return "Slack needs a Secret with `url`, or one with `token` beside a channel"
    return Endpoint(id_, organization, "slack", channel=channel or "", secrets=kept)


def disabled_ref(organization: str, id_: str) -> Ref:
    return Ref(_DISABLED, organization, id_)


def is_disabled(store: StoreReader, organization: str, id_: str) -> bool:
    return store.get(disabled_ref(organization, id_)) is not None
