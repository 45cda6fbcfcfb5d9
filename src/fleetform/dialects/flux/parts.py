"""What Flux's objects have in common: their head, addresses, and why something cannot be one of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fleetform.engine.check.catalogs import holds_login
from fleetform.model.kinds.definition import GitSource
from fleetform.syntax.envsubst import OPT_OUT
from fleetform.syntax.names import label_value

_GIT_SCHEMES = ("https://", "http://", "ssh://")


class FluxError(ValueError):
    """Why Flux cannot be told to do something, and what to do instead."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message, self.hint = message, hint


class PlainSecretError(FluxError):
    """A secret could only be written down in plain (S40). The message names its place, never the secret."""


def manifest(
    api_version: str, kind: str, name: str, namespace: str | None, labels: Mapping[str, str], spec: dict[str, Any]
) -> dict[str, Any]:
    """An object that Fleetform looks after.

    Where a Kustomization applies it, its `${…}` is data: what was substituted once must not be again.
    """
    metadata: dict[str, Any] = {"name": name}
    if namespace is not None:
        metadata["namespace"] = namespace
    ours = {key: label_value(each) for key, each in labels.items()}
    metadata["labels"] = dict(sorted({**ours, "app.kubernetes.io/managed-by": "fleetform"}.items()))
    metadata["annotations"] = {OPT_OUT: "disabled"}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec}


def git_address(git: GitSource) -> str:
    """The address of a repository, unless Flux does not take it."""
    refuse_login(git.url)
    if git.url.startswith(_GIT_SCHEMES):
        return git.url
    is_scp_like = "://" not in git.url and "@" in git.url.partition(":")[0]
    hint = f"write ssh://{git.url.replace(':', '/', 1)}" if is_scp_like else "use a repository with such an address"
    raise FluxError(f"Flux cannot fetch {git.url}: it takes addresses with https:// or ssh://", hint)


def refuse_login(address: str) -> None:
    if holds_login(address):
        raise PlainSecretError("the address of the source holds credentials", "take them out of the address")
