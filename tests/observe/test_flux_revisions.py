"""What Flux's objects say counts for what their source has now, and not for what it had before."""

from __future__ import annotations

from typing import Any

import pytest

from fleetform.clusters.inventory import ref_of
from fleetform.observe.flux_revisions import is_of_older_revision


def made(kind: str, api: str, spec: dict[str, Any], status: dict[str, Any]) -> dict[str, Any]:
    metadata = {"name": "web", "namespace": "acme"}
    return {
        "apiVersion": f"{api}.toolkit.fluxcd.io/v1",
        "kind": kind,
        "metadata": metadata,
        "spec": spec,
        "status": status,
    }


def source(kind: str, revision: str) -> dict[str, Any]:
    return made(kind, "source", {}, {"artifact": {"revision": revision}} if revision else {})


def kustomization(tried: str) -> dict[str, Any]:
    spec = {"sourceRef": {"kind": "GitRepository", "name": "web"}}
    return made("Kustomization", "kustomize", spec, {"lastAttemptedRevision": tried})


def release(digest: str) -> dict[str, Any]:
    spec = {"chartRef": {"kind": "OCIRepository", "name": "web"}}
    return made("HelmRelease", "helm", spec, {"lastAttemptedRevision": "1.1.0", "lastAttemptedRevisionDigest": digest})


@pytest.mark.parametrize(
    ("object_", "source_", "older"),
    [
        (kustomization("v1@sha1:a"), source("GitRepository", "v2@sha1:b"), True),
        (kustomization("v2@sha1:b"), source("GitRepository", "v2@sha1:b"), False),
        (kustomization(""), source("GitRepository", "v2@sha1:b"), True),
        (release("sha256:a"), source("OCIRepository", "1.1.0@sha256:b"), True),
        (release("sha256:b"), source("OCIRepository", "1.1.0@sha256:b"), False),
        # Somebody else's source, or a chart of a repository: its version is the release's own.
        (kustomization("v1@sha1:a"), source("OCIRepository", "v2@sha1:b"), False),
        (made("HelmRelease", "helm", {"chart": {}}, {}), source("HelmRepository", "sha256:b"), False),
        (made("Kustomization", "example", {"sourceRef": {"kind": "GitRepository", "name": "web"}}, {}), {}, False),
    ],
)
def test_it_is_compared_with_its_own_source(object_: dict[str, Any], source_: dict[str, Any], older: bool) -> None:
    found = {ref_of(each): each for each in (object_, source_) if each}
    assert is_of_older_revision(object_, found) is older
