"""Texts that cannot be read as a manifest, and are none: files of other tools beside a fleet's own (S10).

They are well-formed, and hold what only their own tool understands: tags of Python in mkdocs.yml, keys that stand twice
in values, comments in JSON.
"""

from __future__ import annotations

import re

from fleetform.app.reading.documents import is_read_by_dialect
from fleetform.syntax.yaml_places import top_level

_API_VERSION = re.compile(r"""\bapiVersion["']?\s*:\s*["']?([^\s"',}]+)""")
_KIND = re.compile(r"""\bkind["']?\s*:\s*["']?([^\s"',}]+)""")
_SEPARATOR = re.compile(r"---(\s|\Z)")
_JSON_STRING_OR_COMMENT = re.compile(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_JSON_STRING_OR_LAST_COMMA = re.compile(r'("(?:\\.|[^"\\])*")|,(?=\s*[}\]])')


def is_no_manifest(text: str) -> bool:
    """Whether a text is YAML, and has nothing of what every manifest has."""
    found = top_level(text)
    return found is not None and not found.keys() & {"apiVersion", "kind"} and not {"metadata", "spec"} <= found.keys()


def kind_of_others(text: str) -> str | None:
    """The kind of an object, if the text is YAML and holds an object that no dialect reads."""
    found = top_level(text) or {}
    version, kind = found.get("apiVersion"), found.get("kind")
    return kind if version and kind and not is_read_by_dialect(version, kind) else None


def is_template(text: str) -> bool:
    return "{{" in text and "}}" in text


def may_be_read_by_dialect(text: str) -> bool:
    """Whether a text, which need not be YAML, has an apiVersion and a kind of something that has an effect."""
    kinds = [match[1] for match in _KIND.finditer(text)] or [""]
    versions = [match[1] for match in _API_VERSION.finditer(text)] or [""]
    return any(is_read_by_dialect(version, kind) for version in versions for kind in kinds)


def lines_of(text: str) -> list[str]:
    # Not splitlines: it also splits at characters that are no line ends in YAML.
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def document_around(text: str, line: int, column: int) -> tuple[int, int]:
    """The first and the last line, from 1, of the document in a YAML stream that a mistake is in."""
    lines = lines_of(text)
    separators = [number for number, each in enumerate(lines, start=1) if _SEPARATOR.match(each)]
    if column == 1 and line in separators:
        # A bracket that is not closed is noticed at the next document.
        line -= 1
    first = max((number for number in separators if number <= line), default=1)
    last = min((number - 1 for number in separators if number > line), default=len(lines))
    return first, max(first, last)


def without_comments(text: str) -> str:
    """JSON without comments and last commas, which many tools allow in theirs."""
    plain = _JSON_STRING_OR_COMMENT.sub(lambda found: found[1] or "", text)
    return _JSON_STRING_OR_LAST_COMMA.sub(lambda found: found[1] or "", plain)
