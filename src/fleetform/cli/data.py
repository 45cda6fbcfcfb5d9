"""Answers as JSON, whole or as a stream: a listing of 100,000 plugins is about 1 GB of text."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

import click
import msgspec

from fleetform.model.answers.base import AnswerRecord, Json
from fleetform.model.answers.listed import Listed
from fleetform.model.answers.listing import Listing
from fleetform.syntax.printable import escaped_json

_CHUNK = 1 << 20


def json_text(tree: Json) -> str:
    """A tree as `json.dumps(tree, indent=2)` writes it; Python's own encoder is slow as soon as it indents.

    What could steer a terminal is written as an escape.
    """
    try:
        text = msgspec.json.format(json.dumps(tree, ensure_ascii=False), indent=2)
    except ValueError:
        # Half a character, or a number that JSON has no name for.
        text = json.dumps(tree, indent=2, ensure_ascii=False)
    return escaped_json(text)


def listing_chunks(listing: Listing, items: Iterable[Listed]) -> Iterator[str]:
    """The text of a listing with these items for its own, in pieces; no two items are in memory at once."""
    head, field, tail = json_text(msgspec.to_builtins(listing)).partition('"items": []')
    assert field, "the listing has items of its own"
    first = True
    for item in items:
        text = json_text(msgspec.to_builtins(item)).replace("\n", "\n    ")
        yield f'{head}"items": [\n    {text}' if first else f",\n    {text}"
        first = False
    yield f"{head}{field}{tail}\n" if first else f"\n  ]{tail}\n"


def print_json(answer: AnswerRecord) -> None:
    click.echo(json_text(msgspec.to_builtins(answer)))


def print_chunks(chunks: Iterable[str]) -> None:
    """Print a text that comes in pieces, many of them at a time: each write is flushed."""
    waiting: list[str] = []
    size = 0
    for each in chunks:
        waiting.append(each)
        size += len(each)
        if size >= _CHUNK:
            click.echo("".join(waiting), nl=False)
            waiting, size = [], 0
    click.echo("".join(waiting), nl=False)
