"""Transforms and patches: patches that cannot be read, and plugins whose manifests never pass through here (B19)."""

from __future__ import annotations

from collections.abc import Sequence

from fleetform.engine.check.report import Report
from fleetform.engine.index.index import Index
from fleetform.engine.layers.owners import Owner
from fleetform.model.kinds.base import Delivery
from fleetform.model.kinds.definition import Patch
from fleetform.model.objects import Ref
from fleetform.syntax.json_patch import PatchError, parse_patch


def lint_patches(report: Report, patches: Sequence[Patch] | None) -> None:
    """Patches of a preset, a Plugin or a definition."""
    for index, each in enumerate(patches or ()):
        target = each.target
        if all(part is None for part in (target.kind, target.name, target.namespace, target.group, target.version)):
            message = "the patch names no target, so it would change every object"
            report.error("bad-patch", message, "add kind, and name if one object is meant", "spec", "patches", index)
        if not isinstance(each.patch, list):
            continue
        try:
            parse_patch(each.patch)
        except PatchError as error:
            place = (index, "patch", *(() if error.number is None else (error.number,)))
            hint = "write operations as RFC 6902 has them: {op, path, value}"
            report.error("bad-patch", f"the patch cannot be read: {error.message}", hint, "spec", "patches", *place)


def lint_flux_renders(report: Report, owner: Owner, delivery: Delivery | None, known: Index) -> None:
    """Flux renders charts and kustomizations itself: there are no manifests here that could be changed (B19)."""
    if delivery is None:
        home = owner.object.ref.organization
        organization = known.snapshot.organizations.get(Ref("Organization", home, home))
        delivery = organization.spec.default_delivery if organization is not None else None
    if delivery is None or delivery.flux is None:
        return
    hint = "deliver to a directory, to git or to the cluster, or change the chart's values"
    for field in ("transforms", "patches"):
        if getattr(owner.object.spec, field):
            report.error("flux-renders", f"{field} have no manifests to change: Flux renders them", hint, "spec", field)
        in_use = [each for each in known.definitions.known(owner).values() if getattr(each.object.spec, field)]
        if in_use:
            what = f"{owner.definition} {in_use[-1].version} has {field}, and Flux renders it"
            report.error("flux-renders", what, hint, "spec", related=(in_use[-1].object.at("spec", field),))
