"""Hashes that are not known: what equals nothing that is stored, and itself alone (B18, B30)."""

from __future__ import annotations

from fleetform.model.results.decisions import PluginKey

_UNKNOWN = "unknown:"


def unknown_hash(key: PluginKey, version: str | None) -> str:
    """Stands for the input hash of a plugin that cannot be computed; it is never stored."""
    return f"{_UNKNOWN}{'/'.join(key)}@{version}"


def is_known(input_hash: str | None) -> bool:
    return input_hash is not None and not input_hash.startswith(_UNKNOWN)
