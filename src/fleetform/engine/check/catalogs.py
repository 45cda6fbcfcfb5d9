"""Catalogs: rules beyond their shape."""

from __future__ import annotations

from fleetform.engine.check.report import Report, exactly_one
from fleetform.model.kinds.definition import CatalogGit, CatalogSource, CatalogSpec
from fleetform.model.objects import Path


def lint_catalog(report: Report, spec: CatalogSpec) -> None:
    for index, source in enumerate(spec.sources):
        path: Path = ("spec", "sources", index)
        exactly_one(report, source, {name: name for name in ("directory", "git", "helm", "oci")}, *path)
        if source.directory is not None and holds_its_catalog(source.directory):
            message = f"the folder {source.directory} holds the catalog itself, and all that lies beside it"
            report.error("bad-value", message, "move the definitions to a folder of their own", *path, "directory")
        if source.git is not None:
            _lint_git(report, source.git, (*path, "git"))
        _lint_addresses(report, source, path)
        _lint_rename(report, source, path)


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


def _lint_git(report: Report, git: CatalogGit, path: Path) -> None:
    if git.ref is None:
        return
    exactly_one(report, git.ref, {name: name for name in ("commit", "tag", "branch")}, *path, "ref")
    if git.versions == "Tags":
        message = "with versions: Tags every tag is read, so ref has no effect"
        report.error("bad-value", message, "drop ref, or versions", *path, "ref")


def _lint_addresses(report: Report, source: CatalogSource, path: Path) -> None:
    for kind, field in (("git", "url"), ("helm", "repository"), ("oci", "repository")):
        if holds_login(getattr(getattr(source, kind), field, "")):
            report.warn(
                "plain-secret",
                "the address holds credentials",
                "move them to a Secret, and name it in secretRef",
                *path,
                kind,
                field,
            )
    if source.oci is not None and not source.oci.repository.startswith("oci://"):
        hint = "write oci://host/path"
        report.error("bad-value", "an OCI repository's address starts with oci://", hint, *path, "oci", "repository")
    if source.helm is not None and "://" not in source.helm.repository:
        hint = "write https://…; charts of a folder need definitions of their own"
        report.error("bad-value", "a Helm repository is an address", hint, *path, "helm", "repository")


def holds_login(address: str) -> bool:
    """Whether an address lets somebody in by itself."""
    return "@" in address.partition("://")[2].partition("/")[0] and not address.startswith("ssh://")


def _lint_rename(report: Report, source: CatalogSource, path: Path) -> None:
    seen: dict[str, int] = {}
    for index, each in enumerate(source.rename or []):
        if each.name in seen:
            related = (report.object.at(*path, "rename", seen[each.name], "name"),)
            message = f"{each.name} is renamed twice"
            report.error(
                "duplicate-object", message, "keep one of them", *path, "rename", index, "name", related=related
            )
        seen.setdefault(each.name, index)
