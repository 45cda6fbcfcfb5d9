"""What is rendered, and what comes of it."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from msgspec import Struct

from fleetform.model.kinds.definition import Patch, PluginDefinitionSpec, Transform
from fleetform.model.objects import Object

RendererName = Literal["helm", "kustomize", "manifests", "addon-template"]


class AddOn(NamedTuple):
    """An add-on that an AddOnTemplate describes, on one cluster, whose name its objects may hold.

    image_registries is the annotation of the cluster that names mirrors of registries.
    """

    name: str
    template_name: str
    template: dict[str, Any]
    cluster: str
    image_registries: str = ""
    has_deployment_config: bool = False


class RenderInput(Struct, frozen=True, eq=False, gc=False):
    """What one render is made of: no cluster and no delivery, so that plugins share it (B2).

    Every secret stands in values and variables as a placeholder (S5). variables are those of ${…}; strict says that
    an unknown one is an error, and declared_only that names which nobody declares are left as they are. unset are names
    that are declared and have no value. transforms and then patches change what was rendered: the definition's own
    first, then the owner's (B5). add_on is what an AddOnTemplate is rendered for, which the cluster is a part of.
    """

    definition: Object[PluginDefinitionSpec]
    renderer: RendererName
    values: dict[str, Any]
    variables: dict[str, Any]
    release_name: str
    release_namespace: str
    configs: tuple[tuple[str, ...], ...] = ()
    strict: bool = True
    declared_only: bool = True
    unset: tuple[str, ...] = ()
    transforms: tuple[Transform, ...] = ()
    patches: tuple[Patch, ...] = ()
    add_on: AddOn | None = None

    @property
    def takes_values(self) -> bool:
        """Whether it is made of a tree of values, not of variables."""
        return self.renderer in ("helm", "addon-template")


class KeptChange(NamedTuple):
    """A change to a rendered object, and the transform or the patch (`patches[0]`) that made it."""

    object: str
    by: str
    op: str
    pointer: str


class IgnoredChange(NamedTuple):
    """An operation of a transform that another one won over, and why."""

    object: str
    plugin: str
    operation: dict[str, Any]
    reason: str
    winner: str


class Transformation(Struct, frozen=True, eq=False, gc=False):
    """What transforms and patches did to the objects of one render; objects are named as `Kind/name`.

    unmatched are patches, by their number, whose target is none of the objects, with the nearest one.
    """

    kept: tuple[KeptChange, ...] = ()
    ignored: tuple[IgnoredChange, ...] = ()
    whiteouts: tuple[tuple[str, tuple[str, ...]], ...] = ()
    unmatched: tuple[tuple[int, str | None], ...] = ()


NO_TRANSFORMATION = Transformation()


class Rendered(Struct, frozen=True, eq=False, gc=False):
    """The objects of one render, in the renderer's order. unsteady: a second render of the same came out otherwise.

    odd_keys are keys of its manifests that are not read as they look.
    """

    key: str
    objects: tuple[dict[str, Any], ...]
    unsteady: bool = False
    odd_keys: tuple[str, ...] = ()
    transformation: Transformation = NO_TRANSFORMATION


class RenderFailure(Struct, frozen=True, eq=False, gc=False):
    """Why nothing came of a render. unavailable: a tool or a source is missing here, and the input is not at fault."""

    message: str
    hint: str
    unavailable: bool = False
