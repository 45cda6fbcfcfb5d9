"""CustomResourceDefinitions of the kinds, made from their records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from fleetform.dialects.native.schemas import JsonSchema, components
from fleetform.dialects.native.structural import structural
from fleetform.model.kinds import API_VERSION, KINDS, Kind

_GROUP, _, _VERSION = API_VERSION.partition("/")


class Column(NamedTuple):
    """A column of `kubectl get`. wide: only with -o wide."""

    name: str
    path: str
    type: str = "string"
    wide: bool = False


class Rule(NamedTuple):
    """A rule that the API server holds by itself, also while no webhook answers; at is the field that it is about."""

    rule: str
    message: str
    at: tuple[str, ...] = ("spec",)


class Served(NamedTuple):
    """How an API server serves a kind. fields can be selected by (`--field-selector`)."""

    kind: str
    short: str
    columns: Sequence[Column] = ()
    rules: Sequence[Rule] = ()
    fields: Sequence[str] = ()


_AGE = Column("Age", ".metadata.creationTimestamp", "date")
_READY = Column("Ready", '.status.conditions[?(@.type=="Ready")].status')
_VALID = Column("Valid", '.status.conditions[?(@.type=="Valid")].status')
_NEVER_CHANGES = Rule("self == oldSelf", "it never changes: make another one")


def _exactly_one(*fields: str, at: tuple[str, ...]) -> Rule:
    given = ", ".join(f"has(self.{each})" for each in fields)
    return Rule(f"[{given}].exists_one(each, each)", f"exactly one of {', '.join(fields)} is needed", at)


SERVED = (
    Served(
        "Approval",
        "ffa",
        (
            Column("Rollout", ".spec.rollout"),
            Column("Stage", ".spec.stage"),
            Column("User", ".spec.user"),
            Column("Change", ".spec.changeId"),
            Column("Comment", ".spec.comment", wide=True),
        ),
        (_NEVER_CHANGES,),
        (".spec.rollout",),
    ),
    Served(
        "Catalog",
        "ffcat",
        (Column("Definitions", ".status.definitions", "integer"), _READY),
    ),
    Served(
        "Cluster",
        "ffc",
        (
            Column("Plugins", ".status.plugins", "integer"),
            Column("Blocked", ".status.blocked", "integer"),
            Column("Reachable", '.status.conditions[?(@.type=="Reachable")].status'),
            Column("Hold", ".spec.hold"),
            Column("Zone", ".spec.timeZone", wide=True),
        ),
        (
            _exactly_one("kubeconfig", "context", "directory", at=("spec", "access")),
            _exactly_one("assume", "file", "command", at=("spec", "health")),
        ),
    ),
    Served(
        "LifecyclePolicy",
        "fflp",
        (Column("Notice", ".spec.notice"), Column("Grace", ".spec.grace")),
        (Rule("self.metadata.name == 'default'", "a LifecyclePolicy is named default", ()),),
    ),
    Served("Organization", "fforg", (Column("Policy", ".spec.defaultRolloutPolicy"),)),
    Served("Placement", "ffpl", (Column("Selected", ".status.numberOfSelectedClusters", "integer"),)),
    Served(
        "Plugin",
        "ffp",
        (
            Column("Cluster", ".spec.clusterName"),
            Column("Definition", ".status.definition"),
            Column("Version", ".status.running"),
            Column("Target", ".status.wanted"),
            Column("Status", ".status.state"),
            _READY,
            Column("Waits for", ".status.waitsFor"),
            Column("Until", ".status.until"),
            Column("Preset", ".spec.presetRef.name", wide=True),
            Column("Rollout", ".status.rollout.name", wide=True),
            Column("Stage", ".status.rollout.stage", wide=True),
        ),
        fields=(".spec.clusterName", ".spec.presetRef.name", ".status.state", ".status.definition"),
    ),
    Served(
        "PluginDefinition",
        "ffd",
        (
            Column("Version", ".spec.version"),
            Column("Plugins", ".status.plugins", "integer"),
            Column("Breaking", ".spec.changes.breaking", "boolean"),
            Column("Description", ".spec.description", wide=True),
        ),
        (
            _exactly_one("helm", "kustomize", "manifests", at=("spec", "source")),
            _exactly_one("path", "git", at=("spec", "source", "kustomize")),
        ),
    ),
    Served(
        "PluginDefinitionRevision",
        "ffrev",
        (
            Column("Version", ".spec.version"),
            Column("Number", ".spec.number", "integer"),
            Column("Plugins", ".status.plugins", "integer"),
            Column("Announced", ".status.announcedAt", "date"),
            Column("Ends", ".status.endsAt"),
        ),
        (_NEVER_CHANGES,),
    ),
    Served(
        "PluginOverride",
        "ffo",
        (
            Column("Rank", ".status.rank", "integer"),
            Column("Plugins", ".status.plugins", "integer"),
            Column("Findings", ".status.findings"),
            Column("Owner", ".spec.owner"),
            Column("Expires", ".spec.expires"),
            _VALID,
            Column("Reason", ".spec.reason", wide=True),
        ),
    ),
    Served(
        "PluginPreset",
        "ffpp",
        (
            Column("Total", ".status.plugins.total", "integer"),
            Column("Updated", ".status.plugins.updated", "integer"),
            Column("Ready", ".status.plugins.ready", "integer"),
            Column("Waiting", ".status.plugins.waiting", "integer"),
            Column("Blocked", ".status.plugins.blocked", "integer"),
            Column("Failed", ".status.plugins.failed", "integer"),
            Column("Unreachable", ".status.plugins.unreachable", "integer"),
            Column("Rollout", ".status.rollout.name"),
            _VALID,
        ),
    ),
    Served("PluginState", "ffst", (Column("Hash", ".spec.inputHash"),), (_NEVER_CHANGES,)),
    Served(
        "Rollout",
        "ffr",
        (
            Column("Preset", ".spec.preset"),
            Column("Phase", ".status.phase"),
            Column("Stage", ".status.stage"),
            Column("From", ".status.from"),
            Column("To", ".status.to"),
            Column("Healthy", ".status.clusters.healthy", "integer"),
            Column("Of", ".status.clusters.total", "integer"),
            Column("Failed", ".status.clusters.failed", "integer"),
            Column("Waits for", ".status.waitsFor"),
            Column("Change", ".spec.changeId", wide=True),
            Column("Summary", ".status.summary", wide=True),
        ),
        fields=(".spec.preset", ".status.phase"),
    ),
    Served("RolloutPolicy", "ffrp", (Column("On failure", ".spec.onFailure"),)),
    Served(
        "UpdateWindow",
        "ffw",
        (Column("Type", ".spec.type"), Column("Schedule", ".spec.schedule"), Column("Duration", ".spec.duration")),
    ),
)


def crds() -> Iterator[JsonSchema]:
    """The definitions of all kinds, by name."""
    for served in SERVED:
        yield _crd(KINDS[served.kind], served)


def plural_of(kind: str) -> str:
    """The resource that a kind's objects are under."""
    lower = kind.lower()
    return f"{lower[:-1]}ies" if lower.endswith("y") else f"{lower}s"


def _crd(kind: Kind, served: Served) -> JsonSchema:
    plural = plural_of(kind.name)
    names = {
        "kind": kind.name,
        "listKind": f"{kind.name}List",
        "plural": plural,
        "singular": kind.name.lower(),
        "shortNames": [served.short],
        "categories": ["fleetform"],
    }
    version = {
        "name": _VERSION,
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "additionalPrinterColumns": [_column(each) for each in (*served.columns, _AGE)],
        "schema": {"openAPIV3Schema": _schema(kind, served)},
    }
    if served.fields:
        version["selectableFields"] = [{"jsonPath": each} for each in served.fields]
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{_GROUP}"},
        "spec": {"group": _GROUP, "scope": "Namespaced", "names": names, "versions": [version]},
    }


def _schema(kind: Kind, served: Served) -> JsonSchema:
    (spec, status), definitions = components(kind.spec, kind.status)
    root: JsonSchema = {
        "type": "object",
        "description": (kind.spec.__doc__ or "").strip(),
        "required": ["spec"] if kind.spec_required else [],
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object"},
            "spec": structural(spec, definitions),
            "status": _optional(structural(status, definitions)),
        },
    }
    for each in served.rules:
        field = root
        for name in each.at:
            field = field["properties"][name]
        field.setdefault("x-kubernetes-validations", []).append({"rule": each.rule, "message": each.message})
    return root


def _optional(schema: JsonSchema) -> JsonSchema:
    """With nothing required but the keys of lists that are maps: a release must take what another one wrote."""
    found = {key: each for key, each in schema.items() if key != "required"}
    if "properties" in found:
        found["properties"] = {name: _optional(each) for name, each in found["properties"].items()}
    if "items" in found:
        found["items"] = _optional(found["items"])
        if "x-kubernetes-list-map-keys" in found:
            found["items"]["required"] = found["x-kubernetes-list-map-keys"]
    return found


def _column(column: Column) -> JsonSchema:
    found: JsonSchema = {"name": column.name, "type": column.type, "jsonPath": column.path}
    # kubectl shows columns of a priority above 0 only with -o wide.
    return {**found, "priority": 1} if column.wide else found
