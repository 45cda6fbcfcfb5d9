"""History: which revisions of a definition may go, and which must end because too many are in use.

The limit counts revisions that nobody uses. One that runs, is pinned, or was the last healthy one is never pruned;
where more are in use than the limit, the oldest gets an end date instead (R2-48).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

from fleetform.syntax.versions import parse_version


class History(NamedTuple):
    """Versions that may be pruned, and the one that should end; both by version."""

    prunable: frozenset[str] = frozenset()
    should_end: str | None = None


def judge_history(versions: Iterable[str], in_use: Collection[str], limit: int) -> History:
    """What a limit means for a definition's versions; in_use are those that run, are pinned or were last healthy."""
    newest_first = sorted(versions, key=parse_version, reverse=True)
    unused = [each for each in newest_first if each not in in_use]
    used = [each for each in newest_first if each in in_use]
    return History(frozenset(unused[limit:]), used[-1] if len(used) > max(limit, 1) else None)
