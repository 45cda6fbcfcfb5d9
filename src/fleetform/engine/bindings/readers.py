"""Sources: where a binding's value is read from; what makes it, and what tells the object it came from.

Every part of a reference may mention names itself (R3-17).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from msgspec import structs

from fleetform.engine.bindings.fields import Field, FieldError, Reference
from fleetform.engine.bindings.frames import Frame
from fleetform.engine.bindings.templates import Template, constant
from fleetform.model.kinds.definition import ObjectFieldRef
from fleetform.model.kinds.preset import PluginOutputRef
from fleetform.model.objects import At, Object
from fleetform.model.results.bindings import Unresolved
from fleetform.model.results.decisions import Secret
from fleetform.syntax.variables import ExpandError, as_text

Make = Callable[[Any], Any]
# Compiles what an owner wrote at a place; None where it is text and nothing else.
Compile = Callable[[Any, At], Template | None]
Read = Callable[[Frame], Field | Unresolved]
_NOTHING = "cannot be resolved"
# What is read on a cluster for an output is kept apart from what is read for a binding of its name.
OUTPUT = "output "


class Source(NamedTuple):
    """What reads a value, what tells the object that it is read from, if any, and whether it is read on the cluster.

    output tells the definition and the output that are read, where one is. Of what a definition offers, names are those
    that it mentions, and steps make these and all that they stand on.
    """

    value: Make
    object: Make = constant(None)
    on_cluster: Make = constant(False)
    names: tuple[str, ...] = ()
    output: Make = constant(None)
    steps: Sequence[tuple[int, Make]] = ()


def literal(compile_: Compile, written: Any, at: At) -> Source:
    template = compile_(written, at)
    return Source(template.make, names=template.names) if template is not None else Source(constant(written))


def parts_of(ref: ObjectFieldRef) -> tuple[str | None, ...]:
    """All of a reference that a person writes."""
    return ref.api_version, ref.kind, ref.namespace, ref.name, ref.field_path


def object_field(compile_: Compile, name: str, ref: ObjectFieldRef, at: At, homes: tuple[str, ...]) -> Source:
    """A field of an object in the control plane, in one of some namespaces."""
    parts = _makes(compile_, parts_of(ref), at)

    def read(frame: Frame) -> Field | Unresolved:
        texts = _texts(name, parts, frame, at)
        if isinstance(texts, Unresolved):
            return texts
        reference = Reference(homes, texts[0], texts[1], texts[2], texts[3], texts[4])
        try:
            return frame.world.fields.read(reference)
        except FieldError as error:
            return _nothing(name, error, at)

    return _source(read)


def cluster_field(compile_: Compile, name: str, path: str, at: At) -> Source:
    """A field of the cluster's own object."""
    parts = _makes(compile_, (path,), at)

    def read(frame: Frame) -> Field | Unresolved:
        texts = _texts(name, parts, frame, at)
        if isinstance(texts, Unresolved):
            return texts
        try:
            return frame.world.fields.of_cluster(frame.cluster, texts[0])
        except FieldError as error:
            # Without the cluster's name, so that validation can tell of many clusters at once.
            message = f"{name} {_NOTHING}: the cluster has no {texts[0]}"
            return Unresolved("config-missing", message, error.hint, at)

    return _source(read)


def plugin_output(compile_: Compile, name: str, ref: PluginOutputRef, at: At) -> Source:
    """What another plugin on the cluster offers."""
    parts = _makes(compile_, (ref.output,), at)

    def read(frame: Frame) -> Field | Unresolved:
        texts = _texts(name, parts, frame, at)
        if isinstance(texts, Unresolved):
            return texts
        found = frame.world.output_of(frame.cluster, ref.definition, texts[0])
        if isinstance(found, Unresolved):
            if found.reported:
                return found
            return structs.replace(found, message=f"{name} {_NOTHING}: {found.message}", at=at)
        field: Field = found
        return field

    def output(frame: Frame) -> tuple[str, str] | None:
        texts = _texts(name, parts, frame, at)
        return None if isinstance(texts, Unresolved) else (ref.definition, texts[0])

    return _source(read)._replace(output=output)


def field_on_cluster(
    compile_: Compile, name: str, ref: ObjectFieldRef, at: At, observed_as: str | None = None
) -> Source:
    """A field of an object on the cluster: what the last pass read there; unread it is no value at all (B16)."""
    key = observed_as or name
    parts = _makes(compile_, parts_of(ref), at)

    def value(frame: Frame) -> Any:
        texts = _texts(name, parts, frame, at)
        if isinstance(texts, Unresolved):
            return texts
        seen = frame.world.observed(frame.cluster.ref, frame.plugin)
        where = f"{texts[1]} {texts[3]} {texts[4]} on the cluster"
        if key not in seen:
            message = f"{name} waits for {where}, which nobody has read yet"
            do = "it is read once the cluster is reached; a state export brings what was read (--state)"
            return Unresolved("downstream", message, do, at)
        if seen[key] is None:
            return Unresolved("config-missing", f"{name} {_NOTHING}: there is no {where}", "add it there", at)
        return Secret(None, seen[key]) if texts[1] == "Secret" else seen[key]

    return Source(value, on_cluster=constant(True))


def either(first: Source, second: Source) -> Source:
    """The first, or where it has nothing the second."""

    def value(frame: Frame) -> Any:
        return (second if is_second(frame) else first).value(frame)

    def is_second(frame: Frame) -> bool:
        found = first.value(frame)
        return found.__class__ is Unresolved and found.gate == "config-missing"

    return Source(value, first.object, is_second)


def _makes(compile_: Compile, written: Iterable[str | None], at: At) -> list[Any]:
    """What makes each part of a reference; one that mentions nothing stands for itself."""
    compiled = [(each, compile_(each, at)) for each in written]
    return [template.make if template is not None else each for each, template in compiled]


def _texts(name: str, parts: Iterable[Any], frame: Frame, at: At) -> list[Any] | Unresolved:
    """The parts of a reference as texts."""
    found: list[Any] = []
    for part in parts:
        value = part if part is None or part.__class__ is str else part(frame)
        if value is None or value.__class__ is str:
            found.append(value)
        elif isinstance(value, Unresolved):
            return value
        elif isinstance(value, Secret):
            # It would stand in every message about what it leads to.
            message = f"{name} {_NOTHING}: its reference mentions a secret"
            return Unresolved("value-type", message, "refer to objects by names that are no secrets", at)
        else:
            try:
                found.append(as_text(value, name))
            except ExpandError:
                return Unresolved("value-type", f"{name} {_NOTHING}: its reference is no text", "", at)
    return found


def _nothing(name: str, error: FieldError, at: At) -> Unresolved:
    gate = "value-type" if error.wrong else "config-missing"
    return Unresolved(gate, f"{name} {_NOTHING}: {error.message}", error.hint, at)


def _source(read: Read) -> Source:
    def value(frame: Frame) -> Any:
        found = read(frame)
        return found.value if isinstance(found, Field) else found

    def source(frame: Frame) -> Object[Any] | None:
        found = read(frame)
        return found.object if isinstance(found, Field) else None

    return Source(value, source)
