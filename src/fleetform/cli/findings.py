"""Findings for people: what, where, the lines it stands in, and the way out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import click

from fleetform.app.fleet import Fleet
from fleetform.cli.text import Painter
from fleetform.model.objects import At
from fleetform.model.results.diagnostics import Diagnostic, Place
from fleetform.ports import Locator

_COLORS = {"error": "red", "warning": "yellow", "info": "cyan"}
_SECRET_FILE = re.compile(r"""^\s*["']?kind["']?\s*:\s*["']?Secret\b""", re.MULTILINE)
_SECRET_KEY = re.compile(r"""(?i)(pass|secret|token|credential|private|api-?key)""")


def print_findings(fleet: Fleet, found: Iterable[Diagnostic], color: bool, to_stderr: bool = False) -> None:
    shower = _Shower(fleet, Painter(color))
    for diagnostic in found:
        click.echo("\n".join(shower.lines(diagnostic)) + "\n", err=to_stderr)


class _Shower:
    """Shows findings with their source; lines that may hold a secret are never shown."""

    def __init__(self, fleet: Fleet, paint: Painter) -> None:
        self._locator: Locator = fleet.input.locator
        self._paint = paint
        self._secret_places = {
            (place.file, place.line)
            for each in fleet.object_findings
            if each.code == "plain-secret" and each.at is not None
            for place in [self._locator.place(each.at)]
        }
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
        if not shown or self._is_secret_file(place.file):
            return
        width = len(str(place.line))
        for number, text in enumerate(shown, start=first):
            yield f"  {self._paint(f'{number:>{width}} |', fg='blue')} {self._safe(place.file, number, text)}"
        marked = shown[-1][place.column - 1 :]
        length = len(re.match(r"[\w.\-/\[\]]*", marked).group()) or 1  # type: ignore[union-attr]
        pointer = self._paint("^" * length, fg=_COLORS[diagnostic.severity])
        yield f"  {self._paint(' ' * width + ' |', fg='blue')} {' ' * (place.column - 1)}{pointer}"

    def _safe(self, file: str, number: int, text: str) -> str:
        if (file, number) in self._secret_places or _SECRET_KEY.search(text):
            return re.sub(r"(:\s+).+$", r"\1…", text)
        return text[:160]

    def _is_secret_file(self, file: str) -> bool:
        if file not in self._holds_secrets:
            text = "\n".join(self._locator.lines(file, 1, 1_000_000_000))
            self._holds_secrets[file] = bool(_SECRET_FILE.search(text))
        return self._holds_secrets[file]
