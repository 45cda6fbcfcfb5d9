"""Helm charts, by helm itself: no cluster is asked, and values go in by stdin, where no other user can see them."""

from __future__ import annotations

import re
from typing import Any

from fleetform.outside.processes import Programs
from fleetform.renderers.failures import RenderError, words_of
from fleetform.renderers.objects import DocumentError, Tree, objects_in
from fleetform.renderers.tools import Tool
from fleetform.syntax.hashing import canonical_json

# Where JSON is no YAML: characters that YAML forbids, or takes for the end of a line.
_NOT_YAML = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_SOURCE = re.compile(r"^# Source: (.+)$", re.MULTILINE)


def render_chart(
    programs: Programs, tool: Tool, chart: str, values: dict[str, Any], release: str, namespace: str
) -> list[Tree]:
    """What a chart (a folder or an archive) renders to, CRDs and hooks among it, and its tests not."""
    flags = ("--namespace", namespace, "--include-crds", "--skip-tests", "--values", "-")
    done = programs.run((*tool.command, "template", *flags, "--", release, chart), _as_yaml(values))
    if done.code:
        said = words_of(done.stderr, chart)
        raise RenderError(f"{tool}: {said or f'it ended with {done.code}'}", _hint_for(said))
    text = done.stdout.decode("utf-8", "replace")
    try:
        return list(objects_in(text))
    except DocumentError as error:
        raise _not_objects(text, error) from error


def _as_yaml(values: dict[str, Any]) -> bytes:
    text = canonical_json(values).decode()
    return _NOT_YAML.sub(lambda found: f"\\u{ord(found[0]):04x}", text).encode()


def _not_objects(text: str, error: DocumentError) -> RenderError:
    """What is wrong with what helm prints, by the template that it comes from."""
    lines = text.split("\n")
    above = "\n".join(lines[: error.line])
    templates = list(_SOURCE.finditer(above))
    if not templates:
        return RenderError(f"line {error.line} of what it renders: {error.message}", error.hint)
    line = error.line - above.count("\n", 0, templates[-1].start()) - 1
    message = f"{templates[-1][1]}, line {line} of what it renders: {error.message}"
    return RenderError(message, error.hint or "check the template, and the values it is given")


def _hint_for(said: str) -> str:
    if "missing in charts/ directory" in said:
        return "run `helm dependency build`, and keep charts/ beside Chart.yaml: what git ignores is not rendered"
    if "release name" in said:
        return "give the release another name"
    if "the schema" in said:
        return "check the values against the chart's values.schema.json"
    return "check the values, and the chart's templates"
