"""Templates: values with variable references, compiled once and filled in for each cluster.

A template knows before it is filled in whether it differs from cluster to cluster. A variable's value is put in as it
is and never looked at again, so that data cannot refer to variables (R3-25). What is made of a secret is secret.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import NamedTuple

from fleetform.engine.bindings.conversions import KNOWN_THERE_ALONE, is_known_there_alone, without_marks
from fleetform.engine.bindings.plugin_variables import Make, PluginVariables, constant
from fleetform.model.conventions import VariableSyntax
from fleetform.model.objects import At
from fleetform.model.reasons import VALIDITY_GATES
from fleetform.model.results.bindings import OnCluster, Unresolved
from fleetform.model.results.decisions import Secret
from fleetform.syntax.variables import ExpandError, as_text, split_references


class Template(NamedTuple):
    """What makes a value out of a plugin's variables, the variables it refers to, and whether clusters differ in it.

    optional says that it may be unresolved without a fault. in_text is why it is unresolved within a text, if it is
    known to have no form there.
    """

    make: Make
    names: tuple[str, ...] = ()
    varies: bool = False
    optional: bool = False
    in_text: Unresolved | None = None


class _Reference(NamedTuple):
    """A variable reference within a text."""

    make: Make
    name: str
    in_text: Unresolved | None


# A limit to what variables can blow up into: an object of Kubernetes has a megabyte and a half at most.
LONGEST_TEXT, MOST_PARTS = 20_000_000, 500_000
_AS_A_WHOLE = "give an option this variable as its whole value, or keep the whole text in the Secret"

# A variable as a template of its own, by name.
TemplateOf = Callable[[str], Template]


def compile_template(
    tree: object, template_of: TemplateOf, syntax: VariableSyntax, at: At | None = None, with_holes: bool = False
) -> Template | None:
    """A tree as a template; None if it refers to no variable and escapes nothing. at is where it is written.

    with_holes: what cannot be resolved stays where it stands in a map or a list; else it takes the place of the whole.
    """
    if isinstance(tree, str):
        return _compile_text(tree, template_of, syntax, at) if "$" in tree else None
    if not isinstance(tree, (dict, list)):
        return None
    pairs = list(tree.items() if isinstance(tree, dict) else enumerate(tree))
    compiled = [(key, each, compile_template(each, template_of, syntax, at, with_holes)) for key, each in pairs]
    inside = [each for _, _, each in compiled if each is not None]
    if not inside:
        return None
    parts: list[tuple[str | int, Make]] = [
        (key, template.make if template is not None else constant(each)) for key, each, template in compiled
    ]
    makes = [make for _, make in parts]

    def make_map(variables: PluginVariables) -> object:
        filled = {key: make(variables) for key, make in parts}
        unresolved = None if with_holes else _unresolved_in(filled.values())
        return unresolved or (filled if _fits(filled) else _too_large(at))

    def make_list(variables: PluginVariables) -> object:
        filled = [make(variables) for make in makes]
        unresolved = None if with_holes else _unresolved_in(filled)
        return unresolved or (filled if _fits(filled) else _too_large(at))

    return _made_of(make_map if isinstance(tree, dict) else make_list, inside)


def _compile_text(text: str, template_of: TemplateOf, syntax: VariableSyntax, at: At | None) -> Template | None:
    parts = split_references(text, syntax)
    if len(parts) == 1:
        return None if parts[0] == text else Template(constant(parts[0]))
    names = parts[1::2]
    templates = [template_of(name)._replace(names=(name,)) for name in names]
    if len(parts) == 3 and not parts[0] and not parts[2]:
        return templates[0]
    references = [_Reference(each.make, name, each.in_text) for each, name in zip(templates, names, strict=True)]
    joined: list[str | _Reference] = [*parts]
    joined[1::2] = references
    return _made_of(_joined([each for each in joined if each != ""], at), templates)


def _made_of(make: Make, inside: Sequence[Template]) -> Template:
    names = tuple(dict.fromkeys(name for each in inside for name in each.names))
    return Template(make, names, any(each.varies for each in inside), any(each.optional for each in inside))


def _joined(parts: Sequence[str | _Reference], at: At | None) -> Make:
    """One text of several, with variables filled in."""

    def make(variables: PluginVariables) -> object:
        texts: list[str] = []
        on_cluster: list[str | tuple[str]] = []
        secret = False
        unresolved: Unresolved | None = None
        for part in parts:
            if isinstance(part, str):
                texts.append(part)
                continue
            value = part.make(variables)
            if value.__class__ is str:
                texts.append(value)
                continue
            if value.__class__ is Unresolved:
                unresolved = graver(unresolved, value)
                continue
            if value.__class__ is OnCluster:
                on_cluster += ("".join(texts), *value.pieces)
                texts.clear()
                continue
            if is_known_there_alone(value):
                message = f"$({part.name}) cannot be part of a text: {KNOWN_THERE_ALONE}"
                unresolved = graver(unresolved, Unresolved("value-type", message, _AS_A_WHOLE, at))
                continue
            plain, hidden = without_marks(value)
            secret = secret or hidden
            try:
                texts.append(as_text(plain, part.name))
            except ExpandError as error:
                here = part.in_text or Unresolved("value-type", error.message, error.hint, at)
                unresolved = graver(unresolved, here)
        if unresolved is not None:
            return unresolved
        if sum(map(len, texts)) > LONGEST_TEXT:
            return _too_large(at)
        text = "".join(texts)
        if on_cluster and not secret:
            return OnCluster((*on_cluster, text))
        return Secret(None, text) if secret else text

    return make


def graver(one: Unresolved | None, other: Unresolved) -> Unresolved:
    """Of two variables that cannot be resolved the graver: one at fault, then one that waits, then an optional one."""
    return other if one is None or _gravity(other) > _gravity(one) else one


def _gravity(unresolved: Unresolved) -> int:
    return 2 if unresolved.gate in VALIDITY_GATES else 1 if unresolved.gate else 0


def _too_large(at: At | None) -> Unresolved:
    message = "with its variables filled in it is larger than any manifest"
    return Unresolved("value-type", message, "refer to fewer of them", at)


def _fits(tree: object) -> bool:
    """Whether a tree is no larger than values are: variables that refer to each other twice double with every step."""
    left, waiting = MOST_PARTS, [tree]
    while waiting and left > 0:
        each = waiting.pop()
        inside: Collection[object] = each.values() if isinstance(each, dict) else each if isinstance(each, list) else ()
        waiting += inside
        left -= 1 + len(inside)
    return left > 0


def _unresolved_in(values: Iterable[object]) -> Unresolved | None:
    unresolved: Unresolved | None = None
    for each in values:
        if isinstance(each, Unresolved):
            unresolved = graver(unresolved, each)
    return unresolved
