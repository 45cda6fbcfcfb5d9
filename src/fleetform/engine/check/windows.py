"""Update windows: what cannot be read, never opens, or opens too seldom."""

from __future__ import annotations

from datetime import datetime

from fleetform.engine.check.references import lint_definition_name, lint_reference
from fleetform.engine.check.report import Report
from fleetform.engine.check.selectors import lint_selector
from fleetform.engine.check.times import lint_duration, lint_time, lint_zone, readable_time
from fleetform.engine.index.index import Index
from fleetform.engine.plan.windows.compile import compile_window
from fleetform.engine.plan.windows.openings import cron_text
from fleetform.engine.plan.windows.useless import is_rare, never_opens
from fleetform.model.kinds.lifecycle import UpdateWindowSpec
from fleetform.model.objects import Ref


def lint_window(report: Report, spec: UpdateWindowSpec, known: Index) -> None:
    lint_selector(report, spec.cluster_selector, known, "spec", "clusterSelector")
    for index, name in enumerate(spec.plugin_definition_names or []):
        lint_definition_name(report, name, known, "spec", "pluginDefinitionNames", index)
    written = len(report.found)
    _lint_form(report, spec)
    _lint_schedule(report, spec)
    _lint_dates(report, spec)
    lint_zone(report, spec.time_zone, "spec", "timeZone")
    for field, text in (("duration", spec.duration), ("noStartInLast", spec.no_start_in_last)):
        lint_duration(report, text, "spec", field)
    if len(report.found) == written and spec.type == "Allow":
        _lint_use(report, spec, known.snapshot.at)


def _lint_form(report: Report, spec: UpdateWindowSpec) -> None:
    """A schedule, dates, or days: exactly one of them, and whole."""
    forms = {
        "schedule": spec.schedule is not None,
        "from and to": spec.from_ is not None or spec.to is not None,
        "days and start": spec.days is not None or spec.start is not None,
    }
    given = [form for form, present in forms.items() if present]
    if len(given) != 1:
        message = "a window needs exactly one of schedule, from and to, days and start"
        report.error("exactly-one", message, "keep one of them", "spec")
    if ("schedule" in given or "days and start" in given) and spec.duration is None:
        report.error("missing-field", "the window needs the field duration", "add duration: 4h", "spec")
    if "days and start" in given and (not spec.days or spec.start is None):
        missing = "start" if spec.start is None else "days"
        report.error("missing-field", f"the window needs the field {missing}", f"add {missing}", "spec")


def _lint_schedule(report: Report, spec: UpdateWindowSpec) -> None:
    if spec.schedule is None:
        return
    try:
        cron_text(spec.schedule)
    except ValueError as error:
        hint = 'write minute, hour, day, month and weekday, as in "0 22 * * MON-THU"'
        report.error("bad-value", f"the schedule cannot be read: {error}", hint, "spec", "schedule")


def _lint_dates(report: Report, spec: UpdateWindowSpec) -> None:
    for field, text in (("from", spec.from_), ("to", spec.to)):
        lint_time(report, text, "spec", field)
    start, end = [readable_time(text) for text in (spec.from_, spec.to)]
    if start is not None and end is not None and start >= end:
        message = f"the window would end at {spec.to}, before it begins"
        report.error("bad-value", message, "swap from and to; the end is excluded", "spec", "to")


def _lint_use(report: Report, spec: UpdateWindowSpec, now: datetime) -> None:
    """A window that allows: can anything start in it, and often enough?"""
    window = compile_window(report.object.ref.name, spec).window
    name, field = window.name, "schedule" if spec.schedule is not None else "days" if spec.days is not None else "to"
    if window.schedule is not None and window.no_start_in_last >= window.duration:
        message = f"nothing can ever start in the window {name}: it lasts {spec.duration}, "
        message += f"and nothing starts in its last {spec.no_start_in_last or '0s'}"
        report.error("never-opens", message, "make it longer, or noStartInLast shorter", "spec", "duration")
    elif never_opens(window, now):
        over = readable_time(spec.to)
        why = f"it ended at {spec.to}" if over is not None and over <= now else "no time to come fits it"
        message = f"nothing can start in the window {name} any more: {why}"
        report.warn("never-opens", message, "give it other dates, or delete it and its mentions", "spec", field)
    elif is_rare(window, now):
        message = f"the window {name} stays closed for more than 7 days at a time: a change may wait that long"
        report.warn("rare-window", message, "let it open at least once a week, if that is not meant", "spec", field)


def lint_windows_named(report: Report, names: list[str] | None, known: Index, *path: str | int) -> None:
    """The windows that a preset or an organization names. One that is missing would leave every time open."""
    for index, name in enumerate(names or []):
        lint_reference(report, known, "UpdateWindow", name, *path, index, severity="error")
        window = known.snapshot.others.get(Ref("UpdateWindow", report.object.ref.organization, name))
        if window is not None and isinstance(window.spec, UpdateWindowSpec) and window.spec.type != "Allow":
            message = f"{name} is a freeze, which holds wherever its selectors match: naming it opens nothing"
            report.warn("no-effect", message, "name windows of type Allow", *path, index)
