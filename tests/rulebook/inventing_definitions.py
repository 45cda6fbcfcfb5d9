"""Definitions, by chance: each version comes from the one before, with options added, renamed, retyped, gone."""

from __future__ import annotations

from typing import Any

from rulebook.choosing import version_of
from rulebook.inventing_values import Values

Tree = dict[str, Any]
API = "fleetform.dev/v1alpha1"
PLATFORM = "fleetform-system"
VERSIONS = ("1.0.0", "1.1.0", "1.2.0", "2.0.0", "2.1.0")
OPTIONS = ("n", "s", "m", "l", "b", "t", "a.x", "a.y", "z", "w[0]", "u", "v")
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


def document(kind: str, name: str, spec: Any, namespace: str = "acme", **metadata: Any) -> Tree:
    return {
        "apiVersion": API, "kind": kind, "metadata": {"name": name, "namespace": namespace, **metadata}, "spec": spec,
    }  # fmt: skip


def migrations_of(revision: Tree) -> list[Tree]:
    found: list[Tree] = revision["spec"].get("changes", {}).get("migrations", [])
    return found


class Definitions(Values):
    def definition(self, name: str) -> list[Tree]:
        """Its versions, each made from the one before."""
        texts = list(VERSIONS[: self.dice.choice([1, 2, 2, 3, 3, 4, 5])])
        if self.chance(0.1):
            texts.append("2.2.0-rc.1")
        namespace = PLATFORM if self.chance(0.1) else "acme"
        options = [self.option(each) for each in self.dice.sample(OPTIONS, self.dice.randint(2, 5))]
        configs = self.supported_configs(options) if self.configs_share else []
        mode = self.dice.choice(["", "", "Merge", "Override", "OverrideByGVK"]) if configs else ""
        found = []
        gone: list[Tree] = []
        for index, text in enumerate(texts):
            changes: Tree = {}
            if index:
                options, gone, migrations = self.evolved(options, gone)
                changes = self.changes(migrations, texts[index - 1], text)
            spec: Tree = {"version": text, "source": {"manifests": {"path": "./m"}}, "options": options}
            if changes:
                spec["changes"] = changes
            if configs:
                spec["configs"] = configs
            if mode and self.chance(0.8):
                spec["configMode"] = mode
            outputs = self.outputs(text)
            if outputs:
                spec["outputs"] = outputs
            stamp = {"annotations": {"fleetform.dev/announced": "2026-09-01"}} if self.chance(0.3) else {}
            found.append(document("PluginDefinition", name, spec, namespace, **stamp))
        retyped = [step["retype"]["name"] for each in found for step in migrations_of(each) if "retype" in step]
        for each in configs:
            if each.get("values", {}).get("to") in retyped:
                each.pop("mergeFields", None)
        return found

    def changes(self, migrations: list[Tree], before: str, text: str) -> Tree:
        found: Tree = {"migrations": migrations} if migrations else {}
        if version_of(text)[0] > version_of(before)[0]:
            found["breaking"] = self.chance(0.3)
        elif self.chance(0.1):
            found["breaking"] = True
        if self.chance(0.1):
            found["irreversible"] = True
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
            found["default"] = self.default(kind)
        elif self.chance(0.2):
            found["required"] = True
        return found

    def evolved(self, before: list[Tree], gone: list[Tree]) -> tuple[list[Tree], list[Tree], list[Tree]]:
        """The options of the next version, those that have vanished, and the migrations that say so."""
        options, gone = [dict(each) for each in before], list(gone)
        migrations: list[Tree] = []
        ways = [self.add, self.vanish, self.rename, self.retype, self.redefault, self.bring_back, self.require]
        for _ in range(self.dice.choice([0, 1, 1, 2])):
            touched = {value for step in migrations for part in step.values() for value in part.values()}
            each = self.dice.choice(options)
            if each["name"] not in touched and len(options) > 1:
                names = [held["name"] for held in options]
                free = [name for name in OPTIONS if name not in names and name not in touched]
                self.dice.choice([*ways, self.vanish, self.rename])(each, options, gone, free, migrations)
        return options, gone, migrations

    def add(self, _: Tree, options: list[Tree], __: list[Tree], free: list[str], ___: list[Tree]) -> None:
        options.append(self.option(self.dice.choice(free)))

    def vanish(self, each: Tree, options: list[Tree], gone: list[Tree], _: list[str], migrations: list[Tree]) -> None:
        options.remove(each)
        gone.append(each)
        if self.chance(0.5):
            migrations.append({"remove": {"name": each["name"]}})

    def rename(
        self, each: Tree, options: list[Tree], gone: list[Tree], free: list[str], migrations: list[Tree]
    ) -> None:
        new = self.dice.choice([name for name in free if name != "w[0]"])
        migrations.append({"rename": {"from": each["name"], "to": new}})
        options[options.index(each)] = {**each, "name": new}
        gone.append(each)

    def retype(self, each: Tree, options: list[Tree], _: list[Tree], __: list[str], migrations: list[Tree]) -> None:
        kinds = [new for old, new in RETYPES if old == each["type"]]
        if kinds:
            kind = self.dice.choice(kinds)
            if self.chance(0.8):
                expression = RETYPES[each["type"], kind]
                migrations.append({"retype": {"name": each["name"], "expression": expression}})
            new = self.option(each["name"], kind)
            options[options.index(each)] = {key: held for key, held in new.items() if key != "enum"}

    def redefault(self, each: Tree, options: list[Tree], _: list[Tree], __: list[str], ___: list[Tree]) -> None:
        if each["type"] != "secret" and "enum" not in each:
            options[options.index(each)] = {**each, "default": self.default(each["type"])}

    def bring_back(self, _: Tree, options: list[Tree], gone: list[Tree], free: list[str], __: list[Tree]) -> None:
        back = [old for old in gone if old["name"] in free]
        if back:
            options.append(self.dice.choice(back))

    def require(self, each: Tree, _: list[Tree], __: list[Tree], ___: list[str], migrations: list[Tree]) -> None:
        each["required"] = True
        if self.chance(0.5):
            migrations.append({"require": {"name": each["name"]}})

    def default(self, kind: str) -> Any:
        """Small enough for every maximum."""
        return self.dice.randint(0, 5) if kind == "int" else self.literal(kind)

    def supported_configs(self, options: list[Tree]) -> list[Tree]:
        """Types of configs that a definition takes, some with a default, some with values."""
        found: list[Tree] = []
        places: list[str | None] = [None, *(held["name"] for held in options if held["type"] in ("map", "any"))]
        for resource in ("reds", "blues"):
            each: Tree = {"group": "example.com", "resource": resource}
            if self.chance(0.4):
                each["default"] = {"name": self.dice.choice(["one", "two"])}
            if places and self.chance(0.7):
                # Which of two types goes before the other at one place is not for chance to say.
                to = places.pop(self.dice.randrange(len(places)))
                each["values"] = {"from": "/spec"} if to is None else {"to": to}
                if self.chance(0.2) and to is not None:
                    each["mergeFields"] = True
            found.append(each)
        return found

    def outputs(self, version: str) -> list[Tree]:
        values: list[Any] = [f"out-{version}", "at-$(CLUSTER_NAME)", 7, "$(X)", "$(Y)"]
        found = []
        if self.chance(0.5):
            found.append({"name": "o", "value": self.dice.choice(values)})
        elif self.chance(0.1):
            ref = {"kind": "Service", "name": "svc", "fieldPath": "/spec/clusterIP"}
            found.append({"name": "o", "objectFieldRef": ref})
        return found
