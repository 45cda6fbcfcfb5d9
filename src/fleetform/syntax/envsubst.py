"""`${NAME}` in texts, as Flux's post-build substitution replaces it (github.com/fluxcd/pkg/envsubst).

`${v}`, `${#v}`, `${v^}` `^^` `,` `,,`, `${v:n}` `:n:m`, `${v#p}` `##` `%` `%%`, `${v/a/b}` `//` `/#` `/%`, and defaults
by `=`, `:=`, `:-`; `$$` is `$`, any other `$` is text. As in Flux, lengths count bytes of UTF-8, `/` takes its pattern
literally, `:=` assigns nothing and a NUL ends the text. What makes Go panic, and what would cut a character in two, is
an error.

If only declared names are replaced, every other `${…}` stays for the shell that it was written for, and so does `$$`
unless a brace follows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from itertools import takewhile
from typing import Literal

from fleetform.syntax.envsubst_operations import DEFAULTS, OPERATIONS, as_bytes
from fleetform.syntax.trees import YamlValue, as_map

Only = Literal["All", "Declared"]

MAX_DEPTH = 100
OPT_OUT = "kustomize.toolkit.fluxcd.io/substitute"

_NAME_OF_VARIABLE = re.compile(r"[_A-Za-z][_A-Za-z0-9]*")
# After a dollar: a second one; or a reference, whole if it is no more than a name and a plain default. Both patterns
# begin with the dollar itself, so that a search skips all other text at once.
_REFERENCE = r"\{(?:([A-Za-z0-9_]+)(?:(?::[-=]|=)([^$}]*))?\})?"
_ANYWHERE = re.compile(rf"\$(?:(\$)|{_REFERENCE})")
_BEFORE_BRACES = re.compile(rf"\$(?:(?<!\$\$)(\$(?:\$\$)*+)(?=\$?\{{)|{_REFERENCE})")


class SubstitutionError(ValueError):
    """What is wrong with a substitution, and where in the text; lines and columns count from 1, None if unknown."""

    def __init__(self, message: str, line: int | None = None, column: int | None = None, hint: str = "") -> None:
        super().__init__(message)
        self.message, self.line, self.column, self.hint = message, line, column, hint


def substitute(text: str, variables: Mapping[str, str], *, strict: bool = False, only: Only = "All") -> str:
    """The text with its references replaced; strict refuses names that are not set and have no default."""
    if "\0" in text:
        text = text.partition("\0")[0]
    search = (_ANYWHERE if only == "All" else _BEFORE_BRACES).search
    pieces: list[str] = []
    position = 0
    while (match := search(text, position)) is not None:
        start, end = match.span()
        pairs, name, default = match.groups()
        value = variables.get(name) if name else None
        if pairs:
            value = pairs[::2]
        elif not value and default is not None and (value is not None or only == "All"):
            value = default
        elif value is None:
            value, end = _Parser(text, variables, strict, only).value_at(start)
        pieces += (text[position:start], value)
        position = end
    pieces.append(text[position:])
    return "".join(pieces)


# ---- Resources, as Flux substitutes in them


def is_opted_out(resource: YamlValue) -> bool:
    """Whether a label or an annotation of a resource turns substitution off."""
    metadata = as_map(as_map(resource).get("metadata"))
    return any(as_map(metadata.get(key)).get(OPT_OUT) == "disabled" for key in ("labels", "annotations"))


def substitute_resource(
    resource: YamlValue,
    variables: Mapping[str, str],
    *,
    write: Callable[[YamlValue], str],
    read: Callable[[str], YamlValue],
    strict: bool = False,
    only: Only = "All",
    always: bool = False,
) -> YamlValue:
    """A resource, written as YAML, substituted and read again; the very same one if there is nothing to do.

    As in Flux values lose their line breaks, keys are substituted too, and a text may come back as another type or not
    be YAML any more (read's own error); without variables nothing happens unless always. Places of errors are those of
    the written text.
    """
    if is_opted_out(resource) or not (variables or always):
        return resource
    for name in variables:
        if not is_name_of_variable(name):
            hint = "a name has letters, digits and _, and does not begin with a digit"
            raise SubstitutionError(f"{name!r} cannot be the name of a variable", hint=hint)
    text = write(resource)
    if "$" not in text:
        return resource
    lines = {name: value.replace("\n", "") for name, value in variables.items()}
    return read(substitute(text, lines, strict=strict, only=only))


def is_name_of_variable(name: str) -> bool:
    return _NAME_OF_VARIABLE.fullmatch(name) is not None


# ---- References with operators

_IN_NAME = re.compile(r"\w+")
_OPERATOR = re.compile(r":[-=?+]|=|:|##?|%%?|/[/#%]?|[,^]{1,2}|")
# Arguments: each ends before a `${`, and before the characters that have a meaning in its position.
_WORD = re.compile(r"(?:[^$}]|\$(?!\{))++")
_OFFSET = re.compile(r"(?:[^$}:]|\$(?!\{))++")
_PATTERN = re.compile(r"(?:\\[\\/]|\$\$|[^$/]|\$(?!\{))++")
_REPLACEMENT = re.compile(r"(?:\\[\\/]|\$\$|[^$}]|\$(?!\{))++")
_ESCAPED = re.compile(r"\\([\\/])|\$(\$)")
_COLONS, _SLASHES = re.compile(":+"), re.compile("/+")
_SHOWN = 30


class _Parser:
    """Reads one reference with those inside it, and gives its value."""

    def __init__(self, text: str, variables: Mapping[str, str], strict: bool, only: Only) -> None:
        self._text, self._variables, self._strict, self._only = text, variables, strict, only
        self._position = self._depth = 0

    def value_at(self, start: int) -> tuple[str, int]:
        """The value of the reference at start, and where it ends; one that is left alone is the text `${`."""
        name_at = start + 2 + self._text.startswith("#", start + 2)
        if self._only == "Declared" and self._name_at(name_at) not in self._variables:
            return "${", start + 2
        try:
            # Halves of characters are lone surrogates until here.
            return as_bytes(self._reference(start)).decode(), self._position
        except UnicodeError as error:
            hint = "offsets and lengths count bytes of UTF-8"
            raise self._error(start, "cuts a character in two", hint) from error
        except OverflowError as error:
            raise self._error(start, str(error), "") from error

    def _reference(self, start: int) -> str:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self._error(start, f"is nested more than {MAX_DEPTH} levels deep", "use fewer levels")
        self._position = start + 2
        asks_length = self._skips("#")
        name = self._name_at(self._position)
        if not name:
            raise self._not_understood(start)
        self._position += len(name)
        operator = "${#" if asks_length else self._take(_OPERATOR) or ""
        if operator == ":" and not self._text[self._position : self._position + 1].isascii():
            # Flux steps back by the next character's bytes here, and then finds no operator.
            operator = ""
        arguments = self._arguments(start, operator)
        if not self._skips("}"):
            raise self._not_understood(start)
        self._depth -= 1
        value = self._variables.get(name)
        if value is None and self._only == "Declared":
            return self._text[start : self._position]
        if value is None and self._strict and operator not in DEFAULTS:
            hint = f"set it, or give it a default: ${{{name}:-…}}"
            raise self._error(start, f"the variable {name} is not set", hint, shown=False)
        operation = OPERATIONS.get(operator)
        return operation(value or "", *arguments) if operation is not None else value or ""

    def _name_at(self, position: int) -> str:
        found = _IN_NAME.match(self._text, position)
        if found is None:
            return ""
        return "".join(takewhile(lambda each: each == "_" or each.isalpha() or each.isdecimal(), found[0]))

    def _arguments(self, start: int, operator: str) -> list[str]:
        arguments: list[str] = []
        if operator in DEFAULTS:
            while not self._text.startswith("}", self._position):
                arguments.append(self._argument(start, _WORD))
        elif operator == ":":
            arguments.append(self._argument(start, _OFFSET))
            if self._take(_COLONS):
                arguments.append(self._argument(start, _WORD))
        elif operator.startswith("/"):
            arguments.append(self._argument(start, _PATTERN, escapes=True))
            if not self._take(_SLASHES):
                raise self._not_understood(start)
            if not self._text.startswith("}", self._position):
                arguments.append(self._argument(start, _REPLACEMENT, escapes=True))
        elif operator.startswith(("#", "%")):
            arguments.append(self._argument(start, _WORD))
        return arguments

    def _argument(self, start: int, kind: re.Pattern[str], escapes: bool = False) -> str:
        """Another reference or a text, never both and never nothing."""
        if self._text.startswith("${", self._position):
            return self._reference(self._position)
        found = self._take(kind)
        if not found:
            raise self._not_understood(start)
        return _ESCAPED.sub(r"\1\2", found) if escapes else found

    def _take(self, kind: re.Pattern[str]) -> str | None:
        found = kind.match(self._text, self._position)
        if found is None:
            return None
        self._position = found.end()
        return found[0]

    def _skips(self, character: str) -> bool:
        found = self._text.startswith(character, self._position)
        self._position += found
        return found

    def _not_understood(self, start: int) -> SubstitutionError:
        closed = self._position < len(self._text)
        return self._error(start, "is not understood" if closed else "is not closed", "write $${ for the text ${")

    def _error(self, start: int, message: str, hint: str, shown: bool = True) -> SubstitutionError:
        line = self._text.count("\n", 0, start) + 1
        column = start - (self._text.rfind("\n", 0, start) + 1) + 1
        if shown:
            first_line = self._text[start:].partition("\n")[0]
            whole = first_line.partition("}")[0] + "}" if "}" in first_line else first_line
            message = f"{whole if len(whole) <= _SHOWN else whole[:_SHOWN] + '…'} {message}"
        return SubstitutionError(message, line, column, hint)
