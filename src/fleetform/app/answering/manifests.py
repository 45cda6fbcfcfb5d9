"""Manifests as people may see them: in the native shape, plain secrets masked."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from msgspec import UNSET

from fleetform.app.answering.masks import masked
from fleetform.engine.index.index import Index
from fleetform.model.answers.base import MASKED, JsonMap
from fleetform.model.answers.listed import ListedMetadata, ListedObject
from fleetform.model.kinds import API_VERSION
from fleetform.model.objects import Object
from fleetform.syntax.addresses import shown
from fleetform.syntax.option_paths import PathError, normal_form, parse_path
from fleetform.syntax.times import time_text

_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def listed_object(object_: Object[object], known: Index | None = None) -> ListedObject:
    """An object in its native shape, secrets masked; known tells which options are secret."""
    labels, annotations = object_.metadata.labels, object_.metadata.annotations or {}
    metadata = ListedMetadata(
        name=object_.ref.name,
        namespace=object_.ref.organization,
        labels=dict(labels) if labels else UNSET,
        # A copy of the whole manifest that kubectl leaves there would get around every mask.
        annotations={key: text for key, text in annotations.items() if key != _LAST_APPLIED} if annotations else UNSET,
        creation_timestamp=time_text(object_.created) if object_.created is not None else UNSET,
    )
    spec = msgspec.to_builtins(object_.spec) if object_.spec is not None else {}
    shown_spec = masked(_mask(object_, spec, known))
    return ListedObject(api_version=API_VERSION, kind=object_.ref.kind, metadata=metadata, spec=shown_spec)


# ---- Secrets in what people wrote


def _mask(object_: Object[object], spec: JsonMap, known: Index | None) -> JsonMap:
    if object_.ref.kind == "Catalog":
        for source in spec["sources"]:
            for kind, field in (("git", "url"), ("helm", "repository"), ("oci", "repository")):
                if kind in source:
                    source[kind][field] = shown(source[kind][field])
    if object_.ref.kind == "PluginDefinition":
        name = (object_.ref.organization, object_.ref.name)
        _mask_definition(spec, known.definitions.secret_forms(name) if known is not None else frozenset())
    if known is not None:
        for item in _written_items(object_.ref.kind, spec):
            for field in ("value", "expression"):
                if field in item and _is_secret(object_, spec, item.get("name") or item.get("path") or "", known):
                    item[field] = MASKED
        # The map form of optionValues.
        for holder in (spec.get("plugin", spec), *spec.get("groups", [])):
            values = holder.get("optionValues")
            if isinstance(values, dict):
                values.update({name: MASKED for name in values if _is_secret(object_, spec, name, known)})
    return spec


def _mask_definition(spec: JsonMap, secret: frozenset[tuple[str, ...]]) -> None:
    """The addresses of what a definition renders, and what it says of secret options."""
    source = spec.get("source") or {}
    helm, git = source.get("helm"), (source.get("kustomize") or {}).get("git")
    if helm is not None and "://" in helm["repository"]:
        helm["repository"] = shown(helm["repository"])
    if git is not None and "://" in git["url"]:
        git["url"] = shown(git["url"])
    for option in spec.get("options", []):
        if option["type"] == "secret" or _form(option["name"]) in secret:
            option.update({field: MASKED for field in ("default", "enum") if field in option})


def _form(name: str) -> tuple[str, ...] | None:
    try:
        return normal_form(parse_path(name))
    except PathError:
        return None


def _written_items(kind: str, spec: JsonMap) -> Iterator[JsonMap]:
    if kind == "PluginOverride":
        yield from spec.get("overrides", [])
        return
    template = spec.get("plugin", spec)
    lists = [template.get("optionValues")]
    lists += [group.get("optionValues") for group in spec.get("groups", [])]
    for field in ("clusterOptionOverrides", "clusterOverrides"):
        lists += [block.get("overrides") for block in spec.get(field, [])]
    for values in lists:
        if isinstance(values, list):
            yield from values


def _is_secret(object_: Object[object], spec: JsonMap, path: str, known: Index) -> bool:
    """Whether any version of a definition that an object is about calls an option at a path, or inside it, secret."""
    organization = object_.ref.organization
    if object_.ref.kind == "PluginOverride":
        names = spec.get("pluginDefinitionNames") or known.definitions.names(organization)
    else:
        definition = spec.get("plugin", spec).get("pluginDefinition")
        if not definition:
            # A Plugin beside a preset has the definition of that.
            beside = getattr(object_.spec, "preset_ref", None)
            preset = known.preset(organization, beside.name) if beside is not None else None
            definition = msgspec.to_builtins(preset.spec.plugin.plugin_definition) if preset is not None else None
        names = [definition["name"] if isinstance(definition, dict) else definition]
    try:
        steps = parse_path(path)
    except PathError:
        return False
    there = [name for name in names if known.definitions.of(organization, name or "")]
    # If there is no definition nobody can tell, so nobody is shown.
    return not there or any(known.definitions.is_secret(organization, name, steps) for name in there)
