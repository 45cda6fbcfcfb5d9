"""What an edit reaches: which plugins are decided anew after it, and that they come out as in a whole pass.

One fleet in which plugins differ in what they are made of; an edit for each thing that can change. The page says which
plugins each edit takes: one that is missing there would be stale, one too many costs time in a large fleet. With
APPROVE=1 the page is written anew: read the difference before it is committed.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from fleetform.engine.decide import decide, decide_reached
from fleetform.engine.decisions import Decisions
from fleetform.model.objects import Ref
from fleetform.model.snapshot import Snapshot
from fleetform.model.state import Deployed, PluginState
from support.fleets import fleet_of
from support.played import compare

PAGE = Path(__file__).parent / "reached.md"
API = "apiVersion: fleetform.dev/v1alpha1\n"


def cluster(name: str, labels: str, facts: str = "{zone: a}", home: str = "acme") -> str:
    named = f"{{name: {name}, namespace: {home}, labels: {labels}}}"
    return f"{API}kind: Cluster\nmetadata: {named}\nspec: {{facts: {facts}}}\n"


def definition(name: str, version: str, more: str = "", home: str = "acme") -> str:
    return (
        f"{API}kind: PluginDefinition\nmetadata: {{name: {name}, namespace: {home}}}\n"
        f"spec: {{version: {version}, source: {{manifests: {{path: ./m}}}}{', ' + more if more else ''}}}\n"
    )


def preset(name: str, plugin: str, more: str = "clusterSelector: {}", home: str = "acme", release: str = "") -> str:
    return (
        f"{API}kind: PluginPreset\nmetadata: {{name: {name}, namespace: {home}}}\n"
        f"spec: {{plugin: {{{plugin}, releaseName: {release or name}}}, {more}}}\n"
    )


def override(name: str, more: str, home: str = "acme") -> str:
    return f"{API}kind: PluginOverride\nmetadata: {{name: {name}, namespace: {home}}}\nspec: {{{more}}}\n"


def thing(kind: str, name: str, more: str, version: str = "v1", home: str = "acme") -> str:
    return f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: {name}, namespace: {home}}}\n{more}\n"


OPTIONS = (
    "options: [{name: host, type: string, default: a}, {name: size, type: int, default: 1}, {name: any, type: any}]"
)
SECRET = "options: [{name: token, type: secret}, {name: host, type: string}]"
CONFIGS = (
    "configs: [{group: example.com, resource: things, default: {name: usual, namespace: acme}, values: {to: any}}],"
    " options: [{name: any, type: any}]"
)
OUTPUTS = "options: [{name: port, type: int, default: 1}], outputs: [{name: address, value: db-$(CLUSTER_NAME)}]"
FLEET = {
    "c-eu-1": cluster("eu-1", "{region: eu, tier: gold}"),
    "c-eu-2": cluster("eu-2", "{region: eu, tier: dev}"),
    "c-us-1": cluster("us-1", "{region: us, tier: gold}"),
    "c-b-1": cluster("b-1", "{region: eu}", home="beta"),
    "d-web-1": definition("web", "1.0.0", OPTIONS),
    "d-web-2": definition("web", "1.1.0", OPTIONS),
    "d-db": definition("db", "1.0.0", OUTPUTS),
    "d-keys": definition("keys", "1.0.0", SECRET),
    "d-confs": definition("confs", "1.0.0", CONFIGS),
    "d-base": definition("base", "1.0.0", OPTIONS, home="fleetform-system"),
    "p-web": preset("web", "pluginDefinition: web, optionValues: {size: 2}"),
    "p-pinned": preset("pinned", "pluginDefinition: {name: web, version: 1.0.0}"),
    "p-db": preset("db", "pluginDefinition: db", "clusterSelector: {matchLabels: {region: eu}}"),
    "p-reads": preset(
        "reads",
        "pluginDefinition: web, optionValues: {host: $(ADDRESS)}",
        "clusterSelector: {}, controlPlaneBindings: ["
        "{name: ADDRESS, pluginOutputRef: {definition: db, output: address}, default: none}]",
    ),
    "p-fields": preset(
        "fields",
        "pluginDefinition: web, optionValues: {host: $(TEAM), any: $(ZONE)}",
        "clusterSelector: {}, controlPlaneBindings: ["
        "{name: TEAM, objectFieldRef: {kind: ConfigMap, name: known, fieldPath: data.team}},"
        " {name: ZONE, clusterFieldRef: {path: spec.facts.zone}}]",
    ),
    "p-keys": preset(
        "keys",
        "pluginDefinition: keys, optionValues: [{name: token, valueFrom: {secret: {name: pass, key: word}}}]",
        "clusterSelector: {matchLabels: {tier: gold}}",
    ),
    "p-confs": preset(
        "confs",
        "pluginDefinition: confs, configs: [{group: example.com, resource: things, name: mine}]",
    ),
    "p-base": preset("base", "pluginDefinition: base"),
    "p-beta": preset("base", "pluginDefinition: base", home="beta"),
    "by-hand": f"{API}kind: Plugin\nmetadata: {{name: hand, namespace: acme}}\n"
    "spec: {clusterName: us-1, pluginDefinition: web, releaseName: hand}\n",
    "beside": f"{API}kind: Plugin\nmetadata: {{name: web-eu-2, namespace: acme}}\n"
    "spec: {presetRef: {name: web}, clusterName: eu-2, optionValues: {size: 5}}\n",
    "o-eu": override("eu", "overrides: [{path: size, value: 7}], clusterSelector: {matchLabels: {region: eu}}"),
    "o-web": override("of-web", "overrides: [{path: any, value: x}], pluginDefinitionNames: [web]"),
    "o-late": override("late", "overrides: [{path: host, value: late}], expires: 2026-11-02T12:00:00Z"),
    "known": thing("ConfigMap", "known", "data: {team: blue}"),
    "other": thing("ConfigMap", "other", "data: {team: red}"),
    "pass": thing("Secret", "pass", "stringData: {word: hunter2}"),
    "usual": thing("Thing", "usual", "spec: {a: 1}", "example.com/v1"),
    "mine": thing("Thing", "mine", "spec: {a: 2}", "example.com/v1"),
    "unused": thing("Thing", "unused", "spec: {a: 3}", "example.com/v1"),
    "policy": f"{API}kind: LifecyclePolicy\nmetadata: {{name: default, namespace: acme}}\nspec: {{notice: 1d}}\n",
}


def changed(name: str, before: str, after: str) -> dict[str, str]:
    assert before in FLEET[name], (name, before)
    return {name: FLEET[name].replace(before, after)}


EDITS: dict[str, dict[str, str]] = {
    "nothing": {},
    "a label that selects": changed("c-us-1", "region: us", "region: eu"),
    "a label that nothing selects by": changed("c-us-1", "region: us", "region: us, colour: red"),
    "a fact that a binding reads": changed("c-eu-1", "zone: a", "zone: b"),
    "a cluster comes": {"c-new": cluster("new", "{region: eu, tier: gold}")},
    "a cluster goes": {"c-us-1": ""},
    "a cluster of another organization": changed("c-b-1", "region: eu", "region: us"),
    "a version comes": {"d-web-3": definition("web", "1.2.0", OPTIONS)},
    "a version comes that no range admits": {"d-web-3": definition("web", "1.2.0-rc.1", OPTIONS)},
    "a lower version comes": {"d-web-0": definition("web", "0.9.0", OPTIONS)},
    "a lower version with a migration": {
        "d-web-0": definition("web", "0.9.0", OPTIONS + ", changes: {migrations: [{rename: {from: old, to: host}}]}")
    },
    "the highest version goes": {"d-web-2": ""},
    "the pinned version changes": changed("d-web-1", "default: 1}", "default: 3}"),
    "the wanted version changes": changed("d-web-2", "default: 1}", "default: 3}"),
    "a definition of the platform": changed("d-base", "default: 1}", "default: 3}"),
    "an organization's own of the same name": {"d-own": definition("base", "1.0.0", OPTIONS)},
    "an output": changed("d-db", "db-$(CLUSTER_NAME)", "other-$(CLUSTER_NAME)"),
    "an option of who offers an output": changed("d-db", "default: 1", "default: 2"),
    "a preset's value": changed("p-web", "size: 2", "size: 3"),
    "a preset's selector": changed("p-db", "region: eu", "tier: gold"),
    "a preset goes": {"p-db": ""},
    "a preset comes": {"p-new": preset("new", "pluginDefinition: db")},
    "a preset that takes a release over": {"p-new": preset("a", "pluginDefinition: db", release="db")},
    "a plugin by hand": changed("by-hand", "releaseName: hand", "releaseName: other"),
    "a plugin beside a preset": changed("beside", "size: 5", "size: 6"),
    "a plugin beside a preset goes": {"beside": ""},
    "an override's value": changed("o-eu", "value: 7", "value: 8"),
    "an override's selector": changed("o-eu", "region: eu", "tier: dev"),
    "an override by definition": changed("o-web", "value: x", "value: y"),
    "an override goes": {"o-eu": ""},
    "an override for one cluster comes": {
        "o-one": override("one", "overrides: [{path: size, value: 9}], clusterSelector: {clusterNames: [us-1]}")
    },
    "eleven overrides come": {
        f"o-{number}": override(
            f"n{number}",
            f"overrides: [{{path: size, value: {number}}}], clusterSelector: {{matchLabels: {{tier: dev}}}}",
        )
        for number in range(11)
    },
    "an object that a binding reads": changed("known", "blue", "green"),
    "an object of that kind that nothing reads": changed("other", "red", "green"),
    "the object that a binding reads goes": {"known": ""},
    "a secret": changed("pass", "hunter2", "hunter3"),
    "a config that a preset names": changed("mine", "a: 2", "a: 4"),
    "a config that is a default": changed("usual", "a: 1", "a: 4"),
    "a config that nobody names": changed("unused", "a: 3", "a: 4"),
    "a policy": changed("policy", "notice: 1d", "notice: 2d"),
    "a policy that withdraws a version": {
        "policy": f"{API}kind: LifecyclePolicy\nmetadata: {{name: default, namespace: acme}}\n"
        "spec: {notice: 1d, support: [{definition: web, yanked: [1.1.0]}]}\n"
    },
}


def snapshot_of(edit: dict[str, str]) -> Snapshot:
    return fleet_of({f"{name}.yaml": text for name, text in {**FLEET, **edit}.items() if text}).snapshot


def known(version: str, definition: str = "web", **fields: Any) -> PluginState:
    return PluginState(Deployed(version, definition), Deployed(version, definition), **fields)


def with_states(snapshot: Snapshot, **states: PluginState) -> Snapshot:
    found: dict[Ref, dict[str, PluginState]] = {}
    for name, state in states.items():
        plugin, _, on = name.replace("_", "-").partition("-on-")
        found.setdefault(Ref("Cluster", "acme", on), {})[f"{plugin}-{on}"] = state
    return replace(snapshot, states=found)


def later(snapshot: Snapshot, by: timedelta) -> Snapshot:
    return replace(snapshot, at=snapshot.at + by)


BEFORE = snapshot_of({})
STATED = with_states(
    BEFORE, web_on_eu_1=known("1.0.0"), web_on_us_1=known("1.1.0"), keys_on_eu_1=known("1.0.0", "keys")
)
# Pairs of snapshots that differ in something else than an object.
OTHERS = {
    "states come": (BEFORE, STATED),
    "a state of another version": (STATED, with_states(STATED, web_on_eu_1=known("1.1.0"), web_on_us_1=known("1.1.0"))),
    "a state of another hash": (
        STATED,
        with_states(
            STATED,
            web_on_eu_1=PluginState(Deployed("1.0.0", "web", "h1:x"), Deployed("1.0.0", "web")),
            web_on_us_1=known("1.1.0"),
            keys_on_eu_1=known("1.0.0", "keys"),
        ),
    ),
    "a version comes while another runs": (
        STATED,
        replace(snapshot_of({"d-web-3": definition("web", "1.0.5", OPTIONS)}), states=STATED.states),
    ),
    "one second before an override expires": (BEFORE, later(BEFORE, timedelta(hours=24, seconds=-1))),
    "an override expires": (BEFORE, later(BEFORE, timedelta(hours=24))),
    "a day after it has": (later(BEFORE, timedelta(days=2)), later(BEFORE, timedelta(days=3))),
    "time goes back": (later(BEFORE, timedelta(days=2)), BEFORE),
    "a version is rejected for an owner": (
        BEFORE,
        replace(BEFORE, rejected={Ref("PluginPreset", "acme", "web"): frozenset({"1.1.0"})}),
    ),
}


def told(decisions: Decisions) -> dict[tuple[str, str, str], tuple[Any, ...]]:
    return {
        key: (
            each.target.revision.version if each.target.revision is not None else None,
            {name: repr(option.value) for name, option in each.options.items()},
            [(gate.gate, gate.message) for gate in each.gates],
            each.running,
            each.upgrade is not None,
        )
        for key, each in decisions.plugins.items()
    }


def reached(first: Decisions, after: Snapshot) -> tuple[str, str]:
    """The plugins that are other objects afterwards, and the clusters that a part of a pass would look at."""
    again = decide(after, first)
    assert told(again) == told(decide(after)), "decided from the pass before as in a whole one"
    by_cluster: dict[str, list[str]] = {}
    for key, plugin in again.plugins.items():
        if first.plugins.get(key) is not plugin:
            by_cluster.setdefault(key[1], []).append(plugin.target.owner.ref.name)
    for key in first.plugins.keys() - again.plugins.keys():
        by_cluster.setdefault(key[1], []).append(f"{key[2]} gone")
    part = decide_reached(after, first, 1000)
    told_part = told(part.decisions)
    assert told_part == {key: each for key, each in told(again).items() if key in told_part}
    anew = "; ".join(f"{name}: {', '.join(sorted(owners))}" for name, owners in sorted(by_cluster.items()))
    return anew or "nothing", ", ".join(each.name for each in part.decisions.clusters) or "none"


def test_edits_reach_what_the_page_says() -> None:
    before = decide(BEFORE)
    found = {title: reached(before, snapshot_of(edit)) for title, edit in EDITS.items()}
    found |= {title: reached(decide(one), other) for title, (one, other) in OTHERS.items()}
    lines = [f"- {title} → {anew} (clusters: {clusters})" for title, (anew, clusters) in found.items()]
    compare(PAGE, ["", *lines])


def test_a_version_between_what_runs_and_what_is_wanted_is_judged_anew_when_it_says_something_else() -> None:
    """It was not chosen and is not: what it says of its changes holds those that come across it all the same (S26)."""
    versions = {name: definition("web", name, OPTIONS) for name in ("1.0.0", "1.1.0", "2.0.0")}
    files = {**versions, "eu": cluster("eu-1", "{}"), "preset": preset("web", "pluginDefinition: web")}
    running = {"web_on_eu_1": known("1.0.0")}
    before = with_states(fleet_of(files).snapshot, **running)
    files["1.1.0"] = definition("web", "1.1.0", f"{OPTIONS}, changes: {{breaking: true}}")
    after = with_states(fleet_of(files).snapshot, **running)
    first = decide(before)
    again = decide(after, first)
    (plugin,) = [each for here in again.clusters.values() for each in here.plugins.values()]
    assert [each.gate for each in (plugin.upgrade or plugin).gates] == ["breaking"]
    assert told(again) == told(decide(after))
