"""`${NAME}` in the objects of kustomizations and manifests, object by object, as in Flux (R3-27, S39)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from fleetform.renderers.failures import RenderError
from fleetform.renderers.parse import name_of, problem_of
from fleetform.syntax.envsubst import SubstitutionError, is_opted_out, substitute_resource
from fleetform.syntax.hashing import canonical_json
from fleetform.syntax.trees import YamlMap, YamlValue, as_map
from fleetform.syntax.yaml_in import YamlError, read_one
from fleetform.syntax.yaml_out import write_unfolded


def substitute_objects(
    objects: Iterable[YamlMap],
    variables: Mapping[str, YamlValue],
    strict: bool,
    declared_only: bool,
    unset: Sequence[str] = (),
) -> list[YamlMap]:
    """Objects with their variables filled in; unset are names that are declared and have no value."""
    # Empty, so that a default is taken, as in Flux.
    texts = {**dict.fromkeys(unset, ""), **{name: text_for(value) for name, value in variables.items()}}
    # Two dollars in a row are one; a default may follow the name.
    unset_reference = rf"(?<!\$)(?:\$\$)*\$\{{({'|'.join(map(re.escape, unset))})(?!:?[-=]|\w)"
    found = []
    for tree in objects:
        if strict and unset and not is_opted_out(tree):
            # A name that is declared and has no value must not be left as it is.
            reference = re.search(unset_reference, write_unfolded(tree))
            if reference is not None:
                hint = "give it a value, or a default: ${" + reference[1] + ":-…}"
                raise RenderError(f"{name_of(tree)}: the variable {reference[1]} is not set", hint)
        found.append(_substituted(tree, texts, strict, declared_only))
    return found


def text_for(value: YamlValue) -> str:
    """A value as it is filled into a text; null is empty, so that a default is taken."""
    if value is None:
        return ""
    return value if isinstance(value, str) else canonical_json(value).decode()


def _substituted(tree: YamlMap, texts: Mapping[str, str], strict: bool, declared_only: bool) -> YamlMap:
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
        message = f"{name_of(tree)}: with its variables filled in it is not valid YAML: {error.message}"
        hint = "quotes of the manifest do not count, as in Flux: give the variable a value that is plain text in YAML"
        raise RenderError(message, hint) from error
    problem = problem_of(found)
    if problem is not None:
        raise RenderError(f"{name_of(tree)}: with its variables filled in, {problem}", "check the variables")
    return as_map(found)
