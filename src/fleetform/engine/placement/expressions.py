"""CEL in placements: Open Cluster Management's expressions over managedCluster, beside our own cluster."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from functools import lru_cache
from typing import Any

import msgspec
import semver

from fleetform.engine.placement.facts import parse_quantity
from fleetform.syntax.cel import ExpressionError, compile_in, ordered, run
from fleetform.syntax.versions import parse_version

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
    return compile_in(_environment(), text)


@lru_cache(maxsize=1)
def _environment() -> Any:
    # Imported on first use: most placements have no expression, and start-up time counts.
    from cel_expr_python import cel
    from cel_expr_python.ext import ext_optional, ext_strings

    functions: dict[str, list[Any]] = {}
    for name, gives, takes, is_member, answer in _functions(cel.Type):
        id_ = f"{name}_{len(takes)}"
        overload = cel.Overload(id_, return_type=gives, parameters=takes, is_member=is_member, impl=answer)
        functions.setdefault(name, []).append(overload)
    return cel.NewEnv(
        variables=dict.fromkeys(_VARIABLES, cel.Type.Map(cel.Type.STRING, cel.Type.DYN)),
        functions=[ordered(cel), *(cel.FunctionDecl(name, overloads) for name, overloads in functions.items())],
        extensions=[ext_strings.ExtStrings(), ext_optional.ExtOptional()],
    )


def _functions(types: Any) -> list[tuple[str, Any, list[Any], bool, Callable[..., Any]]]:
    """Name, type, parameters, whether it is called on the first of them, and what it does."""
    text, truth, number, tree = types.STRING, types.BOOL, types.INT, types.Map(types.STRING, types.DYN)
    return [
        ("scores", types.List(types.DYN), [tree, text], True, _scores),
        ("parseJSON", types.DYN, [text], True, msgspec.json.decode),
        ("quantity", tree, [text], False, _quantity),
        ("isQuantity", truth, [text], False, _succeeds(_quantity)),
        ("semver", tree, [text], False, _semver),
        ("semver", tree, [text, truth], False, _semver),
        ("isSemver", truth, [text], False, _succeeds(_semver)),
        ("isSemver", truth, [text, truth], False, _succeeds(_semver)),
        ("major", number, [tree], True, lambda version: _read(version).major),
        ("minor", number, [tree], True, lambda version: _read(version).minor),
        ("patch", number, [tree], True, lambda version: _read(version).patch),
        ("compareTo", number, [tree, tree], True, _compare),
        ("isGreaterThan", truth, [tree, tree], True, lambda left, right: _compare(left, right) > 0),
        ("isLessThan", truth, [tree, tree], True, lambda left, right: _compare(left, right) < 0),
    ]


# Versions and quantities are maps with one key: the library has no types of our own.


def _scores(cluster: dict[str, Any], resource: str) -> Any:
    published = cluster.get("scores", {}).get(resource)
    if published is None:
        raise ValueError(f"there are no scores {resource}")
    return published


def _quantity(text: str) -> dict[str, str]:
    parse_quantity(text)
    return {"quantity": text}


def _semver(text: str, normalize: bool = False) -> dict[str, str]:
    if normalize:
        return {"semver": str(parse_version(text))}
    return {"semver": str(semver.Version.parse(text))}


def _read(value: dict[str, str]) -> Any:
    if "semver" in value:
        return semver.Version.parse(value["semver"])
    if "quantity" in value:
        return parse_quantity(value["quantity"])
    raise ValueError("it is neither a version nor a quantity")


def _compare(left: dict[str, str], right: dict[str, str]) -> int:
    first, second = _read(left), _read(right)
    if isinstance(first, Decimal) != isinstance(second, Decimal):
        raise ValueError("a version and a quantity do not compare")
    return int(first > second) - int(first < second)


def _succeeds(reading: Callable[..., Any]) -> Callable[..., bool]:
    def answer(*given: Any) -> bool:
        try:
            reading(*given)
        except ValueError:
            return False
        return True

    return answer
