"""Which tests run which line, and what each costs: measured once, kept until the product or the tests change.

What was measured of a test file holds for one text of the product, of what tests share, and of the file itself: a new
test costs its own measurement and no other. A child of this process measures some files at a time; what is measured is
kept at once, so that a run that was ended goes on where it was.
"""

from __future__ import annotations

import hashlib
import os
import re
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, partial
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

import coverage
import hypothesis
import pytest

from tools.mutants.children import Child, quietly

ROOT = Path(__file__).parent.parent.parent
SOURCE = ROOT / "src"
TESTS = ROOT / "tests"
KEPT = ROOT / ".mutants"

# Alone, leaving nothing behind, and without complaint that this process has imported hypothesis already.
PYTEST = ("-n", "0", "-p", "no:cacheprovider", "-W", "ignore::pytest.PytestAssertRewriteWarning")

# Random examples run the same lines again and again: a few tell which.
_EXAMPLES = 10
_RANDOM = ("tests/properties/", "tests/rulebook/")
# Seconds of cheap tests before those of whole answers.
_CHEAPEST = 5.0
_WHOLE = ("tests/recorded/", "tests/transcripts/")
_BUNCH = 10
# Tests of a line, below which others of its file are asked, too.
_FEW = 10
_WHOLE_SUITE = 3 * 3600

_TABLES = """
create table if not exists measured (test_file text primary key, state text);
create table if not exists tests (name text primary key, test_file text, seconds real, random integer);
create table if not exists runs (test text, file text, numbits blob);
create table if not exists verdicts (mutant text primary key, state text, killer text, tried integer);
create index if not exists runs_of_file on runs (file);
create index if not exists runs_of_test on runs (test);
"""


class Test(NamedTuple):
    """A test as pytest names it, with the seconds of CPU time it takes."""

    name: str
    seconds: float
    random: bool

    @property
    def file(self) -> str:
        return self.name.partition("::")[0]

    @property
    def function(self) -> str:
        """Without the parameters: rows of one table are one function."""
        return self.name.partition("[")[0]


def opened() -> sqlite3.Connection:
    KEPT.mkdir(exist_ok=True)
    kept = sqlite3.connect(KEPT / "kept.db")
    kept.executescript(_TABLES)
    return kept


def state_of(*files: Path) -> str:
    digest = hashlib.sha256()
    for file in files:
        digest.update(str(file.relative_to(ROOT)).encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def states_of_tests() -> dict[str, str]:
    """For each test file, the state of everything that says what its tests do: the product and what it imports."""
    product = state_of(*sorted(SOURCE.rglob("*.py")))
    return {
        str(each.relative_to(ROOT)): f"{product}-{state_of(*_with_imported(each))}"
        for each in sorted(TESTS.rglob("test_*.py"))
    }


def _with_imported(test_file: Path) -> list[Path]:
    """A test file, what it imports of the tests, also through others, what pytest reads beside it, and its pages."""
    folders = [each for each in test_file.parents if each.is_relative_to(TESTS)]
    waiting = [test_file, *(each / "conftest.py" for each in folders if (each / "conftest.py").exists())]
    found = set(test_file.parent.glob("*.md"))
    while waiting:
        file = waiting.pop()
        if file not in found:
            found.add(file)
            waiting += _imported(file)
    return sorted(found)


@cache
def _imported(file: Path) -> list[Path]:
    names = re.findall(r"^ *(?:from|import) ([\w.]+)", file.read_text(encoding="utf-8"), re.MULTILINE)
    files = (TESTS.joinpath(*name.split(".")).with_suffix(".py") for name in names)
    return [each for each in files if each.exists()]


def measure(kept: sqlite3.Connection, jobs: int, until: float) -> int:
    """Measures what is not known yet, as long as there is time; says how many test files are left."""
    states = states_of_tests()
    known = dict(kept.execute("select test_file, state from measured"))
    for gone in known.keys() - states.keys():
        _forget(kept, gone)
    waiting = [file for file, state in states.items() if known.get(file) != state]
    bunches = [waiting[first : first + _BUNCH] for first in range(0, len(waiting), _BUNCH)]
    running: dict[Child, list[str]] = {}
    while bunches or running:
        while bunches and len(running) < jobs and time.monotonic() < until:
            bunch = bunches.pop(0)
            running[Child(partial(_measured, bunch), _WHOLE_SUITE)] = bunch
        if not running:
            break
        for child in Child.ended(running):
            bunch = running.pop(child)
            _keep(kept, bunch, states, child)
            print(f"measured {len(bunch)} test files in {child.seconds:.0f} s of CPU time", flush=True)
    return sum(map(len, bunches))


def _forget(kept: sqlite3.Connection, test_file: str) -> None:
    kept.execute("delete from runs where test in (select name from tests where test_file = ?)", (test_file,))
    kept.execute("delete from tests where test_file = ?", (test_file,))
    kept.execute("delete from measured where test_file = ?", (test_file,))


def _keep(kept: sqlite3.Connection, bunch: Sequence[str], states: dict[str, str], child: Child) -> None:
    if not child.said:
        raise SystemExit(f"the tests could not be measured: {KEPT / 'measuring.log'} says why")
    found = Path(child.said.decode())
    for file in bunch:
        _forget(kept, file)
    kept.execute("attach ? as found", (str(found),))
    kept.execute("insert or replace into tests select * from found.tests")
    # What runs while tests are read belongs to none: a test without a name in the first file of the bunch.
    kept.execute("insert or replace into tests values (?, ?, 0, 0)", (_reading(bunch[0]), bunch[0]))
    kept.execute(
        "insert into runs select iif(context = '', ?, context), replace(path, ?, ''), numbits from found.line_bits"
        " join found.file on file.id = file_id join found.context on context.id = context_id",
        (_reading(bunch[0]), f"{SOURCE}/"),
    )
    kept.executemany("insert into measured values (?, ?)", [(file, states[file]) for file in bunch])
    kept.commit()
    kept.execute("detach found")
    found.unlink()


def _reading(test_file: str) -> str:
    return f"{test_file}::"


class _Measuring:
    """A pytest plugin: lines by test, and each test's cost."""

    def __init__(self, measured: coverage.Coverage) -> None:
        self._measured = measured
        self._examples: dict[str, float] = {}
        self._failed: set[str] = set()
        self.tests: list[tuple[str, str, float, bool]] = []

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for item in items:
            function = getattr(item, "obj", None)
            given = getattr(function, "_hypothesis_internal_use_settings", None)
            if isinstance(given, hypothesis.settings):
                few = hypothesis.settings(given, max_examples=min(_EXAMPLES, given.max_examples))
                setattr(function, "_hypothesis_internal_use_settings", few)  # noqa: B010
                self._examples[item.nodeid] = given.max_examples / few.max_examples

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._failed.add(report.nodeid)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._measured.switch_context(item.nodeid)
        before = sum(os.times()[:4])
        result = yield
        # A test that fails without a fault says nothing about one.
        if item.nodeid not in self._failed:
            file = item.nodeid.partition("::")[0]
            random = item.nodeid in self._examples or file.startswith(_RANDOM)
            seconds = (sum(os.times()[:4]) - before) * self._examples.get(item.nodeid, 1)
            self.tests.append((item.nodeid, file, seconds, random))
        return result


def _measured(files: Iterable[str], said: int, _: Path) -> None:
    # In a folder that stays, as it is read when this process has ended.
    name = KEPT / f"measuring-{os.getpid()}"
    measured = coverage.Coverage(data_file=str(name), source_pkgs=["fleetform"], config_file=False)
    plugin = _Measuring(measured)
    with quietly(KEPT / "measuring.log"):
        measured.start()
        pytest.main([*PYTEST, *files], plugins=[plugin])
        measured.stop()
        measured.save()
    with sqlite3.connect(name) as found:
        found.execute("create table tests (name text, test_file text, seconds real, random integer)")
        found.executemany("insert into tests values (?, ?, ?, ?)", plugin.tests)
    os.write(said, str(name).encode())


class Runs:
    """What was measured, for questions."""

    def __init__(self, kept: sqlite3.Connection) -> None:
        self._kept = kept
        self._tests = {
            name: Test(name, seconds, bool(random))
            for name, seconds, random in kept.execute("select name, seconds, random from tests")
            if not name.endswith("::")
        }

    def tests_of(self, file: Path, lines: Iterable[int]) -> list[Test]:
        """Tests that run the first of some lines that is run at all, in the order in which they are tried.

        What is run once and kept for others belongs to the test that came first, and what runs when a module is
        imported to none: where few tests run a line, any that runs something of the file comes after them; where none
        does, as nothing but tables stands in the file, any test may notice.
        """
        running = [(name, bits) for name, bits in self._rows(file) if name in self._tests]
        found = ([name for name, bits in running if _has_line(bits, line)] for line in lines)
        names = next(filter(None, found), [])
        others = {name for name, _ in running}.difference(names) if len(names) < _FEW else set()
        return [*self._ordered(names), *self._ordered(others)] or self._ordered(self._tests)

    def while_reading(self, file: Path, lines: Iterable[int]) -> bool:
        """Whether lines run before the first test does."""
        read = [bits for name, bits in self._rows(file) if name.endswith("::")]
        return any(_has_line(bits, line) for line in lines for bits in read)

    def _ordered(self, names: Iterable[str]) -> list[Test]:
        """Cheap ones first, one of each function before its other rows, and random ones at the end.

        Those that look at whole answers notice most for what they cost: once the cheapest have run, it is their turn.
        """
        turns: dict[str, int] = {}
        found = []
        for test in sorted((self._tests[name] for name in names), key=lambda each: (each.seconds, each.name)):
            turn = turns[test.function] = turns.get(test.function, -1) + 1
            found.append((test.random, test.seconds * (1 + turn / 4), test))
        ordered = [test for *_, test in sorted(found)]
        used = accumulate(test.seconds for test in ordered)
        cheapest = sum(each <= _CHEAPEST for each in used)
        rest = sorted(ordered[cheapest:], key=lambda test: not test.file.startswith(_WHOLE))
        return [*ordered[:cheapest], *rest]

    def _rows(self, file: Path) -> list[tuple[str, bytes]]:
        rows = self._kept.execute("select test, numbits from runs where file = ?", (str(file.relative_to(SOURCE)),))
        return rows.fetchall()


def _has_line(bits: bytes, line: int) -> bool:
    return line // 8 < len(bits) and bool(bits[line // 8] & (1 << (line % 8)))
