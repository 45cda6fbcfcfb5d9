"""Requests: what people ask of a rollout. Each is a change of what is stored; the next plan does the rest."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from msgspec import structs

from fleetform.engine.plan.rollouts import Rollout
from fleetform.model.results.decisions import PluginKey
from fleetform.model.state import PluginState


def pause(rollout: Rollout) -> Rollout:
    """Nothing new starts; what is in flight finishes."""
    return structs.replace(rollout, paused=True)


def resume(rollout: Rollout) -> Rollout:
    return structs.replace(rollout, paused=False)


def abort(rollout: Rollout, now: datetime) -> Rollout:
    """Clusters that were started stay as they are; the same change does not start again without retry (S50)."""
    return structs.replace(rollout, phase="Aborted", ended=now, rejected=True)


def roll_back(rollout: Rollout) -> Rollout:
    """Every cluster that it started returns to what was healthy before, also after it succeeded (S50)."""
    return structs.replace(rollout, phase="RollingBack", ended=None, rejected=True)


def retry(
    rollout: Rollout, states: Iterable[tuple[PluginKey, PluginState]]
) -> tuple[Rollout, list[tuple[PluginKey, PluginState]]]:
    """What was rejected may start again, and what failed is tried again from its first time on (B10, B34).

    states are those of its owner's plugins: what an earlier rollout failed with may be what is wanted again. Changed
    records only, with their failures forgotten.
    """
    again = []
    for key, progress in states:
        attempt = progress.attempt
        if attempt is None or attempt.phase != "Failed":
            continue
        # One failure is left: the state it is in. The first retry is due at once.
        since = attempt.started
        again.append((key, structs.replace(progress, attempt=structs.replace(attempt, failures=1, since=since))))
    return structs.replace(rollout, rejected=False), again
