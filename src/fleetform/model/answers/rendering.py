"""What render answers."""

from __future__ import annotations

from msgspec import field

from fleetform.model.answers.base import AnswerRecord, JsonMap
from fleetform.model.answers.findings import Finding
from fleetform.model.answers.gates import ReportedGate
from fleetform.model.answers.options import ValueSource


class KeptByTransform(AnswerRecord, frozen=True, kw_only=True):
    """A change to an object, and the transform or the patch (`patches[0]`) that made it."""

    object: str
    by: str
    op: str
    path: str


class IgnoredByPriority(AnswerRecord, frozen=True, kw_only=True):
    """An operation of a transform that lost, why, and the transform that won."""

    object: str
    plugin: str
    operation: JsonMap
    reason: str
    winner: str


class LeftOutObject(AnswerRecord, frozen=True, kw_only=True):
    """An object that transforms leave out."""

    object: str
    plugins: list[str]


class TransformsOfRender(AnswerRecord, frozen=True, kw_only=True):
    """What transforms and patches did to a plugin's objects."""

    kept: list[KeptByTransform] = field(default_factory=list)
    ignored: list[IgnoredByPriority] = field(default_factory=list)
    whiteouts: list[LeftOutObject] = field(default_factory=list)


class RenderedPlugin(AnswerRecord, frozen=True, kw_only=True):
    """A plugin's objects, or what keeps it from having any, with the values that a chart may have failed on."""

    cluster: str
    plugin: str
    organization: str
    definition: str
    version: str | None
    input_hash: str | None
    render_key: str | None
    objects: list[JsonMap]
    transforms: TransformsOfRender
    blocked: list[ReportedGate]
    values: list[ValueSource]


class Render(AnswerRecord, frozen=True, kw_only=True, tag_field="kind", tag="Render"):
    """The objects that plugins become."""

    items: list[RenderedPlugin]
    diagnostics: list[Finding]
