"""A rollout on one screen: counts of each stage, and what clusters failed with or wait for, each cause once."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from fleetform.app.answering.changed_objects import changes_text
from fleetform.cli.text import Painter, count, cut, table
from fleetform.cli.waiting import tried_text
from fleetform.model.answers.planning import ObjectChange, RolloutAnswer, RolloutCause, RolloutStage
from fleetform.syntax.times import clock_text, parse_time

_STAGE_COLUMNS = ("STAGE", "PHASE", "CLUSTERS", "UPDATED", "HEALTHY", "FAILED", "UNREACHABLE", "WAITING", "APPROVALS")
_NAMED = 4
_COLORS = {"Failed": "red", "Blocked": "red", "InFlight": "blue", "Unreachable": "magenta", "Waiting": "yellow"}
_PHASES = {"Succeeded": "green", "Halted": "red", "Aborted": "red", "RollingBack": "yellow", "Paused": "yellow"}


def status_lines(
    item: RolloutAnswer, now: datetime, paint: Painter, width: int | None = None, height: int | None = None
) -> list[str]:
    """height is how many lines there is room for: stages that are done go first, then causes."""
    way = span_text(item.from_, item.to, item.changes)
    note = f" (last asked for by {item.note})" if item.note else ""
    phase = paint(item.phase, fg=_PHASES.get(item.phase, "blue"))
    lines = [f"{paint(item.name, bold=True)}  {item.preset} {way}   {phase}{note}", f"  change {item.change_id}"]
    times = [("first seen", item.created), ("started", item.started), ("ended", item.ended)]
    told = [f"{word} {clock_text(parse_time(time), now)}" for word, time in times if time is not None]
    lines.append("  " + " · ".join(told))
    if item.queued is not None:
        lines.append(f"  a newer change waits: {item.queued}")
    soaking = [
        f"  {each.name} soaks until {clock_text(parse_time(each.soak_until), now)}"
        for each in item.stages
        if each.soak_until is not None
    ]
    room = max(height - len(lines) - len(soaking) - 2, 4) if height is not None else None
    causes = item.causes if room is None else item.causes[: max(room // 2, 2)]
    stages, left_out = _fitting(item.stages, room - len(causes) if room is not None else None)
    if left_out:
        lines.append(f"  {count(left_out, 'stage')} more, done")
    lines += table(_STAGE_COLUMNS, [_stage_row(each) for each in stages], indent="  ", width=width)
    lines += soaking
    if width is not None:
        # Names with colours are printed as they are: only what is plain is cut.
        lines[1:] = [cut(line, width) for line in lines[1:]]
    lines += _cause_lines(causes, len(item.causes) - len(causes), now, paint, width)
    return lines


def span_text(before: str | None, after: str | None, changes: Sequence[ObjectChange]) -> str:
    """`1.3.2 → 1.4.0`; `1.4.0, values changed: replicas (PluginOverride more)` if the version stays."""
    if before and after and before == after:
        # An owner that is new is being installed: all that it is made of is new with it.
        is_new = any(each.change == "added" and each.kind in ("PluginPreset", "Plugin") for each in changes)
        return f"{after}, {changes_text(changes)}" if changes and not is_new else after
    return f"{before} → {after}" if before and after else after or before or ""


def _fitting(stages: Sequence[RolloutStage], room: int | None) -> tuple[Sequence[RolloutStage], int]:
    """The stages that there is room for; what is left out is done."""
    left_out = 0
    while room is not None and len(stages) > max(room, 2) and stages[0].done is not None:
        stages, left_out = stages[1:], left_out + 1
    return stages, left_out


def _stage_row(stage: RolloutStage) -> list[str]:
    clusters, consent = stage.clusters, stage.approvals
    numbers = (
        clusters.total,
        clusters.updated,
        clusters.healthy,
        clusters.failed,
        clusters.unreachable,
        clusters.waiting,
    )
    needed = f"{consent.have} of {consent.need}" if consent is not None else "-"
    return [stage.name, stage.phase, *(f"{number:,}" for number in numbers), needed]


def _cause_lines(
    causes: Sequence[RolloutCause], left_out: int, now: datetime, paint: Painter, width: int | None
) -> list[str]:
    rows = [(each.state, count(each.clusters, "cluster"), cause_text(each, now)) for each in causes]
    lines = table((), rows, indent="  ", width=width)
    painted = [paint(line, fg=_COLORS.get(each.state)) for line, each in zip(lines, causes, strict=True)]
    return [*painted, *([f"  and {count(left_out, 'cause')} more"] if left_out else [])]


def cause_text(cause: RolloutCause, now: datetime) -> str:
    gate = f"{cause.gate}: " if cause.gate is not None else ""
    # What failed waits for its next try, everything else for a gate to open.
    word = "next try" if cause.state == "Failed" else "until"
    due = parse_time(cause.until) if cause.until is not None else None
    until = "" if due is None else f", {word} {clock_text(due, now) if due > now else 'now'}"
    more = f" and {cause.clusters - _NAMED:,} more" if cause.clusters > _NAMED else ""
    tried = tried_text(cause.trouble, now) if cause.trouble is not None else ""
    return f"{gate}{cause.message}{until}{tried}  ({', '.join(cause.names[:_NAMED])}{more})"


def progress_text(item: RolloutAnswer) -> str:
    """How far it is in one line, for those who read lines: `qa 3 of 3 healthy · gold 1 of 4 healthy · Progressing`."""
    return " · ".join([*(_progress_of(each) for each in item.stages), item.phase])


def _progress_of(stage: RolloutStage) -> str:
    clusters = stage.clusters
    if stage.phase in ("RollingBack", "RolledBack"):
        return f"{stage.name} rolled back" + (f", {clusters.updated:,} left" if clusters.updated else "")
    failed = f", {clusters.failed:,} failed" if clusters.failed else ""
    return f"{stage.name} {clusters.healthy:,} of {clusters.total:,} healthy{failed}"
