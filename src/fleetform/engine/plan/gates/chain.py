"""The chain: which gates are judged for whom, in order. Every caller comes through here."""

from __future__ import annotations

from datetime import datetime

from fleetform.engine.plan.gates.approval import approval
from fleetform.engine.plan.gates.budget import budget
from fleetform.engine.plan.gates.dependency import dependency
from fleetform.engine.plan.gates.found_by_decide import is_wanted, remembered_block, render_failed, validity
from fleetform.engine.plan.gates.freeze import freeze
from fleetform.engine.plan.gates.in_flight import in_flight
from fleetform.engine.plan.gates.notice import notice
from fleetform.engine.plan.gates.queue import queue
from fleetform.engine.plan.gates.rejected import rejected
from fleetform.engine.plan.gates.soak import soak
from fleetform.engine.plan.gates.stage import stage
from fleetform.engine.plan.gates.suspended import suspended
from fleetform.engine.plan.gates.unreachable import too_many_unreachable, unreachable
from fleetform.engine.plan.gates.veto import veto
from fleetform.engine.plan.gates.wait import wait
from fleetform.engine.plan.gates.window import window
from fleetform.engine.plan.records import Candidate, Reason
from fleetform.engine.plan.view import StageView, View
from fleetform.engine.plan.windows.calendar import Calendar, Today
from fleetform.model.state import PluginState

MEMBER_GATES = (suspended, budget)
FREE_GATES = (suspended, rejected)
QUEUED_GATES = (suspended, rejected, queue)
STAGE_GATES = (stage, soak, wait, approval, too_many_unreachable)
CLUSTER_GATES = (veto, unreachable, in_flight, dependency)


def member_reasons(view: View) -> tuple[Reason, ...]:
    """What holds all members of a rollout."""
    return _all([gate(view) for gate in MEMBER_GATES])


def free_reasons(view: View) -> tuple[Reason, ...]:
    """What holds plugins that start beside a rollout."""
    return _all([gate(view) for gate in FREE_GATES])


def queued_reasons(view: View) -> tuple[Reason, ...]:
    """What holds plugins that want what comes after the rollout that runs."""
    return _all([gate(view) for gate in QUEUED_GATES])


def stage_reasons(view: View, here: StageView) -> tuple[Reason, ...]:
    return _all([gate(view, here) for gate in STAGE_GATES])


def plugin_reasons(view: View, candidate: Candidate, progress: PluginState, target: str | None) -> tuple[Reason, ...]:
    """What holds one plugin on its own cluster. A first install passes windows, not freezes (S46).

    Validity and notice are those of what is wanted: what a rollout that runs brings instead is not judged by them (B8).
    """
    if candidate.is_plain and is_plain(progress) and candidate.cluster.key not in view.busy:
        # Nothing is particular about most plugins but the time: those of one calendar share one answer.
        return calendar_reasons(view, candidate, progress.admitted is None)
    wanted = is_wanted(candidate, target)
    found: list[Reason | None] = [*validity(candidate, view.now)] if wanted else []
    found += [None if wanted else remembered_block(candidate, progress, target, view.under_way)]
    found += [render_failed(candidate, progress, target)]
    found += [gate(view, candidate) for gate in CLUSTER_GATES]
    found += [notice(view, candidate, progress) if wanted else None]
    return (*_all(found), *calendar_reasons(view, candidate, progress.admitted is None))


def is_plain(progress: PluginState) -> bool:
    """Whether nothing that is stored of a plugin holds it."""
    return progress.render_failed is None and (progress.enrolment is None or not progress.enrolment.blocked)


def calendar_reasons(view: View, candidate: Candidate, first_install: bool) -> tuple[Reason, ...]:
    calendar = candidate.calendar
    key = (id(calendar), first_install)
    known = view.verdicts.by_calendar.get(key)
    if known is not None:
        return known
    today = view.almanac.today(calendar, view.now)
    if spreads(view, today, calendar, first_install):
        # Those that start at one time share their reasons.
        starts = spread_start(view, today, candidate.key[1])
        return view.verdicts.spread(id(calendar), starts, lambda: _of_calendar(view, today, calendar, starts))
    reasons = shared_reasons(view, today, calendar, first_install)
    view.verdicts.by_calendar[key] = reasons
    return reasons


def shared_reasons(view: View, today: Today, calendar: Calendar, first_install: bool) -> tuple[Reason, ...]:
    """What a calendar says to all who have it; where a window spreads starts, each may have to wait longer."""
    return _of_calendar(view, today, calendar, None if _passes_windows(view, calendar, first_install) else view.now)


def spreads(view: View, today: Today, calendar: Calendar, first_install: bool) -> bool:
    """Whether a window that is open spreads starts now."""
    return not _passes_windows(view, calendar, first_install) and today.is_open and view.now < today.spread_until


def spread_start(view: View, today: Today, cluster: str) -> datetime:
    return view.almanac.starts_at(today, f"{cluster}/{view.change.change_id}", view.now)


def _passes_windows(view: View, calendar: Calendar, first_install: bool) -> bool:
    return not calendar.allow or first_install or view.emergency


def _of_calendar(view: View, today: Today, calendar: Calendar, starts: datetime | None) -> tuple[Reason, ...]:
    """starts is when the plugin may start where windows count for it; None: they do not."""
    shut = window(today, calendar, starts, view.now) if starts is not None else None
    return _all([freeze(today, view.emergency), shut])


def way_back_reasons(view: View, candidate: Candidate) -> tuple[Reason, ...]:
    """What holds a rollback: neither time nor policy, but a veto, silence, another change there, a hard freeze."""
    busy = view.busy.get(candidate.cluster.key)
    found = [veto(view, candidate), unreachable(view, candidate)]
    found.append(in_flight(view, candidate) if busy != candidate.key else None)
    found.append(freeze(view.almanac.today(candidate.calendar, view.now), passes_soft=True))
    return _all(found)


def _all(found: list[Reason | None]) -> tuple[Reason, ...]:
    return tuple([each for each in found if each is not None])
