"""Sealing: what a state with secrets is rendered from, stored with references in their places; and the same rendered
again with what they refer to, in memory, where it is applied (S5)."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec
from msgspec import Struct, structs

from fleetform.app.fleet import Fleet
from fleetform.app.reading.secret_values import secret_value
from fleetform.app.reading.secrets import secret_object
from fleetform.app.rendering.delivered_files import delivered_files
from fleetform.engine.secrets import with_placeholders
from fleetform.loop.records import AdmittedState, packed, unpacked
from fleetform.model.kinds.base import Metadata, SecretKey
from fleetform.model.kinds.definition import Patch, PluginDefinitionSpec, Transform
from fleetform.model.objects import Object, Origin, Ref
from fleetform.model.results.decisions import PluginDecision, Secret, SecretOnCluster
from fleetform.model.results.rendering import AddOn, Rendered, RendererName, RenderFailure, RenderInput
from fleetform.ports.delivery import Failure, Revealed, SecretThere
from fleetform.ports.rendering import Rerenders

# No key of a YAML file can be this.
_MARK = "\0secret"
# A name, a key, and the namespace of one that is on the cluster.
_SecretAt = tuple[str, str, str]


class SealedInput(Struct, frozen=True, rename="camel", omit_defaults=True):
    """A RenderInput as it is stored: secrets by reference."""

    definition: str
    version: str
    renderer: RendererName
    values: dict[str, Any]
    variables: dict[str, Any]
    release_name: str
    release_namespace: str
    configs: tuple[tuple[str, ...], ...] = ()
    strict: bool = True
    declared_only: bool = True
    unset: tuple[str, ...] = ()
    transforms: tuple[Transform, ...] = ()
    patches: tuple[Patch, ...] = ()
    add_on: AddOn | None = None


_sealed = msgspec.json.Decoder(SealedInput)


def sealed(fleet: Fleet, plugin: PluginDecision) -> tuple[str, bytes] | None:
    """What a plugin with secrets is rendered from, as a blob and its digest; None if it has none."""
    if not fleet.inputs.holds_secrets(plugin):
        return None
    input_ = fleet.inputs.render_input(plugin, partial(_marked, plugin.target.release_namespace))
    if input_ is None:
        return None
    written = SealedInput(
        input_.definition.ref.name,
        input_.definition.spec.version or "",
        input_.renderer,
        input_.values,
        input_.variables,
        input_.release_name,
        input_.release_namespace,
        input_.configs,
        input_.strict,
        input_.declared_only,
        input_.unset,
        input_.transforms,
        input_.patches,
        input_.add_on,
    )
    content = msgspec.json.encode(written)
    return "sha256:" + hashlib.sha256(content).hexdigest(), content


class Unsealing:
    """Renders states with their secrets. blob gives the bytes of a digest, fleet the fleet whose Secrets count."""

    def __init__(
        self, rerenders: Rerenders, blob: Callable[[str], bytes | None], fleet: Callable[[], Fleet | None]
    ) -> None:
        self._rerenders, self._blob, self._fleet = rerenders, blob, fleet
        # What sealed inputs refer to, by their digests: it never changes.
        self._named: dict[str, frozenset[_SecretAt]] = {}

    def secrets(self, organization: str, state: AdmittedState) -> tuple[object, ...]:
        """The Secrets that a state is filled in with, as the objects that they are now: only to be compared."""
        fleet = self._fleet()
        if not state.sealed or fleet is None:
            return ()
        named = self._named.get(state.sealed)
        if named is None:
            sealed_ = self._blob(state.sealed)
            input_ = _sealed.decode(sealed_) if sealed_ is not None else None
            found = _references(input_.values) | _references(input_.variables) if input_ is not None else ()
            named = self._named[state.sealed] = frozenset(found)
        ours = sorted({name for name, _, namespace in named if not namespace})
        return tuple(secret_object(fleet.snapshot, organization, name) for name in ours)

    def reveal(self, organization: str, state: AdmittedState) -> Callable[[SecretThere], Revealed | Failure] | Failure:
        """What renders a state with the secrets that its organization and its cluster have now; or why that cannot
        be."""
        sealed_ = self._blob(state.sealed)
        input_ = _opened(_sealed.decode(sealed_)) if sealed_ is not None else None
        # A template of an add-on is a config, and part of the input itself.
        in_itself = input_ is not None and input_.add_on is not None
        source = packed({})[1] if in_itself else self._blob(state.source_files)
        if input_ is None or source is None:
            return Failure("what it was rendered from is not stored", "retry the rollout", refused=True)
        secrets: dict[_SecretAt, str] = {}
        there: list[_SecretAt] = []
        for name, key, namespace in sorted(_references(input_.values) | _references(input_.variables)):
            if namespace:
                there.append((name, key, namespace))
                continue
            fleet = self._fleet()
            value = secret_value(fleet.snapshot, organization, name, key) if fleet is not None else None
            if value is None:
                return Failure(f"there is no Secret {name} with a key {key}", "bring it back", refused=True)
            secrets[name, key, ""] = value
        return partial(_revealed, self._rerenders, input_, unpacked(source), state.files, secrets, there)


def _revealed(
    rerenders: Rerenders,
    input_: RenderInput,
    source: Mapping[str, bytes],
    admitted: str,
    known: Mapping[_SecretAt, str],
    there: Sequence[_SecretAt],
    secret_there: SecretThere,
) -> Revealed | Failure:
    """Apart from its secrets it must be what was admitted: so it is first rendered without them, as it was then."""
    secrets = dict(known)
    for name, key, namespace in there:
        value = secret_there(namespace, name, key)
        if value is None:
            message = f"there is no Secret {namespace}/{name} with a key {key} on the cluster"
            return Failure(message, "bring it back", refused=True)
        secrets[name, key, namespace] = value
    hint = "charts that make up values each time cannot have secrets too: give it the values that it makes up"
    shown = _rendered(rerenders, _filled(input_, lambda ref: with_placeholders(Secret(SecretKey(*ref[:2])))), source)
    if isinstance(shown, RenderFailure):
        return Failure(f"it does not render again: {shown.message}", shown.hint, refused=not shown.unavailable)
    if packed(shown)[0] != admitted:
        return Failure("it renders otherwise than it was admitted", hint, refused=True)
    whole = _rendered(rerenders, _filled(input_, lambda ref: secrets[ref]), source)
    if isinstance(whole, RenderFailure):
        # What the tool says may quote a secret.
        message = "it renders with placeholders, and not with its secrets"
        return Failure(message, "a check of the chart refuses one of them", refused=not whole.unavailable)
    return Revealed(whole, _in_any_form(secrets.values()))


def _rendered(
    rerenders: Rerenders, input_: RenderInput, source: Mapping[str, bytes]
) -> dict[str, bytes] | RenderFailure:
    result = rerenders.render_from(input_, source)
    return delivered_files(result.objects) if isinstance(result, Rendered) else result


def _opened(stored: SealedInput) -> RenderInput:
    ref = Ref("PluginDefinition", "", stored.definition)
    spec = PluginDefinitionSpec(version=stored.version)
    rest = structs.asdict(stored)
    del rest["definition"], rest["version"]
    return RenderInput(Object(ref, Metadata(), spec, Origin("", 0, 0)), **rest)


def _marked(home: str, tree: Any) -> Any:
    """A tree with references in the places of its secrets; of those of the cluster with their namespace."""
    if isinstance(tree, Secret):
        if tree.ref is None:
            return with_placeholders(tree)
        namespace = tree.ref.namespace or home if isinstance(tree.ref, SecretOnCluster) else ""
        return {_MARK: [tree.ref.name, tree.ref.key, *([namespace] if namespace else [])]}
    if isinstance(tree, dict):
        return {key: _marked(home, each) for key, each in tree.items()}
    return [_marked(home, each) for each in tree] if isinstance(tree, list) else tree


def _references(tree: Any) -> set[_SecretAt]:
    if isinstance(tree, dict):
        if _MARK in tree:
            return {_reference(tree)}
        return {found for each in tree.values() for found in _references(each)}
    return {found for each in tree for found in _references(each)} if isinstance(tree, list) else set()


def _reference(marked: dict[str, Any]) -> _SecretAt:
    name, key, *namespace = marked[_MARK]
    return name, key, namespace[0] if namespace else ""


def _filled(input_: RenderInput, value: Callable[[_SecretAt], str]) -> RenderInput:
    def fill(tree: Any) -> Any:
        if isinstance(tree, dict):
            if _MARK in tree:
                return value(_reference(tree))
            return {key: fill(each) for key, each in tree.items()}
        return [fill(each) for each in tree] if isinstance(tree, list) else tree

    return structs.replace(input_, values=fill(input_.values), variables=fill(input_.variables))


def _in_any_form(secrets: Any) -> tuple[str, ...]:
    """Secrets as they may stand in a message: as they are, and in base64. The longest first."""
    found = {form for each in secrets for form in (each, b64encode(each.encode()).decode()) if len(each) > 3}
    return tuple(sorted(found, key=len, reverse=True))
