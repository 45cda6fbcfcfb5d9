"""Findings for people: what, where, the lines it stands in, and the way out."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

import click

from fleetform.app.fleet import Fleet
from fleetform.cli.text import Painter
from fleetform.model.objects import At
from fleetform.model.results.diagnostics import Diagnostic, Place
from fleetform.ports.inputs import Locator
from fleetform.syntax.addresses import without_logins
from fleetform.syntax.printable import one_line, printable, visible

_COLORS = {"error": "red", "warning": "yellow", "info": "cyan"}
_SECRET_FILE = re.compile(r"""(?:^[ \t]*["']?|["'])kind["']?\s*:\s*["']?Secret\b""", re.MULTILINE)
# Both take what they match for good: a line of a megabyte is looked through once.
_FIELD = re.compile(r"""(?<![\w./-])([\w./-]++)["']?:(?=\s|$)""")
_WORD = re.compile(r"""["']?[\w.\-/\[\]]*+["']?""")
_NAMING_FIELDS = frozenset(
    (
        "apiVersion", "kind", "metadata", "spec", "name", "namespace", "path", "type", "strategy", "version", "labels",
        "clusterSelector", "labelSelector", "matchLabels", "matchExpressions", "clusterNames", "ignoreClusters", "key",
        "operator", "values", "clusterName", "pluginDefinition", "pluginDefinitionNames", "presetRef", "overrides",
        "optionValues", "options", "groups", "expires", "timeZone", "schedule", "stages", "plugin", "definition",
    )
)  # fmt: skip
# Of these, such as hold others: a value that stands beside one was meant for something else.
_HOLDING_FIELDS = frozenset(
    (
        "metadata", "spec", "labels", "clusterSelector", "labelSelector", "matchLabels", "matchExpressions", "values",
        "overrides", "optionValues", "options", "groups", "stages", "plugin",
    )
)  # fmt: skip
_SECRET_KEY = re.compile(r"""(?i)(pass|secret|token|credential|private|api-?key)""")


# So much of a line is shown, and so much of it before the place that a finding is about.
_WIDTH = 120
_BEFORE = 50
# Of more findings than this only the first of each code are shown.
_MOST = 60
_MOST_OF_A_CODE = 8
_MOST_RELATED, _FEW_RELATED = 4, 2


def print_findings(
    fleet: Fleet, found: Iterable[Diagnostic], color: bool, to_stderr: bool = False, every: bool = False
) -> None:
    """Findings one by one; of very many the first of each code, and counts of the rest, unless all are asked for."""
    listed = list(found)
    shown = listed if every or len(listed) <= _MOST else _first_of_each_code(listed)
    shower = _Shower(fleet, Painter(color))
    for diagnostic in shown:
        click.echo("\n".join(shower.lines(diagnostic)) + "\n", err=to_stderr)
    if left := Counter(each.code for each in listed) - Counter(each.code for each in shown):
        counts = ", ".join(f"{number:,} × {code}" for code, number in sorted(left.items(), key=lambda one: -one[1]))
        click.echo(f"and {left.total():,} more: {counts}\n  -o wide shows them all, -o json as data\n", err=to_stderr)


def _first_of_each_code(found: Iterable[Diagnostic]) -> list[Diagnostic]:
    seen: Counter[str] = Counter()
    shown = []
    for each in found:
        seen[each.code] += 1
        if seen[each.code] <= _MOST_OF_A_CODE:
            shown.append(each)
    return shown


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
        yield f"{kind}: {self._paint(_prose(diagnostic.message), bold=True)}"
        if diagnostic.at is not None:
            place = self._locator.place(diagnostic.at)
            exact = isinstance(diagnostic.at, At) or place.column > 1 or place.line > 1
            file = one_line(place.file)
            yield f"  {self._paint('-->', fg='blue')} {file}" + (f":{place.line}:{place.column}" if exact else "")
            if exact:
                yield from self._snippet(diagnostic, place)
        some = diagnostic.related if len(diagnostic.related) <= _MOST_RELATED else diagnostic.related[:_FEW_RELATED]
        for related in some:
            other = self._locator.place(related)
            yield f"  {self._paint('also', fg='blue')} {one_line(other.file)}:{other.line}:{other.column}"
        if len(some) < len(diagnostic.related):
            yield f"  {self._paint('also', fg='blue')} {len(diagnostic.related) - len(some):,} other places"
        if diagnostic.hint:
            yield f"  {self._paint(_prose(diagnostic.hint), fg='green')}"

    def _snippet(self, diagnostic: Diagnostic, place: Place) -> Iterator[str]:
        first = max(1, place.line - 2) if diagnostic.code == "conflicting-values" else place.line
        shown = self._locator.lines(place.file, first, place.line)
        if place.file not in self._holds_secrets:
            text = "\n".join(self._locator.lines(place.file, 1, 1_000_000_000))
            self._holds_secrets[place.file] = bool(_SECRET_FILE.search(text))
        if not shown or self._holds_secrets[place.file]:
            return
        # Cut the same on all lines, so that the mark below them points at what it means.
        start = max(0, place.column - 1 - _BEFORE) if place.column > _WIDTH - _BEFORE else 0
        safe = [self._safe(diagnostic, place.file, first + index, text) for index, text in enumerate(shown)]
        if len(safe[-1]) < place.column:
            # The place is behind something that may be a secret: its line and column have to do.
            return
        width = len(str(place.line))
        for number, text in enumerate(safe, start=first):
            margin = self._paint(f"{number:>{width}} |", fg="blue")
            yield f"  {margin} {_excerpt(text, start)}".rstrip()
        column = place.column - 1 - start + (1 if start else 0)
        word = _WORD.match(shown[-1], place.column - 1, place.column - 1 + _WIDTH - column)
        length = len(word.group()) if word is not None else 0
        pointer = self._paint("^" * max(1, length), fg=_COLORS[diagnostic.severity])
        yield f"  {self._paint(' ' * width + ' |', fg='blue')} {' ' * column}{pointer}"

    def _safe(self, diagnostic: Diagnostic, file: str, number: int, text: str) -> str:
        """A line up to the first value that may be a secret: only fields that name things are shown with theirs."""
        secret = any(number in lines for lines in self._secret_lines.get(file, ()))
        unsure = secret or diagnostic.code in ("bad-yaml", "missing-separator") or _SECRET_KEY.search(text)
        shown = 0
        for match in _FIELD.finditer(text):
            name, value = match.group(1), text[match.end() :].lstrip()
            misplaced = name in _HOLDING_FIELDS and not value.startswith(("{", "[", "#"))
            if unsure or name not in _NAMING_FIELDS or misplaced:
                return f"{text[: match.end()]} …" if value.strip(" {[") else text
            shown = match.end()
        return text if shown or not text.strip() else f"{text[: len(text) - len(text.lstrip())]}…"


def _excerpt(text: str, start: int) -> str:
    """A piece of a line, from a column on; what is left out on either side is marked."""
    piece = visible(without_logins(text)[start : start + _WIDTH])
    return f"{'…' if start else ''}{piece}{'…' if len(text) > start + _WIDTH else ''}"


def _prose(text: str) -> str:
    """A message that ends in time; its further lines are indented, so that none looks like a finding of its own."""
    return printable(without_logins(text)).replace("\n", "\n    ")
