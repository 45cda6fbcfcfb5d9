"""`${NAME}` in the objects of kustomizations and manifests, object by object, as Flux does it (R3-27, S39)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from fleetform.engine.envsubst import SubstitutionError, substitute_resource
from fleetform.engine.hashing import canonical_json
from fleetform.formats.yaml_in import YamlError, read_one
from fleetform.formats.yaml_out import write_unfolded
from fleetform.renderers.failures import RenderError
from fleetform.renderers.objects import Tree, name_of, problem_of


def substitute_objects(
    objects: Iterable[Tree], variables: Mapping[str, Any], strict: bool, declared_only: bool
) -> list[Tree]:
    texts = {name: text_of(value) for name, value in variables.items()}
    return [_substituted(tree, texts, strict, declared_only) for tree in objects]


def text_of(value: Any) -> str:
    """A value as it stands in a text; nothing is an empty one, so that a default takes its place."""
    if value is None:
        return ""
    return value if isinstance(value, str) else canonical_json(value).decode()


def _substituted(tree: Tree, texts: Mapping[str, str], strict: bool, declared_only: bool) -> Tree:
    try:
        found = substitute_resource(
            tree,
            texts,
            write=write_unfolded,
            read=read_one,
            strict=strict,
            only="Declared" if declared_only else "All",
        )
    except SubstitutionError as error:
        raise RenderError(f"{name_of(tree)}: {error.message}", error.hint or "check the variables") from error
    except YamlError as error:
        message = f"{name_of(tree)}: with its variables filled in it is no YAML any more: {error.message}"
        raise RenderError(message, "write the variable inside quotes, or change its value") from error
    problem = problem_of(found)
    if problem is not None:
        raise RenderError(f"{name_of(tree)}: with its variables filled in, {problem}", "check the variables")
    result: Tree = found
    return result
