"""CEL expressions over cluster, organization and definition."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from fleetform.model.kinds.fleet import ClusterSpec
from fleetform.model.objects import Object


class ExpressionError(ValueError):
    """Why an expression gives no value."""


VARIABLES = ("cluster", "organization", "definition")


@lru_cache(maxsize=1)
def _environment() -> Any:
    # Imported on first use: most fleets have no expression, and start-up time counts.
    from cel_expr_python import cel

    tree = cel.Type.Map(cel.Type.STRING, cel.Type.DYN)
    return cel.NewEnv(variables=dict.fromkeys(VARIABLES, tree))


@lru_cache(maxsize=16_384)
def compile_expression(text: str) -> Any:
    """The compiled expression; ExpressionError says where it is wrong."""
    try:
        return _environment().compile(text)
    except RuntimeError as error:
        raise ExpressionError(_compile_message(str(error))) from error


def _compile_message(text: str) -> str:
    # "INVALID_ARGUMENT: ERROR: <input>:1:16: Syntax error: …\n | source\n | ...^"
    first = text.removeprefix("INVALID_ARGUMENT: ").splitlines()[0].removeprefix("ERROR: <input>:")
    line, _, rest = first.partition(":")
    column, _, message = rest.partition(": ")
    if not line.isdigit():
        return first
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


def evaluate(text: str, context: dict[str, Any]) -> Any:
    """The expression's value as a tree; ExpressionError where it has none."""
    result = compile_expression(text).eval(data=context)
    if str(result.type()) == "ERROR":
        raise ExpressionError(_run_message(str(result.value())))
    return _as_tree(result.plain_value())


def _run_message(text: str) -> str:
    code, _, message = text.partition(": ")
    message = message if code.isupper() else text
    return message.replace("Key not found in map : ", "there is no key ")


def _as_tree(value: Any) -> Any:
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, list):
        return [_as_tree(item) for item in value]
    if isinstance(value, dict):
        # CEL's maps have no order; ours must not depend on the run.
        return {str(key): _as_tree(value[key]) for key in sorted(value, key=str)}
    raise ExpressionError(f"it gives a {type(value).__name__}, which is not a value that YAML can hold")
