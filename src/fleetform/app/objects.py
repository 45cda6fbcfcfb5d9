"""Objects as people may see them: in the native shape, plain secrets masked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from fleetform.app.views import MASKED
from fleetform.engine.index.index import Index
from fleetform.model.kinds import API_VERSION
from fleetform.model.objects import Object
from fleetform.syntax.addresses import shown, without_logins
from fleetform.syntax.hashing import content_hash
from fleetform.syntax.option_paths import PathError, parse_path
from fleetform.syntax.times import time_text

View = dict[str, Any]
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def object_view(object_: Object[Any], status: View | None = None, known: Index | None = None) -> View:
    """An object in its native shape, secrets masked."""
    metadata: View = {"name": object_.ref.name, "namespace": object_.ref.organization}
    if object_.metadata.labels:
        metadata["labels"] = dict(object_.metadata.labels)
    if object_.metadata.annotations:
        # A copy of the whole manifest that kubectl leaves there would get around every mask.
        kept = {key: text for key, text in object_.metadata.annotations.items() if key != _LAST_APPLIED}
        metadata["annotations"] = kept
    if object_.created is not None:
        metadata["creationTimestamp"] = time_text(object_.created)
    spec = msgspec.to_builtins(object_.spec) if object_.spec is not None else {}
    view = {
        "apiVersion": API_VERSION,
        "kind": object_.ref.kind,
        "metadata": metadata,
        "spec": _without_logins(_mask(object_, spec, known)),
    }
    if status is not None:
        view["status"] = status
    return view


def content_of(object_: Object[Any]) -> str:
    """A hash of what an object says, labels included; plain secrets count, and do not show."""
    if object_.content is not None:
        # Bindings read all of it.
        return content_hash(object_.content)
    return content_hash([msgspec.to_builtins(object_.spec), dict(object_.labels)])


# ---- Secrets in what people wrote


def _mask_addresses(spec: View) -> None:
    """An address may hold a user, a password and a token."""
    for source in spec["sources"]:
        for kind, field in (("git", "url"), ("helm", "repository"), ("oci", "repository")):
            if kind in source:
                source[kind][field] = shown(source[kind][field])


def _without_logins(tree: Any) -> Any:
    """Wherever an address stands, who it lets in is nobody's business."""
    if isinstance(tree, dict):
        return {key: _without_logins(each) for key, each in tree.items()}
    if isinstance(tree, list):
        return [_without_logins(each) for each in tree]
    return without_logins(tree) if isinstance(tree, str) and "://" in tree else tree


def _mask_source(source: View) -> None:
    """The addresses of what a definition renders may hold the same."""
    helm, git = source.get("helm"), (source.get("kustomize") or {}).get("git")
    if helm is not None and "://" in helm["repository"]:
        helm["repository"] = shown(helm["repository"])
    if git is not None and "://" in git["url"]:
        git["url"] = shown(git["url"])


def _mask(object_: Object[Any], spec: View, known: Index | None) -> View:
    if object_.ref.kind == "Catalog":
        _mask_addresses(spec)
    if object_.ref.kind == "PluginDefinition":
        _mask_source(spec.get("source") or {})
        for option in spec.get("options", []):
            if option["type"] == "secret":
                option.update({field: dict(MASKED) for field in ("default", "enum") if field in option})
    if known is not None:
        for item in _written_items(object_.ref.kind, spec):
            for field in ("value", "expression"):
                if field in item and _is_secret(object_, spec, item, known):
                    item[field] = dict(MASKED)
        _mask_map(object_, spec, known)
    return spec


def _written_items(kind: str, spec: View) -> Iterator[View]:
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


def _mask_map(object_: Object[Any], spec: View, known: Index) -> None:
    """The map form of optionValues."""
    for holder in (spec.get("plugin", spec), *spec.get("groups", [])):
        values = holder.get("optionValues")
        if isinstance(values, dict):
            for name in values:
                if _is_secret(object_, spec, {"name": name}, known):
                    values[name] = dict(MASKED)


def _is_secret(object_: Object[Any], spec: View, item: View, known: Index) -> bool:
    organization = object_.ref.organization
    if object_.ref.kind == "PluginOverride":
        names = spec.get("pluginDefinitionNames") or known.definitions.names(organization)
    else:
        reference = spec.get("plugin", spec).get("pluginDefinition") or _preset_definition(object_, known)
        names = [reference["name"] if isinstance(reference, dict) else reference]
    try:
        steps = parse_path(item.get("name") or item.get("path") or "")
    except PathError:
        return False
    revisions = [each for name in names for each in known.definitions.of(organization, name or "")]
    if not revisions:
        # Nobody can tell, so nobody is shown.
        return True
    found = [revision.find(steps) for revision in revisions]
    return any(match is not None and match[0].type == "secret" for match in found)


def _preset_definition(object_: Object[Any], known: Index) -> Any:
    ref = getattr(object_.spec, "preset_ref", None)
    preset = known.preset(object_.ref.organization, ref.name) if ref is not None else None
    return msgspec.to_builtins(preset.spec.plugin.plugin_definition) if preset is not None else None
