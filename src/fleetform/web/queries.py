"""What can be asked: the parameters of an address and the body of a request, as records."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

Limit = Annotated[int, Meta(ge=1, le=1000)]


class Query(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """What an address takes."""


class ScopeQuery(Query, frozen=True, kw_only=True):
    """Which part of the fleet, as -n, -c and -l of the command line; without an organization, all of them."""

    organization: str | None = None
    cluster: str | None = None
    selector: str = ""


class ListQuery(ScopeQuery, frozen=True, kw_only=True):
    """name and state are lists with commas; brief has plugins with what tables show; after is where a page begins."""

    name: str = ""
    state: str = ""
    brief: bool = False
    limit: Limit = 500
    after: str = ""


class ExplainQuery(ScopeQuery, frozen=True, kw_only=True):
    """plugin is the name of a plugin, or of a preset with cluster; or else definition with cluster."""

    plugin: str | None = None
    definition: str | None = None
    option: str | None = None


class WhyQuery(ScopeQuery, frozen=True, kw_only=True):
    """plugin is a plugin's name, its preset's or its definition's; state is a list with commas."""

    plugin: str | None = None
    state: str = ""


class HistoryQuery(Query, frozen=True, kw_only=True):
    """at is a time; without it, now."""

    cluster: str
    organization: str | None = None
    plugin: str | None = None
    at: str | None = None


class AuditQuery(Query, frozen=True, kw_only=True):
    """after is the number of the entry before the first one."""

    after: Annotated[int, Meta(ge=0)] = 0
    limit: Limit = 500


class NotificationsQuery(Query, frozen=True, kw_only=True):
    """event is a list with commas; after is the id of the last one of the page before."""

    organization: str | None = None
    event: str = ""
    after: str = ""
    limit: Limit = 500


class RolloutQuery(Query, frozen=True, kw_only=True):
    """In which organization; without one, in all of them."""

    organization: str | None = None


class NoQuery(Query, frozen=True, kw_only=True):
    """Nothing."""


class RolloutBody(RolloutQuery, frozen=True, kw_only=True):
    """What a request says beside its verb. stage and change belong to approve, to to rollback; emergency, supersede and
    expires to start. behalf is somebody else in whose name an operator asks; dryRun stores nothing."""

    reason: str = ""
    stage: str = ""
    change: str | None = None
    to: str | None = None
    emergency: bool = False
    supersede: bool = False
    expires: str = "24h"
    behalf: Annotated[str, Meta(pattern=r"^[^\s<>]{1,200}$")] | None = None
    dry_run: bool = False
