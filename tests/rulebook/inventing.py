"""Small fleets from a seed, weighted towards what is easily got wrong: options that are renamed, vanish and return,
values that refer to what is missing or waited for, and layers that merge into, reach inside and remove each other."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, NamedTuple

from rulebook.choosing import version_of
from rulebook.expressions import OF_CLUSTERS
from rulebook.layering import Item, Layer
from rulebook.options import fits, option_for, options_of
from rulebook.trees import Steps, is_within, steps_of, text_of
from rulebook.variables import mentions_in

Tree = dict[str, Any]
API = "fleetform.dev/v1alpha1"
NOW = "2026-11-01T12:00:00Z"
PLATFORM = "fleetform-system"
DATES = ("2026-01-01", "2026-02-01", "2026-03-01")
VERSIONS = ("1.0.0", "1.1.0", "1.2.0", "2.0.0", "2.1.0")
RANGES = ("^1.0", "1.x", "~1.1.0", ">=1.1.0 <2", "^1.1.x", "1.0.x || 2.x", "2.x", ">=1", "1.1", "^2.0-0", "9.x")
KEYS = ("k", "j", "q")
OPTIONS = ("n", "s", "m", "l", "b", "t", "a.x", "a.y", "z", "w[0]", "u", "v")
NAMES = ("X", "Y", "N", "P", "W", "S", "C", "Q", "O")
RETYPES = {
    ("map", "list"): "value.map(k, {'name': k, 'of': value[k]})",
    ("string", "map"): "{'was': value}",
    ("list", "map"): "{'was': value}",
    ("int", "string"): "string(value)",
    ("bool", "string"): "string(value)",
    ("string", "int"): "int(value)",
    ("string", "list"): "[value]",
    ("int", "list"): "[value]",
    ("map", "int"): "size(value)",
    ("list", "int"): "size(value)",
}


class Invented(NamedTuple):
    """A fleet as trees: its documents and a state export."""

    documents: list[Tree]
    state: Tree


def invented(seed: int) -> Invented:
    return Inventor(Random(seed)).fleet()


def document(kind: str, name: str, spec: Any, namespace: str = "acme", **metadata: Any) -> Tree:
    return {
        "apiVersion": API, "kind": kind, "metadata": {"name": name, "namespace": namespace, **metadata}, "spec": spec,
    }  # fmt: skip


class Inventor:
    def __init__(self, dice: Random) -> None:
        self.dice = dice
        self.clusters: list[str] = []
        self.revisions: dict[str, list[Tree]] = {}
        # Variables are filled in for every owner, for some, or for none.
        self.bound_share = dice.choice([0, 0, 0.6, 1, 1])
        self.references = 0.35 if self.bound_share else 0.05

    def chance(self, share: float) -> bool:
        return self.dice.random() < share

    def some(self, least: int, most: int, make: Callable[[int], Any]) -> list[Any]:
        return [make(number) for number in range(self.dice.randint(least, most))]

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
        if self.chance(0.2):
            found += [document("LifecyclePolicy", "default", {"support": self.some(1, 1, self.support)}, PLATFORM)]
        found += self.instances(owners)
        return Invented(found, self.state(found))

    def cluster(self, number: int) -> Tree:
        labels = {}
        if self.chance(0.8):
            labels["tier"] = self.dice.choice(["gold", "dev"])
        if self.chance(0.6):
            labels["region"] = self.dice.choice(["eu", "us"])
        facts = {"zone": "z1", "ports": [80, 443]} if self.chance(0.7) else {"ports": [80]}
        return document("Cluster", f"c{number}", {"facts": facts}, labels=labels)

    # ---- Definitions

    def definition(self, name: str) -> list[Tree]:
        """Its versions, each made from the one before."""
        texts = list(VERSIONS[: self.dice.choice([1, 2, 2, 3, 3, 4, 5])])
        if self.chance(0.1):
            texts.append("2.2.0-rc.1")
        namespace = PLATFORM if self.chance(0.1) else "acme"
        options = [self.option(each) for each in self.dice.sample(OPTIONS, self.dice.randint(2, 5))]
        found = []
        gone: list[Tree] = []
        for index, text in enumerate(texts):
            changes: Tree = {}
            if index:
                options, gone, migrations = self.evolved(options, gone)
                if migrations:
                    changes["migrations"] = migrations
                if version_of(text)[0] > version_of(texts[index - 1])[0]:
                    changes["breaking"] = self.chance(0.3)
                elif self.chance(0.1):
                    changes["breaking"] = True
                if self.chance(0.1):
                    changes["irreversible"] = True
            spec: Tree = {"version": text, "source": {"manifests": {"path": "./m"}}, "options": options}
            if changes:
                spec["changes"] = changes
            outputs = self.outputs(text)
            if outputs:
                spec["outputs"] = outputs
            found.append(document("PluginDefinition", name, spec, namespace))
        return found

    def option(self, name: str, kind: str | None = None) -> Tree:
        usual = {"n": "int", "s": "string", "m": "map", "l": "list", "b": "bool", "t": "secret", "z": "any"}
        usual |= {"a.x": "string", "a.y": "map", "w[0]": "string"}
        kind = kind or usual.get(name) or self.dice.choice(["int", "string", "map", "list", "bool"])
        found: Tree = {"name": name, "type": kind}
        if kind == "int" and self.chance(0.2):
            found["maximum"] = 5
        if kind == "string" and self.chance(0.1):
            found["enum"] = ["a", "b"]
        if kind != "secret" and self.chance(0.5) and "enum" not in found:
            found["default"] = min(self.literal(kind), 5) if kind == "int" else self.literal(kind)
        elif self.chance(0.2):
            found["required"] = True
        return found

    def evolved(self, options: list[Tree], gone: list[Tree]) -> tuple[list[Tree], list[Tree], list[Tree]]:
        """The options of the next version, those that have vanished, and the migrations that say so."""
        options, gone, migrations = [dict(each) for each in options], list(gone), []
        for _ in range(self.dice.choice([0, 1, 1, 2])):
            names = [each["name"] for each in options]
            free = [each for each in OPTIONS if each not in names]
            touched = {value for step in migrations for part in step.values() for value in part.values()}
            each = self.dice.choice(options)
            if each["name"] in touched or len(options) < 2:
                continue
            what = self.dice.choice(["add", "remove", "vanish", "rename", "rename", "retype", "default", "return", "require"])
            if what == "add" and free:
                options.append(self.option(self.dice.choice(free)))
            elif what in ("remove", "vanish"):
                options.remove(each)
                gone.append(each)
                if what == "remove":
                    migrations.append({"remove": {"name": each["name"]}})
            elif what == "rename":
                targets = [name for name in free if name not in touched and name != "w[0]"]
                if targets:
                    new = self.dice.choice(targets)
                    migrations.append({"rename": {"from": each["name"], "to": new}})
                    options[options.index(each)] = {**each, "name": new}
                    gone.append(each)
            elif what == "retype":
                kinds = [new for old, new in RETYPES if old == each["type"]]
                if kinds:
                    kind = self.dice.choice(kinds)
                    if self.chance(0.8):
                        expression = RETYPES[each["type"], kind]
                        migrations.append({"retype": {"name": each["name"], "expression": expression}})
                    options[options.index(each)] = self.option(each["name"], kind)
            elif what == "default" and each["type"] != "secret" and "enum" not in each:
                default = self.literal(each["type"])
                options[options.index(each)] = {**each, "default": min(default, 5) if each["type"] == "int" else default}
            elif what == "return":
                back = [old for old in gone if old["name"] in free and old["name"] not in touched]
                if back:
                    options.append(self.dice.choice(back))
            elif what == "require":
                each["required"] = True
                if self.chance(0.5):
                    migrations.append({"require": {"name": each["name"]}})
        return options, gone, migrations

    def outputs(self, version: str) -> list[Tree]:
        values: list[Any] = [f"out-{version}", "at-$(CLUSTER_NAME)", 7, "$(X)", "$(Y)"]
        found = []
        if self.chance(0.5):
            found.append({"name": "o", "value": self.dice.choice(values)})
        elif self.chance(0.1):
            ref = {"kind": "Service", "name": "svc", "fieldPath": "/spec/clusterIP"}
            found.append({"name": "o", "objectFieldRef": ref})
        return found

    # ---- Values

    def literal(self, kind: str) -> Any:
        dice = self.dice
        if kind == "any":
            kind = dice.choice(["int", "string", "map", "list"])
        if kind == "map":
            return {key: self.inner() for key in dice.sample(KEYS, dice.randint(0, 3))}
        if kind == "list":
            return [self.inner(flat=True) for _ in range(dice.randint(0, 3))]
        if kind == "bool":
            return self.chance(0.5)
        return dice.randint(0, 9) if kind == "int" else dice.choice("abc")

    def inner(self, flat: bool = False) -> Any:
        """A value inside a map or a list."""
        choice = self.dice.random()
        if choice < 0.3 and not flat:
            return {key: self.dice.randint(0, 9) for key in self.dice.sample(KEYS, self.dice.randint(1, 2))}
        if choice < 0.4:
            return [self.dice.randint(0, 9) for _ in range(self.dice.randint(0, 2))]
        return self.dice.randint(0, 9) if choice < 0.7 else self.dice.choice("abc")

    def referring(self, kind: str) -> Any:
        """A value that refers to variables, of a type if they stand for what they usually do."""
        dice = self.dice
        text = dice.choice(["X", "Y", "W", "C", "Q", "S", "O", "CLUSTER_NAME", "cluster.labels.tier", "NOWHERE"])
        within = dice.choice([f"$({text})", f"p-$({text})", f"$({text})$(W)", f"$$({text})", "$(X)$(Y)"])
        if kind == "int":
            return dice.choice(["$(N)", "$(N)", "$(X)"])
        if kind == "map":
            inside = {key: self.inner() for key in dice.sample(KEYS, dice.randint(0, 2))}
            return dice.choice(["$(P)", {**inside, dice.choice(KEYS): within}, {"k": {"k": within, "j": 1}}])
        if kind == "list":
            return [within, *self.some(0, 2, lambda _: self.inner(flat=True))]
        return within if kind in ("string", "any") else self.literal(kind)

    def item(self, key: str, path: Steps, kind: str, owner_binds: bool) -> Tree:
        """One value for a path, whose type is known as far as it can be."""
        name = text_of(path) if self.chance(0.8) or any("." in str(each) for each in path) else "/" + "/".join(map(str, path))
        found: Tree = {key: name}
        if kind == "secret" and self.chance(0.4):
            return {**found, "valueFrom": {"secret": {"name": "creds", "key": "k"}}}
        if kind in ("int", "string", "map", "list") and self.chance(0.12):
            expressions = {"int": [0], "string": [1, 2, 3], "map": [4], "list": [5]}[kind]
            return {**found, "expression": list(OF_CLUSTERS)[self.dice.choice(expressions)]}
        if owner_binds and self.chance(self.references):
            return {**found, "value": self.referring(kind)}
        return {**found, "value": self.literal(kind)}

    def path(self, definition: str) -> tuple[Steps, str]:
        """A path into an option that some version has, and the type of what stands there."""
        options = [option for each in self.revisions[definition] for option in each["spec"]["options"]]
        option = self.dice.choice(options)
        steps, kind = steps_of(option["name"]), option["type"]
        if kind == "map" and self.chance(0.5):
            deeper = (self.dice.choice(KEYS),) if self.chance(0.8) else (self.dice.choice(KEYS), self.dice.choice(KEYS))
            return (*steps, *deeper), self.dice.choice(["int", "string", "map"])
        if kind == "list" and self.chance(0.4):
            return (*steps, self.dice.choice([0, 0, 1, 2])), self.dice.choice(["int", "string"])
        return steps, kind

    def values(self, definition: str, binds: bool, most: int = 3) -> list[Tree]:
        found: list[Tree] = []
        for _ in range(self.dice.randint(0, most)):
            path, kind = self.path(definition)
            item = self.item("name", path, kind, binds)
            if self.may_stand(item, "name", found, [definition]):
                found.append(item)
        return found

    def may_stand(self, item: Tree, key: str, others: list[Tree], definitions: list[str]) -> bool:
        """Not at, above or below another's path in one object; and right for some version."""
        steps = steps_of(item[key])
        paths = [steps_of(each[key]) for each in others]
        if any(is_within(steps, each) or is_within(each, steps) for each in paths):
            return False
        return all(self.is_right_somewhere(steps, item, each) for each in definitions)

    def is_right_somewhere(self, steps: Steps, item: Tree, definition: str) -> bool:
        """Whether some version takes it; values that are computed are judged where they are."""
        declaring = [each for each in self.revisions[definition] if option_for(each, steps) is not None]
        if not declaring:
            return bool(item.get("elsewhere"))
        for each in declaring:
            name = option_for(each, steps)
            assert name is not None
            option = options_of(each)[name]
            inside = steps[len(name) :]
            if inside:
                first = {"map": str, "list": int}.get(option["type"])
                if option["type"] == "any" or (first is not None and isinstance(inside[0], first)):
                    return True
            elif "value" not in item or mentions_in(item["value"]) or fits(option, item["value"]):
                return True
        return False

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
        plugin: Tree = {"pluginDefinition": self.definition_ref(definition), "optionValues": self.values(definition, binds)}
        if number and self.chance(0.6):
            plugin["releaseName"] = name
        spec: Tree = {"clusterSelector": {} if self.chance(0.7) else self.selector(), "plugin": plugin}
        if self.chance(0.3):
            spec["groups"] = self.some(
                1, 2, lambda each: {
                    "name": f"g{each}", "clusterSelector": self.selector(), "optionValues": self.values(definition, binds, 2),
                }
            )  # fmt: skip
        if self.chance(0.25):
            spec["clusterOptionOverrides"] = self.some(
                1, 2, lambda _: {
                    "clusterName": self.dice.choice(self.clusters), "overrides": self.values(definition, binds, 2),
                }
            )  # fmt: skip
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
        from rulebook.model import Fleet

        found = []
        for plugin in Fleet([*owners, *(document("Cluster", each, {}) for each in self.clusters)], {}, NOW).plugins:
            if plugin.owner["kind"] == "PluginPreset" and plugin.owner["spec"]["clusterSelector"] == {} and self.chance(0.12):
                spec = {
                    "presetRef": {"name": plugin.owner["metadata"]["name"]},
                    "clusterName": plugin.cluster["metadata"]["name"],
                    "optionValues": self.values(plugin.definition, "controlPlaneBindings" in plugin.owner["spec"], 2),
                }
                found.append(document("Plugin", plugin.name, spec))
        return found

    # ---- Variables

    def with_bindings(self, spec: Tree, definition: str, binds: bool) -> Tree:
        if not binds:
            return spec
        control = [self.binding(name) for name in NAMES if name not in ("W",) and self.chance(0.7)]
        if definition == "d":
            control = [each for each in control if "pluginOutputRef" not in each]
        spec["controlPlaneBindings"] = control
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
            "P": [{"value": {"k": 1, "j": {"q": 2}}}, {"value": {"k": "$(Y)"}}, self.config_map("site", None), {"value": {}}],
            "S": [{"objectFieldRef": {"kind": "Secret", "name": "creds", "fieldPath": "/data/k"}},
                  {"objectFieldRef": {"kind": "Secret", "name": "gone", "fieldPath": "/data/k"}}],
            "C": [{"value": "c-$(X)"}, {"value": "$(N)", "as": "string"}, {"value": "$(P)", "as": "json"}],
            "Q": [self.config_map("none", "host"), self.config_map("site", "gone"), self.config_map("site", "host")],
            "O": [{"pluginOutputRef": {"definition": "d", "output": "o"}}, {"pluginOutputRef": {"definition": "d", "output": "p"}}],
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
            spec["clusterSelector"] = self.dice.choice([self.selector(), self.selector(), {}, [], [self.selector(), self.selector()]])
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
        from rulebook.model import Fleet

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
                rejected = {"organization": "acme", "kind": plugin.owner["kind"], "name": plugin.owner["metadata"]["name"], "version": self.dice.choice(versions)}
                found.setdefault("rejected", []).append(rejected)
        for each in documents:
            if each["kind"] == "PluginOverride" and self.chance(0.05):
                stamp = {"kind": each["kind"], "organization": "acme", "name": each["metadata"]["name"]}
                found["stamps"].append({**stamp, "created": self.dice.choice(DATES)})
        return found


__all__ = ["Invented", "Item", "Layer", "invented"]
