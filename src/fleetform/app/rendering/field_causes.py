"""explain --manifest: from a field of a rendered object back to the options that make it what it is.

Values are marked and rendered again: a mark that comes out in the field went there. If none does, values are changed
one by one, and those that change the field decide it. Nothing is guessed: what is not known is reported as such.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from msgspec import structs

from fleetform.app.answering.references import reference
from fleetform.app.errors import AmbiguousError, NotFoundError, NotRenderedError
from fleetform.app.fleet import Fleet
from fleetform.app.rendering.plugin_renders import patch_written
from fleetform.engine.bindings.fields import FieldError, find_in
from fleetform.model.answers.base import Json, JsonMap
from fleetform.model.answers.explanation import ExplainedField, FieldCause, FieldChange
from fleetform.model.results.decisions import ABSENT, PluginDecision, Steps
from fleetform.model.results.rendering import Rendered, RenderFailure, RenderInput
from fleetform.model.shape import did_you_mean, what_there_is
from fleetform.ports.rendering import Renders
from fleetform.syntax.names import api_group, object_label, object_name
from fleetform.syntax.option_paths import set_in_tree, text_of, with_value
from fleetform.syntax.trees import copied

# More values than these are not tried one by one.
_MOST = 200
_MARK = "fleetform-mark-"
# Below a million: Helm writes greater ones with an exponent.
_NUMBER = 731_000


class Asked(NamedTuple):
    """A field of an object: `Deployment/web:/spec/replicas`, or with its namespace `Deployment/shop/web:/…`."""

    kind: str
    namespace: str | None
    name: str
    pointer: str

    @property
    def object(self) -> str:
        return "/".join(each for each in (self.kind, self.namespace, self.name) if each)


class _Leaf(NamedTuple):
    """A scalar that goes into a render, and what it is changed to. given: it has a value here."""

    steps: Steps
    mark: str | int | float | bool
    given: bool

    def cause(self, passed: bool) -> FieldCause:
        return FieldCause(path=text_of(self.steps), how="passed" if passed else "decides", set=self.given)


def parse_asked(text: str) -> Asked:
    """KIND/NAME:/pointer; ValueError says what is wrong."""
    # Names of roles may hold a colon themselves.
    what, colon, rest = text.partition(":/")
    pointer = f"/{rest}"
    parts = what.split("/")
    if not colon or len(parts) not in (2, 3) or not all(parts):
        raise ValueError("write KIND/NAME:/pointer, such as Deployment/web:/spec/replicas")
    return Asked(parts[0], parts[1] if len(parts) == 3 else None, parts[-1], pointer)


def trace(fleet: Fleet, plugin: PluginDecision, renders: Renders, asked: Asked) -> ExplainedField:
    """Where a field of a plugin's objects comes from."""
    input_ = fleet.render_input(plugin)
    gates = (*plugin.gates, *plugin.waits)
    if input_ is None or gates:
        why = gates[0].message if gates else f"{plugin.target.definition} has nothing to render"
        raise NotRenderedError(f"{plugin.name} cannot be rendered: {why}", gates[0].do if gates else "")
    [rendered] = renders.render([input_])
    if isinstance(rendered, RenderFailure):
        message = f"{plugin.name} cannot be rendered: {rendered.message}"
        raise NotRenderedError(message, rendered.hint, rendered.unavailable)
    value = _field(rendered, asked)
    changed_by = _changed_by(rendered, asked)
    if changed_by is not None:
        return ExplainedField(
            object=asked.object, path=asked.pointer, value=value, causes=[], untold=[], unsteady=False, release=[],
            changed_by=_written_change(fleet, plugin, changed_by),
        )  # fmt: skip
    leaves = list(_leaves(plugin, input_))
    causes = [each.cause(True) for each in _marked_at_once(renders, input_, leaves, asked)]
    untold: list[Steps] = []
    release: list[str] = []
    if not causes and rendered.unsteady:
        # Another value and chance cannot be told apart.
        untold = [each.steps for each in leaves]
    elif not causes:
        causes, untold = _one_by_one(renders, input_, leaves, asked, value)
        release = [] if causes else _of_release(renders, input_, asked, value)
    return ExplainedField(
        object=asked.object,
        path=asked.pointer,
        value=value,
        causes=causes,
        untold=[text_of(each) for each in untold],
        unsteady=rendered.unsteady and not causes,
        release=release,
    )


# ---- Transforms and patches


def _changed_by(rendered: Rendered, asked: Asked) -> str | None:
    """The transform or patch that set a field last: at it, or at something that holds it."""
    (tree,) = _find(rendered, asked)
    for each in reversed(rendered.transformation.kept):
        holds = asked.pointer == each.pointer or asked.pointer.startswith(f"{each.pointer}/")
        if holds and each.object == object_label(tree) and each.op != "test":
            return each.by
    return None


def _written_change(fleet: Fleet, plugin: PluginDecision, by: str) -> FieldChange:
    target, locator = plugin.target, fleet.input.locator
    if by.startswith("patches["):
        object_, at, _ = patch_written(target, int(by[len("patches[") : -1]))
        return FieldChange(what="patch", name=by, object=reference(object_.ref, at, locator))
    own = (target.revision.object.spec.transforms if target.revision is not None else None) or []
    for index, transform in enumerate(target.owner.spec.transforms or []):
        if transform.plugin == by:
            at = target.owner.at("spec", "transforms", index)
            return FieldChange(what="transform", name=by, object=reference(target.owner.ref, at, locator))
    assert target.revision is not None
    index = next(number for number, each in enumerate(own) if each.plugin == by)
    definition = target.revision.object
    at = definition.at("spec", "transforms", index)
    return FieldChange(what="transform", name=by, object=reference(definition.ref, at, locator))


# ---- The field


def _field(rendered: Rendered, asked: Asked) -> Json:
    found = _find(rendered, asked)
    if not found:
        names = [f"{tree.get('kind')}/{object_name(tree)}" for tree in rendered.objects]
        hint = did_you_mean(asked.object, names, what_there_is(names))
        raise NotFoundError(f"nothing that is rendered is {asked.object}", hint)
    if len(found) > 1:
        choices = [f"{object_label(tree)} of {tree.get('apiVersion')}" for tree in found]
        hint = "write KIND/NAMESPACE/NAME, or KIND.GROUP/NAME"
        raise AmbiguousError(f"{len(found)} objects are {asked.object}", choices, hint)
    try:
        return find_in(found[0], asked.pointer)
    except FieldError as error:
        raise NotFoundError(f"{asked.object} has no {asked.pointer}", error.hint) from error


def _find(rendered: Rendered, asked: Asked) -> list[JsonMap]:
    """The objects that are meant; a kind may be written with its group."""
    found = []
    for tree in rendered.objects:
        kind, group = str(tree.get("kind")), api_group(str(tree.get("apiVersion")))
        namespace = (tree.get("metadata") or {}).get("namespace")
        same_kind = asked.kind.lower() in (kind.lower(), f"{kind}.{group}".lower())
        if same_kind and object_name(tree) == asked.name and asked.namespace in (None, namespace):
            found.append(tree)
    return found


def _seen(result: Rendered | RenderFailure, asked: Asked) -> Json:
    """The field's value in another render; ABSENT if it has none, None if nothing was rendered."""
    if isinstance(result, RenderFailure):
        return None
    found = _find(result, asked)
    try:
        return find_in(found[0], asked.pointer) if found else ABSENT
    except FieldError:
        return ABSENT


# ---- Values with marks


def _leaves(plugin: PluginDecision, input_: RenderInput) -> Iterator[_Leaf]:
    """Every scalar that is passed, and options that have no value here."""
    tree = input_.values if input_.takes_values else input_.variables
    paths = list(_scalars(tree, ()))
    number = 0
    for number, (steps, value) in enumerate(paths):
        yield _Leaf(steps, _changed(value, number), True)
    if not input_.takes_values:
        return
    for option in plugin.options.values():
        declared = option.slot.option
        if option.value is ABSENT and declared is not None and declared.type in ("string", "int", "bool"):
            number += 1
            example = {"string": "", "int": 0, "bool": False}[declared.type]
            yield _Leaf(option.slot.steps, _changed(example, number), False)


def _scalars(tree: Json, steps: Steps) -> Iterator[tuple[Steps, Json]]:
    if isinstance(tree, (dict, list)):
        for key, each in tree.items() if isinstance(tree, dict) else enumerate(tree):
            yield from _scalars(each, (*steps, key))
    elif tree is not None:
        yield steps, tree


def _changed(value: Json, number: int) -> Json:
    """Another value of the same type that can be told from all others; of a boolean there is but one."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return type(value)(_NUMBER + number)
    return f"{_MARK}{number}x"


def _with(input_: RenderInput, leaves: Sequence[_Leaf]) -> RenderInput:
    tree: Json = input_.values if input_.takes_values else input_.variables
    for leaf in leaves:
        if leaf.given:
            tree = with_value(tree, leaf.steps, leaf.mark)
        else:
            tree = copied(tree)
            set_in_tree(tree, leaf.steps, leaf.mark)
    if input_.takes_values:
        return structs.replace(input_, values=tree)
    return structs.replace(input_, variables=tree)


def _marked_at_once(renders: Renders, input_: RenderInput, leaves: Sequence[_Leaf], asked: Asked) -> list[_Leaf]:
    """The values whose marks come out in the field, all marked together and then each alone; those given first.

    Alone, because all of them together may take another way through the templates.
    """
    for given in (True, False):
        marked = [each for each in leaves if each.given is given and not isinstance(each.mark, bool)]
        if marked:
            [result] = renders.render([_with(input_, marked)])
            seen = _seen(result, asked)
            if seen is not None and seen is not ABSENT:
                texts = list(_texts(seen))
                found = [each for each in marked if any(str(each.mark) in text for text in texts)]
                alone = renders.render([_with(input_, [each]) for each in found])
                if found and all(_is_passed(each, _seen(one, asked)) for each, one in zip(found, alone, strict=True)):
                    return found
    return []


def _is_passed(leaf: _Leaf, seen: Json) -> bool:
    """Whether a value's mark comes out in the field."""
    if seen is None or seen is ABSENT or isinstance(leaf.mark, bool):
        return False
    return any(str(leaf.mark) in text for text in _texts(seen))


def _texts(tree: Json) -> Iterator[str]:
    if isinstance(tree, dict):
        for each in tree.values():
            yield from _texts(each)
    elif isinstance(tree, list):
        for each in tree:
            yield from _texts(each)
    else:
        yield str(tree)


def _one_by_one(
    renders: Renders, input_: RenderInput, leaves: Sequence[_Leaf], asked: Asked, value: Json
) -> tuple[list[FieldCause], list[Steps]]:
    """The values that change the field where each is changed alone, and those of which that is not known."""
    tried = leaves[:_MOST]
    results = renders.render([_with(input_, [each]) for each in tried])
    causes: list[FieldCause] = []
    untold = [each.steps for each in leaves[_MOST:]]
    for leaf, result in zip(tried, results, strict=True):
        seen = _seen(result, asked)
        if seen is None:
            untold.append(leaf.steps)
        elif seen is ABSENT or seen != value:
            causes.append(leaf.cause(_is_passed(leaf, seen)))
    # What stands in the field comes before what decides about it.
    return sorted(causes, key=lambda each: (each.how != "passed", each.path)), untold


def _of_release(renders: Renders, input_: RenderInput, asked: Asked, value: Json) -> list[str]:
    """Whether a field is made of the release's name or namespace."""
    other = {"releaseName": "release_name", "releaseNamespace": "release_namespace"}
    # The object may be named after the release, too: it is looked for by what becomes of its name.
    results = renders.render([structs.replace(input_, **{field: f"{_MARK}r"}) for field in other.values()])
    found = []
    for (written, field), result in zip(other.items(), results, strict=True):
        there = asked._replace(name=asked.name.replace(getattr(input_, field), f"{_MARK}r"), namespace=None)
        seen = [
            each for each in (_seen(result, asked), _seen(result, there)) if each is not ABSENT and each is not None
        ]
        if seen and value not in seen:
            found.append(written)
    return found
