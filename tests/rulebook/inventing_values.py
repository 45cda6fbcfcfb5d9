"""Values for options, by chance: literals, references, expressions, at paths that some version has."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from rulebook.expressions import OF_CLUSTERS
from rulebook.options import fits, option_for, options_of
from rulebook.trees import Steps, is_within, steps_of, text_of
from rulebook.variables import mentions_in

Tree = dict[str, Any]
KEYS = ("k", "j", "q")


class Values:
    """What one roll of the dice gives. revisions are the versions of each definition, once they are there."""

    def __init__(self, dice: Random) -> None:
        self.dice = dice
        self.clusters: list[str] = []
        self.revisions: dict[str, list[Tree]] = {}
        # Variables are filled in for every owner, for some, or for none.
        self.bound_share = dice.choice([0, 0, 0.6, 1, 1])
        self.configs_share = dice.choice([0, 0, 0.5])
        self.references = 0.35 if self.bound_share else 0.05

    def chance(self, share: float) -> bool:
        return self.dice.random() < share

    def some(self, least: int, most: int, make: Callable[[int], Any]) -> list[Any]:
        return [make(number) for number in range(self.dice.randint(least, most))]

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
        name = (
            text_of(path)
            if self.chance(0.8) or any("." in str(each) for each in path)
            else "/" + "/".join(map(str, path))
        )
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
