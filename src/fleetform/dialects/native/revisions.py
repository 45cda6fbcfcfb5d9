"""The versions that definitions had, as their revisions tell: their options and sources, and not all else they said."""

from __future__ import annotations

from fleetform.model.kinds import API_VERSION
from fleetform.model.kinds.definition import FROM_REVISION
from fleetform.syntax.trees import YamlMap, as_map

# On a revision: the name of its definition, which the revision's own name may have in another form.
DEFINITION = "fleetform.dev/definition"


def as_definition(revision: YamlMap) -> YamlMap:
    """The manifest of the definition that a PluginDefinitionRevision is of, as it was at that version."""
    metadata, spec = as_map(revision.get("metadata")), as_map(revision.get("spec"))
    version = str(spec.get("version", ""))
    source: YamlMap = {key: each for key, each in as_map(spec.get("source")).items() if key != "digest"}
    kept: YamlMap = {key: metadata[key] for key in ("namespace", "creationTimestamp") if key in metadata}
    named: YamlMap = {"name": _definition_of(metadata, version), **kept}
    said: YamlMap = {"version": version, "options": spec.get("options") or []}
    if source:
        said["source"] = source
    return {
        "apiVersion": API_VERSION,
        "kind": "PluginDefinition",
        "metadata": {**named, "annotations": {FROM_REVISION: str(spec.get("contentHash", ""))}},
        "spec": said,
    }


def _definition_of(metadata: YamlMap, version: str) -> str:
    name = str(metadata.get("name", ""))
    if name.endswith(f"-{version}"):
        return name.removesuffix(f"-{version}")
    # The version was changed to make a name of it.
    return str(as_map(metadata.get("labels")).get(DEFINITION, name))
