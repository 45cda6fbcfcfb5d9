"""Chooses implementations: the one place where the application meets its adapters."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from fleetform.app.fleet import Fleet, read_fleet
from fleetform.engine.times import parse_time
from fleetform.load.reader import load_input
from fleetform.load.state import load_state
from fleetform.outside.files import write_file

__all__ = ["open_fleet", "write_file"]


def open_fleet(
    sources: Sequence[str],
    organization: str | None = None,
    at: str | None = None,
    state: str | None = None,
    strict: bool = False,
) -> Fleet:
    """The fleet that the sources hold, as it is at a time (now, unless one is given)."""
    moment = parse_time(at) if at is not None else datetime.now(UTC)
    return read_fleet(load_input(sources or ["."]), moment, organization, load_state(state), strict)
