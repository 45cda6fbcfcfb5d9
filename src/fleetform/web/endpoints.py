"""Which addresses there are, with what they take and what they answer. The OpenAPI document is made from the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple, get_args

from fleetform.loop.asking import Verb
from fleetform.model.answers.access import AuditLog, WhoAmI
from fleetform.model.answers.base import AnswerRecord
from fleetform.model.answers.explanation import Explanation
from fleetform.model.answers.history import History
from fleetform.model.answers.listing import LISTED
from fleetform.model.answers.notifications import NotificationList
from fleetform.model.answers.planning import PlanAnswer, RolloutAnswer, RolloutList, Why
from fleetform.model.answers.source import AcceptedSource
from fleetform.model.answers.version import VersionAnswer
from fleetform.ports.access import SignedIn
from fleetform.web.queries import (
    AuditQuery,
    ExplainQuery,
    HistoryQuery,
    ListQuery,
    NoQuery,
    NotificationsQuery,
    Query,
    RolloutBody,
    RolloutQuery,
    ScopeQuery,
    WhyQuery,
)
from fleetform.web.service import Answered, Service

BASE = "/api/v1"
DOCUMENT = f"{BASE}/openapi.json"
# What a supervisor asks, who has no token; nothing of the fleet is told there.
PROBES = ("/healthz", "/readyz")
# How people sign in (RFC 9728), who have no token yet; there only if they can.
SIGN_IN = "/.well-known/oauth-protected-resource"
# What changes, as server-sent events.
EVENTS = f"{BASE}/events"


class Read(NamedTuple):
    """An address to be read. answer gets what stands in the path by name; items are what a listing holds.

    of_view: the answer is made from a view of the fleet, and is the same while that is.
    """

    path: str
    summary: str
    query: type[Query]
    record: type[AnswerRecord] | None
    answer: Callable[[Service, SignedIn, Mapping[str, str], Any], Answered]
    items: tuple[type[AnswerRecord], ...] = ()
    of_view: bool = True


class Request(NamedTuple):
    """An address to which a request is sent."""

    path: str
    summary: str
    verb: Verb
    body: type[Query] = RolloutBody
    records: tuple[type[AnswerRecord], ...] = (RolloutAnswer, RolloutList)


def _list(plural: str, service: Service, asker: SignedIn, _: Mapping[str, str], query: ListQuery) -> Answered:
    return service.list(asker, plural, query)


READS = (
    *(
        Read(f"{BASE}/{plural}", f"The {plural} with what follows.", ListQuery, None, partial(_list, plural), items)
        for plural, items in sorted(LISTED.items())
    ),
    Read(
        f"{BASE}/rollouts/{{name}}",
        "One rollout, by its name or its preset's.",
        RolloutQuery,
        RolloutAnswer,
        lambda service, asker, path, query: service.rollout(asker, path["name"], query),
        of_view=False,
    ),
    Read(
        f"{BASE}/explain",
        "What one plugin gets, and why.",
        ExplainQuery,
        Explanation,
        lambda service, asker, _, query: service.explain(asker, query),
    ),
    Read(
        f"{BASE}/why",
        "Why plugins are not what is wanted, until when, and what to do.",
        WhyQuery,
        Why,
        lambda service, asker, _, query: service.why(asker, query),
        of_view=False,
    ),
    Read(
        f"{BASE}/plan",
        "What starts now, what waits and for what.",
        ScopeQuery,
        PlanAnswer,
        lambda service, asker, _, query: service.plan(asker, query),
    ),
    Read(
        f"{BASE}/history",
        "What a cluster ran at a time, and what happened there before.",
        HistoryQuery,
        History,
        lambda service, asker, _, query: service.history(asker, query),
        of_view=False,
    ),
    Read(
        f"{BASE}/source",
        "The files that were accepted, without values of Secrets, and what is known; for operators of everything.",
        NoQuery,
        AcceptedSource,
        lambda service, asker, _, query: service.source(asker, query),
    ),
    Read(
        f"{BASE}/audit",
        "Who did what, and who was refused, oldest first; of the organizations that somebody operates.",
        AuditQuery,
        AuditLog,
        lambda service, asker, _, query: service.audit(asker, query),
        of_view=False,
    ),
    Read(
        f"{BASE}/notifications",
        "What people were told, the latest first.",
        NotificationsQuery,
        NotificationList,
        lambda service, asker, _, query: service.notifications(asker, query),
        of_view=False,
    ),
    Read(
        f"{BASE}/whoami",
        "Who a token belongs to, and what that allows.",
        NoQuery,
        WhoAmI,
        lambda service, asker, _, query: service.who_am_i(asker, query),
        of_view=False,
    ),
    Read(
        "/version",
        "Fleetform's version.",
        NoQuery,
        VersionAnswer,
        lambda service, asker, _, query: service.version(query),
        of_view=False,
    ),
)

_SUMMARIES: dict[Verb, str] = {
    "approve": "Approve a stage of a change.",
    "pause": "Let nothing new start.",
    "resume": "Resume a rollout that was paused.",
    "abort": "Abort a rollout where it is.",
    "retry": "Try again what failed, was aborted or was rolled back.",
    "rollback": "Return every cluster that a rollout changed to what was healthy before.",
    "start": "Speed up a change: as an emergency, or in place of the one that runs.",
}
REQUESTS = tuple(Request(f"{BASE}/rollouts/{{name}}/{verb}", _SUMMARIES[verb], verb) for verb in get_args(Verb))
