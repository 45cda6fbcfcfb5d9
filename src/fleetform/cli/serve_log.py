"""What `serve` says while it runs: a line for each kind of thing that happened, and not for each cluster."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from fleetform.app.answering.anywhere import on_its_cluster
from fleetform.cli.options import Flags
from fleetform.cli.text import Painter, count, place_text
from fleetform.loop.accepting import AcceptedChange, Refusal
from fleetform.loop.caring import Care
from fleetform.loop.control import PassReport
from fleetform.loop.records import DeliveryRecord
from fleetform.model.objects import Ref
from fleetform.model.results.decisions import PluginKey
from fleetform.model.state import Trouble
from fleetform.outside.log import Level, Log
from fleetform.ports.store import Event, StoreError
from fleetform.syntax.alike import alike, told_as_one

# Of one kind of event in a pass this many clusters are told by name.
_MOST_NAMED = 5
_MOST_FINDINGS = 10
_COLORS = {"Healthy": "green", "Failed": "red", "RolledBack": "yellow", "RenderFailed": "red", "Drifted": "yellow"}
_LEVELS: dict[str, Level] = {"Failed": "error", "RenderFailed": "error", "RolledBack": "warning", "Drifted": "warning"}


class ServeLog:
    """Tells what passes did. With -q, errors alone.

    organization is whose fleet it is where each has a plane of its own: an operator's, which takes objects, not files.
    """

    def __init__(self, flags: Flags, log: Log, organization: str = "") -> None:
        self._quiet, self._paint, self.log = flags.quiet, Painter(flags.color), log
        self._organization, self._input = organization, "objects" if organization else "files"
        self._refusal: Refusal | None = None
        self._unavailable: set[str] = set()
        self._deliveries: Mapping[PluginKey, DeliveryRecord] = {}
        self._undelivered: set[tuple[str, str, str]] = set()
        self._silent: Mapping[Ref, str] = {}

    def say(self, text: str) -> None:
        """Prose about the process itself."""
        if not self._quiet:
            self.log.write("info", text)

    def told(self, report: PassReport) -> None:
        before, self._refusal = self._refusal, report.refusal
        if report.refusal is not None and (before is None or _words(report.refusal) != _words(before)):
            self._refused(report.at, report.refusal, is_first=report.plan is None)
        if report.accepted is not None:
            self._accepted(report.at, report.accepted)
        elif before is not None and report.refusal is None:
            self._line(report.at, "info", f"the {self._input} are as they were last accepted again", event="Accepted")
        for each in _folded([each for each in report.events if each.event != "NotRendered"]):
            self._happened(report.at, each)
        self._unrendered(report)
        self._heard(report)
        if report.deliveries is not self._deliveries:
            self._delivered(report)

    def _accepted(self, at: datetime, change: AcceptedChange) -> None:
        parts = {"added": change.added, "changed": change.changed, "removed": change.removed}
        told = [f"{word} {_named(names)}" for word, names in parts.items() if names]
        if change.is_first:
            told = [count(change.objects, "object")]
        text = f"accepted the {self._input} as they are now: {'; '.join(told) or 'they say the same as before'}"
        numbers = {word: len(names) for word, names in parts.items()}
        self._line(at, "info", text, None, event="Accepted", objects=change.objects, **numbers)

    def _unrendered(self, report: PassReport) -> None:
        """What cannot be rendered for now, each reason once while it lasts."""
        by_reason: dict[str, list[PluginKey]] = defaultdict(list)
        for key, reason in report.unavailable.items():
            by_reason[reason].append(key)
        for reason in sorted(by_reason.keys() - self._unavailable):
            text = f"cannot render {count(len(by_reason[reason]), 'plugin')} yet: {reason}"
            fields = {"reason": reason, **_concerned(report, by_reason[reason])}
            self._line(report.at, "warning", text, "yellow", event="CannotRender", **fields)
        if report.plan is not None:
            self._unavailable = set(by_reason)

    def _heard(self, report: PassReport) -> None:
        """Clusters that no longer answer, a line for each cause, and those that do again."""
        before, self._silent = self._silent, report.silent
        by_cause: dict[str, dict[Ref, str]] = defaultdict(dict)
        for ref, because in report.silent.items():
            if ref not in before:
                by_cause[alike(because)][ref] = because
        for found in by_cause.values():
            told = told_as_one(found.values())
            text = f"{_clusters(found)} {'does' if len(found) == 1 else 'do'} not answer{f': {told}' if told else ''}"
            self._line(report.at, "warning", text, "yellow", event="Unreachable", reason=told, **_of_clusters(found))
        back = {ref: "" for ref in before if ref not in report.silent}
        if back:
            text = f"{_clusters(back)} {'answers' if len(back) == 1 else 'answer'} again"
            self._line(report.at, "info", text, None, event="Answers", **_of_clusters(back))

    def _delivered(self, report: PassReport) -> None:
        """What cannot be delivered, each reason once while it lasts."""
        failing: dict[tuple[str, str, str], dict[PluginKey, Trouble]] = defaultdict(dict)
        for key, record in report.deliveries.items():
            trouble = record.failing
            if trouble is not None:
                failing[trouble.of, trouble.where, alike(trouble.message)][key] = trouble
        for reason in sorted(failing.keys() - self._undelivered):
            found = failing[reason]
            trouble, message = next(iter(found.values())), told_as_one(each.message for each in found.values())
            number = count(len(found), "plugin")
            doing = f"deliver {number} to" if trouble.of == "delivery" else f"remove {number} from"
            again = "; it is tried again" if trouble.retry_at is not None else ""
            text = f"cannot {doing} {trouble.where}: {message}{again}"
            text += f": {trouble.hint}" if trouble.hint else ""
            fields = {"reason": message, "hint": trouble.hint, "where": trouble.where, **_concerned(report, found)}
            self._line(report.at, "error", text, "red", event="CannotDeliver", **fields)
        self._deliveries, self._undelivered = report.deliveries, set(failing)

    def failed(self, error: StoreError) -> None:
        self.error(error.message, error.hint)

    def error(self, message: str, hint: str = "") -> None:
        """Said even with -q."""
        if self.log.format == "json":
            self.log.write("error", message, hint=hint)
        else:
            self.log.write("error", f"error: {message}" + (f"\n  {hint}" if hint else ""))

    def said(self, line: str) -> None:
        self._line(datetime.now(UTC), "warning", line, "yellow", event="NotDelivered")

    def unwatched(self, interval: str, reason: str) -> None:
        self.say(f"no file events ({reason}): changes are seen within {interval}")

    def cared(self, care: Care) -> None:
        if care.differing:
            named = ", ".join("/".join(each) for each in care.differing[:_MOST_NAMED])
            text = f"{count(len(care.differing), 'plugin')} decided again come out differently: {named}"
            self._line(care.at, "error", text, "red", event="DecidedOtherwise")
            self._line(care.at, "error", "this is a bug; it goes on with what was decided again", "red")
        if care.render_changed:
            clusters = ", ".join(each[1] for each in care.render_changed[:_MOST_NAMED])
            number = count(len(care.render_changed), "plugin")
            text = f"{number} would be rendered differently now ({clusters}); nothing is changed"
            self._line(care.at, "warning", text, "yellow", event="RenderChanged")

    def outcome(self, report: PassReport) -> int:
        """The exit code of a run that ends by itself; what it could not do was said when it was met."""
        if report.refusal is not None and not report.refusal.empty:
            return 2
        if report.next_look is not None:
            self.say(f"next look at {report.next_look:%Y-%m-%d %H:%M:%S} UTC")
        undelivered = any(each.failing is not None for each in report.deliveries.values())
        return 4 if undelivered or report.unavailable else 0

    def _refused(self, at: datetime, refusal: Refusal, is_first: bool) -> None:
        stays = "nothing was accepted yet, so nothing is delivered" if is_first else "the fleet stays as it was"
        if refusal.partial:
            stays = "each stays as it was last accepted, and the others go on"
        text = f"{refusal.reason}; {stays}"
        level: Level = "warning" if refusal.empty else "error"
        shown = refusal.findings[:_MOST_FINDINGS]
        findings = []
        for each in shown:
            place = f"{place_text(each.place)}: " if each.place is not None else ""
            hint = f" ({each.hint})" if each.hint else ""
            findings.append(f"{each.severity}[{each.code}]: {place}{each.message}{hint}")
        more = len(refusal.findings) - len(shown)
        if more:
            findings.append(f"and {more:,} more: `fleetform validate` lists them")
        self._line(at, level, text, "yellow" if refusal.empty else "red", event="Refused", findings=findings)
        if self.log.format == "text" and not (self._quiet and level != "error"):
            for line in findings:
                self.log.write(level, f"  {line}")

    def _happened(self, at: datetime, folded: _Folded) -> None:
        first, clusters, reasons = folded
        event, definition = first.event, first.plugin.removesuffix(f"-{first.cluster}")
        names, reason = clusters[:_MOST_NAMED], told_as_one(reasons) if len(reasons) > 1 else first.reason
        more = f" and {len(clusters) - _MOST_NAMED:,} more" if len(clusters) > _MOST_NAMED else ""
        why = f"  {', '.join(each for each in (first.rollout, reason) if each)}"
        text = f"{event:<10} {definition} {first.version or ''} on {', '.join(names)}{more}{why.rstrip()}"
        self._line(
            at,
            _LEVELS.get(event, "info"),
            text,
            _COLORS.get(event),
            event=event,
            organization=first.organization,
            plugin=definition,
            version=first.version,
            rollout=first.rollout,
            changeId=first.change_id,
            reason=reason,
            clusters=len(clusters),
            names=names,
        )

    def _line(self, at: datetime, level: Level, text: str, color: str | None = None, **fields: object) -> None:
        if self._quiet and level != "error":
            return
        if self.log.format == "text":
            painted = self._paint(text, fg=color) if color is not None else text
            whose = f"{self._organization}: " if self._organization else ""
            self.log.write(level, f"{at:%a %H:%M:%S}  {whose}{painted}")
        else:
            if self._organization:
                fields["organization"] = self._organization
            self.log.write(level, " ".join(text.split()), at, **fields)


def _named(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMED:,} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more


def _clusters(found: Collection[Ref]) -> str:
    named = _named(sorted(each.name for each in found))
    return f"cluster {named}" if len(found) == 1 else f"{count(len(found), 'cluster')} ({named})"


def _of_clusters(found: Collection[Ref]) -> dict[str, object]:
    names = sorted(each.name for each in found)
    return {
        "organizations": sorted({each.organization for each in found})[:_MOST_NAMED],
        "clusters": len(names),
        "names": names[:_MOST_NAMED],
    }


def _concerned(report: PassReport, keys: Collection[PluginKey]) -> dict[str, object]:
    """What a line about plugins has in JSON: whose they are, where, and the changes that they are part of."""
    owners = report.plan.owners if report.plan is not None else ()
    asked = set(keys)
    changes = {each.change.change_id for each in owners if any(step.key in asked for step in each.steps)}
    return {
        "organizations": sorted({each[0] for each in keys})[:_MOST_NAMED],
        "changeIds": sorted(changes)[:_MOST_NAMED],
        "clusters": len(keys),
        "names": [each[1] for each in keys][:_MOST_NAMED],
    }


class _Folded(NamedTuple):
    """What happened alike on several clusters: the first of it, where, and why as it reads on any cluster."""

    first: Event
    clusters: list[str]
    reasons: list[str]


def _folded(events: Sequence[Event]) -> Iterator[_Folded]:
    grouped: dict[tuple[str, ...], _Folded] = {}
    for each in events:
        definition = each.plugin.removesuffix(f"-{each.cluster}")
        reason = on_its_cluster(each.reason, each.cluster)
        key = (each.organization, each.event, definition, each.version or "", each.rollout, alike(reason))
        folded = grouped.setdefault(key, _Folded(each, [], []))
        folded.clusters.append(each.cluster)
        folded.reasons.append(reason)
    yield from grouped.values()


def _words(refusal: Refusal) -> tuple[object, ...]:
    """What is said of it: files that are others and refused for the same reason are no news."""
    return refusal.reason, refusal.partial, refusal.findings
