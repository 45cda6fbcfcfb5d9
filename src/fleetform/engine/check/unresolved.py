"""Variables that cannot be resolved on clusters."""

from __future__ import annotations

from collections.abc import Iterator

from fleetform.engine.check.report import listed
from fleetform.engine.decisions import Decisions
from fleetform.model.objects import At, Object
from fleetform.model.results.bindings import Unresolved
from fleetform.model.results.decisions import PluginDecision
from fleetform.model.results.diagnostics import Diagnostic, Severity

_Case = tuple[PluginDecision, Unresolved]


def lint_unresolved(decisions: Decisions) -> Iterator[Diagnostic]:
    """Each once for its owner, with the clusters on which it is unresolved (R3-26)."""
    for cases in _grouped(decisions):
        plugin, first = cases[0]
        owner = plugin.target.owner
        clusters = list(dict.fromkeys(each.cluster.ref.name for each, _ in cases))
        on = listed(clusters)
        if len(clusters) > 1 and len({unresolved.message for _, unresolved in cases}) > 1:
            # Messages differ in what they quote, and only the first of them is printed.
            on = f"{clusters[0]} and {len(clusters) - 1:,} more, likewise"
        text = f"{first.message}: {plugin.target.definition} on {on}"
        if first in (plugin.upgrade or plugin).idle:
            text += "; nothing there refers to it, so it blocks nothing"
        # A value that is read on the cluster and was not read yet is no fault of the manifests.
        severity: Severity = "info" if first.gate == "downstream" else "warning"
        yield Diagnostic("unbound", text, first.do, severity, owner.ref, first.at or owner.at("spec"))


def _grouped(decisions: Decisions) -> list[list[_Case]]:
    """Cases of one place or of one message: a message may quote a name that differs from cluster to cluster."""
    found: list[list[_Case]] = []
    groups: dict[tuple[Object[object], bool, str, str | At | None], list[_Case]] = {}
    for plugin in decisions.plugins.values():
        wanted = plugin.upgrade or plugin
        if not wanted.unresolved and not wanted.idle:
            continue
        for unresolved, idle in (
            *((each, False) for each in wanted.unresolved),
            *((each, True) for each in wanted.idle),
        ):
            if unresolved.reported:
                continue
            owner, gate = plugin.target.owner, unresolved.gate
            keys = [(owner, idle, gate, each) for each in (unresolved.message, unresolved.at)]
            group = next((groups[key] for key in keys if key in groups), None)
            if group is None:
                group = []
                found.append(group)
            group.append((plugin, unresolved))
            groups.update(dict.fromkeys(keys, group))
    return found
