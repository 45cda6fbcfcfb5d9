"""From files to documents: YAML streams, JSON, lists of objects; one broken document hides no other."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from fleetform.app.reading.documents import read_document
from fleetform.load.authors import GitAuthors
from fleetform.load.inputs import IGNORE_FILE, InputFile, read_inputs
from fleetform.load.locator import FileLocator
from fleetform.load.neighbours import (
    document_around,
    is_no_manifest,
    is_template,
    kind_of_others,
    lines_of,
    may_be_read_by_dialect,
    without_comments,
)
from fleetform.load.parses import ParsedDocument, Parses
from fleetform.load.templates import PassedOverTemplate, told_by_folder
from fleetform.model.objects import At, Origin, Path, Ref
from fleetform.model.results.diagnostics import Diagnostic, Place
from fleetform.outside.authorship import AuthorMemory
from fleetform.outside.boundary import EVERYWHERE, Boundary
from fleetform.ports.inputs import Document, Input
from fleetform.syntax.trees import YamlMap, YamlValue, as_map
from fleetform.syntax.yaml_in import YamlError, is_too_deep, read_stream
from fleetform.syntax.yaml_scalars import resolve_plain


class _ParsedFile(NamedTuple):
    """A file's bytes, its text, if it has one, and what was read from it."""

    content: bytes
    text: str | None
    found: tuple[Document | Diagnostic, ...]


class DocumentCache:
    """What the last reading of an input parsed, by file: a file with the same bytes gives the very same documents.

    Later stages know unchanged objects by identity, so a reading in which nothing changed decides nothing. Whoever gets
    the documents must not change their trees. Files that are no longer read are forgotten.
    """

    def __init__(self) -> None:
        self._last: dict[str, _ParsedFile] = {}
        self._now: dict[str, _ParsedFile] = {}

    def read(self, source: InputFile, locator: FileLocator) -> Iterable[Document | Diagnostic]:
        """The documents of one file, parsed only if its bytes changed."""
        parsed = self._last.get(source.name)
        if parsed is None or parsed.content != source.content:
            found = tuple(read_file(source, locator))
            parsed = _ParsedFile(source.content, locator.text(source.name), found)
        elif parsed.text is not None:
            locator.add(source.name, parsed.text)
        self._now[source.name] = parsed
        return parsed.found

    def finish(self) -> None:
        """The end of a reading: keep what was read in it, and nothing else."""
        self._last, self._now = self._now, {}


def load_input(
    names: Iterable[str],
    cache: DocumentCache | None = None,
    boundary: Boundary = EVERYWHERE,
    parses: Parses | None = None,
    report: Callable[[int, int], None] | None = None,
) -> Input:
    """Everything below the named inputs; with the cache of an earlier reading, only changed files are parsed.

    parses has what other inputs and commands parsed. report is told how many files are read, and of how many.
    """
    names = list(names)
    return with_authors(load_files(read_inputs(names, boundary, report), " ".join(names), cache, parses), names)


def with_authors(found: Input, names: Sequence[str], memory: AuthorMemory | None = None) -> Input:
    """An input of sources with those who made its files, as far as git knows them; memory has what was found before."""
    authors = GitAuthors(names, lambda: {each.origin.file for each in found.documents}, objects_in, memory)
    return replace(found, authors=authors)


def objects_in(name: str, content: bytes, wanted: Collection[Ref]) -> set[Ref]:
    """Which of some objects a file holds; one that names no organization may be in any of them."""
    documents = [
        each for each in read_file(InputFile(name, content), FileLocator()) if isinstance(each, Document) and each.tree
    ]
    found: set[Ref] = set()
    for organization in {each.organization for each in wanted}:
        readings = [read_document(each, organization) for each in documents]
        objects = [each for reading in readings for each in (reading.object, *reading.also) if each is not None]
        found |= {each.ref for each in objects if each.ref in wanted}
    return found


def load_files(
    read: Iterable[InputFile | Diagnostic],
    name: str,
    cache: DocumentCache | None = None,
    parses: Parses | None = None,
) -> Input:
    """Everything in files that were read, or why they could not be; name is how the input is called."""
    documents: list[Document] = []
    diagnostics: list[Diagnostic] = []
    locator = FileLocator()
    files: list[str] = []
    for found in read:
        if isinstance(found, Diagnostic):
            diagnostics.append(found)
            continue
        files.append(found.name)
        for each in cache.read(found, locator) if cache is not None else read_file(found, locator, parses):
            if isinstance(each, Document):
                documents.append(each)
            else:
                diagnostics.append(each)
    if cache is not None:
        cache.finish()
    if parses is not None:
        parses.save()
    return Input(documents, told_by_folder(diagnostics, files, IGNORE_FILE), locator, len(files), name)


def read_file(source: InputFile, locator: FileLocator, parses: Parses | None = None) -> Iterator[Document | Diagnostic]:
    """The documents of one file, and what is wrong with it; parses has what need not be parsed again."""
    try:
        # Editors on Windows save UTF-16, with a mark at the start.
        is_utf16 = source.content.startswith((b"\xff\xfe", b"\xfe\xff"))
        text = source.content.decode("utf-16" if is_utf16 else "utf-8-sig")
    except UnicodeDecodeError as error:
        line = source.content.count(b"\n", 0, error.start) + 1
        message = f"{source.name} is not UTF-8: byte 0x{source.content[error.start]:02x} at line {line}"
        yield Diagnostic("bad-yaml", message, "save the file as UTF-8", at=Place(source.name, line))
        return
    locator.add(source.name, text)
    known = parses.find(source.name, source.content) if parses is not None else None
    if known is not None:
        for each in known:
            yield from _objects_of(Document(each.tree, Origin(source.name, each.first_line, each.last_line)))
        return
    found = list(_read_json(source.name, text) if source.name.endswith(".json") else _read_yaml(source.name, text))
    if parses is not None:
        documents = [each for each in found if isinstance(each, Document) and each.tree is not None]
        # What there is something to say about is parsed again, to say it again.
        if len(documents) == len(found) and not any(each.remarks for each in documents):
            lines = [ParsedDocument(each.tree, each.origin.first_line, each.origin.last_line) for each in documents]
            parses.add(source.name, source.content, lines)
    for document in found:
        yield from _objects_of(document) if isinstance(document, Document) else (document,)


def _read_yaml(name: str, text: str) -> Iterator[Document | Diagnostic]:
    for found in read_stream(text):
        if isinstance(found, YamlError):
            first, last = document_around(text, found.line, found.column)
            document = "\n".join(lines_of(text)[first - 1 : last])
            other_tools = is_no_manifest(document)
            yield Document(None, Origin(name, first, last)) if other_tools else _mistake(name, found, document)
        elif found.tree is not None:
            remarks = tuple(
                Diagnostic("odd-key", each.message, each.hint, "warning", at=Place(name, each.line, each.column))
                for each in found.remarks
            )
            yield Document(found.tree, Origin(name, found.first_line, found.last_line), remarks)


def _mistake(name: str, error: YamlError, document: str) -> Diagnostic:
    """The finding for a document that cannot be read; an object or a template of others stops nothing (S10)."""
    message, hint, at = error.message, error.hint, Place(name, error.line, error.column)
    other = kind_of_others(document) if error.code == "bad-yaml" else None
    passed_over = f"the {other}" if other is not None else None
    if is_template(document):
        hint = f"this looks like a Helm template: render it first, or leave it out by {IGNORE_FILE}"
        passed_over = passed_over or ("the template" if not may_be_read_by_dialect(document) else None)
    if passed_over is None:
        return Diagnostic(error.code, message, hint, at=at)
    finding = PassedOverTemplate if is_template(document) else Diagnostic
    return finding(error.code, f"{message}; {passed_over} is skipped", hint, "warning", at=at)


def _read_json(name: str, text: str) -> Iterator[Document | Diagnostic]:
    if not text.strip():
        return
    found = _parse_json(name, text)
    if isinstance(found, Diagnostic) and is_no_manifest(without_comments(text)):
        found = Document(None, Origin(name, 1, text.count("\n") + 1))
    yield found


def _parse_json(name: str, text: str) -> Document | Diagnostic:
    try:
        tree = json.loads(
            text, object_pairs_hook=_no_duplicates, parse_float=_number, parse_int=_number, parse_constant=_number
        )
        json.dumps(tree, ensure_ascii=False).encode()
        if is_too_deep(tree):
            raise RecursionError
    except json.JSONDecodeError as error:
        return Diagnostic("bad-yaml", f"not valid JSON: {error.msg}", "", at=Place(name, error.lineno, error.colno))
    except UnicodeEncodeError:
        return Diagnostic(
            "bad-yaml", "not valid JSON: half of a surrogate pair", "write the whole pair", at=Place(name)
        )
    except RecursionError:
        return Diagnostic("bad-yaml", "not valid JSON: nested too deep", "flatten the document", at=Place(name))
    except ValueError as error:
        hint = "keep one of them" if isinstance(error, _DuplicateKeyError) else ""
        # JSON is YAML, too: the YAML reader finds the line of what Python's JSON reader refuses without a place.
        at = next((each for each in read_stream(text) if isinstance(each, YamlError)), None)
        place = Place(name, at.line, at.column) if at is not None else Place(name)
        return Diagnostic("bad-yaml", f"not valid JSON: {error}", hint, at=place)
    return Document(tree, Origin(name, 1, text.count("\n") + 1))


def _number(text: str) -> YamlValue:
    """A number as in YAML, so that a manifest means the same in both."""
    number = resolve_plain(text)
    if isinstance(number, str):
        raise ValueError(f"{text} is not a JSON number")
    return number


class _DuplicateKeyError(ValueError):
    """A key is in a map twice."""


def _no_duplicates(pairs: list[tuple[str, YamlValue]]) -> YamlMap:
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        keys = [key for key, _ in pairs]
        raise _DuplicateKeyError(f"duplicate key {next(key for key in keys if keys.count(key) > 1)}")
    return mapping


def _objects_of(document: Document) -> Iterator[Document | Diagnostic]:
    """The document itself or, if it is a list of objects, each of them."""
    tree = as_map(document.tree)
    items, kind = tree.get("items"), tree.get("kind")
    if not (isinstance(kind, str) and kind.endswith("List") and isinstance(items, list)):
        yield document
        return
    for index, item in enumerate(items):
        base: Path = (*document.origin.base, "items", index)
        origin = Origin(document.origin.file, document.origin.first_line, document.origin.last_line, base)
        if not isinstance(item, dict):
            hint = "write apiVersion, kind, metadata and spec"
            yield Diagnostic("bad-value", "an item of a list of objects must be a map", hint, at=At(origin, base))
            continue
        yield from _objects_of(Document(item, origin, document.remarks if index == 0 else ()))
