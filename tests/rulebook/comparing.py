"""Holds what Fleetform answers to what the rules say, and makes a disagreement small."""

from __future__ import annotations

import copy
import json
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from fleetform.app.fleet import Fleet as Read
from fleetform.app.questions import find_plugin
from fleetform.app.scope import Scope
from fleetform.load.state import load_state
from fleetform.ports.state import KnownState
from rulebook.inventing import NOW, Invented
from rulebook.model import Fleet, Plugin
from rulebook.telling import Answer, Gate, Report
from rulebook.trees import steps_of, text_of
from support.answers import explain, get
from support.fleets import fleet_of

Tree = dict[str, Any]
KEPT = ("apiVersion", "kind", "metadata", "name", "namespace", "organization")


class Disagreement(NamedTuple):
    kind: str
    plugin: str
    expected: Any
    actual: Any

    @property
    def what(self) -> tuple[str, ...]:
        """What kind of disagreement it is; for a folder that is invalid, by the errors."""
        return (self.kind, *sorted({each.partition(":")[0] for each in self.actual if self.kind == "invalid"}))


def opened(fleet: Invented) -> Read:
    """The fleet as Fleetform reads it."""
    return fleet_of("\n---\n".join(json.dumps(each) for each in fleet.documents), state=state_of(fleet))


def state_of(fleet: Invented) -> KnownState:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "state.json"
        file.write_text(json.dumps(fleet.state), encoding="utf-8")
        return load_state(str(file))


def disagreements(fleet: Invented) -> list[Disagreement]:
    """Where the rules say otherwise than Fleetform."""
    read = opened(fleet)
    model = Fleet(fleet.documents, fleet.state, NOW)
    errors = sorted({(each.code, each.object.name if each.object else "") for each in read.findings.errors})
    expected_errors = sorted(("wrong-index", name) for name in model.fitting_nowhere())
    if errors or expected_errors:
        told_errors = [f"{each.code}: {each.message}" for each in read.findings.errors]
        return [Disagreement("invalid", "", expected_errors, told_errors)] if errors != expected_errors else []
    found = []
    for plugin in model.plugins:
        expected, actual = told_by_rules(model.answer(plugin)), told(explained(read, plugin))
        _leave_open(expected, actual)
        for path in [path for path, said in expected.get("winners", {}).items() if said is None]:
            del expected["winners"][path], actual["winners"][path]
        differing = [kind for kind in expected if expected[kind] != actual[kind]]
        found += [Disagreement(kind, plugin.name, expected[kind], actual[kind]) for kind in differing]
    return found or _reports(read, model)


def _reports(read: Read, model: Fleet) -> list[Disagreement]:
    """Where overrides are reported otherwise; plugins are asked about first."""
    found = []
    for item in get(read, Scope("acme"), "overrides")["items"]:
        name, status = item["metadata"]["name"], item["status"]
        override = next(each for each in model.of("PluginOverride") if each["metadata"]["name"] == name)
        # Who ties is told elsewhere: the model does not know it.
        findings = tuple(each["finding"] for each in status["findings"] if each["finding"] != "tie")
        actual = Report(status["rank"], tuple(sorted(each["name"] for each in status["plugins"])), findings)
        expected = model.report(override)
        if any(each.name == name and each.idle for plugin in model.plugins for each in model.answer(plugin).applied):
            expected, actual = expected._replace(findings=()), actual._replace(findings=())
        if actual != expected:
            found.append(Disagreement("report", name, expected, actual))
    return found


def _leave_open(expected: Tree, actual: Tree) -> None:
    """Whether an override won or lost where it removes nothing is not asked."""
    idle = {name: paths for name, *_, paths in expected.get("overrides", [])}
    expected_rows = expected.get("overrides", [])
    for row in expected_rows:
        row.pop()
    for row in actual["overrides"] if expected_rows else []:
        row[2:] = [[path for path in paths if path not in idle.get(row[0], [])] for paths in row[2:]]


def explained(read: Read, plugin: Plugin) -> Tree:
    """What `explain` answers; the one that lost its release to another owner is found as the command line finds it."""
    cluster = plugin.cluster["metadata"]["name"]
    return explain(read, find_plugin(read, Scope("acme", cluster), plugin.name, None))


def told_by_rules(answer: Answer) -> Tree:
    return {
        "version": answer.version,
        "wanted": (answer.wanted, answer.forced),
        "gates": sorted({_short(each) for each in answer.gates}),
        "waiting": sorted({each.gate for each in answer.waiting}),
        "configs": [[each.type[1], each.name, each.place] for each in answer.configs],
        "values": answer.values,
        "skipped": sorted(answer.skipped),
        "winners": {
            path: None if said.unsure else (
                said.value, said.winner and [said.winner.name, said.winner.object],
                [[each.name, each.object] for each in said.hidden], said.migrated_from,
            )
            for path, said in answer.options.items()
        },
        "overrides": [
            [each.name, each.rank, sorted(each.won), sorted(each.lost), sorted(each.idle)] for each in answer.applied
        ],
    }  # fmt: skip


def told(answer: Tree) -> Tree:
    blocked = [Gate(each["gate"], each["option"] or "") for each in answer["blocked"]]
    return {
        "version": answer["target"]["version"],
        "wanted": (answer["wanted"]["version"], answer["wanted"]["forced"]),
        "gates": sorted({_short(each) for each in blocked}),
        "waiting": sorted({each["gate"] for each in answer["waiting"]}),
        "values": answer["values"],
        "skipped": sorted(
            {(_normal(each["path"]), each["object"]["name"], each["reason"]) for each in answer["skipped"]}
        ),
        "configs": [[each["resource"], each["name"], each["place"]] for each in answer["configs"]],
        "winners": {
            _normal(each["path"]): (
                each["value"],
                _who(each["winner"]),
                [_who(other) for other in each["hidden"]],
                _other_name(each),
            )
            for each in answer["options"]
            if each["type"] is not None
        },
        "overrides": [
            [each["name"], each["rank"], sorted(map(_normal, each["won"])), sorted(map(_normal, each["lost"]))]
            for each in answer["appliedOverrides"]
        ],
    }


def _short(gate: Gate) -> str:
    return f"{gate.gate} {_normal(gate.about)}" if gate.gate in ("required-option", "removed-option") else gate.gate


def _normal(path: str) -> str:
    return text_of(steps_of(path))


def _other_name(option: Tree) -> str | None:
    """The name that the winner was written for, if it is another."""
    name = option["migratedFrom"] and _normal(option["migratedFrom"])
    return None if name == _normal(option["path"]) else name


def _who(said: Tree | None) -> list[str] | None:
    return None if said is None else [said["layer"], said["object"]["name"]]


# ---- Made small


def shrunk(fleet: Invented, still: Callable[[Invented], bool]) -> Invented:
    """The smallest fleet that can be had by leaving out one thing after another while it still disagrees."""
    smaller = True
    while smaller:
        smaller = False
        for candidate in _smaller(fleet):
            try:
                holds = still(candidate)
            except Exception:
                # What is left out was needed to read it at all.
                continue
            if holds:
                fleet, smaller = candidate, True
                break
    return fleet


def _smaller(fleet: Invented) -> Iterator[Invented]:
    for index in range(len(fleet.documents)):
        yield Invented(fleet.documents[:index] + fleet.documents[index + 1 :], fleet.state)
    for path in _places({"documents": fleet.documents, "state": fleet.state}):
        tree: Tree = copy.deepcopy({"documents": fleet.documents, "state": fleet.state})
        held: Any = tree
        for step in path[:-1]:
            held = held[step]
        del held[path[-1]]
        if '"value": {}, "strategy": "Merge"' not in json.dumps(tree):
            yield Invented(tree["documents"], tree["state"])


def _places(tree: Any) -> Iterator[tuple[Any, ...]]:
    """Paths of all parts that could be left out, the bigger ones first."""
    level: list[tuple[tuple[Any, ...], Any]] = [((), tree)]
    while level:
        below: list[tuple[tuple[Any, ...], Any]] = []
        for path, each in level:
            steps = list(each) if isinstance(each, dict) else range(len(each)) if isinstance(each, list) else []
            for step in steps:
                if step not in KEPT and (len(path) > 1 or path[:1] == ("state",)):
                    yield (*path, step)
                below.append(((*path, step), each[step]))
        level = below


def shown(fleet: Invented, found: list[Disagreement]) -> str:
    """The fleet as YAML, and both answers."""
    lines = [yaml.safe_dump_all(fleet.documents, sort_keys=False, default_flow_style=None, width=140)]
    if any(each for key, each in fleet.state.items() if key not in ("kind", "version")):
        lines.append("# --state\n# " + json.dumps(fleet.state))
    for kind, plugin, expected, actual in found:
        lines.append(f"# {kind} of {plugin}\n#   rules:     {expected}\n#   fleetform: {actual}")
    return "\n".join(lines)
