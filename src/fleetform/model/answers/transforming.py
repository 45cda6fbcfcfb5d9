"""What `transform` and its parts answer."""

from __future__ import annotations

from msgspec import Struct, field

from fleetform.model.answers.base import AnswerRecord, JsonMap
from fleetform.model.answers.findings import Finding


class IgnoredOperation(Struct, frozen=True, kw_only=True, rename="pascal", gc=False):
    """An operation that lost, as Crane's files have it, with why and to whom."""

    plugin_name: str
    operation: JsonMap
    reason: str = field(name="reason")
    winner: str = field(name="winner")


class TransformedItem(AnswerRecord, frozen=True, kw_only=True):
    """A resource of an export, by its path below the export folder."""

    resource: str
    kept: list[JsonMap]
    ignored: list[IgnoredOperation]


class UsedPlugin(AnswerRecord, frozen=True, kw_only=True):
    """A transform plugin; file is empty for one that comes with Fleetform or with an installed package."""

    name: str
    file: str
    version: str


class TransformResult(AnswerRecord, frozen=True, kw_only=True, tag_field="kind", tag="TransformResult"):
    """What became of the resources of an export."""

    resources: int
    whiteouts: list[str]
    items: list[TransformedItem]
    plugins: list[UsedPlugin]
    diagnostics: list[Finding]


class AppliedResult(AnswerRecord, frozen=True, kw_only=True, tag_field="kind", tag="TransformApplyResult"):
    """What was written of an export and its transform files."""

    written: list[str]
    whiteouts: list[str]
    untransformed: list[str]
    removed: list[str]
    diagnostics: list[Finding]


class PluginOption(AnswerRecord, frozen=True, kw_only=True):
    """An option that a plugin takes."""

    name: str
    help: str
    example: str


class ListedPlugin(UsedPlugin, frozen=True, kw_only=True):
    """A plugin with the options that it takes, and what its answers depend on."""

    identity: str
    options: list[PluginOption]


class PluginList(AnswerRecord, frozen=True, kw_only=True, tag_field="kind", tag="TransformPluginList"):
    """The plugins that a run would have."""

    items: list[ListedPlugin]
    diagnostics: list[Finding]
