"""The health of what was delivered, as each cluster says it is to be judged."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
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


class ClusterObserver:
    """Looks at each cluster by its own way. command_folder holds the commands that clusters may name."""

    def __init__(self, command_folder: str | None = None, seconds: float = 10.0) -> None:
        self._commands = command_folder
        self._programs = Programs(Limits(seconds=seconds, output=1_000_000))

    def observe(self, delivered: Sequence[Delivered], now: datetime) -> Mapping[PluginKey, Verdict]:
        files: dict[str, _Report | str] = {}
        return {each.key: self._verdict(each, now, files) for each in delivered}

    def _verdict(self, delivered: Delivered, now: datetime, files: dict[str, _Report | str]) -> Verdict:
        health = delivered.health
        if health is not None and health.file is not None:
            path = os.path.join(delivered.base, health.file)
            if path not in files:
                files[path] = _read(path)
            return _from_file(files[path], delivered, now)
        if health is not None and health.command is not None:
            return self._ask(health.command, delivered, now)
        after = health.assume.after if health is not None and health.assume is not None else None
        ready = delivered.since + (parse_duration(after) if after is not None else timedelta(0))
        return Verdict("Healthy") if ready <= now else Verdict("Unknown", f"assumed healthy after {after}", ready)

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
