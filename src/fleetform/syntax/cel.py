"""CEL: expressions over cluster, organization and definition, and RE2 patterns, which come with it."""

from __future__ import annotations

import re
from functools import lru_cache
from math import isfinite
from typing import Any

from fleetform.model.kinds.fleet import ClusterSpec
from fleetform.model.objects import Object


class ExpressionError(ValueError):
    """Why an expression gives no value."""


VARIABLES = ("cluster", "organization", "definition")
_STRING_OR_MACRO = re.compile(r"""('(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*")|\.\s*(map|filter)\s*\(""")


@lru_cache(maxsize=1)
def _environment() -> Any:
    # Imported on first use: most fleets have no expression, and start-up time counts.
    from cel_expr_python import cel
    from cel_expr_python.ext import ext_strings

    tree = cel.Type.Map(cel.Type.STRING, cel.Type.DYN)
    texts = dict.fromkeys(("text", "pattern"), cel.Type.STRING)
    variables = {**dict.fromkeys(VARIABLES, tree), **texts, "value": cel.Type.DYN}
    return cel.NewEnv(variables=variables, functions=[ordered(cel)], extensions=[ext_strings.ExtStrings()])


def ordered(cel: Any) -> Any:
    """The function that every environment needs: what goes through a map goes by its keys in order."""
    overloads = [
        cel.Overload(
            f"ordered_{name}",
            return_type=cel.Type.List(cel.Type.DYN),
            parameters=[type_],
            is_member=True,
            impl=_ordered,
        )
        for name, type_ in (("map", cel.Type.MAP), ("list", cel.Type.LIST))
    ]
    return cel.FunctionDecl("ordered", overloads)


def _ordered(value: Any) -> Any:
    return sorted(value) if isinstance(value, dict) else value


@lru_cache(maxsize=16_384)
def compile_expression(text: str) -> Any:
    """The compiled expression; ExpressionError says where it is wrong."""
    return compile_in(_environment(), text)


def compile_in(environment: Any, text: str) -> Any:
    """An expression, compiled where it means something."""
    try:
        compiled = environment.compile(text)
        in_order = _STRING_OR_MACRO.sub(_in_order, text)
        return compiled if in_order == text else environment.compile(in_order)
    except RuntimeError as error:
        raise ExpressionError(_compile_message(str(error))) from error


def _in_order(match: re.Match[str]) -> str:
    """CEL goes through a map in an order that differs from run to run; lists made from one must not."""
    return match.group(1) or f".ordered().{match.group(2)}("


@lru_cache(maxsize=65_536)
def matches(pattern: str, text: str) -> bool:
    """Whether a text matches an RE2 pattern, as Go's regexp decides; ExpressionError where the pattern is none."""
    context = {**{name: {} for name in VARIABLES}, "text": text, "pattern": pattern}
    result = compile_expression("text.matches(pattern)").eval(data=context)
    if str(result.type()) == "ERROR":
        raise ExpressionError(str(result.value()).partition("invalid regular expression: ")[2] or "it cannot be read")
    return bool(result.value())


def _compile_message(text: str) -> str:
    # "INVALID_ARGUMENT: ERROR: <input>:1:16: Syntax error: …\n | source\n | ...^"
    first = text.removeprefix("INVALID_ARGUMENT: ").splitlines()[0].removeprefix("ERROR: <input>:")
    line, _, rest = first.partition(":")
    column, _, message = rest.partition(": ")
    if not line.isdigit():
        return first
    message = message.split(" (in container")[0]
    where = f"column {column}" if line == "1" else f"line {line}, column {column}"
    return f"{message.split(', expecting')[0].split(' expecting {')[0].strip()} ({where})"


def context_of(cluster: Object[ClusterSpec], definition: str, version: str | None) -> dict[str, Any]:
    """What an expression sees of one plugin on one cluster."""
    organization = cluster.ref.organization
    return {
        "cluster": {
            "name": cluster.ref.name,
            "organization": organization,
            "labels": dict(cluster.labels),
            "annotations": dict(cluster.metadata.annotations or {}),
            "facts": cluster.spec.facts or {},
            "timeZone": cluster.spec.time_zone or "",
        },
        "organization": {"name": organization},
        "definition": {"name": definition, "version": version or ""},
    }


def evaluate_value(text: str, value: Any) -> Any:
    """An expression over `value` alone, as migrations have it."""
    return evaluate(text, {**{name: {} for name in VARIABLES}, "value": value})


def evaluate(text: str, context: dict[str, Any]) -> Any:
    """The expression's value as a tree; ExpressionError where it has none."""
    return _as_tree(run(compile_expression(text), context).plain_value())


def run(compiled: Any, context: dict[str, Any]) -> Any:
    """What a compiled expression gives; ExpressionError where it fails."""
    try:
        result = compiled.eval(data=context)
    except RuntimeError as error:
        raise ExpressionError(_run_message(str(error))) from error
    if str(result.type()) == "ERROR":
        raise ExpressionError(_run_message(str(result.value())))
    return result


def _run_message(text: str) -> str:
    code, _, message = text.partition(": ")
    message = message if code.isupper() else text
    return message.replace("Key not found in map : ", "there is no key ")


def _as_tree(value: Any) -> Any:
    if isinstance(value, float) and not isfinite(value):
        raise ExpressionError(f"it gives {value}, which is not a value that YAML can hold")
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, list):
        return [_as_tree(item) for item in value]
    if isinstance(value, dict):
        # CEL's maps have no order; ours must not depend on the run.
        named = {(str(key).lower() if isinstance(key, bool) else str(key)): each for key, each in value.items()}
        return {key: _as_tree(named[key]) for key in sorted(named)}
    raise ExpressionError(f"it gives a {type(value).__name__}, which is not a value that YAML can hold")
