"""Templates: values that mention names, compiled once and filled in for each cluster.

A template knows before it is filled whether it differs from cluster to cluster. What a mention stands for is put in as
it is and never looked at again, so that data cannot mention anything (R3-25). What is made of a secret is secret.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from fleetform.engine.bindings.conversions import without_marks
from fleetform.model.conventions import VariableSyntax
from fleetform.model.objects import At
from fleetform.model.results.bindings import Unresolved
from fleetform.model.results.decisions import Secret
from fleetform.syntax.variables import ExpandError, as_text, split_references


class Template(NamedTuple):
    """What makes a value out of a frame (one plugin on one cluster), the names it mentions, and whether that varies.

    optional says that it may make nothing without a fault. in_text is what becomes of it within a text, where it
    is known to have no form there.
    """

    make: Callable[[Any], Any]
    names: tuple[str, ...] = ()
    varies: bool = False
    optional: bool = False
    in_text: Unresolved | None = None


# What may be made of names: an object of Kubernetes has a megabyte and a half at most.
LONGEST_TEXT, MOST_PARTS = 20_000_000, 500_000

# What a name stands for, as a template of its own.
NameOf = Callable[[str], Template]


def compile_template(tree: Any, name_of: NameOf, syntax: VariableSyntax, at: At | None = None) -> Template | None:
    """A tree as a template; None where nothing in it needs filling in. at is where it is written."""
    if isinstance(tree, str):
        return _compile_text(tree, name_of, syntax, at) if "$" in tree else None
    if not isinstance(tree, (dict, list)):
        return None
    pairs = list(tree.items() if isinstance(tree, dict) else enumerate(tree))
    compiled = [(key, each, compile_template(each, name_of, syntax, at)) for key, each in pairs]
    inside = [each for _, _, each in compiled if each is not None]
    if not inside:
        return None
    parts = [(key, each.make if each is not None else constant(written)) for key, written, each in compiled]
    make = _filled_map(parts, at) if isinstance(tree, dict) else _filled_list([each for _, each in parts], at)
    return _made_of(make, inside)


def _compile_text(text: str, name_of: NameOf, syntax: VariableSyntax, at: At | None) -> Template | None:
    parts = split_references(text, syntax)
    if len(parts) == 1:
        return None if parts[0] == text else Template(constant(parts[0]))
    names = tuple(parts[1::2])
    mentioned = [name_of(name)._replace(names=(name,)) for name in names]
    if len(parts) == 3 and not parts[0] and not parts[2]:
        return mentioned[0]
    makes: list[Any] = list(parts)
    makes[1::2] = [(each.make, name, each.in_text) for each, name in zip(mentioned, names, strict=True)]
    return _made_of(_joined([each for each in makes if each != ""], at), mentioned)


def _made_of(make: Callable[[Any], Any], inside: Sequence[Template]) -> Template:
    names = tuple(dict.fromkeys(name for each in inside for name in each.names))
    return Template(make, names, any(each.varies for each in inside), any(each.optional for each in inside))


def constant(value: Any) -> Callable[[Any], Any]:
    return lambda frame: value


def _joined(parts: Sequence[Any], at: At | None) -> Callable[[Any], Any]:
    """Texts, and between them what makes the others."""

    def make(frame: Any) -> Any:
        texts: list[str] = []
        secret = False
        missing: Unresolved | None = None
        for part in parts:
            if part.__class__ is str:
                texts.append(part)
                continue
            value = part[0](frame)
            if value.__class__ is str:
                texts.append(value)
                continue
            if value.__class__ is Unresolved:
                missing = _graver(missing, value)
                continue
            plain, hidden = without_marks(value)
            secret = secret or hidden
            try:
                texts.append(as_text(plain, part[1]))
            except ExpandError as error:
                missing = _graver(missing, part[2] or Unresolved("value-type", error.message, error.hint, at))
        if missing is not None:
            return missing
        if sum(map(len, texts)) > LONGEST_TEXT:
            return _too_large(at)
        text = "".join(texts)
        return Secret(None, text) if secret else text

    return make


def _graver(one: Unresolved | None, other: Unresolved) -> Unresolved:
    """Of two names that cannot be resolved, the first that is at fault."""
    return other if one is None or not one.gate else one


def _too_large(at: At | None) -> Unresolved:
    return Unresolved("value-type", "what is made of its names is larger than any manifest", "mention less of them", at)


def _fits(tree: Any) -> bool:
    """Whether a tree is no larger than values are: names that mention each other twice double with every step."""
    left, waiting = MOST_PARTS, [tree]
    while waiting and left > 0:
        each = waiting.pop()
        inside = each.values() if isinstance(each, dict) else each if isinstance(each, list) else ()
        waiting += inside
        left -= 1 + len(inside)
    return left > 0


def _filled_map(parts: Sequence[tuple[Any, Callable[[Any], Any]]], at: At | None) -> Callable[[Any], Any]:
    def make(frame: Any) -> Any:
        filled = {key: part(frame) for key, part in parts}
        return _missing_in(filled.values()) or (filled if _fits(filled) else _too_large(at))

    return make


def _filled_list(parts: Sequence[Callable[[Any], Any]], at: At | None) -> Callable[[Any], Any]:
    def make(frame: Any) -> Any:
        filled = [part(frame) for part in parts]
        return _missing_in(filled) or (filled if _fits(filled) else _too_large(at))

    return make


def _missing_in(values: Any) -> Unresolved | None:
    missing: Unresolved | None = None
    for each in values:
        if each.__class__ is Unresolved:
            missing = _graver(missing, each)
    return missing
