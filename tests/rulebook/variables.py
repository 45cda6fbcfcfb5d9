"""Variables: what a name stands for on one plugin, and what becomes of values that refer to names."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from rulebook.trees import ABSENT, Hole, Reason, Secret, Steps, found_at, steps_of

Tree = dict[str, Any]
TIMING = ("downstream", "dependency")
MENTION = re.compile(r"(\$+)\(([^)]*)\)")


class Optional(NamedTuple):
    """An optional variable that cannot be resolved: whatever refers to it is left out (S37)."""


OPTIONAL = Optional()


class Names:
    """The names of one plugin on one cluster. Nothing is kept: each name is resolved anew wherever it is met."""

    def __init__(
        self,
        owner: Tree,
        cluster: Tree,
        objects: list[Tree],
        observed: Tree,
        output_of: Callable[[str, str], Any],
    ) -> None:
        spec = owner["spec"]
        self.in_force = "controlPlaneBindings" in spec or "bindings" in spec
        self.bindings = [(each, False) for each in spec.get("controlPlaneBindings") or []]
        self.bindings += [(each, True) for each in spec.get("bindings") or []]
        self.cluster, self.objects, self.observed, self.output_of = cluster, objects, observed, output_of

    def meaning(self, name: str) -> Any:
        """A value, a hole, or OPTIONAL."""
        given = self._given(name)
        if given is not ABSENT:
            return given
        for binding, downstream in self.bindings:
            if binding["name"] == name:
                return self._bound(binding, downstream)
        return _missing(name)

    def _given(self, name: str) -> Any:
        """CLUSTER_NAME, ORGANIZATION, labels and facts (R3-16, S36)."""
        metadata = self.cluster["metadata"]
        if name == "CLUSTER_NAME":
            return metadata["name"]
        if name == "ORGANIZATION":
            return metadata["namespace"]
        if name.startswith("cluster.labels."):
            return metadata.get("labels", {}).get(name.removeprefix("cluster.labels."), _missing(name))
        if name.startswith("cluster.facts."):
            facts = self.cluster.get("spec", {}).get("facts", {})
            found = found_at(facts, steps_of(name.removeprefix("cluster.facts.")))
            return _missing(name) if found is ABSENT else found
        return ABSENT

    def _bound(self, binding: Tree, downstream: bool) -> Any:
        value = self._source(binding, downstream)
        if isinstance(value, Hole) or value is OPTIONAL:
            gates = {reason.gate for reason in value.reasons} if isinstance(value, Hole) else set()
            # What is wrong stays wrong, and what is waited for is waited for (S37, B16).
            if not gates & {"value-type", "downstream"}:
                if "default" in binding:
                    value = self.expanded(binding["default"])
                elif binding.get("optional"):
                    return OPTIONAL
        if isinstance(value, Hole) or value is OPTIONAL:
            return value
        return _as_text(value, binding.get("as"), binding["name"])

    def _source(self, binding: Tree, downstream: bool) -> Any:
        if "value" in binding:
            return whole(self.expanded(binding["value"]))
        name = binding["name"]
        if "clusterFieldRef" in binding:
            path = self.expanded(binding["clusterFieldRef"]["path"])
            if not isinstance(path, str):
                return _in_reference(path, name)
            found = found_at(self.cluster, _field(path))
            return _missing(name) if found is ABSENT else found
        if "pluginOutputRef" in binding:
            ref = {key: self.expanded(each) for key, each in binding["pluginOutputRef"].items()}
            odd = [each for each in ref.values() if not isinstance(each, str)]
            return _in_reference(_worst(odd), name) if odd else self.output_of(ref["definition"], ref["output"])
        return self.field(binding["objectFieldRef"], name, downstream, name in self.observed, self.observed.get(name))

    def field(self, ref: Tree, name: str, downstream: bool, was_read: bool, seen: Any) -> Any:
        """A field of an object in the input or, downstream, of one on the cluster (R3-3, R3-7)."""
        ref = {key: self.expanded(each) for key, each in ref.items()}
        odd = [each for each in ref.values() if not isinstance(each, str)]
        if odd:
            return _in_reference(_worst(odd), name)
        if downstream:
            if not was_read:
                return Hole(frozenset({Reason("downstream", name)}))
            if seen is None:
                return _missing(name)
            return Secret(seen) if ref["kind"] == "Secret" else seen
        found = self.in_input(ref)
        if found is None:
            return _missing(name)
        if ref["kind"] == "Secret":
            found = {**found, "data": {**found.get("data", {}), **found.get("stringData", {})}}
        field = found_at(found, _field(ref["fieldPath"]))
        if field is ABSENT:
            return _missing(name)
        return _decoded(field) if ref["kind"] == "Secret" else field

    def in_input(self, ref: Tree) -> Tree | None:
        for each in self.objects:
            if each["kind"] == ref["kind"] and each["metadata"]["name"] == ref["name"]:
                return each
        return None

    def behind(self, value: Any) -> set[str]:
        """The names of bindings that a value refers to."""
        return mentions_in(value) & {binding["name"] for binding, _ in self.bindings}

    def expanded(self, value: Any) -> Any:
        """A value with its mentions filled in; OPTIONAL where it is to be left out."""
        held: list[Any] = []
        found = self._filled(value, held)
        faults = [each for each in held if isinstance(each, Hole)]
        if OPTIONAL in held and not faults:
            return OPTIONAL
        return found

    def _filled(self, value: Any, held: list[Any]) -> Any:
        if isinstance(value, dict):
            return {key: self._filled(each, held) for key, each in value.items()}
        if isinstance(value, list):
            return [self._filled(each, held) for each in value]
        return self._text(value, held) if isinstance(value, str) else value

    def _text(self, text: str, held: list[Any]) -> Any:
        """Of n dollars right before a parenthesis n//2 stay, and an odd one makes a mention (B6)."""
        parts: list[Any] = []
        end = 0
        for match in MENTION.finditer(text):
            dollars, name = match.groups()
            parts.append(text[end : match.start()] + "$" * (len(dollars) // 2))
            end = match.end()
            if len(dollars) % 2 and name:
                meaning = self.meaning(name)
                if text == match.group():
                    held.append(meaning)
                    return Hole(frozenset()) if meaning is OPTIONAL else meaning
                parts.append(_within_text(meaning, name))
            else:
                parts.append(("$" if len(dollars) % 2 else "") + f"({name})")
        parts.append(text[end:])
        odd = [each for each in parts if isinstance(each, Hole) or each is OPTIONAL]
        if odd:
            held += odd
            return together([each for each in odd if isinstance(each, Hole)])
        if any(isinstance(each, Secret) for each in parts):
            return Secret("".join(each.plain if isinstance(each, Secret) else each for each in parts))
        return "".join(parts)


def mentions_in(value: Any) -> set[str]:
    """The names that a value refers to."""
    if isinstance(value, dict):
        return {name for each in value.values() for name in mentions_in(each)}
    if isinstance(value, list):
        return {name for each in value for name in mentions_in(each)}
    found = MENTION.findall(value) if isinstance(value, str) else []
    return {name for dollars, name in found if len(dollars) % 2 and name}


def whole(value: Any) -> Any:
    """A hole for a tree that has holes: a variable has all of its value or none."""
    from rulebook.trees import has_hole, holes_in

    return Hole(holes_in(value)) if value is not OPTIONAL and has_hole(value) else value


def _missing(name: str) -> Hole:
    return Hole(frozenset({Reason("config-missing", name)}))


def _worst(odd: list[Any]) -> Any:
    """Of several parts of a reference that are no text, what they come to together."""
    holes = [each for each in odd if isinstance(each, Hole)]
    return together(holes) if holes else odd[0]


def together(holes: list[Hole]) -> Hole:
    """What one text comes to that refers to several: the first gate of validity, else the first that waits."""
    for each in holes:
        valid = frozenset(reason for reason in each.reasons if reason.gate not in TIMING)
        if valid:
            return Hole(valid)
    return holes[0] if holes else Hole(frozenset())


def _in_reference(part: Any, name: str) -> Any:
    """What a binding is whose reference cannot be read: text alone may stand there, and no secret (R3-17)."""
    if isinstance(part, Hole) or part is OPTIONAL:
        return part
    return Hole(frozenset({Reason("value-type", name)}))


def _field(path: str) -> Steps:
    return steps_of(path.removeprefix(".") if not path.startswith("/") else path)


def _decoded(field: Any) -> Any:
    """What a Secret holds is secret from there on (R3-18); tests write stringData alone."""
    if isinstance(field, dict):
        return {key: _decoded(each) for key, each in field.items()}
    return Secret(field)


def _within_text(value: Any, name: str) -> Any:
    """Text, or what stands in its way: numbers and booleans as JSON, no maps and lists (R3-24, S37)."""
    if isinstance(value, Hole) or value is OPTIONAL:
        return value
    plain = value.plain if isinstance(value, Secret) else value
    if isinstance(plain, dict | list):
        return Hole(frozenset({Reason("value-type", name)}))
    text = plain if isinstance(plain, str) else json.dumps(plain)
    return Secret(text) if isinstance(value, Secret) else text


def _as_text(value: Any, how: str | None, name: str) -> Any:
    if how is None:
        return value
    if isinstance(value, Secret):
        inner = _as_text(value.plain, how, name)
        return inner if isinstance(inner, Hole) else Secret(inner)
    if how == "base64decode":
        try:
            return base64.b64decode(value, validate=True).decode()
        except (ValueError, TypeError):
            return Hole(frozenset({Reason("value-type", name)}))
    if how == "string" and isinstance(value, str):
        return value
    return json.dumps(value, separators=(",", ":"), sort_keys=True)
