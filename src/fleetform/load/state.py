"""Reads a state export (`--state FILE`): creation stamps, what runs where, what became of versions."""

from __future__ import annotations

from datetime import datetime

import msgspec

from fleetform.app.errors import StateError
from fleetform.engine.bindings.value_sources import OUTPUT
from fleetform.model.answers.base import Json
from fleetform.model.objects import Ref
from fleetform.model.state import NOTHING_OBSERVED, Deployed, PluginState, PluginStates
from fleetform.outside.files import read_file, reason
from fleetform.ports.state import KnownState, KnownVersion, Rejection
from fleetform.syntax.times import parse_time
from fleetform.syntax.versions import VersionError, parse_version

_WANTED = "give a file that holds a State of version 1"


class _Stamp(msgspec.Struct, forbid_unknown_fields=True):
    """When an object was created. place is where it was written, as references have it; nothing follows from it."""

    kind: str
    organization: str
    name: str
    created: str
    place: dict[str, str | int] | None = None


class _Observed(msgspec.Struct, forbid_unknown_fields=True):
    """What was seen on the cluster: values of downstream bindings and of outputs by name, null if there was nothing;
    and the inputHash that failed there last."""

    bindings: dict[str, Json] = {}
    outputs: dict[str, Json] = {}
    failed: str | None = None


class _Deployed(msgspec.Struct, rename="camel"):
    """A version of a definition that was brought to a cluster, and the hash of all that it was made of."""

    version: str | None = None
    definition: str | None = None
    input_hash: str | None = None


class _Plugin(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    organization: str
    cluster: str
    plugin: str
    admitted: _Deployed | None = None
    last_healthy: _Deployed | None = None
    observed: _Observed | None = None
    phase: str | None = None
    since: str | None = None


class _Version(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    organization: str
    definition: str
    version: str
    announced_at: str | None = None
    ends_at: str | None = None
    digest: str | None = None


class _Rejection(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    organization: str
    name: str
    version: str
    kind: str = "PluginPreset"
    content_hash: str | None = None


class _Placement(msgspec.Struct, forbid_unknown_fields=True):
    organization: str
    name: str
    clusters: list[str]


class _State(msgspec.Struct, forbid_unknown_fields=True):
    stamps: list[_Stamp]
    plugins: list[_Plugin] = []
    announced: list[_Version] = []
    rejected: list[_Rejection] = []
    placements: list[_Placement] = []


def load_state(name: str | None) -> KnownState:
    if name is None:
        return KnownState()
    if name.startswith("sqlite:"):
        raise StateError("this release reads state exports only, no databases", _WANTED)
    try:
        tree = msgspec.json.decode(read_file(name))
    except OSError as error:
        raise StateError(f"cannot read {name}: {reason(error)}", "check --state") from error
    except (ValueError, RecursionError) as error:
        raise StateError(f"{name} is not a state export: {error}", _WANTED) from error
    return _read(name, tree)


def _read(name: str, tree: Json) -> KnownState:
    if (
        not isinstance(tree, dict)
        or tree.get("kind") != "State"
        or tree.get("version") is True
        or tree.get("version") != 1
    ):
        raise StateError(f"{name} is not a state export of version 1", _WANTED)
    try:
        state = msgspec.convert({key: part for key, part in tree.items() if key not in ("kind", "version")}, _State)
    except msgspec.ValidationError as error:
        raise StateError(f"{name} is damaged: {str(error)[:1].lower()}{str(error)[1:]}", "export it anew") from error
    return KnownState(
        {Ref(each.kind, each.organization, each.name): each.created for each in state.stamps},
        _plugins(name, state.plugins),
        {
            (Ref("PluginDefinition", each.organization, each.definition), _version(each.version)): KnownVersion(
                _time(name, each.announced_at), _time(name, each.ends_at), each.digest
            )
            for each in state.announced
        },
        tuple(
            Rejection(Ref(each.kind, each.organization, each.name), _version(each.version), each.content_hash)
            for each in state.rejected
        ),
        {Ref("Placement", each.organization, each.name): each.clusters for each in state.placements},
    )


def _plugins(name: str, plugins: list[_Plugin]) -> PluginStates:
    """What is known of each plugin, by cluster and name."""
    found: dict[Ref, dict[str, PluginState]] = {}
    for each in sorted(plugins, key=lambda each: (each.organization, each.cluster, each.plugin)):
        seen = each.observed or _Observed()
        observed = {**seen.bindings, **{f"{OUTPUT}{output}": value for output, value in seen.outputs.items()}}
        found.setdefault(Ref("Cluster", each.organization, each.cluster), {})[each.plugin] = PluginState(
            _deployed(each.admitted),
            _deployed(each.last_healthy),
            observed or NOTHING_OBSERVED,
            seen.failed,
            each.phase,
            _time(name, each.since),
        )
    return found


def _deployed(written: _Deployed | None) -> Deployed | None:
    """What was brought to a cluster; a version that cannot be read is not known."""
    if written is None or written == _Deployed():
        return None
    try:
        version = str(parse_version(written.version)) if written.version is not None else None
    except VersionError:
        version = None
    return Deployed(version, written.definition, written.input_hash)


def _time(name: str, text: str | None) -> datetime | None:
    try:
        return parse_time(text) if text is not None else None
    except ValueError as error:
        raise StateError(f"{name} is damaged: {text} is not a time", "export it anew") from error


def _version(text: str) -> str:
    """A version in its normal spelling; one that cannot be read fits none, and stays as it is."""
    try:
        return str(parse_version(text))
    except VersionError:
        return text
