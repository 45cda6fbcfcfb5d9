"""CEL in placements: Open Cluster Management's expressions over managedCluster, beside our own cluster."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import chain
from typing import Any

import msgspec

from fleetform.syntax.cel import ExpressionError, compile_in, ordered, run
from fleetform.syntax.cel_kubernetes import (
    Function,
    declared,
    functions,
    with_list_indexes,
    without_list_indexes,
)

_VARIABLES = ("cluster", "organization", "managedCluster")


def holds(text: str, context: dict[str, Any]) -> bool:
    """Whether an expression holds; ExpressionError if it gives neither true nor false."""
    result = run(compile_condition(text), context)
    kind = str(result.type())
    if kind != "BOOL":
        raise ExpressionError(f"it gives a value of type {kind.lower()}, not true or false")
    return bool(result.value())


@lru_cache(maxsize=4_096)
def compile_condition(text: str) -> Any:
    """The compiled expression; ExpressionError says where it is wrong."""
    try:
        return compile_in(_environment(), with_list_indexes(text))
    except ExpressionError as error:
        raise ExpressionError(without_list_indexes(str(error))) from error


@lru_cache(maxsize=1)
def _environment() -> Any:
    # Imported on first use: most placements have no expression, and start-up time counts.
    from cel_expr_python import cel
    from cel_expr_python.ext import ext_optional, ext_strings

    return cel.NewEnv(
        variables=dict.fromkeys(_VARIABLES, cel.Type.Map(cel.Type.STRING, cel.Type.DYN)),
        functions=[ordered(cel), *declared(cel, chain(functions(cel.Type), _of_clusters(cel.Type)))],
        extensions=[ext_strings.ExtStrings(), ext_optional.ExtOptional()],
    )


def _of_clusters(types: Any) -> Iterator[Function]:
    """What Open Cluster Management itself adds."""
    tree = types.Map(types.STRING, types.DYN)
    yield Function("scores", types.List(types.DYN), [tree, types.STRING], True, _scores)
    yield Function("parseJSON", types.DYN, [types.STRING], True, msgspec.json.decode)


def _scores(cluster: dict[str, Any], resource: str) -> Any:
    published = cluster.get("scores", {}).get(resource)
    if published is None:
        raise ValueError(f"there are no scores {resource}")
    return published
