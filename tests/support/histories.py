"""Histories of definition repositories, made from a seed: files before and after every step, and what each step owes.

What a check must say follows from what a step did, never from asking the engine.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from random import Random
from typing import Any, Literal, NamedTuple

import yaml

from fleetform.syntax.yaml_out import write_yaml
from properties.files import shuffled_keys

Tree = dict[str, Any]
Files = dict[str, str]
Dialect = Literal["native", "greenhouse"]
Version = tuple[int, int, int]
Level = Literal["major", "minor", "patch"]

DIALECTS: tuple[Dialect, ...] = ("native", "greenhouse")
# As often as in a catalog of 447 options.
TYPES = {"string": 186, "bool": 117, "map": 53, "list": 43, "secret": 31, "int": 17}
WORDS = ("controller", "webhook", "global", "query", "ingress", "storage", "auth", "tls", "service", "metrics", "cache")
FIRST_DEFINITIONS = 6
MOST_DEFINITIONS = 12


class Deed(NamedTuple):
    """What was done to one definition, and the codes that a check owes it: one for every finding."""

    kind: str
    definition: str
    dialect: Dialect
    codes: tuple[str, ...] = ()


class Finding(NamedTuple):
    """An error that is expected. A file that cannot be read has no definition."""

    code: str
    file: str
    definition: str | None


@dataclass(frozen=True)
class Step:
    """One change of a repository."""

    before: Files
    after: Files
    deeds: tuple[Deed, ...]
    errors: tuple[Finding, ...]
    unreadable_before: frozenset[str]

    @property
    def vanished(self) -> list[str]:
        """The definitions that are gone: warnings."""
        return sorted(each.definition for each in self.deeds if each.kind == "definition removed")


@dataclass(frozen=True)
class Definition:
    """A definition as its author knows it. style is how its file is written; broken is what is wrong with the file."""

    name: str
    dialect: Dialect
    version: Version
    options: tuple[Tree, ...]
    chart: int = 0
    texts: int = 0
    migrations: tuple[Tree, ...] = ()
    style: int = 0
    broken: str | None = None
    spelling: str = ""

    @property
    def file(self) -> str:
        return f"{self.name}/{'definition' if self.dialect == 'native' else 'plugindefinition'}.yaml"

    @cached_property
    def text(self) -> str:
        if self.broken is not None:
            return BREAKS[self.broken].spoil(write_yaml(_tree(self)))
        return _written(_tree(self), self.style)


# ---- Files


def _tree(definition: Definition) -> Tree:
    number = ".".join(map(str, definition.version))
    chart = {"repository": "oci://registry.example.com/charts", "version": f"3.{definition.chart}.0"}
    native = definition.dialect == "native"
    spec: Tree = {
        "version": f"{definition.spelling}{number}",
        "displayName": f"{definition.name} {definition.texts}",
        "description": f"What people read about {definition.name}, for the {definition.texts}th time",
        **({"source": {"helm": {"chart": "web", **chart}}} if native else {"helmChart": {"name": "web", **chart}}),
    }
    if definition.options:
        spec["options"] = list(definition.options)
    if definition.migrations:
        spec["changes"] = {"migrations": list(definition.migrations)}
    version = "fleetform.dev/v1alpha1" if native else "greenhouse.sap/v1alpha1"
    return {"apiVersion": version, "kind": "PluginDefinition", "metadata": {"name": definition.name}, "spec": spec}


def _written(tree: Tree, style: int) -> str:
    """The same content in another hand: order of keys, indentation, brackets, comments, empty lines."""
    if not style:
        return write_yaml(tree)
    rng = Random(style)
    flow = rng.choice((False, True, None))
    text = yaml.safe_dump(shuffled_keys(tree, rng), sort_keys=False, indent=rng.choice((2, 4)), default_flow_style=flow)
    return f"# Written by hand {style}\n{rng.choice(('', '---'))}\n{text}{rng.choice(('', chr(10), '# the end'))}\n"


class Break(NamedTuple):
    """A way to spoil a file, and what it is called."""

    code: str
    spoil: Callable[[str], str]


def _at_version(replacement: str) -> Callable[[str], str]:
    return lambda text: re.sub(r"^  version: (.*)$", replacement, text, count=1, flags=re.MULTILINE)


BREAKS = {
    "a tab": Break("bad-yaml", _at_version(r"\tversion: \1")),
    "an open quote": Break("bad-yaml", _at_version(r'  version: "\1')),
    "a key twice": Break("bad-yaml", _at_version(r"  version: \1\n  version: \1")),
    "two documents in one": Break("missing-separator", lambda text: text + text),
}


# ---- Options


class _Edit:
    """A definition's options on their way to another state; each is touched once, so that codes add up."""

    def __init__(self, rng: Random, names: Iterator[str], options: tuple[Tree, ...] = ()) -> None:
        self._rng, self._names = rng, names
        self._options = {each["name"]: each for each in options}
        self._untouched = set(self._options)
        self.codes: list[str] = []
        self.migrations: list[Tree] = []

    @property
    def options(self) -> tuple[Tree, ...]:
        return tuple(self._options.values())

    def _take(self, fits: Callable[[Tree], bool] = lambda _: True) -> Tree | None:
        fitting = [name for name in self._options if name in self._untouched and fits(self._options[name])]
        if not fitting:
            return None
        name = self._rng.choice(fitting)
        self._untouched.remove(name)
        return self._options[name]

    def _put(self, option: Tree) -> Tree:
        self._options[option["name"]] = option
        return option

    def _owes(self, code: str, migration: Tree | None = None) -> bool:
        self.codes.append(code)
        if migration is not None:
            self.migrations.append(migration)
        return True

    # What nobody minds.

    def add(self, first: bool = False) -> bool:
        """A new option; nobody uses a first version yet, so there it may be required."""
        kind = self._rng.choices(list(TYPES), list(TYPES.values()))[0]
        option: Tree = {"name": next(self._names), "type": kind, "description": "What it does"}
        if kind != "secret" and self._rng.random() < 0.6:
            option["default"] = _a_value(kind, self._rng)
        if self._rng.random() < 0.15 and ("default" in option or first):
            option["required"] = True
        self._put(option)
        return True

    def change_default(self) -> bool:
        option = self._take(lambda each: each["type"] != "secret")
        if option is None:
            return False
        value = option.get("default")
        while value == option.get("default") or value is None:
            value = _a_value(option["type"], self._rng)
        self._put({**option, "default": value})
        return True

    # What breaks somebody's values. Each says what it owes, and the migration that would pay for it.

    def require(self) -> bool:
        option = self._take(lambda each: not _must_be_set(each)) if self._rng.random() < 0.6 else None
        if option is None:
            option = {"name": next(self._names), "type": "string"}
        kept = {key: value for key, value in option.items() if key != "default"}
        self._put({**kept, "required": True})
        return self._owes("option-required", {"require": {"name": option["name"]}})

    def remove(self) -> bool:
        option = self._take()
        if option is None:
            return False
        del self._options[option["name"]]
        return self._owes("option-removed", {"remove": {"name": option["name"], "reason": "nobody used it"}})

    def rename(self) -> bool:
        option = self._take()
        if option is None:
            return False
        del self._options[option["name"]]
        renamed = self._put({**option, "name": next(self._names)})
        if _must_be_set(renamed):
            self._owes("option-required")
        return self._owes("option-removed", {"rename": {"from": option["name"], "to": renamed["name"]}})

    def retype(self) -> bool:
        option = self._take()
        if option is None:
            return False
        kind = self._rng.choice([each for each in CONVERSIONS if each != option["type"]])
        retyped = {**option, "type": kind}
        if "default" in option:
            retyped["default"] = _a_value(kind, self._rng)
        self._put(retyped)
        migration = {"retype": {"name": option["name"], "expression": CONVERSIONS[kind]}}
        return self._owes("option-retyped", migration)

    def stop_requiring(self) -> bool:
        option = self._take(lambda each: each.get("required", False))
        if option is None:
            return False
        self._put({**option, "required": False})
        return self._owes("requirement-lost")


CONVERSIONS = {
    "string": "string(value)",
    "bool": "bool(value)",
    "map": '{"value": value}',
    "list": "[value]",
    "int": "int(value)",
}


def _must_be_set(option: Tree) -> bool:
    return option.get("required", False) and "default" not in option


def _a_value(kind: str, rng: Random) -> Any:
    word, number = rng.choice(WORDS), rng.randrange(1000)
    values: Tree = {
        "string": f"{word}-{number}",
        "bool": rng.random() < 0.5,
        "map": {word: {"enabled": rng.random() < 0.5, "limit": number}, "team": word} if number % 4 else {},
        "list": [f"--{word}={number}"] * rng.randrange(3),
        "int": number,
    }
    return values[kind]


def _option_names(rng: Random) -> Iterator[str]:
    """Dotted names, never the same twice and none inside another; now and then with an index."""
    number = 0
    while True:
        number += 1
        above = [rng.choice(WORDS) for _ in range(rng.choice((0, 1, 1, 2, 2, 3, 4, 7)))]
        yield ".".join([*above, f"option{number}"]) + ("[0]" if rng.random() < 0.02 else "")


# ---- What is done to a definition: the definition afterwards and the codes it owes, or None where it cannot be done

Done = tuple[Definition, tuple[str, ...]] | None
Harm = Callable[[_Edit], bool]

HARMS: dict[str, tuple[Harm, ...]] = {
    "option required": (_Edit.require,),
    "option removed": (_Edit.remove,),
    "option renamed": (_Edit.rename,),
    "option retyped": (_Edit.retype,),
    "requirement lost": (_Edit.stop_requiring,),
    "several harms": (_Edit.require, _Edit.remove, _Edit.retype, _Edit.stop_requiring, _Edit.remove),
}


def _bumped(version: Version, level: Level) -> Version:
    major, minor, patch = version
    if level == "patch":
        return major, minor, patch + 1
    return (major, minor + 1, 0) if level == "minor" else (major + 1, 0, 0)


def _lowered(version: Version) -> Version | None:
    major, minor, patch = version
    if patch:
        return major, minor, patch - 1
    if minor:
        return major, minor - 1, 9
    return (major - 1, 9, 9) if major else None


@dataclass
class _Author:
    """Changes definitions at random."""

    rng: Random
    names: Iterator[str] = field(init=False)
    _made: int = 0

    def __post_init__(self) -> None:
        self.names = _option_names(self.rng)

    def new_definition(self) -> Definition:
        self._made += 1
        edit = _Edit(self.rng, self.names)
        for _ in range(self.rng.choice((1, 4, 10, 20, 60))):
            edit.add(first=True)
        version = (self.rng.choice((0, 0, 1, 4)), self.rng.randrange(1, 20), self.rng.randrange(10))
        spelling = "v" if self.rng.random() < 0.1 else ""
        name = f"{self.rng.choice(WORDS)}-{self._made}"
        return Definition(name, self.rng.choice(DIALECTS), version, edit.options, spelling=spelling)

    def _edit(self, definition: Definition) -> _Edit:
        return _Edit(self.rng, self.names, definition.options)

    def _published(self, definition: Definition, edit: _Edit, version: Version, migrated: bool = False) -> Definition:
        migrations = tuple(edit.migrations) if migrated else ()
        chart = definition.chart + self.rng.randrange(2)
        return replace(definition, version=version, options=edit.options, chart=chart, migrations=migrations)

    def _level(self, *levels: Level) -> Level:
        return self.rng.choice(levels)

    # What passes.

    def bump(self, definition: Definition) -> Done:
        edit = self._edit(definition)
        for _ in range(self.rng.randrange(3)):
            edit.add()
        level = self._level("patch", "patch", "minor", "minor", "major")
        return self._published(definition, edit, _bumped(definition.version, level)), ()

    def change_default(self, definition: Definition) -> Done:
        edit = self._edit(definition)
        if not edit.change_default():
            return None
        return self._published(definition, edit, _bumped(definition.version, self._level("patch", "minor"))), ()

    def reword(self, definition: Definition) -> Done:
        return replace(definition, texts=definition.texts + 1), ()

    def rewrite(self, definition: Definition) -> Done:
        return replace(definition, style=self.rng.randrange(1, 1_000_000)), ()

    def harm_with_a_major_bump(self, definition: Definition) -> Done:
        edit = self._edit(definition)
        for harm in HARMS["several harms"]:
            harm(edit)
        return self._published(definition, edit, _bumped(definition.version, "major")), ()

    def harm_with_migrations(self, definition: Definition) -> Done:
        """Nothing but a major version pays for a requirement that is lost."""
        if definition.dialect != "native":
            return None
        edit = self._edit(definition)
        for harm in self.rng.sample((_Edit.require, _Edit.remove, _Edit.rename, _Edit.retype), 2):
            harm(edit)
        if not edit.migrations:
            return None
        level = self._level("patch", "minor")
        return self._published(definition, edit, _bumped(definition.version, level), migrated=True), ()

    # What does not.

    def change_without_a_bump(self, definition: Definition) -> Done:
        edit = self._edit(definition)
        change: Harm = self.rng.choice((_Edit.add, _Edit.change_default, _Edit.remove, _Edit.retype, _Edit.require))
        chart = definition.chart + 1 if self.rng.random() < 0.5 else definition.chart
        if not change(edit) and chart == definition.chart:
            return None
        return replace(definition, options=edit.options, chart=chart, migrations=()), ("changed-without-bump",)

    def harm(self, kind: str, definition: Definition) -> Done:
        edit = self._edit(definition)
        for each in HARMS[kind]:
            each(edit)
        if not edit.codes:
            return None
        level = self._level("patch", "minor")
        return self._published(definition, edit, _bumped(definition.version, level)), tuple(edit.codes)

    def downgrade(self, definition: Definition) -> Done:
        version = _lowered(definition.version)
        if version is None:
            return None
        edit = self._edit(definition)
        if self.rng.random() < 0.5:
            edit.remove()
        return self._published(definition, edit, version), ("version-went-down",)


PASSING: dict[str, Callable[[_Author, Definition], Done]] = {
    "bumped": _Author.bump,
    "default changed": _Author.change_default,
    "reworded": _Author.reword,
    "rewritten": _Author.rewrite,
    "harms with a major bump": _Author.harm_with_a_major_bump,
    "harms with migrations": _Author.harm_with_migrations,
}


def _harming(kind: str) -> Callable[[_Author, Definition], Done]:
    return lambda author, definition: author.harm(kind, definition)


OFFENDING: dict[str, Callable[[_Author, Definition], Done]] = {
    "changed without a bump": _Author.change_without_a_bump,
    "version lowered": _Author.downgrade,
    **{kind: _harming(kind) for kind in HARMS},
}
OTHERS = ("new definition", "definition removed", "repaired", *(f"broken by {each}" for each in BREAKS))
KINDS = (*PASSING, *OFFENDING, *OTHERS)


# ---- Steps


def make_history(seed: int, steps: int) -> list[Step]:
    """A repository from its first commit on."""
    history = _History(Random(seed))
    return [history.step() for _ in range(steps)]


class _History:
    """The definitions of a repository, as they are after the last step."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._author = _Author(rng)
        self._definitions: dict[str, Definition] = {}

    def step(self) -> Step:
        before = self._files()
        unreadable = frozenset(each.file for each in self._definitions.values() if each.broken is not None)
        deeds = tuple(self._first_deeds() if not self._definitions else self._some_deeds())
        errors = [*self._owed(deeds), *self._unreadable()]
        in_order = tuple(sorted(errors, key=lambda each: (each.file, each.code)))
        return Step(before, self._files(), deeds, in_order, unreadable)

    def _files(self) -> Files:
        return {each.file: each.text for each in self._definitions.values()}

    def _owed(self, deeds: tuple[Deed, ...]) -> Iterator[Finding]:
        for deed in deeds:
            if deed.kind != "definition removed":
                file = self._definitions[deed.definition].file
                yield from (Finding(code, file, deed.definition) for code in deed.codes)

    def _unreadable(self) -> Iterator[Finding]:
        """A broken file is an error until it is repaired, whoever broke it."""
        for each in self._definitions.values():
            if each.broken is not None:
                yield Finding(BREAKS[each.broken].code, each.file, None)

    def _first_deeds(self) -> Iterator[Deed]:
        for _ in range(FIRST_DEFINITIONS):
            yield self._create()

    def _some_deeds(self) -> Iterator[Deed]:
        """Most commits concern one definition."""
        names = self._rng.sample(sorted(self._definitions), self._rng.choice((1, 1, 1, 2, 3)))
        for name in names:
            yield self._do(self._definitions[name])
        if len(self._definitions) < MOST_DEFINITIONS and self._rng.random() < 0.15:
            yield self._create()

    def _create(self) -> Deed:
        return self._keep("new definition", self._author.new_definition())

    def _keep(self, kind: str, definition: Definition, codes: tuple[str, ...] = ()) -> Deed:
        self._definitions[definition.name] = definition
        return Deed(kind, definition.name, definition.dialect, codes)

    def _do(self, definition: Definition) -> Deed:
        if definition.broken is not None:
            return self._keep("repaired", replace(definition, broken=None))
        chance = self._rng.random()
        if chance < 0.06:
            broken = self._rng.choice(list(BREAKS))
            return self._keep(f"broken by {broken}", replace(definition, broken=broken))
        if chance < 0.10 and len(self._definitions) > FIRST_DEFINITIONS:
            del self._definitions[definition.name]
            return Deed("definition removed", definition.name, definition.dialect)
        return self._change(definition, PASSING if chance < 0.5 else OFFENDING)

    def _change(self, definition: Definition, ways: dict[str, Callable[[_Author, Definition], Done]]) -> Deed:
        while True:
            kind = self._rng.choice(list(ways))
            done = ways[kind](self._author, definition)
            if done is not None:
                return self._keep(kind, *done)
