"""Values and variables in Flux's objects; secrets only by reference (S40).

How Flux reads references was tried out with its own code, which differs from its documentation: if a path has a value
both in the object and by a reference, the one in the object wins, even if it is null.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple

from fleetform.dialects.flux.parts import FluxError, PlainSecretError
from fleetform.model.kinds.base import SecretKey
from fleetform.model.results.decisions import Secret, Steps
from fleetform.syntax.envsubst import is_name_of_variable
from fleetform.syntax.option_paths import text_of
from fleetform.syntax.trees import YamlMap, YamlValue
from fleetform.syntax.variables import ExpandError, as_text

# As the CRD of HelmRelease has them.
_TARGET_PATH = re.compile(r"([a-zA-Z0-9_\-.\\/]|\[[0-9]{1,5}\])+")
_LONGEST_PATH = 250
_KEY = re.compile(r"[-._a-zA-Z0-9]+")

# The keys of a Secret, by its name; empty if they are not known.
KeysOf = Callable[[str], Collection[str]]


def unknown_keys(_: str) -> Collection[str]:
    return ()


class HelmValues(NamedTuple):
    """A HelmRelease's values, and its valuesFrom."""

    inline: YamlMap
    references: list[YamlMap]


def helm_values(values: Mapping[str, YamlValue]) -> HelmValues:
    """Values with their keys in order; each secret is a reference to a key of a Secret."""
    references: list[YamlMap] = []
    return HelmValues(_map_without_secrets(values, (), references), references)


def _without_secrets(tree: YamlValue, steps: Steps, references: list[YamlMap]) -> YamlValue:
    if isinstance(tree, dict):
        return _map_without_secrets(tree, steps, references)
    if isinstance(tree, list):
        items: list[YamlValue] = []
        for index, each in enumerate(tree):
            if isinstance(each, Secret):
                # Flux fills items of lists in place: the item must exist, and the others must keep their numbers.
                references.append(_value_from(each, (*steps, index)))
                items.append(None)
            else:
                items.append(_without_secrets(each, (*steps, index), references))
        return items
    return tree


def _map_without_secrets(tree: Mapping[str, YamlValue], steps: Steps, references: list[YamlMap]) -> YamlMap:
    inline: YamlMap = {}
    for key, each in sorted(tree.items()):
        if isinstance(each, Secret):
            # The key must be absent: a value in the object would win over the reference.
            references.append(_value_from(each, (*steps, key)))
        else:
            inline[key] = _without_secrets(each, (*steps, key), references)
    return inline


def _value_from(secret: Secret, steps: Steps) -> YamlMap:
    path = text_of(steps)
    ref = _ref_of(secret, f"the option {path}")
    if "" in steps or not _TARGET_PATH.fullmatch(path) or len(path) > _LONGEST_PATH:
        message = f"Flux cannot put a secret at {path}"
        raise FluxError(message, f"its paths have letters, digits and _-./ and at most {_LONGEST_PATH} characters")
    # literal: otherwise a comma or a number in the secret would be read as --set reads it.
    return {"kind": "Secret", "name": ref.name, "valuesKey": ref.key, "targetPath": path, "literal": True}


def post_build(variables: Mapping[str, YamlValue], keys_of: KeysOf = unknown_keys) -> YamlMap:
    """A Kustomization's postBuild: values as texts, and the Secrets that have a variable's name as a key."""
    substitute: dict[str, str] = {}
    secrets: dict[str, str] = {}
    for name, value in sorted(variables.items()):
        if not is_name_of_variable(name):
            hint = "a name has letters, digits and _, and does not begin with a digit"
            raise FluxError(f"{name!r} cannot be the name of a variable", hint)
        if isinstance(value, Secret):
            ref = _ref_of(value, f"the variable {name}")
            if ref.key != name:
                message = f"Flux takes the variable {name} from a key of that name, not from {ref.key} of {ref.name}"
                raise FluxError(message, f"give the Secret {ref.name} a key {name}, and refer to that")
            secrets[name] = ref.name
        else:
            substitute[name] = variable_text(value, name)
    found: YamlMap = {"substitute": substitute} if substitute else {}
    if secrets:
        _check_keys(secrets, keys_of)
        found["substituteFrom"] = [{"kind": "Secret", "name": name} for name in sorted(set(secrets.values()))]
    return found


def _check_keys(secrets: Mapping[str, str], keys_of: KeysOf) -> None:
    """Refuse Secrets with other keys that would do harm: Flux makes a variable of every key, and the last Secret wins.

    secrets has the Secret of each variable.
    """
    names = sorted(set(secrets.values()))
    for secret in names:
        for key in sorted(keys_of(secret)):
            if not is_name_of_variable(key):
                message = f"the Secret {secret} has a key {key}, which cannot be a variable: Flux would refuse it"
                raise FluxError(message, f"keep {key} in another Secret")
            if secrets.get(key, secret) != secret:
                message = f"the variable {key} is a key of {secrets[key]} and of {secret}: Flux reads both whole"
                raise FluxError(message, f"take it out of {secret}, or keep both in one Secret")


def variable_text(value: YamlValue, name: str) -> str:
    """The text of a variable's value; maps, lists and null have none."""
    if isinstance(value, Secret):
        raise PlainSecretError(f"{name} is a secret, and would be written in plain text", "keep secrets out of it")
    try:
        return as_text(value, name)
    except ExpandError:
        what = {type(None): "null", dict: "a map", list: "a list"}.get(type(value), "no text")
        hint = "bind it with as: json or yaml" if isinstance(value, (dict, list)) else "give it a value"
        raise FluxError(f"the variable {name} is {what}, and Flux's variables are texts", hint) from None


def _ref_of(secret: Secret, what: str) -> SecretKey:
    if secret.ref is None:
        message = f"{what} has a secret in plain text, or inside another text"
        raise PlainSecretError(message, "keep all of it in a Secret, and use valueFrom.secret")
    if not _KEY.fullmatch(secret.ref.key):
        raise FluxError(f"{secret.ref.key!r} cannot be a key of a Secret", "keys have letters, digits and -._")
    return secret.ref
