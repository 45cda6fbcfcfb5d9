"""Following a rollout to its end: drawn again and again on a terminal, a line for each change elsewhere."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import NamedTuple

import click

from fleetform.app.errors import NoAnswerError
from fleetform.cli.rollout.view import cause_text, progress_text, status_lines
from fleetform.cli.terminal import moves_cursor, own
from fleetform.cli.text import Painter, cut
from fleetform.model.answers.planning import RolloutAnswer

_BETWEEN = 1.0
# So long nobody may answer who did before: a server is being restarted.
_PATIENCE = 60.0
DONE, FAILED, TIMED_OUT = 0, 1, 5


class Standing(NamedTuple):
    """A rollout as it is, and when that was."""

    item: RolloutAnswer
    now: datetime


def is_over(item: RolloutAnswer) -> bool:
    """Whether nothing more comes of it by itself. One that is halted may still be healed by a retry that is due."""
    if item.ended is not None:
        return True
    trying = any(each.state == "InFlight" or (each.state == "Failed" and each.until) for each in item.causes)
    return item.phase == "Halted" and not trying


class Follower:
    """Reads until a rollout is over. read asks for it by the name that it is given; shows: it is drawn meanwhile."""

    def __init__(
        self,
        read: Callable[[str], Standing],
        shows: bool,
        paint: Painter,
        timeout: timedelta | None = None,
        pause: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._read, self._shows, self._paint = read, shows, paint
        self._timeout, self._pause, self._clock = timeout, pause, clock
        self._drawn: list[str] = []
        self._said = ""
        # Nobody answers: what is known of the rollout is of before.
        self._is_away = False

    def follow(self, name: str) -> tuple[Standing, int]:
        """How it ended, and the exit code: 0 done, 1 not, 5 it took too long."""
        begun = answered = self._clock()
        found = self._read(name)
        while True:
            if not self._is_away:
                self._show(found)
            if is_over(found.item):
                return found, DONE if found.item.phase == "Succeeded" else FAILED
            if self._timeout is not None and self._clock() - begun >= self._timeout.total_seconds():
                return found, TIMED_OUT
            self._pause(_BETWEEN)
            try:
                # By its own name: a preset may have another one meanwhile.
                found, answered = self._read(found.item.name), self._clock()
                self._is_away = False
            except NoAnswerError as error:
                if error.exit_code != 4 or self._clock() - answered > _PATIENCE:
                    raise
                self._is_away = True
                self._say(f"{error}; trying again")

    def _show(self, found: Standing) -> None:
        if not self._shows:
            return
        if not moves_cursor(sys.stdout):
            self._say(progress_text(found.item))
            return
        columns, rows = shutil.get_terminal_size()
        lines = status_lines(found.item, found.now, self._paint, columns, rows - 1)[: rows - 1]
        if lines != self._drawn:
            back = f"\x1b[{len(self._drawn)}A\x1b[J" if self._drawn else ""
            click.echo((own(back) if back else "") + "\n".join(lines))
            self._drawn = lines

    def _say(self, text: str) -> None:
        """A line, unless it was the last one."""
        if text != self._said:
            self._said, self._drawn = text, []
            click.echo(f"{datetime.now():%H:%M:%S}  {text}", err=True)


def missing_text(found: Standing) -> str:
    """What there was still to do: which stages lack how many clusters, and what those wait for."""
    lines = []
    for each in found.item.stages:
        has, goes_back = each.clusters, found.item.phase == "RollingBack"
        to_go = has.updated if goes_back else has.total - has.healthy
        if each.done is None and (to_go if goes_back else has.total):
            back = " back" if goes_back else ""
            lines.append(f"  stage {each.name}: {to_go:,} of {has.total:,} clusters to go{back}")
    lines += [f"  {each.state}: {cut(cause_text(each, found.now), 200)}" for each in found.item.causes]
    return "\n".join(lines)
