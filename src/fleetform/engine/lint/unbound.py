"""Names that stand for nothing on clusters."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from fleetform.engine.given import meant
from fleetform.engine.lint.consequences import Consequences
from fleetform.engine.lint.report import listed
from fleetform.engine.prepare import Prepared
from fleetform.model.kinds import PLATFORM_NAMESPACE
from fleetform.model.objects import Object
from fleetform.model.results.bindings import Missing
from fleetform.model.results.decisions import Decisions, PluginDecision
from fleetform.model.results.diagnostics import Diagnostic, Severity
from fleetform.model.shape import did_you_mean

_NOT_BOUND = re.compile(r"\$\(([^)]+)\) is not bound$")
_Case = tuple[PluginDecision, Missing]


def lint_unbound(decisions: Decisions) -> Iterator[Diagnostic]:
    """Each once for its owner, with the clusters that this is so on (R3-26)."""
    for cases in _grouped(decisions):
        plugin, missing = cases[0]
        owner = plugin.target.owner
        text = f"{missing.message}: {plugin.target.definition} on {_where(cases)}"
        hint = _hint(decisions.memory, owner, missing)
        # What only the cluster can tell is no fault of what is written.
        severity: Severity = "info" if missing.gate == "downstream" else "warning"
        yield Diagnostic("unbound", text, hint, severity, owner.ref, missing.at or owner.at("spec"))


def _grouped(decisions: Decisions) -> list[list[_Case]]:
    """What one place or one message has in common: a message may hold a name that differs from cluster to cluster."""
    consequences = Consequences(decisions)
    found: list[list[_Case]] = []
    groups: dict[tuple[Object[Any], str, Any], list[_Case]] = {}
    for plugin in decisions.plugins.values():
        for missing in (plugin.upgrade or plugin).missing:
            if missing.told or consequences.hold(plugin, missing.at):
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


def _hint(prepared: Prepared, owner: Object[Any], missing: Missing) -> str:
    """What to do; a name or a definition that nobody knows was perhaps meant to be another."""
    program = prepared.owners[owner].program
    assert program is not None
    name = _NOT_BOUND.search(missing.message)
    given = meant(name[1], program.dialect) if name is not None else None
    if given is not None:
        return f"did you mean {given}?"
    written = next((each for each in program.written.values() if owner.at(*each.path) == missing.at), None)
    ref = written.binding.plugin_output_ref if written is not None else None
    if ref is None or missing.gate != "dependency":
        return missing.do
    places = (owner.ref.organization, PLATFORM_NAMESPACE)
    definitions = {name for place, name in prepared.revisions if place in places}
    return (
        did_you_mean(ref.definition, sorted(definitions), missing.do)
        if ref.definition not in definitions
        else missing.do
    )
