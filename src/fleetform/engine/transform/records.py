"""What plugins answer, and what is settled of it."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from msgspec import Struct

from fleetform.syntax.json_patch import Operation

# path: another plugin's operation is at the same path. overlaps: one is above or below it. array: one inserts or
# removes items of a list that the other reaches into. test: a plugin with a test is all-or-nothing.
Reason = Literal["path", "overlaps", "array", "test"]


class Response(Struct, frozen=True):
    """What a plugin answers for one object.

    changes_identity says that it means to change the object's kind, apiVersion, name or namespace.
    """

    operations: tuple[Operation, ...] = ()
    whiteout: bool = False
    new_resources: tuple[dict[str, Any], ...] = ()
    changes_identity: bool = False


class Proposal(NamedTuple):
    """A plugin's answer as it enters the settling; the lower priority wins, and any wins over none."""

    plugin: str
    response: Response
    priority: int | None = None


class Kept(NamedTuple):
    """An operation that is applied, the plugin that owns it, and others that asked for the same."""

    plugin: str
    operation: Operation
    also: tuple[str, ...] = ()


class Ignored(NamedTuple):
    """An operation that is not applied, why, and the plugin that won; also are others that asked for the same."""

    plugin: str
    operation: Operation
    reason: Reason
    winner: str
    also: tuple[str, ...] = ()


class NewResource(NamedTuple):
    """An object that a plugin adds."""

    plugin: str
    tree: dict[str, Any]


class Settled(NamedTuple):
    """What is settled for one object; whiteouts names the plugins that leave it out, and then nothing is kept.

    changes_identity names those that mean to change its kind, apiVersion, name or namespace.
    """

    kept: tuple[Kept, ...] = ()
    ignored: tuple[Ignored, ...] = ()
    whiteouts: tuple[str, ...] = ()
    new_resources: tuple[NewResource, ...] = ()
    changes_identity: tuple[str, ...] = ()


class TransformError(ValueError):
    """Why nothing comes of an object's transformation, and what to do."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message, self.hint = message, hint
