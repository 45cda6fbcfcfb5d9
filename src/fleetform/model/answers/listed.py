"""Listed: what all objects of a listing have."""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET, UnsetType

from fleetform.model.answers.base import AnswerRecord, JsonMap


class ListedMetadata(AnswerRecord, frozen=True, kw_only=True):
    """An object's name and namespace, and what people wrote beside them."""

    name: str
    namespace: str
    labels: dict[str, str] | UnsetType = UNSET
    annotations: dict[str, str] | UnsetType = UNSET
    creation_timestamp: str | UnsetType = UNSET


class Listed(AnswerRecord, frozen=True, kw_only=True):
    """What all objects of a listing have."""

    api_version: str
    kind: str
    metadata: ListedMetadata


class ListedObject(Listed, frozen=True, kw_only=True):
    """An object that nothing follows from, such as a policy; in its spec secrets are masked."""

    spec: JsonMap


class Condition(AnswerRecord, frozen=True, kw_only=True):
    """A condition, as Kubernetes has them."""

    type: str
    status: Literal["True", "False"]
    reason: str
    message: str
