"""Value sources: where a binding's value comes from; what reads it, and which object it was read from.

Every part of a reference may itself refer to variables (R3-17).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from msgspec import structs

from fleetform.engine.bindings.fields import Field, FieldError, Reference, key_of_secret
from fleetform.engine.bindings.plugin_variables import Make, PluginVariables, constant
from fleetform.engine.bindings.templates import Template, graver
from fleetform.model.kinds.definition import ObjectFieldRef
from fleetform.model.kinds.preset import PluginOutputRef
from fleetform.model.objects import At, Object
from fleetform.model.results.bindings import FieldOnCluster, Unresolved
from fleetform.model.results.decisions import Secret, SecretOnCluster
from fleetform.model.state import Reading
from fleetform.syntax.variables import ExpandError, as_text

# Compiles what an owner wrote at a place; None if it refers to no variable.
Compile = Callable[[object, At], Template | None]
_UNRESOLVED = "cannot be resolved"
# What is read on a cluster for an output is kept apart from what is read for a binding of its name.
OUTPUT = "output "


class ValueSource(NamedTuple):
    """What reads a value, the object that it is read from, if any, and the field on the cluster, if it is one.

    output is the definition and the output that are read, if it is one. Of an output that a definition offers, names
    are the variables it refers to, and steps evaluate these and all that they depend on.
    """

    value: Make
    object: Callable[[PluginVariables], Object[object] | None] = constant(None)
    on_cluster: Callable[[PluginVariables], bool] = constant(False)
    field: Callable[[PluginVariables], FieldOnCluster | None] = constant(None)
    names: tuple[str, ...] = ()
    output: Callable[[PluginVariables], tuple[str, str] | None] = constant(None)
    steps: Sequence[tuple[int, Make]] = ()


def literal(compile_: Compile, written: object, at: At) -> ValueSource:
    template = compile_(written, at)
    return ValueSource(template.make, names=template.names) if template is not None else ValueSource(constant(written))


def parts_of(ref: ObjectFieldRef) -> tuple[str | None, ...]:
    """All of a reference that a person writes."""
    return ref.api_version, ref.kind, ref.namespace, ref.name, ref.field_path


def object_field(compile_: Compile, name: str, ref: ObjectFieldRef, at: At, namespaces: tuple[str, ...]) -> ValueSource:
    """A field of an object in the control plane, in one of some namespaces."""
    parts = _Parts(compile_, name, parts_of(ref), at)

    def read(variables: PluginVariables) -> Field | Unresolved:
        texts = parts.texts(variables)
        if isinstance(texts, Unresolved):
            return texts
        api_version, kind, namespace, object_name, path = texts
        reference = Reference(namespaces, api_version, kind or "", namespace, object_name or "", path or "")
        try:
            return variables.lookups.fields.read(reference)
        except FieldError as error:
            gate = "value-type" if error.wrong else "config-missing"
            return Unresolved(gate, f"{name} {_UNRESOLVED}: {error.message}", error.hint, at)

    return _of_field(read)


def cluster_field(compile_: Compile, name: str, path: str, at: At) -> ValueSource:
    """A field of the cluster's own object."""
    parts = _Parts(compile_, name, (path,), at)

    def read(variables: PluginVariables) -> Field | Unresolved:
        texts = parts.texts(variables)
        if isinstance(texts, Unresolved):
            return texts
        try:
            return variables.lookups.fields.of_cluster(variables.cluster, texts[0] or "")
        except FieldError as error:
            # Without the cluster's name, so that validation reports many clusters as one finding.
            message = f"{name} {_UNRESOLVED}: the cluster has no {texts[0]}"
            return Unresolved("config-missing", message, error.hint, at)

    return _of_field(read)


def plugin_output(compile_: Compile, name: str, ref: PluginOutputRef, at: At) -> ValueSource:
    """An output of another plugin on the cluster."""
    parts = _Parts(compile_, name, (ref.output,), at)

    def read(variables: PluginVariables) -> Field | Unresolved:
        texts = parts.texts(variables)
        if isinstance(texts, Unresolved):
            return texts
        found = variables.lookups.output_of(variables.cluster, ref.definition, texts[0] or "")
        if isinstance(found, Unresolved) and not found.reported:
            return structs.replace(found, message=f"{name} {_UNRESOLVED}: {found.message}", at=at)
        return found

    def output(variables: PluginVariables) -> tuple[str, str] | None:
        texts = parts.texts(variables)
        return None if isinstance(texts, Unresolved) else (ref.definition, texts[0] or "")

    return _of_field(read)._replace(output=output)


def field_on_cluster(
    compile_: Compile, name: str, ref: ObjectFieldRef, at: At, observed_as: str | None = None
) -> ValueSource:
    """A field of an object on the cluster, as it was last read; unresolved until it was read once (B16)."""
    key = observed_as or name
    parts = _Parts(compile_, name, parts_of(ref), at)

    def field(variables: PluginVariables) -> FieldOnCluster | Unresolved:
        texts = parts.texts(variables)
        if isinstance(texts, Unresolved):
            return texts
        api_version, kind, namespace, object_name, path = texts
        return FieldOnCluster(api_version, kind or "", namespace, object_name or "", path or "")

    def value(variables: PluginVariables) -> object:
        meant = field(variables)
        if isinstance(meant, Unresolved):
            return meant
        state = variables.lookups.state(variables.cluster.ref, variables.plugin)
        reading = state.readings.get(key)
        if reading is not None and reading.of != meant.identity:
            # The reference was another then.
            return _unread(name, meant, None, at)
        if reading is not None and reading.digest:
            return Secret(secret_on_cluster(meant, reading.digest))
        if key not in state.observed:
            return _unread(name, meant, reading, at)
        found = state.observed[key]
        if found is None:
            message = f"{name} {_UNRESOLVED}: there is no {meant} on the cluster"
            return Unresolved("config-missing", message, (reading.do if reading else "") or "add it there", at)
        return Secret(None, found) if meant.kind == "Secret" else found

    def known_field(variables: PluginVariables) -> FieldOnCluster | None:
        meant = field(variables)
        return None if isinstance(meant, Unresolved) else meant

    return ValueSource(value, on_cluster=constant(True), field=known_field)


def _unread(name: str, field: FieldOnCluster, reading: Reading | None, at: At) -> Unresolved:
    if reading is not None and reading.problem:
        message = f"{name} waits for {field} on the cluster, which cannot be read: {reading.problem}"
        return Unresolved("downstream", message, reading.do, at)
    message = f"{name} waits for {field} on the cluster, which has not been read yet"
    do = "it is read once the cluster is reached; a state export brings what was read (--state)"
    return Unresolved("downstream", message, do, at)


def secret_on_cluster(field: FieldOnCluster, digest: str) -> SecretOnCluster:
    return SecretOnCluster(field.name, key_of_secret(field.path) or field.path, field.namespace or "", digest)


def either(first: ValueSource, second: ValueSource) -> ValueSource:
    """The first, or if it is missing the second."""

    def value(variables: PluginVariables) -> object:
        return (second if is_second(variables) else first).value(variables)

    def is_second(variables: PluginVariables) -> bool:
        found = first.value(variables)
        return isinstance(found, Unresolved) and found.gate == "config-missing"

    def field(variables: PluginVariables) -> FieldOnCluster | None:
        return second.field(variables) if is_second(variables) else None

    return ValueSource(value, first.object, is_second, field)


class _Parts:
    """The parts of a reference, compiled."""

    def __init__(self, compile_: Compile, name: str, written: Iterable[str | None], at: At) -> None:
        self._name, self._at = name, at
        compiled = [(each, compile_(each, at)) for each in written]
        self._parts = [template.make if template is not None else each for each, template in compiled]

    def texts(self, variables: PluginVariables) -> list[str | None] | Unresolved:
        """The parts as texts, with their variables filled in."""
        found: list[str | None] = []
        unresolved: Unresolved | None = None
        for part in self._parts:
            value = part if part is None or isinstance(part, str) else part(variables)
            if value is None or isinstance(value, str):
                found.append(value)
                continue
            text = value if isinstance(value, Unresolved) else self._text(value)
            if isinstance(text, Unresolved):
                unresolved = graver(unresolved, text)
            else:
                found.append(text)
        return unresolved if unresolved is not None else found

    def _text(self, value: object) -> str | Unresolved:
        if isinstance(value, Secret):
            # It would be printed in every message about the object that it leads to.
            message = f"{self._name} {_UNRESOLVED}: its reference contains a secret"
            return Unresolved("value-type", message, "refer to objects by names that are not secret", self._at)
        try:
            return as_text(value, self._name)
        except ExpandError:
            return Unresolved("value-type", f"{self._name} {_UNRESOLVED}: its reference is not text", "", self._at)


def _of_field(read: Callable[[PluginVariables], Field | Unresolved]) -> ValueSource:
    def value(variables: PluginVariables) -> object:
        found = read(variables)
        return found.value if isinstance(found, Field) else found

    def object_(variables: PluginVariables) -> Object[object] | None:
        found = read(variables)
        return found.object if isinstance(found, Field) else None

    return ValueSource(value, object_)
