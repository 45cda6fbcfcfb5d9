"""Small fleets from a seed, weighted towards what is easily got wrong: options that are renamed, vanish and return,
values that refer to what is missing or waited for, and layers that merge into, reach inside and remove each other."""

from __future__ import annotations

from random import Random
from typing import Any, NamedTuple

from rulebook.inventing_definitions import PLATFORM, Definitions, document
from rulebook.model import Fleet
from rulebook.options import option_for
from rulebook.trees import Steps, steps_of, text_of
from rulebook.variables import mentions_in

Tree = dict[str, Any]
NOW = "2026-11-01T12:00:00Z"
DATES = ("2026-01-01", "2026-02-01", "2026-03-01")
RANGES = ("^1.0", "1.x", "~1.1.0", ">=1.1.0 <2", "^1.1.x", "1.0.x || 2.x", "2.x", ">=1", "1.1", "^2.0-0", "9.x")
NAMES = ("X", "Y", "N", "P", "W", "S", "C", "Q", "O")


class Invented(NamedTuple):
    """A fleet as trees: its documents and a state export."""

    documents: list[Tree]
    state: Tree


def invented(seed: int) -> Invented:
    return Inventor(Random(seed)).fleet()


class Inventor(Definitions):
    # ---- The fleet

    def fleet(self) -> Invented:
        found = self.some(1, 3, self.cluster)
        self.clusters = [each["metadata"]["name"] for each in found]
        definitions = ["d", "e"][: self.dice.choice([1, 1, 2])]
        for name in definitions:
            self.revisions[name] = self.definition(name)
            found += self.revisions[name]
        owners = self.owners(definitions)
        found += owners
        for each in self.some(0, 4, self.override):
            found += each
        if self.bound_share:
            found += self.objects()
        if self.configs_share:
            found += self.config_objects()
        if self.chance(0.25):
            found += [document("LifecyclePolicy", "default", self.policy(), PLATFORM)]
        found += self.instances(owners)
        self.without_idle_bindings(owners, found)
        return Invented(found, self.state(found))

    def without_idle_bindings(self, owners: list[Tree], documents: list[Tree]) -> None:
        """Most bindings are referred to by something."""
        used = {name for each in documents for name in mentions_in(each)}
        for owner in owners:
            for section in ("controlPlaneBindings", "bindings"):
                if section in owner["spec"]:
                    held = owner["spec"][section]
                    owner["spec"][section] = [each for each in held if each["name"] in used or self.chance(0.1)]

    def cluster(self, number: int) -> Tree:
        labels = {}
        if self.chance(0.8):
            labels["tier"] = self.dice.choice(["gold", "dev"])
        if self.chance(0.6):
            labels["region"] = self.dice.choice(["eu", "us"])
        facts = {"zone": "z1", "ports": [80, 443]} if self.chance(0.7) else {"ports": [80]}
        return document("Cluster", f"c{number}", {"facts": facts}, labels=labels)

    # ---- Owners

    def selector(self) -> Tree:
        dice = self.dice
        return dice.choice(
            [
                {"matchLabels": {"tier": dice.choice(["gold", "dev"])}},
                {"labelSelector": {"matchExpressions": [{"key": "region", "operator": "Exists"}]}},
                {"labelSelector": {"matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["dev"]}]}},
                {"clusterNames": [dice.choice(self.clusters)]},
                {"ignoreClusters": [dice.choice(self.clusters)]},
                {"matchLabels": {"region": "eu"}, "clusterNames": [dice.choice(self.clusters)]},
                {"clusterNames": list(self.clusters), "ignoreClusters": [dice.choice(self.clusters)]},
            ]
        )

    def owners(self, definitions: list[str]) -> list[Tree]:
        found = []
        for name in definitions:
            for number in range(self.dice.choice([1, 1, 1, 2])):
                found.append(self.preset(f"{name}{number}", name, number))
            if self.chance(0.1):
                binds = self.chance(self.bound_share)
                spec: Tree = {
                    "pluginDefinition": self.definition_ref(name, pins_only=True),
                    "clusterName": self.dice.choice(self.clusters),
                    "releaseName": f"{name}-hand",
                    "optionValues": self.values(name, binds),
                }
                found.append(document("Plugin", f"{name}-hand", self.with_bindings(spec, name, binds)))
        return found

    def definition_ref(self, name: str, pins_only: bool = False) -> Tree:
        versions = [each["spec"]["version"] for each in self.revisions[name]]
        choice = self.dice.random()
        if choice < 0.5:
            return {"name": name}
        if choice < 0.75 or pins_only:
            return {"name": name, "version": self.dice.choice([*versions, "v" + versions[0]])}
        return {"name": name, "version": self.dice.choice(RANGES)}

    def preset(self, name: str, definition: str, number: int) -> Tree:
        binds = self.chance(self.bound_share)
        plugin: Tree = {
            "pluginDefinition": self.definition_ref(definition),
            "optionValues": self.values(definition, binds),
        }
        if number and self.chance(0.6):
            plugin["releaseName"] = name
        plugin |= self.config_refs()
        spec: Tree = {"clusterSelector": {} if self.chance(0.7) else self.selector(), "plugin": plugin}
        if self.chance(0.3):
            spec["groups"] = self.some(
                1, 2, lambda each: {
                    "name": f"g{each}", "clusterSelector": self.selector(),
                    "optionValues": self.values(definition, binds, 2), **self.config_refs(),
                }
            )  # fmt: skip
        if self.chance(0.25):
            spec["clusterOptionOverrides"] = self.some(
                1, 2, lambda _: {
                    "clusterName": self.dice.choice(self.clusters), "overrides": self.values(definition, binds, 2),
                }
            )  # fmt: skip
        if self.configs_share and self.chance(0.3):
            spec["configMode"] = self.dice.choice(["Merge", "Override", "OverrideByGVK"])
        if self.chance(0.2):
            version = self.dice.choice([each["spec"]["version"] for each in self.revisions[definition]])
            acknowledged: Tree = {"version": version}
            if self.chance(0.3):
                acknowledged["clusterSelector"] = self.selector()
            spec["upgrades"] = {"acknowledged": [acknowledged]}
        return document("PluginPreset", name, self.with_bindings(spec, definition, binds), **self.stamp())

    def stamp(self) -> Tree:
        choice = self.dice.random()
        if choice < 0.5:
            return {"annotations": {"fleetform.dev/created": self.dice.choice(DATES)}}
        return {"creationTimestamp": self.dice.choice(DATES)} if choice < 0.6 else {}

    def instances(self, owners: list[Tree]) -> list[Tree]:
        found = []
        for plugin in Fleet([*owners, *(document("Cluster", each, {}) for each in self.clusters)], {}, NOW).plugins:
            if (
                plugin.owner["kind"] == "PluginPreset"
                and plugin.owner["spec"]["clusterSelector"] == {}
                and self.chance(0.12)
            ):
                spec = {
                    "presetRef": {"name": plugin.owner["metadata"]["name"]},
                    "clusterName": plugin.cluster["metadata"]["name"],
                    "optionValues": self.values(plugin.definition, "controlPlaneBindings" in plugin.owner["spec"], 2),
                    **self.config_refs(),
                }
                found.append(document("Plugin", plugin.name, spec))
        return found

    # ---- Configs

    def config_refs(self) -> Tree:
        if not self.chance(self.configs_share):
            return {}
        known = [(resource, name) for resource in ("reds", "blues") for name in ("one", "two", "three", "none")]
        chosen = self.dice.sample(known[:-1] if self.chance(0.9) else known, self.dice.randint(1, 2))
        return {"configs": [{"group": "example.com", "resource": each, "name": name} for each, name in chosen]}

    def config_objects(self) -> list[Tree]:
        found = []
        for kind in ("Red", "Blue"):
            for number, name in enumerate(("one", "two", "three")):
                held = {"apiVersion": "example.com/v1", "kind": kind, "metadata": {"name": name, "namespace": "acme"}}
                found.append({**held, "spec": {"k": number, "j": {"q": number, name: 1}}})
        return found

    # ---- Variables

    def with_bindings(self, spec: Tree, definition: str, binds: bool) -> Tree:
        if not binds:
            return spec
        control = [self.binding(name) for name in NAMES if name not in ("W",) and self.chance(0.7)]
        if definition == "d":
            control = [each for each in control if "pluginOutputRef" not in each]
        spec["controlPlaneBindings"] = control
        if self.chance(0.2):
            spec["substitute"] = {"HOST": self.dice.choice(["$(X)", "h-$(Y)", "$(W)", "$(Q)", "$(CLUSTER_NAME)"])}
        if self.chance(0.6):
            spec["bindings"] = self.downstream()
        return spec

    def binding(self, name: str) -> Tree:
        dice = self.dice
        sources: dict[str, list[Tree]] = {
            "X": [self.config_map("site", "host"), self.config_map("site", "gone"), self.config_map("none", "host"),
                  {"clusterFieldRef": {"path": "/spec/facts/zone"}}, self.config_map("site-$(Y)", "host")],
            "Y": [{"value": "a"}, {"value": "$(cluster.labels.tier)"}, {"value": "b"}],
            "N": [{"value": 3}, {"value": 7}, {"clusterFieldRef": {"path": "spec.facts.ports[1]"}}],
            "P": [{"value": {"k": 1, "j": {"q": 2}}}, {"value": {"k": "$(Y)"}}, {"value": {}},
                  self.config_map("site", None)],
            "S": [{"objectFieldRef": {"kind": "Secret", "name": "creds", "fieldPath": "/data/k"}},
                  {"objectFieldRef": {"kind": "Secret", "name": "gone", "fieldPath": "/data/k"}}],
            "C": [{"value": "c-$(X)"}, {"value": "$(N)", "as": "string"}, {"value": "$(P)", "as": "json"}],
            "Q": [self.config_map("none", "host"), self.config_map("site", "gone"), self.config_map("site", "host")],
            "O": [{"pluginOutputRef": {"definition": "d", "output": each}} for each in "op"],
        }  # fmt: skip
        found = {"name": name, **dice.choice(sources[name])}
        if name == "X" and "site-$(Y)" in str(found):
            found = {"name": name, **self.config_map("site", "host")} if self.chance(0.5) else found
        if name == "Q":
            found["optional"] = True
        elif self.chance(0.15) and "value" not in found:
            found["default"] = {"N": 1, "P": {"k": "d"}}.get(name, "d")
        elif self.chance(0.1) and "value" not in found:
            found["optional"] = True
        return found

    def config_map(self, name: str, key: str | None) -> Tree:
        return {"objectFieldRef": {"kind": "ConfigMap", "name": name, "fieldPath": f"/data/{key}" if key else "/data"}}

    def downstream(self) -> list[Tree]:
        name = self.dice.choice(["svc", "svc", "svc-$(NOWHERE)", "$(Y)"])
        found: Tree = {"name": "W", "objectFieldRef": {"kind": "Service", "name": name, "fieldPath": "/spec/clusterIP"}}
        if self.chance(0.2):
            found["default"] = "d"
        elif self.chance(0.2):
            found["optional"] = True
        return [found] if self.chance(0.85) else []

    def objects(self) -> list[Tree]:
        return [
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "site", "namespace": "acme"},
             "data": {"host": "h", "port": "1"}},
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "site-a", "namespace": "acme"},
             "data": {"host": "ha"}},
            {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "creds", "namespace": "acme"},
             "stringData": {"k": "pw"}, "data": {}},
        ]  # fmt: skip

    # ---- Overrides

    def override(self, number: int) -> list[Tree]:
        names = sorted(self.revisions)
        named = self.dice.sample(names, self.dice.randint(1, len(names))) if self.chance(0.5) else []
        undeclared = self.chance(0.15)
        binds = self.bound_share == 1
        items: list[Tree] = []
        for _ in range(self.dice.choice([1, 1, 2, 3])):
            item = self.override_item(self.dice.choice(named or names), binds, undeclared)
            if self.may_stand(item, "path", items, named or self.declaring(item["path"])):
                items.append({key: each for key, each in item.items() if key != "elsewhere"})
        if not items:
            return []
        spec: Tree = {"overrides": items}
        if named:
            spec["pluginDefinitionNames"] = named
        if undeclared:
            spec["allowUndeclared"] = True
        if self.chance(0.5):
            spec["clusterSelector"] = self.dice.choice(
                [self.selector(), self.selector(), {}, [], [self.selector(), self.selector()]]
            )
        if self.chance(0.06):
            spec["expires"] = self.dice.choice(["2026-10-01", "2027-01-01"])
        return [document("PluginOverride", self.dice.choice("pqr") + str(number), spec, **self.stamp())]

    def declaring(self, path: str) -> list[str]:
        """The definitions of which some version declares an option."""
        steps = steps_of(path)
        return [name for name, held in self.revisions.items() if any(option_for(each, steps) for each in held)]

    def override_item(self, definition: str, binds: bool, undeclared: bool) -> Tree:
        if undeclared and self.chance(0.7):
            path: Steps = self.dice.choice([("x",), ("x", "k"), ("x", "j"), ("x", "k", "q")])
            kind = "map" if path == ("x",) else self.dice.choice(["int", "map", "string"])
            elsewhere = True
        else:
            path, kind = self.path(definition)
            elsewhere = False
        choice = self.dice.random()
        if choice < 0.2:
            return {"path": text_of(path), "strategy": "Remove", "elsewhere": elsewhere}
        item = self.item("path", path, kind, binds)
        if elsewhere:
            item["elsewhere"] = True
        if isinstance(item.get("value"), dict) and choice < 0.6:
            if not item["value"]:
                item["value"] = {"k": 1}
            item["strategy"] = "Merge"
        return item

    # ---- Policies, state

    def policy(self) -> Tree:
        found: Tree = {"support": self.some(0, 1, self.support)}
        if self.chance(0.3):
            found |= {"grace": self.dice.choice(["10d", "90d"]), "forceAfter": self.dice.choice(["30d", "400d"])}
        return found

    def support(self, _: int) -> Tree:
        name = self.dice.choice(sorted(self.revisions))
        version = self.dice.choice(self.revisions[name])["spec"]["version"]
        found: Tree = {"definition": name}
        what = self.dice.choice(["floor", "yanked", "ends", "ends"])
        if what == "floor":
            found["floor"] = version
        elif what == "yanked":
            found["yanked"] = [version]
        else:
            found["ends"] = [{"version": version, "at": self.dice.choice(["2026-01-01", "2026-01-01", "2027-01-01"])}]
        return found

    def state(self, documents: list[Tree]) -> Tree:
        found: Tree = {"kind": "State", "version": 1, "stamps": [], "plugins": []}
        runs, healthy, observes = self.chance(0.6), self.chance(0.15), self.chance(0.5)
        for plugin in Fleet(documents, {}, NOW).plugins:
            known: Tree = {}
            versions = [each["spec"]["version"] for each in self.revisions[plugin.definition]]
            if runs and self.chance(0.85):
                known["admitted"] = {"version": self.dice.choice([versions[0], self.dice.choice(versions)])}
            if healthy:
                known["lastHealthy"] = {"version": self.dice.choice(versions)}
            if observes:
                observed: Tree = {"bindings": {"W": self.dice.choice(["10.0.0.1", None])}}
                if self.chance(0.5):
                    observed["outputs"] = {"o": "10.0.0.9"}
                known["observed"] = observed
            if known:
                where = {"organization": "acme", "cluster": plugin.cluster["metadata"]["name"], "plugin": plugin.name}
                found["plugins"].append({**where, **known})
            if self.chance(0.03):
                rejected = {
                    "organization": "acme",
                    "kind": plugin.owner["kind"],
                    "name": plugin.owner["metadata"]["name"],
                    "version": self.dice.choice(versions),
                }
                found.setdefault("rejected", []).append(rejected)
        for each in documents:
            if each["kind"] == "PluginOverride" and self.chance(0.05):
                stamp = {"kind": each["kind"], "organization": "acme", "name": each["metadata"]["name"]}
                found["stamps"].append({**stamp, "created": self.dice.choice(DATES)})
        return found
