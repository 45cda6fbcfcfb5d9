"""Findings for people: what, where, the lines it stands in, and the way out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import click

from fleetform.app.fleet import Fleet
from fleetform.cli.text import Painter
from fleetform.model.objects import At
from fleetform.model.results.diagnostics import Diagnostic, Place
from fleetform.ports.inputs import Locator

_COLORS = {"error": "red", "warning": "yellow", "info": "cyan"}
_SECRET_FILE = re.compile(r"""^\s*["']?kind["']?\s*:\s*["']?Secret\b""", re.MULTILINE)
_FIELD = re.compile(r"""([\w./-]+)["']?:(?=\s|$)""")
_NAMING_FIELDS = frozenset(
    (
        "apiVersion", "kind", "metadata", "spec", "name", "namespace", "path", "type", "strategy", "version", "labels",
        "clusterSelector", "labelSelector", "matchLabels", "matchExpressions", "clusterNames", "ignoreClusters", "key",
        "operator", "values", "clusterName", "pluginDefinition", "pluginDefinitionNames", "presetRef", "overrides",
        "optionValues", "options", "groups", "expires", "timeZone", "schedule", "stages", "plugin", "definition",
    )
)  # fmt: skip
_SECRET_KEY = re.compile(r"""(?i)(pass|secret|token|credential|private|api-?key)""")


def print_findings(fleet: Fleet, found: Iterable[Diagnostic], color: bool, to_stderr: bool = False) -> None:
    shower = _Shower(fleet, Painter(color))
    for diagnostic in found:
        click.echo("\n".join(shower.lines(diagnostic)) + "\n", err=to_stderr)


def print_skipped(fleet: Fleet, to_stderr: bool = False) -> None:
    """Documents that are no manifests, a line each."""
    for each in fleet.skipped:
        click.echo(f"skipped, no manifest: {each.file}:{each.first_line}", err=to_stderr)


class _Shower:
    """Shows findings with their source; what may be a secret is never shown."""

    def __init__(self, fleet: Fleet, paint: Painter) -> None:
        self._locator: Locator = fleet.input.locator
        self._paint = paint
        self._secret_lines: dict[str, list[range]] = {}
        for each in fleet.findings.of_objects:
            if each.code == "plain-secret" and each.at is not None:
                place = self._locator.place(each.at)
                after = self._locator.lines(place.file, place.line + 1, place.line + 1000)
                # The following lines that are indented deeper belong to the value.
                ends = (text.strip() and len(text) - len(text.lstrip()) < place.column for text in after)
                length = next((number for number, end in enumerate(ends) if end), len(after))
                lines = range(place.line, place.line + length + 1)
                self._secret_lines.setdefault(place.file, []).append(lines)
        self._holds_secrets: dict[str, bool] = {}

    def lines(self, diagnostic: Diagnostic) -> Iterator[str]:
        kind = self._paint(f"{diagnostic.severity}[{diagnostic.code}]", fg=_COLORS[diagnostic.severity], bold=True)
        yield f"{kind}: {self._paint(diagnostic.message, bold=True)}"
        if diagnostic.at is not None:
            place = self._locator.place(diagnostic.at)
            exact = isinstance(diagnostic.at, At) or place.column > 1 or place.line > 1
            yield f"  {self._paint('-->', fg='blue')} {place.file}" + (f":{place.line}:{place.column}" if exact else "")
            if exact:
                yield from self._snippet(diagnostic, place)
        for related in diagnostic.related:
            other = self._locator.place(related)
            yield f"  {self._paint('also', fg='blue')} {other.file}:{other.line}:{other.column}"
        if diagnostic.hint:
            yield f"  {self._paint(diagnostic.hint, fg='green')}"

    def _snippet(self, diagnostic: Diagnostic, place: Place) -> Iterator[str]:
        first = max(1, place.line - 2) if diagnostic.code == "conflicting-values" else place.line
        shown = self._locator.lines(place.file, first, place.line)
        if place.file not in self._holds_secrets:
            text = "\n".join(self._locator.lines(place.file, 1, 1_000_000_000))
            self._holds_secrets[place.file] = bool(_SECRET_FILE.search(text))
        if not shown or self._holds_secrets[place.file]:
            return
        width = len(str(place.line))
        for number, text in enumerate(shown, start=first):
            margin = self._paint(f"{number:>{width}} |", fg="blue")
            yield f"  {margin} {self._safe(diagnostic, place.file, number, text)}"
        marked = shown[-1][place.column - 1 :]
        length = len(re.match(r"[\w.\-/\[\]]*", marked).group()) or 1  # type: ignore[union-attr]
        pointer = self._paint("^" * length, fg=_COLORS[diagnostic.severity])
        yield f"  {self._paint(' ' * width + ' |', fg='blue')} {' ' * (place.column - 1)}{pointer}"

    def _safe(self, diagnostic: Diagnostic, file: str, number: int, text: str) -> str:
        """A line up to the first value that may be a secret: only fields that name things are shown with theirs."""
        secret = any(number in lines for lines in self._secret_lines.get(file, ()))
        unsure = secret or diagnostic.code in ("bad-yaml", "missing-separator") or _SECRET_KEY.search(text)
        shown = 0
        for match in _FIELD.finditer(text):
            if unsure or match.group(1) not in _NAMING_FIELDS:
                return f"{text[: match.end()]} …" if text[match.end() :].strip(" {[") else text[:160]
            shown = match.end()
        return text[:160] if shown or not text.strip() else f"{text[: len(text) - len(text.lstrip())]}…"
