"""Holds what Fleetform answers to what the rules say, and makes a disagreement small."""

from __future__ import annotations

import copy
import json
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from fleetform.app.fleet import Fleet as Read
from fleetform.app.questions import find_plugin
from fleetform.app.scope import Scope
from fleetform.load.state import load_state
from fleetform.model.results.diagnostics import Diagnostic
from rulebook import excuses
from rulebook.inventing import NOW, Invented
from rulebook.layering import Layer
from rulebook.model import Fleet, Plugin
from rulebook.telling import Answer, Gate, Report
from rulebook.trees import Steps, steps_of, text_of
from support.answers import explain, get
from support.fleets import fleet_of

Tree = dict[str, Any]
KEPT = ("apiVersion", "kind", "metadata", "name", "namespace", "organization")


class Disagreement(NamedTuple):
    kind: str
    plugin: str
    expected: Any
    actual: Any


def opened(fleet: Invented) -> Read:
    """The fleet as Fleetform reads it."""
    text = "\n---\n".join(json.dumps(each) for each in fleet.documents)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "state.json"
        file.write_text(json.dumps(fleet.state), encoding="utf-8")
        state = load_state(str(file))
    return fleet_of(text, state=state)


def disagreements(fleet: Invented, excused: Counter[str] | None = None) -> list[Disagreement]:
    """Where the rules say otherwise than Fleetform; excused counts what is known and not told."""
    read = opened(fleet)
    model = Fleet(fleet.documents, fleet.state, NOW)
    wrong = [each for each in read.findings.errors if each.code != "wrong-index" or not fits_nowhere(model, each)]
    errors = [f"{each.code}: {each.message}" for each in wrong]
    if read.findings.errors and not errors:
        return []
    if errors:
        found = [Disagreement("invalid", "", [], errors)]
        return [each for each in found if not _is_excused(excuses.of_folders(model, errors), excused)]
    found = []
    for plugin in model.plugins:
        expected, actual = told_by_rules(model.answer(plugin)), told(explained(read, plugin))
        _leave_open(expected, actual)
        for path in [path for path, said in expected.get("winners", {}).items() if said is None]:
            del expected["winners"][path], actual["winners"][path]
        differing = [kind for kind in expected if expected[kind] != actual[kind]]
        if differing and not _is_excused(excuses.of_plugins(model, plugin, differing), excused):
            found += [Disagreement(kind, plugin.name, expected[kind], actual[kind]) for kind in differing]
    return found or _reports(read, model)


def _reports(read: Read, model: Fleet) -> list[Disagreement]:
    """Where overrides are reported otherwise; plugins are asked about first."""
    if any(model.answer(plugin).misfits for plugin in model.plugins):
        return []
    found = []
    for item in get(read, Scope("acme"), "overrides")["items"]:
        name, status = item["metadata"]["name"], item["status"]
        override = next(each for each in model.of("PluginOverride") if each["metadata"]["name"] == name)
        # Who ties, and who only says what is there already, is told elsewhere: the model knows neither.
        told = [each["finding"] for each in status["findings"]]
        findings = tuple(each for each in told if each not in ("tie", "redundant"))
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


def _is_excused(name: str | None, excused: Counter[str] | None) -> bool:
    if name is not None and excused is not None:
        excused[name] += 1
    return name is not None


def fits_nowhere(model: Fleet, error: Diagnostic) -> bool:
    """Whether one of an object's paths leads nowhere on every plugin that it reaches: it is wrong as such (S18)."""
    assert error.object is not None
    used: dict[tuple[Layer, Steps], bool] = {}
    for plugin in model.plugins:
        for reading in model.readings(plugin)[:1]:
            for item in reading.items:
                if item.skipped is None and model.older_owner(plugin) is None:
                    key = (item.layer, item.written)
                    used[key] = used.get(key, True) and key in [(each.layer, each.written) for each in reading.misfits]
    return any(fails for (layer, _), fails in used.items() if layer.object == error.object.name)


def explained(read: Read, plugin: Plugin) -> Tree:
    """What `explain` answers; the one that lost its release to another owner is found as the command line finds it."""
    cluster = plugin.cluster["metadata"]["name"]
    return explain(read, find_plugin(read, Scope("acme", cluster), plugin.name, None))


def told_by_rules(answer: Answer) -> Tree:
    found: Tree = {
        "version": answer.version,
        "wanted": (answer.wanted, answer.forced),
        "gates": sorted({_short(each) for each in answer.gates}),
        "waiting": sorted({each.gate for each in answer.waiting}),
        "configs": [[each.type[1], each.name, each.place] for each in answer.configs],
    }
    if answer.misfits:
        # Whether what cannot be applied won or lost is nobody's question, nor what is shown of the rest.
        return found
    return found | {
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
