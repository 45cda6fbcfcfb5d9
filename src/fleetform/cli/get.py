"""fleetform get"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import click

from fleetform.app.get import get, kinds
from fleetform.app.scope import elsewhere
from fleetform.cli.options import Flags, shared_flags
from fleetform.cli.text import cut, table
from fleetform.model.shape import did_you_mean

Item = dict[str, Any]
Column = tuple[str, Callable[[Item], str]]
_SINGULAR = {
    "addon": "addons", "catalog": "catalogs", "cluster": "clusters", "definition": "definitions",
    "organization": "organizations", "override": "overrides", "placement": "placements", "plugin": "plugins",
    "plugindefinition": "definitions", "plugindefinitions": "definitions", "pluginoverride": "overrides",
    "pluginoverrides": "overrides", "pluginpreset": "presets", "pluginpresets": "presets", "policy": "policies",
    "preset": "presets", "revision": "revisions", "rollout": "rollouts", "window": "windows",
}  # fmt: skip


@click.command(
    epilog="""\b
Examples:
  fleetform get plugins -l environment=prod     what each takes
  fleetform get overrides -o wide               what each reaches
  fleetform get presets -A
  fleetform get plugin cert-manager-eu-prod-1 -o yaml
"""
)
@click.argument("kind")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@shared_flags
def command(flags: Flags, kind: str, names: tuple[str, ...]) -> int:
    """List objects of a KIND with what follows from them.

    \b
    Kinds: addons catalogs clusters definitions organizations overrides placements
           plugins policies presets revisions rollouts windows
    """
    plural = _SINGULAR.get(kind.lower(), kind.lower())
    if plural not in kinds():
        raise click.UsageError(f"There is no kind {kind}. {_hint(plural)}")
    output = flags.only("table", "wide", "json", "yaml", "name")
    fleet = flags.fleet()
    scope = flags.scope(fleet)
    view = get(fleet, scope, plural, names)
    if output in ("json", "yaml"):
        flags.print_data(view)
    elif output == "name":
        for item in view["items"]:
            click.echo(f"{item['kind'].lower()}/{item['metadata']['name']}")
    elif view["items"]:
        _print_table(view["items"], _columns(plural, output == "wide", flags.everywhere))
    else:
        flags.say(f"no {plural} in {scope.organization}" if scope.organization else f"no {plural} here")
    if where := elsewhere(fleet, scope):
        flags.say(where)
    return 0


def _hint(kind: str) -> str:
    said = did_you_mean(kind, kinds(), f"there are {', '.join(kinds())}")
    return f"{said[0].upper()}{said[1:]}" + ("" if said.endswith("?") else ".")


def _print_table(items: Sequence[Item], columns: Sequence[Column]) -> None:
    rows = [[render(item) for _, render in columns] for item in items]
    for line in table([name for name, _ in columns], rows):
        click.echo(line)


def _columns(plural: str, wide: bool, everywhere: bool) -> list[Column]:
    columns = [("NAME", _name), *_COLUMNS.get(plural, _PLAIN), *(_WIDE.get(plural, ()) if wide else ())]
    return [("ORGANIZATION", lambda item: str(item["metadata"]["namespace"])), *columns] if everywhere else columns


def _name(item: Item) -> str:
    return str(item["metadata"]["name"])


def _labels(item: Item) -> str:
    return ",".join(f"{key}={value}" for key, value in sorted(item["metadata"].get("labels", {}).items()))


def _blocked(item: Item) -> str:
    return ", ".join(sorted({gate["gate"] for gate in item["status"]["blocked"]})) or "-"


def _reference(item: Item, key: str) -> str:
    reference = item["spec"].get("plugin", item["spec"]).get("pluginDefinition")
    if isinstance(reference, dict):
        return str(reference.get(key) or ("newest" if key == "version" else ""))
    return str(reference) if key == "name" else str(item["spec"]["plugin"].get("pluginDefinitionVersion") or "newest")


def selector_text(selector: Any) -> str:
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


def _source(item: Item) -> str:
    source = item["spec"].get("source") or {}
    for kind, details in source.items():
        where = details.get("repository") or details.get("path") or (details.get("git") or {}).get("url", "")
        return f"{kind} {where}"
    return "-"


def _findings(item: Item) -> str:
    found = []
    for each in item["status"]["findings"]:
        other = f" with {each['with']['name']}" if "with" in each else ""
        found.append(each["finding"] + other)
    return ", ".join(found) or "-"


def _reached(item: Item) -> str:
    return cut(_few([plugin["name"] for plugin in item["status"]["plugins"]]), 120)


def _taken(item: Item) -> str:
    applied = item["status"]["appliedOverrides"]
    return ", ".join(each["name"] + ("" if each["won"] else " (hidden)") for each in applied) or "-"


def _selected_by(item: Item) -> str:
    placement = item["spec"].get("placement")
    return f"placement {placement['name']}" if placement else selector_text(item["spec"].get("clusterSelector"))


def _versions(item: Item) -> str:
    return ", ".join(f"{version}: {number:,}" for version, number in item["status"]["versions"].items()) or "-"


def _config_name(reference: Item) -> str:
    hash_ = reference["desiredConfig"]["specHash"][:12] or "missing"
    return f"{reference['resource']}/{reference['name']} {hash_}"


def _few(names: list[str]) -> str:
    return ", ".join(names) if len(names) <= 4 else f"{', '.join(names[:4])} and {len(names) - 4:,} more"


def _not_chosen(reason: Item) -> str:
    return f"{_few(reason['clusters'])}: {reason['reason']}"


def _read_at(item: Item) -> str:
    return ", ".join(each["readAt"] or "never" for each in item["status"]["sources"])


def _source_states(item: Item) -> str:
    """What stands in a catalog's way, of all its sources together."""
    failing = [each["failedSince"] for each in item["status"]["sources"] if each["failedSince"]]
    if failing:
        return f"unavailable since {min(failing)}"
    if any(each["error"] for each in item["status"]["sources"]):
        return "unavailable"
    if any(each["readAt"] is None for each in item["status"]["sources"]):
        return "unread"
    problems = _source_problems(item)
    return f"{len(problems):,} problem{'s' if len(problems) != 1 else ''}" if problems else "ok"


def _source_problems(item: Item) -> list[str]:
    return [text for each in item["status"]["sources"] for text in (*each["problems"], *each["changed"])]


def _history(item: Item) -> str:
    status = item["status"]
    words = {"pinned": status["pinned"], "no longer offered": not status["offered"], "may go": status["prunable"]}
    return ", ".join(word for word, holds in words.items() if holds) or "-"


_PLAIN: tuple[Column, ...] = (("KIND", lambda item: str(item["kind"])),)
_COLUMNS: dict[str, tuple[Column, ...]] = {
    "clusters": (
        ("PLUGINS", lambda item: f"{item['status']['plugins']:,}"),
        ("BLOCKED", lambda item: f"{item['status']['blocked']:,}"),
        ("LABELS", _labels),
    ),
    "definitions": (
        ("VERSION", lambda item: str(item["spec"]["version"])),
        ("OPTIONS", lambda item: str(len(item["spec"].get("options", [])))),
        ("PLUGINS", lambda item: f"{item['status']['plugins']:,}"),
        ("OFFERED BY", lambda item: str(item["metadata"]["namespace"])),
    ),
    "catalogs": (
        ("DEFINITIONS", lambda item: f"{item['status']['definitions']:,}"),
        ("VERSIONS", lambda item: f"{sum(each['versions'] for each in item['status']['sources']):,}"),
        ("SOURCES", lambda item: ", ".join(each["source"] for each in item["status"]["sources"])),
        ("READ", _read_at),
        ("STATE", _source_states),
    ),
    "addons": (
        ("CLUSTER", lambda item: str(item["metadata"]["namespace"])),
        ("CONFIGS", lambda item: ", ".join(_config_name(each) for each in item["status"]["configReferences"]) or "-"),
        ("CONDITION", lambda item: str(item["status"]["conditions"][0]["reason"])),
    ),
    "placements": (
        ("CLUSTERS", lambda item: f"{item['status']['numberOfSelectedClusters']:,}"),
        ("GROUPS", lambda item: f"{len(item['status']['decisionGroups']):,}"),
        ("CHOSEN", lambda item: _few([name for each in item["status"]["decisionGroups"] for name in each["clusters"]])),
    ),
    "revisions": (
        ("NUMBER", lambda item: str(item["spec"]["number"])),
        ("VERSION", lambda item: str(item["spec"]["version"])),
        ("PLUGINS", lambda item: f"{item['status']['plugins']:,}"),
        ("ENDS", lambda item: str(item["status"]["endsAt"] or "-")),
        ("CONTENT", lambda item: str(item["spec"]["contentHash"])[:19]),
    ),
    "presets": (
        ("DEFINITION", lambda item: _reference(item, "name")),
        ("VERSION", lambda item: _reference(item, "version")),
        ("PLUGINS", lambda item: f"{item['status']['plugins']['total']:,}"),
        ("BLOCKED", lambda item: f"{item['status']['plugins']['blocked']:,}"),
    ),
    "plugins": (
        ("CLUSTER", lambda item: str(item["spec"]["clusterName"])),
        ("DEFINITION", lambda item: _reference(item, "name")),
        ("VERSION", lambda item: str(item["status"]["version"] or "-")),
        ("OVERRIDES", lambda item: str(len(item["status"]["appliedOverrides"]))),
        ("BLOCKED", _blocked),
    ),
    "overrides": (
        ("RANK", lambda item: str(item["status"]["rank"])),
        ("DEFINITIONS", lambda item: ",".join(item["spec"].get("pluginDefinitionNames") or []) or "all"),
        ("CLUSTERS", lambda item: selector_text(item["spec"].get("clusterSelector"))),
        ("PLUGINS", lambda item: f"{len(item['status']['plugins']):,}"),
        ("FINDINGS", _findings),
    ),
}
_WIDE: dict[str, tuple[Column, ...]] = {
    "catalogs": (
        ("NEXT LOOK", lambda item: ", ".join(each["nextLookAt"] or "-" for each in item["status"]["sources"])),
        ("PROBLEMS", lambda item: "; ".join(_source_problems(item)) or "-"),
    ),
    "definitions": (("SOURCE", _source),),
    "placements": (
        ("NOT CHOSEN", lambda item: "; ".join(_not_chosen(each) for each in item["status"]["notSelected"])),
    ),
    "revisions": (
        ("RENDERS", lambda item: str((item["spec"]["source"] or {}).get("digest", "-"))[:19]),
        ("HISTORY", _history),
    ),
    "presets": (
        ("CLUSTERS", _selected_by),
        ("VERSIONS", _versions),
    ),
    "plugins": (
        ("RELEASE", lambda item: f"{item['spec']['releaseNamespace']}/{item['spec']['releaseName']}"),
        ("OWNER", lambda item: f"{item['status']['owner']['kind']}/{item['status']['owner']['name']}"),
        ("TAKES", _taken),
    ),
    "overrides": (
        ("PATHS", lambda item: ",".join(each["path"] for each in item["spec"]["overrides"])),
        ("REACHES", _reached),
        ("OWNER", lambda item: str(item["spec"].get("owner") or "-")),
    ),
}
