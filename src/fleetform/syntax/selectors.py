"""Selectors: Kubernetes label selectors, `-l` texts, and cluster selectors compiled to matchers.

Held to the tables of what k8s.io/apimachinery answers. Compiled once and asked often: converting a selector for every
check is where other tools spend their time.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from fleetform.model.kinds.base import ClusterSelector, ClusterSelectors, LabelSelector

Operator = Literal["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]
Labels = Mapping[str, str]

_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?\Z")
_PREFIX = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\Z")
_TEXT_TOKEN = re.compile(r"\s*(==|!=|=|!|,|\(|\)|<|>|[^\s=!,()<>]+)")
_INT64 = range(-(2**63), 2**63)


class SelectorError(ValueError):
    """What is wrong with a selector; where is the field's path below the selector."""

    code = "bad-selector"

    def __init__(self, message: str, *where: str | int) -> None:
        super().__init__(message)
        self.message, self.where = message, where


class AmbiguousSelectorError(SelectorError):
    """A selector with labels in two spellings at once."""

    code = "ambiguous-selector"


@dataclass(frozen=True, slots=True)
class Requirement:
    """One condition on one label."""

    key: str
    operator: Operator
    values: frozenset[str] = frozenset()

    def matches(self, labels: Labels) -> bool:
        value = labels.get(self.key)
        operator = self.operator
        if operator == "In":
            return value is not None and value in self.values
        if operator == "NotIn":
            return value is None or value not in self.values
        if operator == "Exists":
            return value is not None
        if operator == "DoesNotExist":
            return value is None
        try:
            number, bound = int(value or ""), int(next(iter(self.values)))
        except ValueError:
            return False
        return number in _INT64 and (number > bound if operator == "Gt" else number < bound)


Requirements = tuple[Requirement, ...]


def matches_all(requirements: Requirements, labels: Labels) -> bool:
    return all(requirement.matches(labels) for requirement in requirements)


def compile_labels(selector: LabelSelector) -> Requirements:
    """The requirements of a label selector; none at all match everything."""
    labels = selector.match_labels or {}
    check_labels(labels, "matchLabels")
    requirements = [Requirement(key, "In", frozenset((labels[key],))) for key in sorted(labels)]
    for index, expression in enumerate(selector.match_expressions or []):
        where = ("matchExpressions", index)
        values = expression.values or []
        _check_key(expression.key, *where, "key")
        if expression.operator in ("In", "NotIn") and not values:
            raise SelectorError(f"{expression.operator} needs values", *where)
        if expression.operator in ("Exists", "DoesNotExist") and values:
            raise SelectorError(f"{expression.operator} takes no values", *where, "values")
        for position, value in enumerate(values):
            _check_value(value, *where, "values", position)
        requirements.append(Requirement(expression.key, expression.operator, frozenset(values)))
    return tuple(requirements)


def check_labels(labels: Labels, *where: str | int) -> None:
    """SelectorError at the first label whose key or value Kubernetes refuses."""
    for key in sorted(labels):
        _check_key(key, *where, key)
        _check_value(labels[key], *where, key)


def _check_key(key: str, *where: str | int) -> None:
    if problem := _problem_of_key(key):
        raise SelectorError(problem, *where)


def _check_value(value: str, *where: str | int) -> None:
    if value and not _is_name(value):
        message = "at most 63 letters, digits, - _ and ., first and last a letter or digit"
        raise SelectorError(f"{value!r} is not a label value: {message}", *where)


# Thousands of clusters have the same keys, and most of the values.
@lru_cache(maxsize=4096)
def _problem_of_key(key: str) -> str:
    """What is wrong with a label key; empty if nothing is."""
    prefix, slash, name = key.rpartition("/")
    if slash and not (_PREFIX.match(prefix) and len(prefix) <= 253):
        return f"{key!r} is not a label key: its prefix must be a DNS name"
    if not _is_name(name):
        return f"{key!r} is not a label key: at most 63 letters, digits, - _ and ., first and last a letter or digit"
    return ""


@lru_cache(maxsize=4096)
def _is_name(text: str) -> bool:
    return _NAME.match(text) is not None and len(text) <= 63


# ---- `-l` texts


def parse_selector(text: str) -> Requirements:
    """A selector as kubectl's -l takes it: `env=prod,tier in (1,2),!retired,size>3`."""
    tokens = [match.group(1) for match in _TEXT_TOKEN.finditer(text)]
    requirements: list[Requirement] = []
    position = 0
    while position < len(tokens):
        requirement, position = _requirement(tokens, position)
        requirements.append(requirement)
        if position == len(tokens):
            break
        if tokens[position] != ",":
            raise SelectorError(f"expected , before {tokens[position]!r}")
        position += 1
        if position == len(tokens):
            raise SelectorError("nothing after the last ,")
    return tuple(requirements)


def _requirement(tokens: list[str], position: int) -> tuple[Requirement, int]:
    if tokens[position] == "!":
        key = _word(tokens, position + 1)
        return Requirement(key, "DoesNotExist"), position + 2
    key = _word(tokens, position)
    operator = tokens[position + 1] if position + 1 < len(tokens) else ","
    if operator == ",":
        return Requirement(key, "Exists"), position + 1
    if operator in ("in", "notin"):
        values, end = _set_of_values(tokens, position + 2)
        return Requirement(key, "In" if operator == "in" else "NotIn", values), end
    if operator not in ("=", "==", "!=", "<", ">"):
        raise SelectorError(f"{operator!r} is not an operator; use = == != in notin < >")
    value, position = "", position + 2
    if position < len(tokens) and tokens[position] != ",":
        value = tokens[position]
        position += 1
        if value in ("=", "==", "!=", "!", "(", ")", "<", ">"):
            raise SelectorError(f"expected a value, not {value!r}")
    if operator in ("<", ">"):
        if not re.fullmatch(r"[-+]?[0-9]+", value) or int(value) not in _INT64:
            raise SelectorError(f"{operator} compares whole numbers, not {value!r}")
        return Requirement(key, "Gt" if operator == ">" else "Lt", frozenset((value,))), position
    _check_value(value)
    return Requirement(key, "NotIn" if operator == "!=" else "In", frozenset((value,))), position


def _word(tokens: list[str], position: int) -> str:
    if position >= len(tokens) or not re.match(r"[^=!,()<>]", tokens[position]):
        raise SelectorError("expected a label key" + (f", not {tokens[position]!r}" if position < len(tokens) else ""))
    _check_key(tokens[position])
    return tokens[position]


def _set_of_values(tokens: list[str], position: int) -> tuple[frozenset[str], int]:
    if position >= len(tokens) or tokens[position] != "(":
        raise SelectorError("expected ( after in or notin")
    values: list[str] = []
    pending = ""
    for index in range(position + 1, len(tokens)):
        token = tokens[index]
        if token == ")":
            values.append(pending)
            for value in values:
                _check_value(value)
            return frozenset(values), index + 1
        if token == ",":
            values.append(pending)
            pending = ""
        elif pending:
            raise SelectorError(f"expected , or ) before {token!r}")
        else:
            pending = token
    raise SelectorError("the ( is not closed")


# ---- Cluster selectors


@dataclass(frozen=True, slots=True)
class ClusterMatcher:
    """One element of a cluster selector, compiled. requirements is None if it has no labels."""

    requirements: Requirements | None
    names: frozenset[str]
    ignored: frozenset[str]

    @property
    def everything(self) -> bool:
        """Selects all clusters, except ignored ones."""
        return self.requirements is None and not self.names

    @property
    def names_clusters(self) -> bool:
        return not self.everything or bool(self.ignored)

    def matches(self, name: str, labels: Labels) -> bool:
        if name in self.ignored:
            return False
        if self.everything or name in self.names:
            return True
        return self.requirements is not None and matches_all(self.requirements, labels)


Matchers = tuple[ClusterMatcher, ...]


def compile_clusters(selectors: ClusterSelectors | None) -> Matchers:
    """The matchers whose union a cluster selector is. Absent, {} and [] select everything (R0-4)."""
    if selectors is None or selectors == []:
        return (ClusterMatcher(None, frozenset(), frozenset()),)
    if isinstance(selectors, ClusterSelector):
        return (_compile_one(selectors),)
    compiled = []
    for index, selector in enumerate(selectors):
        try:
            compiled.append(_compile_one(selector))
        except SelectorError as error:
            raise type(error)(error.message, index, *error.where) from error
    return tuple(compiled)


def _compile_one(selector: ClusterSelector) -> ClusterMatcher:
    bare = bool(selector.match_labels or selector.match_expressions)
    if bare and selector.label_selector is not None:
        raise AmbiguousSelectorError("labels are given twice: under labelSelector and beside it", "labelSelector")
    requirements: Requirements = ()
    if bare:
        requirements = compile_labels(selector)
    elif selector.label_selector is not None:
        try:
            requirements = compile_labels(selector.label_selector)
        except SelectorError as error:
            raise SelectorError(error.message, "labelSelector", *error.where) from error
    return ClusterMatcher(
        requirements or None, frozenset(selector.cluster_names or ()), frozenset(selector.ignore_clusters or ())
    )


def any_matches(matchers: Matchers, name: str, labels: Labels) -> bool:
    return any(matcher.matches(name, labels) for matcher in matchers)


def names_clusters(matchers: Matchers) -> bool:
    """Whether an override with this selector ranks as naming clusters: not if any element selects all of them."""
    return all(matcher.names_clusters for matcher in matchers)


def safe_matchers(selector: ClusterSelectors | None) -> Matchers:
    """A selector that cannot be read selects nothing; validation reports it."""
    try:
        return compile_clusters(selector)
    except SelectorError:
        return ()
