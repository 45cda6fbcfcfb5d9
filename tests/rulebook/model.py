"""The rules of docs/spec once more, as a reader would apply them by hand: every plugin by itself, with loops.

Written from the rules and from nothing else, so that it does not share the engine's blind spots. Speed is no aim.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from rulebook.choosing import Support, Wanted, is_exact, version_of, wanted_version
from rulebook.config_refs import Ref, mode_of, named, object_of, values_of
from rulebook.config_refs import effective as effective_refs
from rulebook.folding import effective, folded
from rulebook.layering import Reader, default_items, written_layers
from rulebook.options import fits, option_for, options_of
from rulebook.selecting import age_of, rank_of, reaches, selects
from rulebook.telling import Answer, Gate, Report, Resolved, told
from rulebook.trees import ABSENT, Hole, Reason, found_at, has_hole, holes_in, text_of
from rulebook.variables import OPTIONAL, TIMING, Names, whole

Tree = dict[str, Any]
PLATFORM = "fleetform-system"


class Plugin(NamedTuple):
    owner: Tree
    instance: Tree | None
    cluster: Tree
    definition: str
    release: tuple[str, str]

    @property
    def name(self) -> str:
        name: str = self.owner["metadata"]["name"]
        return name if self.owner["kind"] == "Plugin" else f"{name}-{self.cluster['metadata']['name']}"


class Fleet:
    """Documents of one organization and its platform, and a state export."""

    def __init__(self, documents: Sequence[Tree], state: Tree, now: str) -> None:
        self.documents, self.state, self.now = documents, state, now
        self.stamps = {(each["kind"], each["name"]): each["created"] for each in state.get("stamps", [])}
        self.plugins = list(self._plugins())

    # ---- Objects

    def of(self, kind: str) -> list[Tree]:
        return [each for each in self.documents if each["kind"] == kind]

    def known(self, plugin: Plugin) -> Tree:
        """What the state says of a plugin."""
        for each in self.state.get("plugins", []):
            if (each["cluster"], each["plugin"]) == (plugin.cluster["metadata"]["name"], plugin.name):
                found: Tree = each
                return found
        return {}

    def revisions(self, definition: str) -> list[Tree]:
        """An organization's definition hides the platform's of the same name (R2-4)."""
        named = [each for each in self.of("PluginDefinition") if each["metadata"]["name"] == definition]
        own = [each for each in named if each["metadata"]["namespace"] != PLATFORM]
        return own or named

    def revision(self, definition: str, version: str | None) -> Tree | None:
        for each in self.revisions(definition):
            if version is not None and version_of(each["spec"]["version"]) == version_of(version):
                return each
        return None

    def _plugins(self) -> Sequence[Plugin]:
        found = []
        for preset in self.of("PluginPreset"):
            for cluster in self.of("Cluster"):
                if selects(preset["spec"]["clusterSelector"], cluster):
                    name = f"{preset['metadata']['name']}-{cluster['metadata']['name']}"
                    beside = [
                        each for each in self.of("Plugin")
                        if "presetRef" in each["spec"] and each["metadata"]["name"] == name
                    ]  # fmt: skip
                    found.append(_plugin(preset, preset["spec"]["plugin"], beside[0] if beside else None, cluster))
        for plugin in self.of("Plugin"):
            for cluster in self.of("Cluster"):
                if "presetRef" not in plugin["spec"] and plugin["spec"]["clusterName"] == cluster["metadata"]["name"]:
                    found.append(_plugin(plugin, plugin["spec"], None, cluster))
        return found

    def older_owner(self, plugin: Plugin) -> str | None:
        """The owner that keeps the release that a plugin claims, if it is another (B23)."""
        claims = [
            each.owner for each in self.plugins
            if each.release == plugin.release and each.cluster is plugin.cluster
        ]  # fmt: skip
        oldest = min(claims, key=lambda each: age_of(each, self.stamps))
        return None if oldest is plugin.owner else oldest["metadata"]["name"]

    def overrides(self, plugin: Plugin) -> list[Tree]:
        """Those that reach a plugin, in the order in which they apply (R0-10, R0-11)."""
        reaching = [
            each for each in self.of("PluginOverride")
            if reaches(each, plugin.cluster, plugin.definition) and not self.has_expired(each)
        ]  # fmt: skip
        return sorted(reaching, key=lambda each: (rank_of(each), age_of(each, self.stamps)))

    def has_expired(self, override: Tree) -> bool:
        return bool(override["spec"].get("expires", "9999") <= self.now)

    # ---- Versions

    def wanted(self, plugin: Plugin) -> Wanted:
        offered = [each["spec"]["version"] for each in self.revisions(plugin.definition)]
        return wanted_version(self.asked(plugin), offered, self.support(plugin))

    def asked(self, plugin: Plugin) -> str | None:
        spec = plugin.owner["spec"]
        found: str | None = spec.get("plugin", spec)["pluginDefinition"].get("version")
        return found

    def support(self, plugin: Plugin) -> Support:
        """What the platform's policy and the organization's say together, and what failed (R2-9, B10)."""
        said = [
            each
            for policy in self.of("LifecyclePolicy")
            for each in policy["spec"].get("support", [])
            if each["definition"] == plugin.definition
        ]
        rejected = [
            each["version"]
            for each in self.state.get("rejected", [])
            if (each.get("kind", "PluginPreset"), each["name"])
            == (plugin.owner["kind"], plugin.owner["metadata"]["name"])
        ]
        return Support(
            [each["floor"] for each in said if "floor" in each],
            [version for each in said for version in each.get("yanked", [])],
            [end["version"] for each in said for end in each.get("ends", []) if end["at"] <= self.now],
            rejected,
        )

    # ---- One plugin

    def names(self, plugin: Plugin) -> Names:
        observed = self.known(plugin).get("observed", {}).get("bindings", {})

        def output_of(definition: str, output: str) -> Any:
            return self.output(plugin.cluster, definition, output)

        return Names(plugin.owner, plugin.cluster, list(self.documents), observed, output_of)

    def output(self, cluster: Tree, definition: str, output: str) -> Any:
        """An output of the only plugin of a definition on a cluster (R3-4, B17)."""
        producers = [
            each for each in self.plugins
            if each.definition == definition and each.cluster is cluster and self.older_owner(each) is None
        ]  # fmt: skip
        if len(producers) != 1:
            gate = "value-type" if producers else "dependency"
            return Hole(frozenset({Reason(gate, definition)}))
        producer = producers[0]
        known = self.known(producer)
        healthy = known.get("lastHealthy", {}).get("version")
        revision = self.revision(definition, healthy or self.answer(producer).version)
        if revision is None:
            return Hole(frozenset({Reason("dependency", definition)}))
        offered = revision["spec"].get("outputs", [])
        names = self.names(producer)
        for each in offered:
            if each["name"] == output:
                if "value" in each:
                    return whole(names.expanded(each["value"]))
                ref = each["objectFieldRef"]
                seen = known.get("observed", {}).get("outputs", {})
                inside = names.in_input(ref) is not None
                return names.field(ref, output, not inside, output in seen, seen.get(output))
        return Hole(frozenset({Reason("config-missing", output)}))

    def resolved(self, plugin: Plugin, revision: Tree) -> Resolved:
        """All values of a plugin as one revision takes them, and what is wrong with them."""
        names = self.names(plugin)
        reader = Reader(plugin.definition, self.revisions(plugin.definition), revision, plugin.cluster, names)
        refs = self.configs(plugin, revision)
        layers = [
            [reader.read(item) for item in layer]
            for layer in written_layers(
                plugin.owner,
                plugin.instance,
                plugin.cluster,
                self.overrides(plugin),
                values_of(refs, revision, list(self.documents)),
            )
        ]
        defaults = default_items(revision)
        tree, misfits = folded(revision, defaults, layers)
        reasons = {Gate(*reason) for reason in holes_in(tree)}
        for steps, option in options_of(revision).items():
            value = found_at(tree, steps)
            if value is ABSENT and option.get("required"):
                reasons.add(Gate("required-option", option["name"]))
            elif value is not ABSENT and not has_hole(value) and not fits(option, value):
                reasons.add(Gate("value-type", option["name"]))
        for ref in refs:
            if object_of(ref, list(self.documents)) is None:
                reasons.add(Gate("config-missing", ref.name))
        reasons |= self.substituted(plugin)
        for name in names.behind(revision["spec"].get("outputs", [])):
            found = names.meaning(name)
            if isinstance(found, Hole):
                # An output refers to it, be it read by others or not (S57).
                reasons |= {Gate(*reason) for reason in found.reasons}
        return Resolved(
            revision,
            tree,
            (*defaults, *(item for layer in effective(revision, defaults, layers) for item in layer)),
            frozenset(each for each in reasons if each.gate not in TIMING),
            frozenset(each for each in reasons if each.gate in TIMING),
            misfits,
            tuple(refs),
        )

    def substituted(self, plugin: Plugin) -> set[Gate]:
        """What keeps variables of `substitute` from having a value; an optional one is left out."""
        if not self.names(plugin).in_force:
            return set()
        found = [self.names(plugin).expanded(each) for each in plugin.owner["spec"].get("substitute", {}).values()]
        return {Gate(*reason) for each in found if each is not OPTIONAL for reason in holes_in(each)}

    def configs(self, plugin: Plugin, revision: Tree) -> list[Ref]:
        mode = mode_of(plugin.owner, revision)
        return effective_refs(named(plugin.owner, plugin.instance, plugin.cluster, revision, mode), mode, revision)

    def answer(self, plugin: Plugin) -> Answer:
        wanted = self.wanted(plugin)
        running = self.known(plugin).get("admitted", {}).get("version")
        runs = self.revision(plugin.definition, running)
        gates: set[Gate] = set()
        waiting: frozenset[Gate] = frozenset()
        if wanted.gate is not None:
            gates.add(Gate(wanted.gate, ""))
        new = self.revision(plugin.definition, wanted.version)
        target = self.resolved(plugin, new) if new is not None else None
        if target is None:
            waiting = frozenset(each for each in self.substituted(plugin) if each.gate in TIMING)
            gates |= self.substituted(plugin) - waiting
        else:
            gates |= target.gates | self.upgrade_gates(plugin, wanted, running, runs, target)
        if gates and runs is not None:
            target = self.resolved(plugin, runs)
        older = self.older_owner(plugin)
        if older is not None:
            gates.add(Gate("conflict", older))
        return told(target, wanted, frozenset(gates), waiting, self.revisions(plugin.definition))

    def readings(self, plugin: Plugin) -> list[Resolved]:
        """The plugin as the version that is wanted makes it and, where gates hold that back, as the one that runs."""
        revisions = [
            self.revision(plugin.definition, each)
            for each in (self.wanted(plugin).version, self.answer(plugin).version)
        ]
        found = [each for index, each in enumerate(revisions) if each is not None and each not in revisions[:index]]
        return [self.resolved(plugin, each) for each in found]

    def fitting_nowhere(self) -> set[str]:
        """The objects with a path that blocks a plugin and fits on none that it reaches, in no version (S59)."""
        found = set()
        kept = [each for each in self.plugins if self.older_owner(each) is None]
        readings = [(plugin, reading) for plugin in kept for reading in self.readings(plugin)]
        for plugin in kept:
            wanted = self.revision(plugin.definition, self.wanted(plugin).version)
            for item in self.resolved(plugin, wanted).standing_misfits() if wanted is not None else []:
                place = (item.layer, item.written)
                reached = [(each, reading) for each, reading in readings if place in reading.spoken()]
                seen = [reading.revision for _, reading in reached]
                others = [each for plugin, _ in reached for each in self.revisions(plugin.definition)]
                if all(place in reading.misfitting() for _, reading in reached) and not any(
                    option_for(each, item.steps) for each in others if each not in seen
                ):
                    found.add(item.layer.object)
        return found

    def report(self, override: Tree) -> Report:
        """The plugins that an override speaks of, and what it comes to (R0-23, S21)."""
        name = override["metadata"]["name"]
        said = {
            plugin.name: applied
            for plugin in self.plugins
            for applied in self.answer(plugin).applied
            if applied.name == name and self.older_owner(plugin) is None
        }
        findings = []
        if self.has_expired(override):
            findings.append("expired")
        elif not said:
            findings.append("dead")
        elif not any(each.won for each in said.values()):
            findings.append("shadowed")
        elif not any(each.changes for each in said.values()):
            findings.append("redundant")
        return Report(rank_of(override), tuple(sorted(said)), tuple(findings))

    def upgrade_gates(
        self, plugin: Plugin, wanted: Wanted, running: str | None, runs: Tree | None, target: Resolved
    ) -> set[Gate]:
        """What stands between the version that runs and the one that is wanted."""
        if running is None or wanted.version is None:
            return set()
        low, high = sorted((version_of(running), version_of(wanted.version)))
        passed = [
            each["spec"]
            for each in self.revisions(plugin.definition)
            if low < version_of(each["spec"]["version"]) <= high
        ]
        found: set[Gate] = set()
        if version_of(wanted.version) < version_of(running):
            asked = self.asked(plugin)
            pinned = asked is not None and is_exact(asked) and not wanted.forced
            if any(each.get("changes", {}).get("irreversible") for each in passed) or not (
                pinned or self.is_acknowledged(plugin, wanted.version)
            ):
                found.add(Gate("would-downgrade", ""))
        else:
            for each in passed:
                consents = self.is_acknowledged(plugin, each["version"]) or self.is_forced(plugin, each["version"])
                if each.get("changes", {}).get("breaking") and not consents:
                    found.add(Gate("breaking", each["version"]))
            if runs is not None:
                found |= self.removed_options(plugin, target, runs)
        return found

    def is_forced(self, plugin: Plugin, version: str) -> bool:
        """From forceAfter on, not before the grace is over, both counted from the announcement (R2-11, S56)."""
        revision = self.revision(plugin.definition, version)
        assert revision is not None
        announced = revision["metadata"].get("annotations", {}).get("fleetform.dev/announced", self.now)
        for policy in self.of("LifecyclePolicy"):
            if "forceAfter" in policy["spec"]:
                days = max(int(policy["spec"].get(each, "0d").removesuffix("d")) for each in ("forceAfter", "grace"))
                forced = datetime.fromisoformat(announced[:10]) + timedelta(days=days)
                return forced.isoformat() <= self.now
        return False

    def is_acknowledged(self, plugin: Plugin, version: str) -> bool:
        said = plugin.owner["spec"].get("upgrades", {}).get("acknowledged", [])
        return any(
            version_of(each["version"]) == version_of(version) and selects(each.get("clusterSelector"), plugin.cluster)
            for each in said
        )

    def removed_options(self, plugin: Plugin, target: Resolved, runs: Tree) -> set[Gate]:
        """Options that people set, that what runs knows, and that are gone without a migration (S3)."""
        found = set()
        reader = Reader(plugin.definition, self.revisions(plugin.definition), runs, plugin.cluster, self.names(plugin))
        for item in target.items:
            if item.skipped in ("not-declared", "not-yet-known") and item.strategy != "Remove" and not item.left_out:
                there = reader.read(replace(item, steps=item.written, value=item.said, renames=0, skipped=None))
                known = option_for(runs, there.steps) if there.skipped is None else None
                if known is not None:
                    found.add(Gate("removed-option", text_of(known)))
        return found


def _plugin(owner: Tree, template: Tree, instance: Tree | None, cluster: Tree) -> Plugin:
    definition = template["pluginDefinition"]["name"]
    release = (template.get("releaseNamespace", definition), template.get("releaseName", definition))
    return Plugin(owner, instance, cluster, definition, release)
