"""Quotas: organizations with more plugins than they may have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from fleetform.engine.decisions import Decisions
from fleetform.model.kinds.fleet import OrganizationSpec
from fleetform.model.objects import Object
from fleetform.model.results.diagnostics import Diagnostic


def plugins_by_organization(decisions: Decisions) -> Counter[str]:
    """How many plugins each organization has on its clusters."""
    found: Counter[str] = Counter()
    for ref, here in decisions.clusters.items():
        found[ref.organization] += len(here.plugins)
    return found


def lint_quotas(decisions: Decisions) -> Iterator[Diagnostic]:
    organizations = decisions.index.snapshot.organizations
    if any(quota_of(each) is not None for each in organizations.values()):
        counted = plugins_by_organization(decisions)
        for each in organizations.values():
            yield from lint_quota(each, counted)


def lint_quota(object_: Object[OrganizationSpec], counted: Mapping[str, int]) -> Iterator[Diagnostic]:
    """One organization's; counted are the plugins of each."""
    most, name = quota_of(object_), object_.ref.organization
    if most is None or object_.ref.name != name or counted.get(name, 0) <= most:
        return
    message = f"{name} has {counted[name]:,} plugins, and its quota allows {most:,}"
    hint = "select fewer clusters, or have the quota raised"
    at = object_.at("spec", "quota", "plugins")
    yield Diagnostic("above-quota", message, hint, "error", object_.ref, at)


def quota_of(object_: Object[OrganizationSpec]) -> int | None:
    return object_.spec.quota.plugins if object_.spec.quota is not None else None
