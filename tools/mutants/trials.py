"""Whether the tests notice a mutant.

Most are tried in a warm room: a process that has imported the product and read all tests. A child of it puts the
mutant's code into the functions that are there, runs the tests that are asked for, and ends. A mutant of what runs
when modules are imported is tried in a child that has imported nothing yet, and reads a copy of the product with the
fault in it; other processes that tests start read that copy in both ways.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import CodeType, FunctionType
from typing import NamedTuple

import hypothesis
import pytest

from tools.mutants.children import Child, quietly
from tools.mutants.faults import Mutant
from tools.mutants.runs import KEPT, PYTEST, SOURCE, Test

# A mutant may loop or wait for ever: a test that takes so much longer than it took has noticed it. Waiting is measured
# on a clock that other processes move along, too.
_PATIENCE = 10
_PATIENCE_TO_WAIT = 60
_START = 5
_START_FRESH = 60
READING = "(reading the tests)"
_PASSED = "(all passed)"

Items = Mapping[str, pytest.Item]


class Trial(NamedTuple):
    """A mutant and the tests that it meets, one after the other until one fails."""

    mutant: Mutant
    tests: Sequence[Test]


class WarmRoom:
    """The product and the tests, imported; a pytest plugin, as that is how tests are read."""

    def __init__(self, use: Callable[[WarmRoom], None]) -> None:
        self._use = use
        self._items: Items = {}
        self._functions: dict[str, list[FunctionType]] = {}

    @classmethod
    def enter(cls, test_files: Iterable[str], use: Callable[[WarmRoom], None]) -> None:
        """Reads test files, and uses what is there then."""
        _pytest([cls(use)], test_files, "-s")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self._items = _by_name(session)
        for each in gc.get_objects():
            if isinstance(each, FunctionType):
                self._functions.setdefault(each.__code__.co_filename, []).append(each)
        # Children collect their own garbage, not what was there before.
        gc.freeze()
        self._use(self)
        return True

    def can_take(self, mutant: Mutant) -> bool:
        return bool(self._changes(mutant))

    def child(self, trial: Trial) -> Child:
        def run(said: int, scratch: Path) -> None:
            _copy_with(trial.mutant, scratch)
            for function, code in self._changes(trial.mutant):
                function.__code__ = code
            _run(trial.tests, self._items, said)

        return Child(run, _longest(trial.tests))

    def failing(self, tests: Sequence[Test]) -> set[str]:
        """Those of some tests that fail without any fault: what they noticed was something else."""
        found: set[str] = set()
        left = list(tests)
        while left:
            child = Child(partial(self._run_as_is, left), _longest(left))
            Child.ended([child])
            failed = killer(child)
            found.update([failed] if failed else [])
            left = left[[each.name for each in left].index(failed) + 1 :] if failed else []
        return found

    def _run_as_is(self, tests: Sequence[Test], said: int, _: Path) -> None:
        _run(tests, self._items, said)

    def _changes(self, mutant: Mutant) -> list[tuple[FunctionType, CodeType]]:
        """The functions that differ, with the code that they become; none where that cannot be told."""
        become: dict[tuple[str, int], list[CodeType]] = {}
        for code in _inside(mutant.code):
            become.setdefault((code.co_qualname, code.co_firstlineno), []).append(code)
        found = []
        for function in self._functions.get(str(mutant.file), ()):
            now = function.__code__
            codes = become.get((now.co_qualname, now.co_firstlineno), [now])
            if now in codes:
                continue
            if len(codes) > 1 or codes[0].co_freevars != now.co_freevars:
                return []
            found.append((function, codes[0]))
        return found


def fresh_child(trial: Trial) -> Child:
    """In a process that has imported nothing of the product."""
    assert "fleetform" not in sys.modules

    def run(said: int, scratch: Path) -> None:
        class Loop:
            @pytest.hookimpl(tryfirst=True)
            def pytest_runtestloop(self, session: pytest.Session) -> bool:
                if not session.testsfailed:
                    _run(trial.tests, _by_name(session), said)
                return True

        _copy_with(trial.mutant, scratch)
        sys.path.insert(0, str(scratch))
        _pytest([Loop()], dict.fromkeys(each.file for each in trial.tests), "-s")

    return Child(run, _START_FRESH + _longest(trial.tests))


def killer(child: Child) -> str | None:
    """The test that noticed: the last that began, unless all passed."""
    *_, last = [READING, *child.said.decode(errors="replace").splitlines()]
    return None if last == _PASSED else last


def _by_name(session: pytest.Session) -> Items:
    return {each.nodeid: each for each in session.items}


def _longest(tests: Iterable[Test]) -> float:
    return sum(_START + _PATIENCE_TO_WAIT * each.seconds for each in tests)


def _pytest(plugins: list[object], files: Iterable[str], *arguments: str) -> None:
    # That a random example fails is enough: making it small takes longer than finding it.
    found = (hypothesis.Phase.explicit, hypothesis.Phase.generate)
    hypothesis.settings.register_profile("mutants", deadline=None, phases=found, database=None)
    chance = ("--hypothesis-profile=mutants", "--hypothesis-seed=0")
    with quietly(KEPT / "trials.log"):
        pytest.main([*PYTEST, *chance, *arguments, *files], plugins=plugins)


def _run(tests: Iterable[Test], items: Items, said: int) -> None:
    """Runs tests until one fails, and tells each that begins."""
    failed: list[str] = []

    class Failures:
        def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
            failed.extend([report.nodeid] if report.failed else [])

    chosen = [(items[each.name], each) for each in tests if each.name in items]
    for index, (item, test) in enumerate(chosen):
        if not item.config.pluginmanager.has_plugin("failures"):
            item.config.pluginmanager.register(Failures(), "failures")
        os.write(said, f"{test.name}\n".encode())
        # Without a handler these end the process.
        signal.setitimer(signal.ITIMER_PROF, _START + _PATIENCE * test.seconds)
        signal.setitimer(signal.ITIMER_REAL, _START_FRESH + _PATIENCE_TO_WAIT * test.seconds)
        following = chosen[index + 1][0] if index + 1 < len(chosen) else None
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if failed:
            return
    os.write(said, f"{_PASSED}\n".encode())


def _inside(code: CodeType) -> Iterator[CodeType]:
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield each
            yield from _inside(each)


def _copy_with(mutant: Mutant, folder: Path) -> None:
    """The product's packages as links, down to the file with the fault: what is imported from now on."""
    steps = mutant.file.relative_to(SOURCE).parts
    for depth, step in enumerate(steps[1:], 1):
        real, copied = SOURCE.joinpath(*steps[:depth]), folder.joinpath(*steps[:depth])
        copied.mkdir()
        for entry in real.iterdir():
            if entry.name != step:
                (copied / entry.name).symlink_to(entry)
    folder.joinpath(*steps).write_text(mutant.text, encoding="utf-8")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(folder), os.environ.get("PYTHONPATH"))))
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    sys.dont_write_bytecode = True
