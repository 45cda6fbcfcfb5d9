"""What reads lists and objects of API servers: made once for each type, by one thread (`outside/records` says why)."""

from __future__ import annotations

from functools import cache
from threading import Lock
from typing import Any, Generic, TypeVar

import msgspec
from msgspec import Struct

T = TypeVar("T")
_making = Lock()


class ListMeta(Struct, rename="camel"):
    resource_version: str = ""
    continue_: str = msgspec.field(default="", name="continue")


class List(Struct, Generic[T]):
    metadata: ListMeta
    # null where a server lists the metadata of no object.
    items: list[T] | None


def list_decoder(type_: Any) -> msgspec.json.Decoder[List[Any]]:
    """Of a list of such objects."""
    with _making:
        return _list_decoder(type_)


def decoder(type_: Any) -> msgspec.json.Decoder[Any]:
    with _making:
        return _decoder(type_)


@cache
def _list_decoder(type_: Any) -> msgspec.json.Decoder[List[Any]]:
    return msgspec.json.Decoder(List[type_])


@cache
def _decoder(type_: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(type_)
