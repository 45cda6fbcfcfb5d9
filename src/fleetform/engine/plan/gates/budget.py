"""budget: more clusters failed than may; nothing new starts (B24)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from fleetform.engine.plan.records import Candidate, Reason
from fleetform.engine.plan.stages import share
from fleetform.engine.plan.view import View
from fleetform.model.results.advice import Advice
from fleetform.model.state import PluginState


def budget(view: View) -> Reason | None:
    exceeded = view.breached()
    if exceeded is None or view.rollout is None:
        return None
    return _reason(view, exceeded)


class ReadingBudget:
    """The same for other values that clusters read, which no rollout brings: all plugins count that fail now (B16)."""

    def __init__(self, view: View, plugins: Iterable[tuple[Candidate, PluginState]]) -> None:
        self._view, self._total, self._failing = view, Counter[str | None](), Counter[str | None]()
        for candidate, progress in plugins:
            self._total[candidate.stage] += 1
            self._failing[candidate.stage] += _is_failing(progress)

    def reason(self, candidate: Candidate, progress: PluginState) -> Reason | None:
        """Its own failure does not count: the other value may be what mends it."""
        view, stage, own = self._view, candidate.stage, _is_failing(progress)
        policy = view.change.policy
        rule = next((each for each in policy.stages if each.name == stage), None)
        if policy.on_failure == "Continue" or rule is None:
            return None
        failing, allowed = self._failing[stage] - own, rule.budget(self._total[stage])
        if failing > allowed:
            return _reason(view, f"stage {stage}: {failing} failed, {allowed} allowed")
        if policy.max_failures is None:
            return None
        failing = self._failing.total() - own
        allowed = share(policy.max_failures, self._total.total(), up=False)
        return _reason(view, f"all stages: {failing} failed, {allowed} allowed") if failing > allowed else None


def _is_failing(progress: PluginState) -> bool:
    """Failed, also while it is tried again."""
    attempt = progress.attempt
    return attempt is not None and attempt.phase in ("Failed", "Applying") and attempt.failures > 0


def _reason(view: View, exceeded: str) -> Reason:
    owner = view.change.owner
    do = Advice("mend-or-retry", owner.organization, owner)
    return Reason("budget", f"too many failures in {exceeded}", do, ref=owner)
