"""The arguments of `transform`, as they can be used: what is wrong with one is a usage error."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

import click

from fleetform.engine.transform.priorities import PluginNames, PriorityError, named, parse_names
from fleetform.syntax.times import parse_duration
from fleetform.syntax.yaml_in import YamlError, read_one
from fleetform.wiring.files import LocalFiles


def plugin_folder(given: str | None) -> str | None:
    """The folder of plugins; the one that Crane takes by default need not be there."""
    return given if given is not None else "plugins" if os.path.isdir("plugins") else None


def seconds_of(text: str) -> float:
    try:
        return parse_duration(text).total_seconds()
    except ValueError as error:
        raise click.BadParameter(
            f"{text} is not a duration: write 10s or 2m.", param_hint="--plugin-timeout"
        ) from error


def names_in(text: str, flag: str) -> list[str]:
    try:
        return parse_names(text, flag)
    except PriorityError as error:
        raise click.UsageError(f"{error.message}: {error.hint}.") from error


def place_of(name: str, names: Sequence[PluginNames]) -> list[int]:
    try:
        return named(name, names)
    except PriorityError as error:
        raise click.UsageError(f"{error.message}: {error.hint}.") from error


def priorities_of(listed: str, file: str | None) -> Mapping[str, int] | Sequence[str]:
    if listed and file is not None:
        raise click.UsageError("--plugin-priorities and --plugin-priorities-file exclude each other.")
    if file is None:
        return names_in(listed, "--plugin-priorities")
    tree = _yaml_map(file, "--plugin-priorities-file")
    for name, number in tree.items():
        if isinstance(number, bool) or not isinstance(number, int):
            raise click.BadParameter(f"{file}: {name} needs a whole number.", param_hint="--plugin-priorities-file")
    return tree


def flags_of(file: str | None) -> dict[str, str]:
    return {} if file is None else _as_texts(_yaml_map(file, "--flags-file"))


def json_flags(text: str) -> dict[str, str]:
    if not text:
        return {}
    try:
        tree = json.loads(text)
    except ValueError as error:
        raise click.BadParameter(f"not valid JSON: {error}.", param_hint="--optional-flags") from error
    if not isinstance(tree, dict):
        raise click.BadParameter('write a map: \'{"name": "value"}\'.', param_hint="--optional-flags")
    return _as_texts(tree)


def _as_texts(tree: Mapping[str, object]) -> dict[str, str]:
    """Options are texts; what is none is given as JSON."""
    return {name: value if isinstance(value, str) else json.dumps(value) for name, value in tree.items()}


def _yaml_map(file: str, flag: str) -> dict[str, Any]:
    try:
        tree = read_one(LocalFiles().read(file))
    except YamlError as error:
        raise click.BadParameter(f"{file}:{error.line}: {error.message}.", param_hint=flag) from error
    except (OSError, UnicodeDecodeError) as error:
        raise click.BadParameter(f"{file} cannot be read: {error}.", param_hint=flag) from error
    if not isinstance(tree, dict):
        raise click.BadParameter(f"{file} must hold a map.", param_hint=flag)
    return tree
