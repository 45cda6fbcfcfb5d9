"""Mutants: small faults put into the product one at a time, to see whether a test notices.

    make mutants                        60 of everything, seeded
    make mutants N=300 SEED=2           more of them
    make mutants SINCE=main             only of lines that a change touches

A first run measures which test runs which line (kept until the product or the tests change). Each mutant is then met by
the tests that run its line, those that run the fewest lines first. A mutant that no test notices is a survivor: a rule
without a test, or a fault that makes no difference.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src"
PACKAGES = ("engine", "app", "dialects", "syntax", "load", "model", "store", "loop", "deliver", "observe")
# A mutant may loop for ever; one that takes this long where the tests took seconds is noticed, too.
_SECONDS = 120
_MOST_TESTS = 60

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


class Mutant(NamedTuple):
    """One fault: the file as it becomes, and what was done in which line."""

    file: Path
    line: int
    what: str
    text: str

    def __str__(self) -> str:
        return f"{self.file.relative_to(ROOT)}:{self.line}: {self.what}"


# Puts a fault into a tree, or takes it out again.
Change = Callable[[], None]


class Fault(NamedTuple):
    """A fault that can be put into a tree."""

    what: str
    line: int
    put_in: Change
    take_out: Change


def mutants_of(file: Path) -> Iterator[Mutant]:
    """Every fault that can be put into a file, one at a time."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    skipped = {id(node) for each in ast.walk(tree) for node in _not_behaviour(each)}
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        for what, line, put_in, take_out in _faults(node):
            put_in()
            text = ast.unparse(tree)
            take_out()
            yield Mutant(file, line, what, text)


def _not_behaviour(node: ast.AST) -> Iterator[ast.AST]:
    """Types, and what only types see; doc strings; names of modules."""
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
    for part in parts:
        if part is not None:
            yield from ast.walk(part)


def _faults(node: ast.AST) -> Iterator[Fault]:
    line = getattr(node, "lineno", 0)
    for what, *changes in _expression_faults(node):
        yield Fault(what, line, *changes)
    body = getattr(node, "body", None)
    if isinstance(body, list):
        for index, statement in enumerate(body):
            yield from _statement_faults(body, index, statement)


def _expression_faults(node: ast.AST) -> Iterator[tuple[str, Change, Change]]:
    if isinstance(node, ast.Compare):
        for index, operator in enumerate(node.ops):
            other = _COMPARISONS.get(type(operator))
            if other is not None:
                name = f"{type(operator).__name__} becomes {other.__name__}"
                yield name, *_item(node.ops, index, other())
    elif isinstance(node, ast.BoolOp):
        other_op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield f"{type(node.op).__name__} becomes {type(other_op).__name__}", *_field(node, "op", other_op)
    elif isinstance(node, ast.BinOp) and type(node.op) in _SUMS:
        operator_ = _SUMS[type(node.op)]
        yield f"{type(node.op).__name__} becomes {operator_.__name__}", *_field(node, "op", operator_())
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield f"{node.value} becomes {not node.value}", *_field(node, "value", not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, int):
        yield f"{node.value} becomes {node.value + 1}", *_field(node, "value", node.value + 1)
    elif isinstance(node, (ast.If, ast.IfExp, ast.While)):
        negated = ast.UnaryOp(ast.Not(), node.test)
        yield "a condition is negated", *_field(node, "test", ast.copy_location(negated, node.test))
    elif isinstance(node, ast.comprehension) and node.ifs:
        yield "a filter is dropped", *_field(node, "ifs", node.ifs[1:])


def _statement_faults(body: list[ast.stmt], index: int, statement: ast.stmt) -> Iterator[Fault]:
    other: ast.stmt | None = None
    what = ""
    if isinstance(statement, ast.Continue):
        what, other = "continue becomes break", ast.Break()
    elif isinstance(statement, ast.Break):
        what, other = "break becomes continue", ast.Continue()
    elif isinstance(statement, ast.Expr) and isinstance(statement.value, (ast.Call, ast.Yield)):
        what, other = "the statement is dropped", ast.Pass()
    if other is not None:
        yield Fault(what, statement.lineno, *_item(body, index, ast.copy_location(other, statement)))


def _field(node: ast.AST, name: str, value: object) -> tuple[Change, Change]:
    before = getattr(node, name)
    return partial(setattr, node, name, value), partial(setattr, node, name, before)


def _item(items: list[Any], index: int, value: object) -> tuple[Change, Change]:
    before = items[index]
    return partial(items.__setitem__, index, value), partial(items.__setitem__, index, before)


class Coverage:
    """Which tests run which line, measured once for each state of product and tests."""

    def __init__(self) -> None:
        folder = ROOT / ".mutants"
        folder.mkdir(exist_ok=True)
        self._file = folder / f"{_state_of_tree()}.coverage"
        if not self._file.exists():
            print("measuring which test runs which line; this takes several minutes, once", file=sys.stderr)
            for old in folder.glob("*.coverage*"):
                old.unlink()
            self._measure()
        self._connection = sqlite3.connect(self._file)
        self._weights = dict(
            self._connection.execute("select context_id, sum(length(numbits)) from line_bits group by context_id")
        )

    def _measure(self) -> None:
        settings = "[run]\nsource_pkgs = fleetform\ndynamic_context = test_function\nparallel = true\n"
        settings += f"data_file = {self._file}\n"
        with tempfile.TemporaryDirectory() as scratch:
            rc = Path(scratch) / "coveragerc"
            rc.write_text(settings)
            command = [sys.executable, "-m", "coverage", "run", f"--rcfile={rc}", "-m", "pytest", "-q", "-n", "0"]
            subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL, check=False)
            subprocess.run([sys.executable, "-m", "coverage", "combine", f"--rcfile={rc}"], cwd=ROOT, check=True)

    def tests_of(self, file: Path, line: int) -> list[str]:
        """Test functions that run a line, those that run least beside it first."""
        rows = self._connection.execute(
            "select context.id, context.context, numbits from line_bits join file on file.id = file_id"
            " join context on context.id = context_id where file.path like ?",
            (f"%{file.relative_to(SOURCE)}",),
        )
        running = [(self._weights[number], name, bits) for number, name, bits in rows if name]
        # What runs when a module is imported belongs to no test: any that runs something of the file may notice.
        found = [(weight, name) for weight, name, bits in running if _has_line(bits, line)] or [
            (weight, name) for weight, name, _ in running
        ]
        return [name for _, name in sorted(found)][:_MOST_TESTS]


def _has_line(bits: bytes, line: int) -> bool:
    return line // 8 < len(bits) and bool(bits[line // 8] & (1 << (line % 8)))


def _state_of_tree() -> str:
    digest = hashlib.sha256()
    for folder in ("src", "tests"):
        for file in sorted((ROOT / folder).rglob("*.py")):
            digest.update(str(file.relative_to(ROOT)).encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()[:16]


def survives(mutant: Mutant, tests: list[str]) -> bool | None:
    """Whether none of the tests notices a mutant; None if there is none."""
    if not tests:
        return None
    with tempfile.TemporaryDirectory(prefix="mutant-") as scratch:
        shutil.copytree(SOURCE / "fleetform", Path(scratch) / "fleetform", ignore=shutil.ignore_patterns("__pycache__"))
        (Path(scratch) / mutant.file.relative_to(SOURCE)).write_text(mutant.text, encoding="utf-8")
        environment = {**os.environ, "PYTHONPATH": scratch, "PYTHONDONTWRITEBYTECODE": "1"}
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "0", "-p", "no:cacheprovider", *_node_ids(tests)]
        try:
            done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, timeout=_SECONDS)
        except subprocess.TimeoutExpired:
            return False
    # 0: all passed; 5: nothing was selected; anything else is a failure of some kind.
    return done.returncode in (0, 5)


def _node_ids(tests: list[str]) -> list[str]:
    """Contexts name a module and a function (`tests.rules.test_x.test_y`, or with a class between)."""
    found = []
    for name in tests:
        steps = name.split(".")
        for length in range(len(steps), 0, -1):
            file = ROOT.joinpath(*steps[:length]).with_suffix(".py")
            inside = file if file.exists() else ROOT.joinpath("tests", *steps[:length]).with_suffix(".py")
            if inside.exists():
                found.append("::".join([str(inside.relative_to(ROOT)), *steps[length:]]))
                break
    return list(dict.fromkeys(found))


def _changed_lines(since: str) -> dict[Path, set[int]]:
    """The lines of each file that differ from a revision."""
    command = ["git", "diff", "-U0", since, "--", "src"]
    out = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    found: dict[Path, set[int]] = {}
    file = ROOT
    for line in out.split("\n"):
        if line.startswith("+++ b/"):
            file = ROOT / line.removeprefix("+++ b/")
        elif line.startswith("@@"):
            first, _, count = line.split("+")[1].split(" ")[0].partition(",")
            found.setdefault(file, set()).update(range(int(first), int(first) + int(count or 1)))
    return found


def sample(number: int, seed: int, since: str | None) -> list[Mutant]:
    changed = _changed_lines(since) if since is not None else None
    files = [each for package in PACKAGES for each in sorted((SOURCE / "fleetform" / package).rglob("*.py"))]
    if changed is not None:
        files = [each for each in files if each in changed]
    chance = random.Random(seed)
    # Files by their size, then a fault in one: making every fault of every file would take longer than trying some.
    weights = [each.stat().st_size for each in files]
    chosen: dict[str, Mutant] = {}
    cached: dict[Path, list[Mutant]] = {}
    for _ in range(number * 20):
        if len(chosen) >= number or not files:
            break
        file = chance.choices(files, weights)[0]
        if file not in cached:
            cached[file] = [each for each in mutants_of(file) if changed is None or each.line in changed.get(file, ())]
        if cached[file]:
            mutant = chance.choice(cached[file])
            chosen[mutant.text] = mutant
    return list(chosen.values())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("-n", type=int, default=60, help="how many")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--since", help="only lines that differ from this revision")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    given = parser.parse_args()
    chosen = sample(given.n, given.seed, given.since)
    coverage = Coverage()
    tests = [coverage.tests_of(each.file, each.line) for each in chosen]
    started = time.monotonic()
    killed = 0
    with ThreadPoolExecutor(given.jobs) as pool:
        for number, (mutant, lives) in enumerate(zip(chosen, pool.map(survives, chosen, tests), strict=True), 1):
            killed += lives is False
            if lives is not False:
                print(f"survives: {mutant}{' (no test runs this file)' if lives is None else ''}", flush=True)
            if sys.stderr.isatty():
                print(f"\r{number} of {len(chosen)}, {killed} killed", end="", file=sys.stderr)
    share = 100 * killed / len(chosen) if chosen else 100
    print(f"{killed} of {len(chosen)} mutants killed ({share:.0f}%), in {time.monotonic() - started:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
