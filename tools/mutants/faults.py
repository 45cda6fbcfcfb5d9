"""Faults that can be put into the product: each is one small change of one statement."""

from __future__ import annotations

import ast
import copy
import hashlib
import random
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from types import CodeType
from typing import Any, NamedTuple

from tools.mutants.runs import ROOT, SOURCE

PRODUCT = SOURCE / "fleetform"
PACKAGES = ("engine", "app", "dialects", "syntax", "load", "model", "store", "loop", "deliver", "observe")

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_SUMS: dict[type[ast.operator], type[ast.operator]] = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv}

# Puts a fault into a tree, or takes it out again.
Change = Callable[[], None]


class Mutant(NamedTuple):
    """One fault: where, the statement before and after, and the file as it becomes."""

    file: Path
    # Of the part that changes, and of its statement: not every part has a line that runs.
    lines: tuple[int, int]
    scope: str
    before: str
    after: str
    text: str
    code: CodeType

    @property
    def place(self) -> str:
        """Where, without a line: stays the same when something above changes."""
        return _place(self.file, self.scope)

    @property
    def id(self) -> str:
        return hashlib.sha256("\0".join((self.place, self.before, self.after)).encode()).hexdigest()[:12]

    def __str__(self) -> str:
        return f"{self.file.relative_to(ROOT)}:{self.lines[0]}\n{self.place}\n- {self.before}\n+ {self.after}"


class Fault(NamedTuple):
    """A fault that can be put into a tree, in a statement of a function."""

    line: int
    scope: str
    statement: ast.AST
    becomes: ast.AST
    put_in: Change
    take_out: Change


class Source:
    """A file of the product, and what can be wrong with it."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self._tree = ast.parse(file.read_text(encoding="utf-8"))
        skipped = {id(node) for each in ast.walk(self._tree) for node in _not_behaviour(each)}
        self.faults = list(_faults(self._tree, "", self._tree, skipped))

    def mutant(self, fault: Fault) -> Mutant:
        before = _first_line(fault.statement)
        fault.put_in()
        text = ast.unparse(self._tree)
        code = compile(self._tree, self.file, "exec", dont_inherit=True)
        after = _first_line(fault.becomes)
        fault.take_out()
        lines = (fault.line, _line(fault.statement))
        return Mutant(self.file, lines, fault.scope, before, after, text, code)


def _place(file: Path, scope: str) -> str:
    return f"{file.relative_to(PRODUCT)} {scope}".strip()


def sample(number: int, seed: int, changed: Mapping[Path, set[int]] | None = None, within: str = "") -> list[Mutant]:
    """Faults by chance, each as likely as any other; of changed lines, or at places that begin so, where given."""
    files = [each for package in PACKAGES for each in sorted((PRODUCT / package).rglob("*.py"))]
    if changed is not None:
        files = [each for each in files if each in changed]
    all_faults = [
        (source, fault)
        for source in map(Source, files)
        for fault in source.faults
        if (changed is None or fault.line in changed[source.file])
        and _place(source.file, fault.scope).startswith(within)
    ]
    chosen = random.Random(seed).sample(all_faults, min(number, len(all_faults)))
    return [source.mutant(fault) for source, fault in chosen]


def _not_behaviour(node: ast.AST) -> Iterator[ast.AST]:
    """Types, and what only types see; doc strings; names of modules; what only says that nothing can be wrong."""
    parts: list[ast.AST | None] = []
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        parts = [node.returns, *node.decorator_list]
    elif isinstance(node, (ast.arg, ast.AnnAssign)):
        parts = [node.annotation]
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        parts = [node.value]
    elif isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
        parts = [node]
    elif isinstance(node, ast.ClassDef):
        parts = [*node.keywords, *node.decorator_list]
    elif isinstance(node, (ast.Assert, ast.Raise)):
        parts = [node]
    elif isinstance(node, ast.keyword) and node.arg == "strict":
        # Like an assertion: what is zipped has one length.
        parts = [node.value]
    for part in parts:
        if part is not None:
            yield from ast.walk(part)


def _faults(node: ast.AST, scope: str, statement: ast.AST, skipped: set[int]) -> Iterator[Fault]:
    """Faults of a node and of what is in it."""
    if isinstance(node, (ast.stmt, ast.match_case)):
        statement = node
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        scope = f"{scope}.{node.name}".lstrip(".")
    if id(node) not in skipped:
        line = getattr(node, "lineno", _line(statement))
        for put_in, take_out in _changes(node):
            yield Fault(line, scope, statement, statement, put_in, take_out)
        # A lambda's body is one expression.
        body: list[ast.stmt] = [] if isinstance(node, (ast.Lambda, ast.IfExp)) else getattr(node, "body", [])
        for index, inner in enumerate(body):
            other = _instead_of(inner)
            if other is not None and id(inner) not in skipped:
                ast.copy_location(other, inner)
                yield Fault(inner.lineno, scope, inner, other, *_item(body, index, other))
    for child in ast.iter_child_nodes(node):
        yield from _faults(child, scope, statement, skipped)


def _changes(node: ast.AST) -> Iterator[tuple[Change, Change]]:
    match node:
        case ast.Compare():
            for index, operator in enumerate(node.ops):
                yield _item(node.ops, index, _COMPARISONS[type(operator)]())
        case ast.BoolOp():
            yield _field(node, "op", ast.Or() if isinstance(node.op, ast.And) else ast.And())
        case ast.BinOp() if type(node.op) in _SUMS:
            yield _field(node, "op", _SUMS[type(node.op)]())
        case ast.Constant(value=bool(value)):
            yield _field(node, "value", not value)
        case ast.Constant(value=int(value)):
            yield _field(node, "value", value + 1)
        case ast.If() | ast.IfExp() | ast.While():
            yield _field(node, "test", ast.copy_location(ast.UnaryOp(ast.Not(), node.test), node.test))
        case ast.comprehension() if node.ifs:
            yield _field(node, "ifs", node.ifs[1:])


def _instead_of(statement: ast.stmt) -> ast.stmt | None:
    """A jump becomes the other jump; what is done for its effect is not done."""
    match statement:
        case ast.Continue():
            return ast.Break()
        case ast.Break():
            return ast.Continue()
        case ast.Expr(value=ast.Call() | ast.Yield()):
            return ast.Pass()
        case _:
            return None


def _field(node: ast.AST, name: str, value: object) -> tuple[Change, Change]:
    before = getattr(node, name)
    return partial(setattr, node, name, value), partial(setattr, node, name, before)


def _item(items: list[Any], index: int, value: object) -> tuple[Change, Change]:
    before = items[index]
    return partial(items.__setitem__, index, value), partial(items.__setitem__, index, before)


def _line(statement: ast.AST) -> int:
    return getattr(statement, "lineno", 0)


def _first_line(statement: ast.AST) -> str:
    """A statement without what is inside it."""
    bare = copy.copy(statement)
    for name in ("body", "orelse", "finalbody", "handlers", "cases", "decorator_list"):
        if isinstance(getattr(bare, name, None), list):
            setattr(bare, name, [])
    return ast.unparse(bare).strip().split("\n")[0]
