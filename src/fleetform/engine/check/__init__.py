"""Checks of a snapshot beyond the shape of its objects: what contradicts itself, is misspelt, or can have no effect.

One set of checks serves the command line, pull requests, and whatever admits objects later. A file checks what its
name says; effects, unresolved and output_cycles look at decisions, all others at objects one by one. references holds
the checks of names that several of them share, report collects findings. Checks decide nothing, and nothing that is
decided depends on them: what cannot be read is skipped by the engine and reported here. Whether a document has the
shape of its kind is checked when it is read (model/shape); a change of definitions against the versions before it, in
versions/compatibility.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fleetform.engine.check.configs import lint_default_configs
from fleetform.engine.check.definitions import lint_definition, lint_dependencies, lint_revisions
from fleetform.engine.check.overrides import lint_override
from fleetform.engine.check.owners import lint_plugin, lint_preset
from fleetform.engine.check.policies import lint_other
from fleetform.engine.index.index import Index
from fleetform.model.objects import At, Object
from fleetform.model.results.diagnostics import Diagnostic


def lint_objects(known: Index) -> Iterator[Diagnostic]:
    """What is wrong with a snapshot's objects, one by one; check.decided reports what their decisions show."""
    yield from lint_all_but_overrides(known)
    for override in known.snapshot.overrides.values():
        yield from lint_override(override, known, known.snapshot.at)


def lint_all_but_overrides(known: Index) -> Iterator[Diagnostic]:
    """Overrides are what is edited all day, and no check of another object looks at them."""
    snapshot = known.snapshot
    for definition in snapshot.definitions.values():
        yield from lint_definition(definition)
        yield from lint_default_configs(definition, known)
    for name in known.definitions.defined():
        yield from lint_revisions(list(known.definitions.revisions[name].values()))
    yield from lint_dependencies(snapshot.definitions.values())
    for preset in snapshot.presets.values():
        yield from lint_preset(preset, known)
    for plugin in snapshot.plugins.values():
        yield from lint_plugin(plugin, known)
    for other in (*snapshot.organizations.values(), *snapshot.clusters.values(), *snapshot.others.values()):
        yield from lint_other(other, known)


def lint_object(object_: Object[Any], known: Index) -> Iterator[Diagnostic]:
    """What is wrong with one object of a snapshot, in what it says and beside the others of its name."""
    ref = object_.ref
    if ref.kind == "PluginOverride":
        yield from lint_override(object_, known, known.snapshot.at)
    elif ref.kind == "PluginPreset":
        yield from lint_preset(object_, known)
    elif ref.kind == "Plugin":
        yield from lint_plugin(object_, known)
    elif ref.kind == "PluginDefinition":
        yield from lint_definition(object_)
        yield from lint_default_configs(object_, known)
        versions = known.definitions.revisions.get((ref.organization, ref.name), {})
        beside = (*lint_revisions(list(versions.values())), *lint_dependencies(known.snapshot.definitions.values()))
        yield from (each for each in beside if isinstance(each.at, At) and each.at.origin is object_.origin)
    else:
        yield from lint_other(object_, known)
