"""Images from other registries: of several prefixes the longest that fits is replaced."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fleetform.engine.transform.records import Response
from fleetform.syntax.json_patch import Operation, pointer_to
from fleetform.transform.operations import replace
from fleetform.transform.wire import OptionalField
from fleetform.transformers.builtin.base import BuiltIn, containers, pairs

_DEFAULT = "docker.io"


def mirrored(image: str, mirrors: Mapping[str, str]) -> str:
    """An image with its longest known prefix replaced. One without a registry is of docker.io, and of its library."""
    for written in (image, _in_full(image)):
        for prefix in sorted(mirrors, key=len, reverse=True):
            if _begins_with(written, prefix):
                return mirrors[prefix].rstrip("/") + written[len(prefix.rstrip("/")) :]
    return image


def _begins_with(image: str, prefix: str) -> bool:
    """Whether an image begins with a prefix, and with whole names of it."""
    prefix = prefix.rstrip("/")
    if not image.startswith(prefix):
        return False
    following = image[len(prefix) : len(prefix) + 1]
    # After a registry a colon begins a port, which is part of another registry's name.
    return following in ("", "/") or (following in (":", "@") and "/" in prefix)


def _in_full(image: str) -> str:
    first, slash, _ = image.partition("/")
    if slash and ("." in first or ":" in first or first == "localhost"):
        return image
    return f"{_DEFAULT}/{image}" if slash else f"{_DEFAULT}/library/{image}"


def change_images(resource: Mapping[str, Any], mirrors: Mapping[str, str]) -> Iterator[Operation]:
    """Operations on the images of all containers: those of CronJobs, initial and ephemeral ones as well."""
    for path, container in containers(resource) if mirrors else ():
        image = container.get("image")
        if isinstance(image, str) and (wanted := mirrored(image, mirrors)) != image:
            yield replace(pointer_to(*path, "image"), wanted)


class RegistryMirror(BuiltIn):
    """Images of containers, from other registries."""

    NAME = "registry-mirror"
    OPTIONS = (
        OptionalField(
            "map", "Registries, or longer beginnings of images, and what takes their place",
            "registry.example.com=mirror.example.com,docker.io/library=mirror.example.com/hub",
        ),
    )  # fmt: skip

    def answer(self, resource: Mapping[str, Any], extras: Mapping[str, str]) -> Response:
        return Response(tuple(change_images(resource, pairs("map", extras.get("map", "")))))
