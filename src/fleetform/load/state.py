"""Reads a state export (`--state FILE`): creation stamps, what runs where, what became of versions."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from fleetform.app.errors import StateError
from fleetform.engine.bindings.value_sources import OUTPUT
from fleetform.engine.report.progress import Reached
from fleetform.ports.state import KnownState, KnownVersion, Rejection
from fleetform.syntax.times import parse_time
from fleetform.syntax.versions import VersionError, parse_version

_WANTED = "give a file that holds a State of version 1"


class _Stamp(msgspec.Struct, forbid_unknown_fields=True):
    kind: str
    organization: str
    name: str
    created: str


class _Observed(msgspec.Struct, forbid_unknown_fields=True):
    """What was seen on the cluster: values of downstream bindings and of outputs by name, null where there was nothing;
    and the inputHash that failed there last."""

    bindings: dict[str, Any] = {}
    outputs: dict[str, Any] = {}
    failed: str | None = None


class _Plugin(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    organization: str
    cluster: str
    plugin: str
    admitted: dict[str, Any] | None = None
    last_healthy: dict[str, Any] | None = None
    observed: _Observed | None = None


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
        with open(name, "rb") as file:
            tree = msgspec.json.decode(file.read())
    except OSError as error:
        raise StateError(f"cannot read {name}: {(error.strerror or str(error)).lower()}", "check --state") from error
    except (ValueError, RecursionError) as error:
        raise StateError(f"{name} is not a state export: {error}", _WANTED) from error
    return _read(name, tree)


def _read(name: str, tree: Any) -> KnownState:
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
        {(each.kind, each.organization, each.name): each.created for each in state.stamps},
        {(each.organization, each.cluster, each.plugin): each.admitted for each in state.plugins if each.admitted},
        {
            (each.organization, each.definition, _version(each.version)): KnownVersion(
                _time(name, each.announced_at), _time(name, each.ends_at), each.digest
            )
            for each in state.announced
        },
        tuple(
            Rejection((each.kind, each.organization, each.name), _version(each.version), each.content_hash)
            for each in state.rejected
        ),
        {
            (each.organization, each.cluster, each.plugin): _version(str(each.last_healthy["version"]))
            for each in state.plugins
            if each.last_healthy and "version" in each.last_healthy
        },
        {(each.organization, each.name): each.clusters for each in state.placements},
        {
            (each.organization, each.cluster, each.plugin): _read_there(each.observed)
            for each in state.plugins
            if each.observed is not None
        },
        {(each.organization, each.cluster, each.plugin): _reached(each) for each in state.plugins},
    )


def _read_there(observed: _Observed) -> dict[str, Any]:
    return {**observed.bindings, **{f"{OUTPUT}{name}": value for name, value in observed.outputs.items()}}


def _reached(plugin: _Plugin) -> Reached:
    admitted, healthy = (part.get("inputHash") if part else None for part in (plugin.admitted, plugin.last_healthy))
    return Reached(admitted, healthy, plugin.observed.failed if plugin.observed is not None else None)


def _time(name: str, text: str | None) -> datetime | None:
    try:
        return parse_time(text) if text is not None else None
    except ValueError as error:
        raise StateError(f"{name} is damaged: {text} is not a time", "export it anew") from error


def _version(text: str) -> str:
    """A version as we spell it; one that cannot be read is known to nobody, and stays."""
    try:
        return str(parse_version(text))
    except VersionError:
        return text
