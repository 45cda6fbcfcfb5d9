"""Helm charts, rendered by helm itself: without a cluster, and with values on stdin, where no other user sees them."""

from __future__ import annotations

import re

from fleetform.outside.processes import Programs
from fleetform.renderers.failures import RenderError, error_of_tool
from fleetform.renderers.parse import DocumentError, objects_in
from fleetform.renderers.tools import Tool
from fleetform.syntax.hashing import canonical_json
from fleetform.syntax.trees import YamlMap

# JSON is YAML except for these: characters that YAML forbids, or takes for the end of a line.
_NOT_YAML = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_SOURCE = re.compile(r"^# Source: (.+)$", re.MULTILINE)


def render_chart(
    programs: Programs, tool: Tool, chart: str, values: YamlMap, release: str, namespace: str
) -> list[YamlMap]:
    """The objects of a chart (a folder or an archive), with CRDs and hooks, and without tests."""
    flags = ("--namespace", namespace, "--include-crds", "--skip-tests", "--values", "-")
    as_json = canonical_json(values).decode()
    stdin = _NOT_YAML.sub(lambda found: f"\\u{ord(found[0]):04x}", as_json).encode()
    done = programs.run((*tool.command, "template", *flags, "--", release, chart), stdin)
    if done.code:
        message = error_of_tool(done.stderr, chart)
        raise RenderError(f"{tool}: {message or f'it ended with {done.code}'}", _hint_for(message))
    text = done.stdout.decode("utf-8", "replace")
    try:
        return list(objects_in(text))
    except DocumentError as error:
        raise _not_objects(text, error) from error


def _not_objects(text: str, error: DocumentError) -> RenderError:
    """The error in the output of helm, at the template that it comes from."""
    lines = text.split("\n")
    above = "\n".join(lines[: error.line])
    templates = list(_SOURCE.finditer(above))
    if not templates:
        return RenderError(f"line {error.line} of what it renders: {error.message}", error.hint)
    line = error.line - above.count("\n", 0, templates[-1].start()) - 1
    message = f"{templates[-1][1]}, line {line} of what it renders: {error.message}"
    return RenderError(message, error.hint or "check the template, and its values")


def _hint_for(message: str) -> str:
    if "missing in charts/ directory" in message:
        return "run `helm dependency build`, and keep charts/ beside Chart.yaml: what git ignores is not rendered"
    if "release name" in message:
        return "give the release another name"
    if "the schema" in message:
        return "check the values against the chart's values.schema.json"
    return "check the values, and the chart's templates"
