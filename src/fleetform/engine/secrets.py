"""Secrets inside trees of values: where they stand, and what stands for them where people look (S5)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fleetform.model.results.decisions import Secret
from fleetform.syntax.option_rules import is_secret_reference
from fleetform.syntax.trees import kinds_in


def has_secret(value: Any) -> bool:
    return Secret in kinds_in(value, Secret)


def with_placeholders(value: Any) -> Any:
    """A value as it may be rendered, kept and shown: each secret by a text that tells where it comes from (S5)."""
    if isinstance(value, Secret):
        if is_secret_reference(value.plain):
            return value.plain
        return f"<secret {value.ref.name}/{value.ref.key}>" if value.ref is not None else "<secret>"
    if isinstance(value, dict):
        return {key: with_placeholders(each) for key, each in value.items()}
    if isinstance(value, list):
        return [with_placeholders(each) for each in value]
    return value


def secrets_in(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], Secret]]:
    """Every secret in a tree, and where it stands."""
    if isinstance(value, Secret):
        yield path, value
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from secrets_in(each, (*path, key))
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from secrets_in(each, (*path, index))


def is_plain(secret: Secret) -> bool:
    """Whether it is not kept in a Secret by itself: written in plain text, or made of others."""
    return secret.ref is None and not is_secret_reference(secret.plain)


def refers_to_secret(value: Any) -> bool:
    """Whether it is text that other tools take for a reference to a secret."""
    return isinstance(value, Secret) and is_secret_reference(value.plain)
