"""The health of what was delivered, as each cluster says it is to be judged."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Literal, NamedTuple

import msgspec
from msgspec import Struct

from fleetform.model.results.decisions import PluginKey
from fleetform.model.shape import read_record
from fleetform.outside.files import read_file, reason
from fleetform.outside.processes import Limits, ProcessError, Programs
from fleetform.ports.observing import Delivered, Health, Verdict
from fleetform.syntax.times import parse_duration
from fleetform.syntax.yaml_in import YamlError, read_one

_LONGEST_FILE = 4 * 1024 * 1024
# How often something is looked at again that nothing tells about.
_AGAIN = timedelta(seconds=10)
# So many commands run at a time. Most of them wait for a cluster.
_AT_ONCE = 16
_HEALTHY, _FAILED = 0, 1
_SHOWN_HASH = 15


class _Seen(Struct, rename="camel"):
    """What a file says of one plugin. Without inputHash it is about what was there when the file was written."""

    health: Literal["Healthy", "Failed", "Unknown"] = "Unknown"
    message: str = ""
    input_hash: str | None = None


class _HealthFile(Struct, rename="camel"):
    """A health file: of the whole cluster, or plugin by plugin."""

    reachable: bool = True
    health: Literal["Healthy", "Failed", "Unknown"] = "Unknown"
    message: str = ""
    plugins: dict[str, _Seen] = {}


class _Report(NamedTuple):
    """A health file as it was read, and when it was last changed."""

    path: str
    changed: datetime
    file: _HealthFile


class _Asked(NamedTuple):
    """The look at which a plugin's command was asked last, about which hash, and what it said."""

    look: int
    input_hash: str
    verdict: Verdict


class ClusterObserver:
    """Looks at each cluster by its own way. command_folder holds the commands that clusters may name.

    seconds is how long one command may take. A pass waits for all of them: none is begun later than begun_for seconds
    after the first ones, and those that had no turn then are the first the next time.
    """

    def __init__(self, command_folder: str | None = None, seconds: float = 10.0, begun_for: float = 20.0) -> None:
        self._commands = command_folder
        self._begun_for = begun_for
        self._programs = Programs(Limits(seconds=seconds, output=1_000_000))
        self._looks = 0
        self._asked: dict[PluginKey, _Asked] = {}

    def observe(self, delivered: Sequence[Delivered], now: datetime) -> Mapping[PluginKey, Verdict]:
        files: dict[str, _Report | str] = {}
        told = self._ask_all([each for each in delivered if _command_of(each) is not None], now)
        return {each.key: told.get(each.key) or self._verdict(each, now, files) for each in delivered}

    def _verdict(self, delivered: Delivered, now: datetime, files: dict[str, _Report | str]) -> Verdict:
        health = delivered.health
        if health is not None and health.file is not None:
            path = os.path.join(delivered.base, health.file)
            if path not in files:
                files[path] = _read(path)
            return _from_file(files[path], delivered, now)
        after = health.assume.after if health is not None and health.assume is not None else None
        ready = delivered.since + (parse_duration(after) if after is not None else timedelta(0))
        return Verdict("Healthy") if ready <= now else Verdict("Unknown", f"assumed healthy after {after}", ready)

    def _ask_all(self, delivered: Sequence[Delivered], now: datetime) -> dict[PluginKey, Verdict]:
        """What commands say: many at a time, those first that were asked longest ago or never."""
        # What nobody asks about any more is forgotten.
        self._asked = {each.key: self._asked[each.key] for each in delivered if each.key in self._asked}
        self._looks += 1
        if not delivered:
            return {}
        in_turn = sorted(delivered, key=self._turn)
        began = time.monotonic()

        def ask(place: int, each: Delivered) -> Verdict | None:
            # The first ones have a turn however slow this machine is.
            if place >= _AT_ONCE and time.monotonic() - began > self._begun_for:
                return None
            return self._ask(_command_of(each) or "", each, now)

        with ThreadPoolExecutor(min(_AT_ONCE, len(in_turn)), "fleetform health") as threads:
            answers = list(threads.map(ask, range(len(in_turn)), in_turn))
        took = timedelta(seconds=int(time.monotonic() - began))
        found: dict[PluginKey, Verdict] = {}
        for each, answer in zip(in_turn, answers, strict=True):
            if answer is None:
                verdict = _without_turn(each, self._asked.get(each.key), now)
            else:
                verdict = answer
                self._asked[each.key] = _Asked(self._looks, each.input_hash, answer)
            if took >= _AGAIN and verdict.look_at is not None:
                # The pause is after a long look, not within it: else passes would do nothing but look.
                verdict = verdict._replace(look_at=verdict.look_at + took)
            found[each.key] = verdict
        return found

    def _turn(self, delivered: Delivered) -> tuple[int, PluginKey]:
        asked = self._asked.get(delivered.key)
        return asked.look if asked is not None else 0, delivered.key

    def _ask(self, name: str, delivered: Delivered, now: datetime) -> Verdict:
        again = now + _AGAIN
        if self._commands is None:
            hint = "start serve with --health-dir, the folder that the command is in"
            return Verdict("Unknown", f"the health command {name} needs --health-dir", again, hint=hint)
        path = os.path.join(self._commands, name)
        if os.path.basename(name) != name or name.startswith(".") or not os.path.isfile(path):
            hint = "put it there, or name another in the cluster's spec.health"
            return Verdict("Unknown", f"there is no health command {name} in {self._commands}", again, hint=hint)
        organization, cluster, plugin = delivered.key
        asked = {
            "organization": organization,
            "cluster": cluster,
            "plugin": plugin,
            "inputHash": delivered.input_hash,
            "since": delivered.since,
        }
        try:
            done = self._programs.run([path, cluster, plugin, delivered.input_hash], msgspec.json.encode(asked))
        except ProcessError as error:
            return Verdict("Unknown", error.message, again, hint=f"run {path} by hand")
        message = done.stdout.decode("utf-8", "replace").strip().partition("\n")[0][:500]
        found: Health = "Healthy" if done.code == _HEALTHY else "Failed" if done.code == _FAILED else "Unknown"
        if found == "Unknown":
            message = message or f"the health command {name} ended with exit code {done.code}"
            return Verdict(found, message, again, hint=f"{path} says 0 healthy, 1 failed; anything else is no answer")
        return Verdict(found, message, None if found == "Failed" else again)


def _command_of(delivered: Delivered) -> str | None:
    """The command that judges it, if one does."""
    health = delivered.health
    return health.command if health is not None and health.file is None else None


def _without_turn(delivered: Delivered, last: _Asked | None, now: datetime) -> Verdict:
    """Nothing is known anew. Why nobody could tell the last time still stands; what was healthy then is not so now
    without a look."""
    again = now + _AGAIN
    if last is not None and last.input_hash == delivered.input_hash and last.verdict.health == "Unknown":
        return last.verdict._replace(look_at=again)
    return Verdict("Unknown", "its health command has its turn at the next look", again)


def _read(path: str) -> _Report | str:
    """What a health file says, or why it cannot be read."""
    try:
        changed = datetime.fromtimestamp(os.stat(path).st_mtime, UTC)
        found = read_record(read_one(read_file(path, _LONGEST_FILE).decode()), _HealthFile)
    except FileNotFoundError:
        return f"there is no file {path} yet"
    except OSError as error:
        return f"{path} cannot be read: {reason(error)}"
    except (UnicodeDecodeError, YamlError) as error:
        return f"{path} cannot be read: {error}"
    if isinstance(found, list):
        first = found[0]
        return f"{path} cannot be read: {first.message}" + (f" ({first.hint})" if first.hint else "")
    return _Report(path, changed, found)


def _from_file(report: _Report | str, delivered: Delivered, now: datetime) -> Verdict:
    again = now + _AGAIN
    if isinstance(report, str):
        return Verdict("Unknown", report, again, hint="write it, or change the cluster's spec.health")
    path, changed, file = report
    if not file.reachable:
        return Verdict("Unknown", file.message or f"{path}: the cluster does not answer", again, reachable=False)
    seen = file.plugins.get(delivered.key[2]) or _Seen(file.health, file.message)
    _, cluster, plugin = delivered.key
    hint = f"write {path} again"
    if seen.input_hash is not None:
        if seen.input_hash != delivered.input_hash:
            told, wanted = seen.input_hash[:_SHOWN_HASH], delivered.input_hash[:_SHOWN_HASH]
            message = f"the health file of {cluster} is about another state ({told}) than was delivered ({wanted})"
            return Verdict("Unknown", f"{message}: waiting for a newer one", again, hint=hint)
    elif changed < delivered.since:
        # It is about what was there before.
        when = f"{_clock(changed)}, delivered {_clock(delivered.since)}"
        message = f"the health file of {cluster} was written before this delivery ({when}): waiting for a newer one"
        return Verdict("Unknown", message, again, hint=hint)
    if seen.health == "Unknown":
        message = seen.message or f"the health file of {cluster} does not say how {plugin} is doing"
        return Verdict("Unknown", message, again, hint=f"have {path} say health: Healthy or Failed")
    return Verdict(seen.health, seen.message, again)


def _clock(time: datetime) -> str:
    return f"{time.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
