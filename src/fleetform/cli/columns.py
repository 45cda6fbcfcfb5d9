"""The columns of `fleetform get`, kind by kind: what tells objects apart first, and more where it is asked for."""

from __future__ import annotations

from functools import singledispatch

from fleetform.cli.text import count, cut
from fleetform.model.answers.base import Json, JsonMap
from fleetform.model.answers.listed import Listed
from fleetform.model.answers.listed_objects import (
    ListedCatalog,
    ListedCluster,
    ListedDefinition,
    ListedOverride,
    ListedPlacement,
    ListedPreset,
    ListedRevision,
)
from fleetform.model.answers.listed_plugins import ListedAddon, PluginRow
from fleetform.model.answers.listed_rollouts import ListedPolicy, ListedRollout, ListedWindow
from fleetform.model.answers.options import AppliedOverride

Cells = dict[str, str]


@singledispatch
def cells(item: Listed) -> Cells:
    """What every table shows of an object, by the column."""
    return {"KIND": item.kind}


@singledispatch
def more_cells(_: Listed) -> Cells:
    """What -o wide shows beside that."""
    return {}


@cells.register
def _(item: ListedCluster) -> Cells:
    labels = item.metadata.labels or {}
    return {
        "PLUGINS": f"{item.status.plugins:,}",
        "BLOCKED": f"{item.status.blocked:,}",
        "LABELS": ",".join(f"{key}={value}" for key, value in sorted(labels.items())),
    }


@cells.register
def _(item: ListedDefinition) -> Cells:
    return {
        "VERSION": item.spec["version"],
        "OPTIONS": str(len(item.spec.get("options", []))),
        "PLUGINS": f"{item.status.plugins:,}",
        "OFFERED BY": item.metadata.namespace,
    }


@more_cells.register
def _(item: ListedDefinition) -> Cells:
    source = "-"
    for kind, details in (item.spec.get("source") or {}).items():
        where = details.get("repository") or details.get("path") or (details.get("git") or {}).get("url", "")
        source = f"{kind} {where}"
        break
    return {"SOURCE": source}


@cells.register
def _(item: ListedCatalog) -> Cells:
    sources = item.status.sources
    failing = [each.failed_since for each in sources if each.failed_since]
    problems = _problems(item)
    if failing:
        state = f"unavailable since {min(failing)}"
    elif any(each.error for each in sources):
        state = "unavailable"
    elif any(each.read_at is None for each in sources):
        state = "unread"
    else:
        state = count(len(problems), "problem") if problems else "ok"
    return {
        "DEFINITIONS": f"{item.status.definitions:,}",
        "VERSIONS": f"{sum(each.versions for each in sources):,}",
        "SOURCES": ", ".join(each.source for each in sources),
        "READ": ", ".join(each.read_at or "never" for each in sources),
        "STATE": state,
    }


def _problems(item: ListedCatalog) -> list[str]:
    return [text for each in item.status.sources for text in (*each.problems, *each.changed)]


@more_cells.register
def _(item: ListedCatalog) -> Cells:
    next_looks = ", ".join(each.next_look_at or "-" for each in item.status.sources)
    return {"NEXT LOOK": next_looks, "PROBLEMS": "; ".join(_problems(item)) or "-"}


@cells.register
def _(item: ListedAddon) -> Cells:
    configs = [
        f"{each.resource}/{each.name} {each.desired_config.spec_hash[:12] or 'missing'}"
        for each in item.status.config_references
    ]
    return {
        "CLUSTER": item.metadata.namespace,
        "CONFIGS": ", ".join(configs) or "-",
        "CONDITION": item.status.conditions[0].reason,
    }


@cells.register
def _(item: ListedPlacement) -> Cells:
    groups = item.status.decision_groups
    return {
        "CLUSTERS": f"{item.status.number_of_selected_clusters:,}",
        "GROUPS": f"{len(groups):,}",
        "CHOSEN": _few([name for each in groups for name in each.clusters]),
    }


@more_cells.register
def _(item: ListedPlacement) -> Cells:
    reasons = [f"{_few(each.clusters)}: {each.reason}" for each in item.status.not_selected]
    return {"NOT CHOSEN": "; ".join(reasons)}


@cells.register
def _(item: ListedRevision) -> Cells:
    return {
        "NUMBER": str(item.spec.number),
        "VERSION": item.spec.version,
        "PLUGINS": f"{item.status.plugins:,}",
        "ENDS": item.status.ends_at or "-",
        "CONTENT": item.spec.content_hash[:19],
    }


@more_cells.register
def _(item: ListedRevision) -> Cells:
    status = item.status
    words = {"pinned": status.pinned, "no longer offered": not status.offered, "may go": status.prunable}
    return {
        "RENDERS": str((item.spec.source or {}).get("digest", "-"))[:19],
        "HISTORY": ", ".join(word for word, holds in words.items() if holds) or "-",
    }


@cells.register
def _(item: ListedPreset) -> Cells:
    template: JsonMap = item.spec.get("plugin", item.spec)
    # Greenhouse writes the name alone, and the version beside it.
    reference = template.get("pluginDefinition")
    name, version = str(reference), template.get("pluginDefinitionVersion")
    if isinstance(reference, dict):
        name, version = str(reference.get("name") or ""), reference.get("version")
    return {
        "DEFINITION": name,
        "VERSION": str(version or "newest"),
        "PLUGINS": f"{item.status.plugins.total:,}",
        "BLOCKED": f"{item.status.plugins.blocked:,}",
    }


@more_cells.register
def _(item: ListedPreset) -> Cells:
    placement = item.spec.get("placement")
    selected = f"placement {placement['name']}" if placement else selector_text(item.spec.get("clusterSelector"))
    versions = ", ".join(f"{version}: {number:,}" for version, number in item.status.versions.items())
    counts = item.status.plugins
    return {
        "UPDATED": f"{counts.updated:,}",
        "READY": f"{counts.ready:,}",
        "WAITING": f"{counts.waiting:,}",
        "FAILED": f"{counts.failed:,}",
        "UNREACHABLE": f"{counts.unreachable:,}",
        "CLUSTERS": selected,
        "VERSIONS": versions or "-",
    }


@cells.register
def _(item: PluginRow) -> Cells:
    return {
        "CLUSTER": item.cluster,
        "DEFINITION": item.definition,
        "VERSION": item.version or "-",
        "OVERRIDES": str(len(item.applied_overrides)),
        "BLOCKED": ", ".join(item.blocked) or "-",
        **({"CONDITIONS": ", ".join(item.conditions)} if item.conditions else {}),
    }


@more_cells.register
def _(item: PluginRow) -> Cells:
    return {
        "STATE": item.state or "-",
        "RELEASE": f"{item.release_namespace}/{item.release_name}",
        "OWNER": f"{item.owner_kind}/{item.owner_name}",
        "TAKES": overrides_text(item.applied_overrides) or "-",
    }


@cells.register
def _(item: ListedRollout) -> Cells:
    status = item.status
    updated, total = (sum(getattr(each.clusters, name) for each in status.stages) for name in ("updated", "total"))
    return {
        "PRESET": item.spec.preset,
        "FROM": status.from_ or "-",
        "TO": status.to or "-",
        "PHASE": status.phase,
        "UPDATED": f"{updated:,} of {total:,}",
    }


@more_cells.register
def _(item: ListedRollout) -> Cells:
    stages = [f"{each.name}: {each.phase}" for each in item.status.stages]
    return {"CHANGE": item.spec.change_id, "STAGES": ", ".join(stages)}


@cells.register
def _(item: ListedWindow) -> Cells:
    openings = item.status.openings
    # Of several clocks the one that opens first.
    first = min(openings, key=lambda each: (not each.open, each.opens_at or "9")) if openings else None
    state = "-" if first is None else "open" if first.open else "closed"
    return {
        "TYPE": str(item.spec["type"]),
        "NOW": f"{state} ({', '.join(item.status.findings)})" if item.status.findings else state,
        "UNTIL": (first.until if first is not None and first.open else None) or "-",
        "OPENS": (first.opens_at if first is not None else None) or "-",
        "CLUSTERS": f"{item.status.clusters:,}",
        "NAMED BY": ", ".join(item.status.named_by) or "-",
    }


@more_cells.register
def _(item: ListedWindow) -> Cells:
    clocks = [f"{each.zone}: {each.opens_at or '-'}" for each in item.status.openings]
    return {"BY CLOCK": ", ".join(clocks) or "-"}


@cells.register
def _(item: ListedPolicy) -> Cells:
    return {
        "KIND": item.kind,
        "PRESETS": f"{len(item.status.presets):,}",
        "STAGES": ", ".join(f"{each.name}: {each.clusters:,}" for each in item.status.stages) or "-",
        "UNSTAGED": f"{len(item.status.unstaged):,}",
    }


@cells.register
def _(item: ListedOverride) -> Cells:
    findings = [each.finding + (f" with {each.with_.name}" if each.with_ else "") for each in item.status.findings]
    return {
        "RANK": str(item.status.rank),
        "DEFINITIONS": ",".join(item.spec.get("pluginDefinitionNames") or []) or "all",
        "CLUSTERS": selector_text(item.spec.get("clusterSelector")),
        "PLUGINS": f"{len(item.status.plugins):,}",
        "FINDINGS": ", ".join(findings) or "-",
    }


@more_cells.register
def _(item: ListedOverride) -> Cells:
    return {
        "PATHS": ",".join(each["path"] for each in item.spec["overrides"]),
        "REACHES": cut(_few([plugin.name for plugin in item.status.plugins]), 120),
        "OWNER": str(item.spec.get("owner") or "-"),
    }


def overrides_text(overrides: list[AppliedOverride]) -> str:
    """The overrides on a plugin, in order; those that win nothing are marked."""
    return ", ".join(each.name + ("" if each.won else " (hidden)") for each in overrides)


def selector_text(selector: Json) -> str:
    """A cluster selector in a few words."""
    if not selector:
        return "all"
    if isinstance(selector, list):
        return " or ".join(selector_text(each) for each in selector)
    labels = selector.get("labelSelector") or selector
    parts = [f"{key}={value}" for key, value in sorted((labels.get("matchLabels") or {}).items())]
    for each in labels.get("matchExpressions") or []:
        values = f" ({','.join(each['values'])})" if each.get("values") else ""
        parts.append(f"{each['key']} {each['operator']}{values}")
    text = ",".join(parts)
    names = ",".join(selector.get("clusterNames") or [])
    text = " or ".join(each for each in (text, names) if each) or "all"
    ignored = ",".join(selector.get("ignoreClusters") or [])
    return f"{text} but {ignored}" if ignored else text


def _few(names: list[str]) -> str:
    return ", ".join(names) if len(names) <= 4 else f"{', '.join(names[:4])} and {len(names) - 4:,} more"
