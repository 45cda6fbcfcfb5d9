"""What Flux's objects have in common: metadata, addresses, and errors."""

from __future__ import annotations

from collections.abc import Mapping

from fleetform.engine.check.catalogs import holds_login
from fleetform.model.kinds.definition import GitSource
from fleetform.syntax.envsubst import OPT_OUT
from fleetform.syntax.names import label_value
from fleetform.syntax.trees import YamlMap

_GIT_SCHEMES = ("https://", "http://", "ssh://")


class FluxError(ValueError):
    """Why something cannot be expressed as Flux's objects, and what to do instead."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message, self.hint = message, hint


class PlainSecretError(FluxError):
    """A secret would have to be written in plain text (S40). The message names its place, never the secret."""


def manifest(
    api_version: str, kind: str, name: str, namespace: str | None, labels: Mapping[str, str], spec: YamlMap
) -> YamlMap:
    """An object that Fleetform manages.

    A Kustomization that applies it must leave its `${…}` alone: what was substituted once must not be again.
    """
    metadata: YamlMap = {"name": name}
    if namespace is not None:
        metadata["namespace"] = namespace
    ours = {key: label_value(each) for key, each in labels.items()}
    metadata["labels"] = dict(sorted({**ours, "app.kubernetes.io/managed-by": "fleetform"}.items()))
    metadata["annotations"] = {OPT_OUT: "disabled"}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec}


def flux_git_address(git: GitSource) -> str:
    """The address of a repository; FluxError if Flux does not accept it."""
    refuse_login(git.url)
    if git.url.startswith(_GIT_SCHEMES):
        return git.url
    is_scp_like = "://" not in git.url and "@" in git.url.partition(":")[0]
    hint = f"write ssh://{git.url.replace(':', '/', 1)}" if is_scp_like else "use a repository with such an address"
    raise FluxError(f"Flux cannot fetch {git.url}: it takes addresses with https:// or ssh://", hint)


def refuse_login(address: str) -> None:
    if holds_login(address):
        raise PlainSecretError("the address of the source holds credentials", "remove them from the address")
