"""From files to documents: YAML streams, JSON, lists of objects; one broken document hides no other."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from fleetform.load.places import FileLocator
from fleetform.load.sources import SourceFile, read_sources
from fleetform.model.objects import At, Origin, Path
from fleetform.model.results.diagnostics import Diagnostic, Place
from fleetform.ports.inputs import Document, Input
from fleetform.syntax.yaml_in import YamlError, is_too_deep, read_stream
from fleetform.syntax.yaml_scalars import resolve_plain


def load_input(names: Iterable[str]) -> Input:
    """Everything below the named inputs."""
    names = list(names)
    documents: list[Document] = []
    diagnostics: list[Diagnostic] = []
    locator = FileLocator()
    files = 0
    for found in read_sources(names):
        if isinstance(found, Diagnostic):
            diagnostics.append(found)
            continue
        files += 1
        for each in read_file(found, locator):
            (documents if isinstance(each, Document) else diagnostics).append(each)  # type: ignore[arg-type]
    return Input(documents, diagnostics, locator, files, " ".join(names))


def read_file(source: SourceFile, locator: FileLocator) -> Iterator[Document | Diagnostic]:
    """The documents of one file, and what is wrong with it."""
    try:
        text = _decode(source.content)
    except UnicodeDecodeError as error:
        line = source.content.count(b"\n", 0, error.start) + 1
        message = f"{source.name} is not UTF-8: byte 0x{source.content[error.start]:02x} at line {line}"
        yield Diagnostic("bad-yaml", message, "save the file as UTF-8", at=Place(source.name, line))
        return
    locator.add(source.name, text)
    documents = _read_json(source.name, text) if source.name.endswith(".json") else _read_yaml(source.name, text)
    for document in documents:
        if isinstance(document, Diagnostic):
            yield document
        else:
            yield from _objects_of(document)


def _decode(content: bytes) -> str:
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return content.decode("utf-16")
    return content.decode("utf-8-sig")


def _read_yaml(name: str, text: str) -> Iterator[Document | Diagnostic]:
    for found in read_stream(text):
        if isinstance(found, YamlError):
            yield Diagnostic(found.code, found.message, found.hint, at=Place(name, found.line, found.column))
            continue
        for remark in found.remarks:
            place = Place(name, remark.line, remark.column)
            yield Diagnostic("odd-key", remark.message, remark.hint, "warning", at=place)
        if found.tree is not None:
            yield Document(found.tree, Origin(name, found.first_line, found.last_line))


def _read_json(name: str, text: str) -> Iterator[Document | Diagnostic]:
    try:
        tree = json.loads(
            text, object_pairs_hook=_no_duplicates, parse_float=_number, parse_int=_number, parse_constant=_number
        )
        json.dumps(tree, ensure_ascii=False).encode()
        if is_too_deep(tree):
            raise RecursionError
    except json.JSONDecodeError as error:
        yield Diagnostic("bad-yaml", f"not valid JSON: {error.msg}", "", at=Place(name, error.lineno, error.colno))
    except UnicodeEncodeError:
        yield Diagnostic("bad-yaml", "not valid JSON: half of a surrogate pair", "write the whole pair", at=Place(name))
    except RecursionError:
        yield Diagnostic("bad-yaml", "not valid JSON: nested too deep", "flatten the document", at=Place(name))
    except ValueError as error:
        hint = "keep one of them" if isinstance(error, _DuplicateKeyError) else ""
        yield Diagnostic("bad-yaml", f"not valid JSON: {error}", hint, at=_where(name, text))
    else:
        yield Document(tree, Origin(name, 1, text.count("\n") + 1))


def _number(text: str) -> Any:
    """Numbers as YAML has them, so that a manifest means the same in both."""
    number = resolve_plain(text)
    if isinstance(number, str):
        raise ValueError(f"{text} is not a JSON number")
    return number


def _where(name: str, text: str) -> Place:
    """JSON is YAML, too: the other reader knows the line of what this one refuses."""
    found = next((each for each in read_stream(text) if isinstance(each, YamlError)), None)
    return Place(name, found.line, found.column) if found is not None else Place(name)


class _DuplicateKeyError(ValueError):
    """A key stands twice in a map."""


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        keys = [key for key, _ in pairs]
        raise _DuplicateKeyError(f"duplicate key {next(key for key in keys if keys.count(key) > 1)}")
    return mapping


def _objects_of(document: Document) -> Iterator[Document | Diagnostic]:
    """The document itself or, where it is a list of objects, each of them."""
    tree = document.tree
    if not isinstance(tree, dict):
        at = At(document.origin, document.origin.base)
        yield Diagnostic("bad-value", "a manifest must be a map", "write apiVersion, kind, metadata and spec", at=at)
        return
    items, kind = tree.get("items"), tree.get("kind")
    if not (isinstance(kind, str) and kind.endswith("List") and isinstance(items, list)):
        yield document
        return
    for index, item in enumerate(items):
        base: Path = (*document.origin.base, "items", index)
        origin = Origin(document.origin.file, document.origin.first_line, document.origin.last_line, base)
        yield from _objects_of(Document(item, origin))
