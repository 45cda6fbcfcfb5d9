"""What render answers."""

from __future__ import annotations

from msgspec import field

from fleetform.model.answers.base import AnswerRecord, JsonMap
from fleetform.model.answers.findings import Finding
from fleetform.model.answers.gates import ReportedGate
from fleetform.model.answers.options import ValueSource


class TransformsOfRender(AnswerRecord, frozen=True, kw_only=True):
    """What became of transforms, by their names."""

    kept: list[str] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)
    whiteouts: list[str] = field(default_factory=list)


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
