"""`${NAME}` in the objects of kustomizations and manifests, object by object, as Flux does it (R3-27, S39)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fleetform.renderers.failures import RenderError
from fleetform.renderers.objects import Tree, name_of, problem_of
from fleetform.syntax.envsubst import SubstitutionError, is_opted_out, substitute_resource
from fleetform.syntax.hashing import canonical_json
from fleetform.syntax.yaml_in import YamlError, read_one
from fleetform.syntax.yaml_out import write_unfolded


def substitute_objects(
    objects: Iterable[Tree],
    variables: Mapping[str, Any],
    strict: bool,
    declared_only: bool,
    unset: Sequence[str] = (),
) -> list[Tree]:
    """Objects with their variables filled in; unset are names that are declared and have no value."""
    # Empty, so that a default takes their place as anywhere else.
    texts = {**dict.fromkeys(unset, ""), **{name: text_of(value) for name, value in variables.items()}}
    found = []
    for tree in objects:
        if strict and unset and not is_opted_out(tree):
            _refuse_unset(tree, unset)
        found.append(_substituted(tree, texts, strict, declared_only))
    return found


def _refuse_unset(tree: Tree, unset: Sequence[str]) -> None:
    """A name that somebody declared and nobody gave a value is no text to be left as it is."""
    names = "|".join(map(re.escape, unset))
    # Of dollars that stand together two are one; behind the name may stand a default.
    found = re.search(rf"(?<!\$)(?:\$\$)*\$\{{({names})(?!:?[-=]|\w)", write_unfolded(tree))
    if found is not None:
        hint = "give it a value, or a default: ${" + found[1] + ":-…}"
        raise RenderError(f"{name_of(tree)}: the variable {found[1]} is not set", hint)


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
        hint = "quotes of the manifest do not count, as in Flux: give the variable a value that is plain text in YAML"
        raise RenderError(message, hint) from error
    problem = problem_of(found)
    if problem is not None:
        raise RenderError(f"{name_of(tree)}: with its variables filled in, {problem}", "check the variables")
    result: Tree = found
    return result
