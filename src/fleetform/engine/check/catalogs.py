"""Catalogs: rules beyond their shape."""

from __future__ import annotations

from fleetform.engine.check.report import Report, exactly_one
from fleetform.model.kinds.definition import CatalogSource, CatalogSpec
from fleetform.model.objects import Path


def lint_catalog(report: Report, spec: CatalogSpec) -> None:
    for index, source in enumerate(spec.sources):
        path: Path = ("spec", "sources", index)
        exactly_one(report, source, {name: name for name in ("directory", "git", "helm", "oci")}, *path)
        if source.directory is not None and holds_its_catalog(source.directory):
            message = f"the folder {source.directory} holds the catalog itself, and all that lies beside it"
            report.error("bad-value", message, "move the definitions to a folder of their own", *path, "directory")
        if source.git is not None and source.git.ref is not None:
            refs = {name: name for name in ("commit", "tag", "branch")}
            exactly_one(report, source.git.ref, refs, *path, "git", "ref")
            if source.git.versions == "Tags":
                message = "with versions: Tags every tag is read, so ref has no effect"
                report.error("bad-value", message, "drop ref, or versions", *path, "git", "ref")
        _lint_addresses(report, source, path)
        seen: dict[str, int] = {}
        for position, each in enumerate(source.rename or []):
            first = seen.setdefault(each.name, position)
            if first != position:
                related = (report.object.at(*path, "rename", first, "name"),)
                message, place = f"{each.name} is renamed twice", (*path, "rename", position, "name")
                report.error("duplicate-object", message, "keep one of them", *place, related=related)


def holds_its_catalog(directory: str) -> bool:
    """Whether a folder, relative to a file, is the file's own or one above it."""
    if directory.startswith("/"):
        return False
    steps: list[str] = []
    for step in directory.split("/"):
        if step == ".." and steps and steps[-1] != "..":
            steps.pop()
        elif step not in ("", "."):
            steps.append(step)
    return all(step == ".." for step in steps)


def _lint_addresses(report: Report, source: CatalogSource, path: Path) -> None:
    for kind, field in (("git", "url"), ("helm", "repository"), ("oci", "repository")):
        if holds_login(getattr(getattr(source, kind), field, "")):
            hint = "move them to a Secret, and name it in secretRef"
            report.warn("plain-secret", "the address holds credentials", hint, *path, kind, field)
    if source.oci is not None and not source.oci.repository.startswith("oci://"):
        hint = "write oci://host/path"
        report.error("bad-value", "an OCI repository's address starts with oci://", hint, *path, "oci", "repository")
    if source.helm is not None and "://" not in source.helm.repository:
        hint = "write https://…; charts of a folder need definitions of their own"
        report.error("bad-value", "a Helm repository is an address", hint, *path, "helm", "repository")


def holds_login(address: str) -> bool:
    """Whether an address lets somebody in by itself."""
    return "@" in address.partition("://")[2].partition("/")[0] and not address.startswith("ssh://")
