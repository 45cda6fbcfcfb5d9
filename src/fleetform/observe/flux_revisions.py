"""Whether what Flux installs is what its source has by now. Pure.

A Kustomization, and a HelmRelease with a chart of a registry, refer to a source whose own version is the plugin's. They
stay as they are when it changes, and what they say may be about the revision before.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fleetform.clusters.inventory import ObjectRef

_SOURCES = "source.toolkit.fluxcd.io"
_REFERENCES = {"Kustomization": "sourceRef", "HelmRelease": "chartRef"}


def is_of_older_revision(live: Mapping[str, Any], all_: Mapping[ObjectRef, Mapping[str, Any]]) -> bool:
    """Whether what an object of Flux says is about another revision than its source has now."""
    reference = source_of(live)
    source = all_.get(reference) if reference is not None else None
    if source is None:
        return False
    revision = str(((source.get("status") or {}).get("artifact") or {}).get("revision", ""))
    status = live.get("status") or {}
    if live["kind"] == "Kustomization":
        return bool(status.get("lastAttemptedRevision") != revision)
    # A chart is known by what is in it: its version and its tag may differ.
    return bool(status.get("lastAttemptedRevisionDigest") != revision.rpartition("@")[2])


def source_of(live: Mapping[str, Any]) -> ObjectRef | None:
    """What an object of Flux installs from, if that has a version of its own."""
    group = str(live.get("apiVersion", "")).rpartition("/")[0]
    if not group.endswith(".toolkit.fluxcd.io") or live.get("kind") not in _REFERENCES:
        return None
    reference = (live.get("spec") or {}).get(_REFERENCES[live["kind"]])
    if not isinstance(reference, Mapping):
        return None
    namespace = reference.get("namespace") or live["metadata"].get("namespace", "")
    return ObjectRef(_SOURCES, str(reference.get("kind", "")), namespace, str(reference.get("name", "")))
