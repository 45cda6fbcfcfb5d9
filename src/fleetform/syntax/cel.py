"""CEL: expressions over cluster, organization and definition, and RE2 patterns, which come with it."""

from __future__ import annotations

import re
from functools import lru_cache
from math import isfinite
from typing import Any, TypeAlias

from fleetform.model.kinds.fleet import ClusterSpec
from fleetform.model.objects import Object
from fleetform.syntax.trees import YamlMap, YamlValue

# The library has no types: its module, an environment, a compiled expression, a result.
Cel: TypeAlias = Any


class ExpressionError(ValueError):
    """Why an expression gives no value."""

    @property
    def unquoted(self) -> str:
        """The same without a word of the expression, which may be a secret: only what kind of mistake, and where."""
        said, where = str(self), _WHERE.search(str(self))
        start = min((said.index(quote) for quote in "'\"" if quote in said), default=None)
        return said if start is None else f"{said[:start]}…{where.group() if where is not None else ''}"


VARIABLES = ("cluster", "organization", "definition")
_WHERE = re.compile(r" \((?:line \d+, )?column \d+\)\Z")
_STRING_OR_MACRO = re.compile(r"""('(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*")|\.\s*(map|filter)\s*\(""")


@lru_cache(maxsize=8)
def _environment(more: tuple[str, ...] = ()) -> Cel:
    # Imported on first use: most fleets have no expression, and start-up time counts.
    from cel_expr_python import cel
    from cel_expr_python.ext import ext_strings

    tree = cel.Type.Map(cel.Type.STRING, cel.Type.DYN)
    texts = dict.fromkeys(("text", "pattern"), cel.Type.STRING)
    variables = {**dict.fromkeys((*VARIABLES, *more), tree), **texts, "value": cel.Type.DYN}
    return cel.NewEnv(variables=variables, functions=[ordered(cel)], extensions=[ext_strings.ExtStrings()])


def ordered(cel: Cel) -> Cel:
    """A function for every environment: macros over a map take its keys in order."""
    overloads = [
        cel.Overload(
            f"ordered_{name}",
            return_type=cel.Type.List(cel.Type.DYN),
            parameters=[type_],
            is_member=True,
            impl=lambda value: sorted(value) if isinstance(value, dict) else value,
        )
        for name, type_ in (("map", cel.Type.MAP), ("list", cel.Type.LIST))
    ]
    return cel.FunctionDecl("ordered", overloads)


@lru_cache(maxsize=16_384)
def compile_expression(text: str, more: tuple[str, ...] = ()) -> Cel:
    """The compiled expression, which may read more variables; ExpressionError gives the column of a mistake."""
    return compile_in(_environment(more), text)


def compile_in(environment: Cel, text: str) -> Cel:
    """An expression, compiled in an environment."""
    try:
        compiled = environment.compile(text)
        # CEL walks a map in an order that differs from run to run; lists made from one must not.
        in_order = _STRING_OR_MACRO.sub(lambda found: found[1] or f".ordered().{found[2]}(", text)
        return compiled if in_order == text else environment.compile(in_order)
    except RuntimeError as error:
        raise ExpressionError(_compile_message(str(error))) from error


@lru_cache(maxsize=65_536)
def matches(pattern: str, text: str) -> bool:
    """Whether a text matches an RE2 pattern, as Go's regexp decides; ExpressionError if the pattern cannot be read."""
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


def context_of(cluster: Object[ClusterSpec], definition: str, version: str | None) -> YamlMap:
    """The variables of an expression, for one plugin on one cluster."""
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


def evaluate_value(text: str, value: YamlValue) -> YamlValue:
    """An expression over `value` alone, as migrations have it."""
    return evaluate(text, {**{name: {} for name in VARIABLES}, "value": value})


def evaluate(text: str, context: YamlMap, more: YamlMap | None = None) -> YamlValue:
    """The expression's value as a tree, over variables and more of them; ExpressionError if it fails."""
    if not more:
        return _as_tree(run(compile_expression(text), context).plain_value())
    return _as_tree(run(compile_expression(text, tuple(sorted(more))), {**context, **more}).plain_value())


def run(compiled: Cel, context: YamlMap) -> Cel:
    """The result of a compiled expression; ExpressionError if it fails."""
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


def _as_tree(value: object) -> YamlValue:
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
