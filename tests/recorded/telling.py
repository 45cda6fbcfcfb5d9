"""Everything that Fleetform answers about a fleet, as lines: what verbs print as JSON, and what they refuse."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from random import Random
from typing import Any

import msgspec

from fleetform.app import get as getting
from fleetform.app.answering.references import reported
from fleetform.app.convert import convert, left_out
from fleetform.app.diff import diff
from fleetform.app.errors import NoAnswerError
from fleetform.app.explain import explain
from fleetform.app.explain_everywhere import explain_everywhere
from fleetform.app.fleet import Fleet
from fleetform.app.plan import plan_answer
from fleetform.app.scope import Scope
from fleetform.app.simulate import simulate
from fleetform.app.stored_state.writing import state_document
from fleetform.app.validate import validate
from fleetform.app.why import reaching_why, why
from fleetform.engine.plan.scenario import Scenario
from recorded.pages import Page, edited, opened

_EVERYWHERE = Scope(None)
_MOST_EXPLAINED = 12


def told_of_an_edit(page: Page, seed: int) -> Iterator[str]:
    """What is said of a page's fleet after some edits, and of the edits; in every other play with all of it running."""
    dice = Random(f"{page.name} {seed}")
    before = opened(page.files)
    if seed % 2:
        running = simulate(before, _EVERYWHERE, Scenario()).state
        before = opened(page.files, running)
        yield from told_of(opened(edited(page.files, dice), running))
    after = opened(edited(page.files, dice), before.state)
    yield from told_of(after)
    yield from told_of_change(before, after)


def told_of(fleet: Fleet) -> Iterator[str]:
    """What the verbs say of one fleet."""
    errors = fleet.findings.errors
    yield from _said("validate", partial(validate, fleet))
    for plural in getting.kinds():
        yield from _said(f"get {plural}", partial(_listed, fleet, plural))
        if errors:
            reaching = partial(getting.reaching_listing, fleet, errors, _EVERYWHERE, plural)
            yield from _said(f"errors that reach {plural}", reaching)
            yield from _said(f"untouched {plural}", partial(_untouched, fleet, plural))
    plugins = _EVERYWHERE.plugins(fleet)
    for plugin in plugins[:_MOST_EXPLAINED]:
        yield from _said(f"explain {plugin.name}", partial(explain, fleet, plugin))
    for owner in sorted({each.target.owner.ref.name for each in plugins})[:3]:
        of_owner = [each for each in plugins if each.target.owner.ref.name == owner]
        for option in sorted({name for each in of_owner for name in each.options})[:4]:
            asking = partial(explain_everywhere, fleet, of_owner, owner, option)
            yield from _said(f"explain {owner} {option}", asking)
    yield from _said("plan", partial(plan_answer, fleet, _EVERYWHERE))
    yield from _said("why", partial(why, fleet, _EVERYWHERE))
    if errors:
        yield from _said("errors that reach why", partial(reaching_why, fleet, errors, _EVERYWHERE))
    yield from _said("simulate", partial(_simulated, fleet))
    yield from _said("convert", partial(_converted, fleet))
    yield from _said("not converted", partial(left_out, fleet))


def told_of_change(before: Fleet, after: Fleet) -> Iterator[str]:
    yield from _said("diff", partial(diff, before, after, _EVERYWHERE))
    yield from _said("simulate", partial(_simulated, after, before))


def _listed(fleet: Fleet, plural: str) -> list[Any]:
    found = getting.find(fleet, _EVERYWHERE, plural)
    return [list(found.whole()), list(found.rows())]


def _untouched(fleet: Fleet, plural: str) -> list[Any]:
    found = getting.find(fleet, _EVERYWHERE, plural)
    return list(getting.untouched(fleet, fleet.findings.errors, found).whole())


def _simulated(fleet: Fleet, before: Fleet | None = None) -> list[Any]:
    answer, state = simulate(fleet, _EVERYWHERE, Scenario(), before)
    return [answer, state_document(state)]


def _converted(fleet: Fleet) -> list[Any]:
    files, losses = convert(fleet)
    return [{each.path: each.tree for each in files}, reported(losses, fleet.input.locator)]


def _said(question: str, ask: Callable[[], Any]) -> Iterator[str]:
    try:
        answer = ask()
    except NoAnswerError as error:
        yield f"{question}: {type(error).__name__} {error.message} ({error.hint})"
        return
    text = msgspec.json.format(msgspec.json.encode(answer, order="sorted"), indent=1).decode()
    yield f"{question}:"
    yield from text.split("\n")
