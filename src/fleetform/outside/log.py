"""The log of a control plane, on stderr: a line for each thing that happened, as prose or as JSON.

Prose is for people at a terminal. JSON is for what collects logs: a document a line, with the change that it is about.
"""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from typing import Literal, NamedTuple

import msgspec

from fleetform.syntax.times import time_text

Level = Literal["info", "warning", "error"]
Format = Literal["text", "json"]


class Log(NamedTuple):
    """Both processes of a control plane write one."""

    format: Format = "text"

    def write(self, level: Level, message: str, at: datetime | None = None, **fields: object) -> None:
        """Fields that say nothing are left out; in prose, who writes a message has put in it what matters."""
        if self.format == "json":
            told: dict[str, object] = {
                "time": time_text((at or datetime.now(UTC)).replace(microsecond=0)),
                "level": level,
                "message": message,
            }
            told |= {name: value for name, value in fields.items() if value not in ("", None, [], ())}
            message = msgspec.json.encode(told).decode()
        # In one call: the lines of two processes must not run into each other.
        sys.stderr.write(f"{message}\n")
        sys.stderr.flush()
