"""The sections of bindings in Fleeet's manifests, in all spellings of its design; other sections are refused."""

from __future__ import annotations

from fleetform.dialects.native.spellings import Spelling, misplaced_bindings
from fleetform.model.objects import Path
from fleetform.syntax.trees import YamlValue

_CONTROL_PLANE = "controlPlaneBindings"
_IN_CONTROL_PLANE = "write spec.controlPlaneBindings"
_ON_CLUSTER = "write spec.sync.bindings"
_NONE_ON_CLUSTER = (
    "a BootstrapModule binds in the control plane alone: write spec.controlPlaneBindings, or make it a Module"
)
_NONE_IN_CONTROL_PLANE = "an Assemblage binds on its cluster alone: write bindings in its syncs, or bind in a Module"
_OF_EACH_SYNC = "write bindings in each of syncs"


def respell_module(spec: YamlValue) -> Spelling:
    return _respell_module(spec, _ON_CLUSTER, ("bindings",))


def respell_bootstrap_module(spec: YamlValue) -> Spelling:
    return _respell_module(spec, _NONE_ON_CLUSTER, ())


def _respell_module(spec: YamlValue, on_cluster: str, of_sync: tuple[str, ...]) -> Spelling:
    spelling = Spelling(spec)
    _refuse(spelling, (), (_CONTROL_PLANE, "bindings"), _IN_CONTROL_PLANE, on_cluster)
    _refuse(spelling, ("sync",), of_sync, _IN_CONTROL_PLANE, on_cluster)
    # The first drafts of the design have one section only (S38).
    spelling.rename((), "bindings", _CONTROL_PLANE)
    spelling.bindings((_CONTROL_PLANE,))
    spelling.bindings(("sync", "bindings"))
    return spelling


def respell_assemblage(spec: YamlValue, *above: str) -> Spelling:
    spelling = Spelling(spec)
    _refuse(spelling, above, (), _NONE_IN_CONTROL_PLANE, _OF_EACH_SYNC)
    syncs = spelling.part((*above, "syncs"))
    for index in range(len(syncs) if isinstance(syncs, list) else 0):
        path: Path = (*above, "syncs", index)
        _refuse(spelling, path, ("bindings",), _NONE_IN_CONTROL_PLANE, "write bindings")
        spelling.bindings((*path, "bindings"))
    return spelling


def respell_remote_assemblage(spec: YamlValue) -> Spelling:
    spelling = respell_assemblage(spec, "assemblage")
    _refuse(spelling, (), (), _NONE_IN_CONTROL_PLANE, _OF_EACH_SYNC)
    return spelling


def _refuse(spelling: Spelling, path: Path, allowed: tuple[str, ...], upstream: str, downstream: str) -> None:
    found = list(misplaced_bindings(spelling.part(path), path, allowed, upstream, downstream))
    for misfit in found:
        spelling.refuse(misfit)
    if found and spelling.part((*path, "bindings")) == {}:
        # All parts of the section were refused: an empty one would be a misfit of its own.
        spelling.drop((*path, "bindings"))
