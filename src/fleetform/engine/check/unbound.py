"""Names that cannot be resolved on clusters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fleetform.engine.check.report import listed
from fleetform.engine.decisions import Decisions
from fleetform.model.objects import Object
from fleetform.model.results.bindings import Unresolved
from fleetform.model.results.decisions import PluginDecision
from fleetform.model.results.diagnostics import Diagnostic, Severity

_Case = tuple[PluginDecision, Unresolved]


def lint_unbound(decisions: Decisions) -> Iterator[Diagnostic]:
    """Each once for its owner, with the clusters that this is so on (R3-26)."""
    for cases in _grouped(decisions):
        plugin, missing = cases[0]
        owner = plugin.target.owner
        text = f"{missing.message}: {plugin.target.definition} on {_where(cases)}"
        # What only the cluster can tell is no fault of what is written.
        severity: Severity = "info" if missing.gate == "downstream" else "warning"
        yield Diagnostic("unbound", text, missing.do, severity, owner.ref, missing.at or owner.at("spec"))


def _grouped(decisions: Decisions) -> list[list[_Case]]:
    """What one place or one message has in common: a message may hold a name that differs from cluster to cluster."""
    found: list[list[_Case]] = []
    groups: dict[tuple[Object[Any], str, Any], list[_Case]] = {}
    for plugin in decisions.plugins.values():
        for missing in (plugin.upgrade or plugin).unresolved:
            if missing.reported:
                continue
            keys = [(plugin.target.owner, missing.gate, each) for each in (missing.message, missing.at) if each]
            group = next((groups[key] for key in keys if key in groups), None)
            if group is None:
                group = []
                found.append(group)
            group.append((plugin, missing))
            groups.update(dict.fromkeys(keys, group))
    return found


def _where(cases: list[_Case]) -> str:
    clusters = list(dict.fromkeys(plugin.cluster.ref.name for plugin, _ in cases))
    if len(clusters) == 1 or len({missing.message for _, missing in cases}) == 1:
        return listed(clusters)
    # The message is that of the first.
    return f"{clusters[0]} and {len(clusters) - 1:,} more, likewise"
