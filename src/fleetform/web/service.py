"""From a query to an answer: the verbs of the command line on views of the store."""

from __future__ import annotations

import platform
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as NotBase64
from collections.abc import Callable
from dataclasses import dataclass, replace
from threading import Lock
from typing import NamedTuple

from msgspec import structs

from fleetform import __version__
from fleetform.app.errors import AmbiguousError, NoAnswerError
from fleetform.app.explain import explain
from fleetform.app.fleet import Fleet
from fleetform.app.get import find, findings
from fleetform.app.history import history, organizations_with
from fleetform.app.plan import plan_answer
from fleetform.app.questions import find_plugin
from fleetform.app.rollout import Person, Rollouts
from fleetform.app.scope import Scope, scope_of
from fleetform.app.states import StateFilter
from fleetform.app.why import why
from fleetform.loop.asking import Reply, RolloutRequest, Verb
from fleetform.loop.viewing import View, Views
from fleetform.model.answers.base import AnswerRecord
from fleetform.model.answers.listing import Listing
from fleetform.model.answers.planning import RolloutList
from fleetform.model.answers.version import VersionAnswer
from fleetform.ports.clock import Clock
from fleetform.ports.store import StoreReader
from fleetform.syntax.selectors import SelectorError, parse_selector
from fleetform.syntax.times import parse_time
from fleetform.web.queries import (
    ExplainQuery,
    HistoryQuery,
    ListQuery,
    NoQuery,
    RolloutBody,
    RolloutQuery,
    ScopeQuery,
    WhyQuery,
)


class BadQueryError(NoAnswerError):
    """A parameter cannot be read."""

    code = "bad-value"
    status = 400


class ExpiredPageError(NoAnswerError):
    """The pages of a list are no longer there."""

    code = "expired"
    status = 410
    exit_code = 4


class Answered(NamedTuple):
    """An answer. tag names the view that it was made from; after is where the next page begins."""

    answer: AnswerRecord
    tag: str | None = None
    after: str | None = None


@dataclass(frozen=True)
class Asker:
    """Who asks."""

    user: str
    groups: tuple[str, ...] = ()


class Service:
    """Answers; several threads may ask at once. ask hands a request to the loop and returns its reply.

    store is for history, and no one else's.
    """

    def __init__(
        self, views: Views, store: StoreReader, clock: Clock, ask: Callable[[RolloutRequest], Reply], asker: Asker
    ) -> None:
        self._views, self._store, self._clock, self._ask, self._asker = views, store, clock, ask, asker
        self._reading = Lock()

    def tag(self) -> str:
        """The view that an answer would be made from now."""
        return self._views.current().tag

    def list(self, plural: str, query: ListQuery) -> Answered:
        view, start = self._page(query)
        fleet, scope = view.fleet, _scope(view.fleet, query)
        if query.state and plural != "plugins":
            raise BadQueryError("state is about plugins", "leave it out")
        found = find(fleet, scope, plural, _words(query.name), StateFilter(_words(query.state)))
        end = start + query.limit
        after = _cursor(view, end) if end < len(found.objects) else None
        page = replace(found, objects=found.objects[start:end])
        items = list(page.rows() if query.brief else page.whole())
        return Answered(Listing(items=items, diagnostics=findings(fleet, scope)), view.tag, after)

    def explain(self, query: ExplainQuery) -> Answered:
        if (query.plugin is None) == (query.definition is None):
            raise BadQueryError("name a plugin or a definition", "plugin=NAME, or definition=NAME with cluster=NAME")
        view = self._views.current()
        plugin = find_plugin(view.fleet, _scope(view.fleet, query), query.plugin, query.definition)
        return Answered(explain(view.fleet, plugin, query.option), view.tag)

    def why(self, query: WhyQuery) -> Answered:
        view = self._views.current()
        scope = _scope(view.fleet, query)
        return Answered(why(view.fleet, scope, query.plugin, StateFilter(_words(query.state))), view.tag)

    def plan(self, query: ScopeQuery) -> Answered:
        view = self._views.current()
        return Answered(plan_answer(view.fleet, _scope(view.fleet, query)), view.tag)

    def history(self, query: HistoryQuery) -> Answered:
        try:
            at = parse_time(query.at) if query.at is not None else self._clock.now()
        except ValueError as error:
            raise BadQueryError(f"at: {query.at} is not a time", "write 2026-12-31T22:00:00Z") from error
        with self._reading:
            organization = query.organization or self._organization_with(query.cluster)
            return Answered(history(self._store, organization, query.cluster, query.plugin, at))

    def rollout(self, name: str, query: RolloutQuery) -> Answered:
        view = self._views.current()
        scope = scope_of(view.fleet, query.organization, query.organization is None)
        return Answered(Rollouts(view.fleet, scope, Person(self._asker.user)).status(name), view.tag)

    def version(self, _: NoQuery) -> Answered:
        return Answered(VersionAnswer(version=__version__, python=platform.python_version()))

    def request(self, name: str, verb: Verb, body: RolloutBody, key: str) -> AnswerRecord:
        """What came of a request to a rollout: the rollout as it stands, or the problem."""
        said = {each: getattr(body, each) for each in RolloutBody.__struct_fields__}
        asker = self._asker
        request = RolloutRequest(verb=verb, name=name, user=asker.user, groups=list(asker.groups), key=key, **said)
        reply = self._ask(request)
        if reply.problem is not None:
            return reply.problem
        if reply.rollout is None:
            return RolloutList(items=[], message=reply.message, diagnostics=[])
        return structs.replace(reply.rollout, message=reply.message)

    def _page(self, query: ListQuery) -> tuple[View, int]:
        """The view that a list shows, and where in it the page begins."""
        if not query.after:
            return self._views.current(), 0
        try:
            tag, _, start = urlsafe_b64decode(query.after.encode()).decode().partition("/")
            number = int(start)
        except (NotBase64, ValueError) as error:
            raise BadQueryError("after is not a place in a list", "take it from the Link of the page before") from error
        view = self._views.kept(tag)
        if view is None or number < 0:
            raise ExpiredPageError("the fleet has changed since the first page", "list again from the start")
        return view, number

    def _organization_with(self, cluster: str) -> str:
        """The only organization that has a cluster of that name; else the default one (S7)."""
        found = organizations_with(self._store, cluster)
        if len(found) > 1:
            raise AmbiguousError(f"several organizations have a cluster {cluster}", found, "name the organization")
        return found[0] if found else "default"


def _scope(fleet: Fleet, query: ScopeQuery) -> Scope:
    try:
        labels = parse_selector(query.selector)
    except SelectorError as error:
        raise BadQueryError(f"selector: {error.message}", "write a=b,c!=d") from error
    return scope_of(fleet, query.organization, query.organization is None, query.cluster, labels)


def _words(text: str) -> tuple[str, ...]:
    return tuple(word for word in (each.strip() for each in text.split(",")) if word)


def _cursor(view: View, start: int) -> str:
    return urlsafe_b64encode(f"{view.tag}/{start}".encode()).decode()
