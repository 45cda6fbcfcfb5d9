"""From a query to an answer: the verbs of the command line on views of the store."""

from __future__ import annotations

import platform
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as NotBase64
from collections.abc import Callable
from dataclasses import replace
from threading import Lock
from typing import NamedTuple

from msgspec import structs

from fleetform import __version__
from fleetform.app.accepted import accepted_source
from fleetform.app.audit import audit
from fleetform.app.errors import AmbiguousError, BadValueError, DeniedError, NoAnswerError
from fleetform.app.explain import explain
from fleetform.app.get import find, findings
from fleetform.app.history import history, nothing_known, organizations_with
from fleetform.app.notifications import notifications
from fleetform.app.permitted import visible_to
from fleetform.app.plan import plan_answer
from fleetform.app.questions import find_plugin
from fleetform.app.rollout import Person, Rollouts
from fleetform.app.scope import Scope, scope_of
from fleetform.app.states import StateFilter
from fleetform.app.why import why
from fleetform.engine.check.roles import RIGHTS, Roles
from fleetform.loop.asking import Reply, RolloutRequest, Verb, tag_of
from fleetform.loop.viewing import View, Views
from fleetform.model.answers.access import RolesThere, WhoAmI
from fleetform.model.answers.base import AnswerRecord
from fleetform.model.answers.listing import Listing
from fleetform.model.answers.planning import RolloutList
from fleetform.model.answers.version import VersionAnswer
from fleetform.ports.access import SignedIn
from fleetform.ports.clock import Clock
from fleetform.ports.store import StoreReader
from fleetform.syntax.selectors import SelectorError, parse_selector
from fleetform.syntax.times import parse_time, time_text
from fleetform.web.queries import (
    AuditQuery,
    ExplainQuery,
    HistoryQuery,
    ListQuery,
    NoQuery,
    NotificationsQuery,
    RolloutBody,
    RolloutQuery,
    ScopeQuery,
    WhyQuery,
)


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


class Service:
    """Answers; several threads may ask at once. ask hands a request to the loop and returns its reply.

    store is for history and the audit log, and no one else's.
    """

    def __init__(self, views: Views, store: StoreReader, clock: Clock, ask: Callable[[RolloutRequest], Reply]) -> None:
        self._views, self._store, self._clock, self._ask = views, store, clock, ask
        self._reading = Lock()

    def ready(self) -> None:
        """UnavailableError before anything was accepted."""
        self._views.current(planned=False)

    def tag(self, asker: SignedIn) -> str:
        """The view that an answer would be made from now."""
        view = self._views.current()
        _visible(view, asker)
        return view.tag

    def visible(self, asker: SignedIn) -> frozenset[str] | None:
        """The organizations that somebody may know of; None: all."""
        return _visible(self._views.current(planned=False), asker)

    def list(self, asker: SignedIn, plural: str, query: ListQuery) -> Answered:
        view, start = self._page(query)
        fleet, scope = view.fleet, _scope(view, asker, query)
        if query.state and plural != "plugins":
            raise BadValueError("state is about plugins", "leave it out")
        found = find(fleet, scope, plural, _words(query.name), StateFilter(_words(query.state)))
        end = start + query.limit
        after = _cursor(view, end) if end < len(found.objects) else None
        page = replace(found, objects=found.objects[start:end])
        items = list(page.rows() if query.brief else page.whole())
        return Answered(Listing(items=items, diagnostics=findings(fleet, scope)), view.tag, after)

    def explain(self, asker: SignedIn, query: ExplainQuery) -> Answered:
        if (query.plugin is None) == (query.definition is None):
            raise BadValueError("name a plugin or a definition", "plugin=NAME, or definition=NAME with cluster=NAME")
        view = self._views.current(planned=False)
        plugin = find_plugin(view.fleet, _scope(view, asker, query), query.plugin, query.definition)
        return Answered(explain(view.fleet, plugin, query.option), view.tag)

    def why(self, asker: SignedIn, query: WhyQuery) -> Answered:
        view = self._views.current()
        scope = _scope(view, asker, query)
        states = StateFilter(_words(query.state))
        # Without a tag: how far away things are changes with the time that they are told at.
        return Answered(why(view.fleet, scope, query.plugin, states, self._clock.now()))

    def plan(self, asker: SignedIn, query: ScopeQuery) -> Answered:
        view = self._views.current()
        return Answered(plan_answer(view.fleet, _scope(view, asker, query)), view.tag)

    def history(self, asker: SignedIn, query: HistoryQuery) -> Answered:
        try:
            at = parse_time(query.at) if query.at is not None else self._clock.now()
        except ValueError as error:
            raise BadValueError(f"at: {query.at} is not a time", "write 2026-12-31T22:00:00Z") from error
        visible = self.visible(asker)
        with self._reading:
            organization = query.organization or self._organization_with(query.cluster, visible)
            if visible is not None and organization not in visible:
                raise nothing_known(organization, query.cluster, query.plugin)
            return Answered(history(self._store, organization, query.cluster, query.plugin, at))

    def rollout(self, asker: SignedIn, name: str, query: RolloutQuery) -> Answered:
        view = self._views.current()
        visible = _visible(view, asker)
        scope = scope_of(view.fleet, query.organization, query.organization is None, visible=visible)
        found = Rollouts(view.fleet, scope, Person(asker.who.user)).status(name)
        # Of the rollout alone: a request may ask that it is still as it was.
        return Answered(found, tag_of(found))

    def source(self, asker: SignedIn, _: NoQuery) -> Answered:
        view, files, source = self._views.accepted()
        roles = _roles(view, asker)
        visible_to(roles, asker.who)
        if roles.where("operate") is not None:
            # Files may say more than answers show.
            raise DeniedError(f"{asker.who.shown} may not read the files", "operators of all organizations may")
        return Answered(accepted_source(files, source.revision, view.fleet.state), view.tag)

    def audit(self, asker: SignedIn, query: AuditQuery) -> Answered:
        roles = _roles(self._views.current(planned=False), asker)
        visible_to(roles, asker.who)
        told = roles.where("operate")
        if told is not None and not told:
            raise DeniedError(f"{asker.who.shown} may not read the audit log", "operators may, of their organizations")
        with self._reading:
            log, last = audit(self._store, query.after, query.limit, told)
            more = bool(self._store.audit(last, 1))
        return Answered(log, after=str(last) if more else None)

    def notifications(self, asker: SignedIn, query: NotificationsQuery) -> Answered:
        visible, events = self.visible(asker), _words(query.event)
        with self._reading:
            found, more = notifications(self._store, query.organization, events, query.after, query.limit, visible)
        return Answered(found, after=found.items[-1].id if more else None)

    def who_am_i(self, asker: SignedIn, _: NoQuery) -> Answered:
        view = self._views.current(planned=False)
        roles, who = _roles(view, asker), asker.who
        there = sorted({*view.fleet.organizations, *(ref.name for ref in view.fleet.snapshot.organizations)})
        return Answered(
            WhoAmI(
                user=who.user,
                also=list(who.also),
                groups=list(who.groups),
                everywhere=[right for right in RIGHTS if roles.where(right) is None],
                organizations=[
                    RolesThere(
                        organization=each,
                        roles=sorted(roles.roles_in(each)),
                        rights=[right for right in RIGHTS if roles.may(right, each)],
                    )
                    for each in there
                    if roles.may("view", each)
                ],
                until=time_text(asker.until) if asker.until is not None else None,
            )
        )

    def version(self, _: NoQuery) -> Answered:
        return Answered(VersionAnswer(version=__version__, python=platform.python_version()))

    def request(
        self, asker: SignedIn, name: str, verb: Verb, body: RolloutBody, key: str, if_match: tuple[str, ...] = ()
    ) -> AnswerRecord:
        """What came of a request to a rollout: the rollout as it stands, or the problem."""
        said = {each: getattr(body, each) for each in RolloutBody.__struct_fields__}
        request = RolloutRequest(verb=verb, name=name, who=asker.who, key=key, if_match=if_match, **said)
        reply = self._ask(request)
        if reply.problem is not None:
            return reply.problem
        with self._reading:
            # Who asks for something sees what came of it.
            self._views.need(self._store.version())
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
            raise BadValueError("after is not a place in a list", "take it from the Link of the page before") from error
        view = self._views.kept(tag)
        if view is None or number < 0:
            raise ExpiredPageError("the fleet has changed since the first page", "list again from the start")
        return view, number

    def _organization_with(self, cluster: str, visible: frozenset[str] | None) -> str:
        """The only organization that has a cluster of that name; else the default one (S7)."""
        there = organizations_with(self._store, cluster)
        found = [each for each in there if visible is None or each in visible]
        if len(found) > 1:
            raise AmbiguousError(f"several organizations have a cluster {cluster}", found, "name the organization")
        return found[0] if found else "default"


def _roles(view: View, asker: SignedIn) -> Roles:
    return Roles(view.fleet.snapshot.organizations, asker.who)


def _visible(view: View, asker: SignedIn) -> frozenset[str] | None:
    return visible_to(_roles(view, asker), asker.who)


def _scope(view: View, asker: SignedIn, query: ScopeQuery) -> Scope:
    visible = _visible(view, asker)
    try:
        labels = parse_selector(query.selector)
    except SelectorError as error:
        raise BadValueError(f"selector: {error.message}", "write a=b,c!=d") from error
    everywhere = query.organization is None
    return scope_of(view.fleet, query.organization, everywhere, query.cluster, labels, visible=visible)


def _words(text: str) -> tuple[str, ...]:
    return tuple(word for word in (each.strip() for each in text.split(",")) if word)


def _cursor(view: View, start: int) -> str:
    return urlsafe_b64encode(f"{view.tag}/{start}".encode()).decode()
