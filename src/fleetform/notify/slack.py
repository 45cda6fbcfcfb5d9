"""Slack: a notification as blocks. A section has at most 3,000 characters, and a hook takes a message a second."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fleetform.model.answers.notifications import Cause, Notification

_LONGEST = 3000
_MARKS = {
    "UpdatePending": "⏳", "Blocked": "⛔", "ApprovalNeeded": "✋", "Countdown": "⏰", "Forced": "⚠️", "Started": "▶️",
    "Failed": "❌", "Halted": "🛑", "RolledBack": "↩️", "Finished": "✅",
}  # fmt: skip


def message_of(told: Notification, channel: str = "") -> dict[str, Any]:
    """What Slack takes: text for notifications on phones, and blocks."""
    blocks: list[dict[str, Any]] = [_section(text) for text in _sections(told)]
    about = [f"{told.organization}/{told.preset}", told.event, told.change_id[:11]]
    context = " · ".join(_escaped(each) for each in about if each)
    blocks.append({"type": "context", "elements": [{"type": "mrkdwn", "text": _cut(context)}]})
    found = {"text": _cut(_escaped(told.title)), "blocks": blocks}
    return {**found, "channel": channel} if channel else found


def _sections(told: Notification) -> Iterator[str]:
    mark = _MARKS.get(told.event, "")
    yield f"{mark} *{_escaped(told.title)}*".strip()
    lines = [f"• {_escaped(each.message)}: {_clusters(each)}" for each in told.causes]
    if not lines and told.clusters:
        lines = [_names(told.clusters, told.names)]
    if told.until is not None:
        lines.append(f"until {told.until}")
    if lines:
        yield "\n".join(lines)
    if told.do:
        yield f"`{_escaped(told.do)}`" if told.do.startswith(("fleetform ", "kubectl ")) else _escaped(told.do)


def _clusters(cause: Cause) -> str:
    return _names(cause.clusters, cause.names)


def _names(count: int, names: list[str]) -> str:
    more = f" and {count - len(names):,} more" if count > len(names) else ""
    return f"{_escaped(', '.join(names))}{more}"


def _section(text: str) -> dict[str, Any]:
    return {"type": "section", "text": {"type": "mrkdwn", "text": _cut(text)}}


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _escaped(text: str) -> str:
    """Slack's own characters stand for themselves: nobody's message may call a channel or hide an address."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
