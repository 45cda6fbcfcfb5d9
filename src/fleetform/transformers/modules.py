"""Plugins in Python, in this process: a file with `run`, or a package's entry point `fleetform.transforms`.

A file may also have NAME, VERSION and OPTIONAL_FIELDS (tuples of name, help, example). `run` takes the object, and if
it has a second parameter the options.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.metadata
import importlib.util
import inspect
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from fleetform.syntax.printable import printable
from fleetform.transform.runner import Answer
from fleetform.transform.views import read_only
from fleetform.transform.wire import OptionalField
from fleetform.transformers.executables import LoadError, digest_of
from fleetform.transformers.plugins import TransformPlugin

ENTRY_POINTS = "fleetform.transforms"


class PythonPlugin(TransformPlugin):
    """A function, called in this process with a view that cannot be changed."""

    def __init__(self, run: Callable[..., Answer], name: str, file: str, identity: str, tells: object) -> None:
        fields = [OptionalField(*each) for each in getattr(tells, "OPTIONAL_FIELDS", ())]
        super().__init__(name, str(getattr(tells, "VERSION", "")), file, identity, fields)
        self._run, self._takes_extras = run, _takes_extras(run)

    def answer(self, resource: Mapping[str, Any], extras: Mapping[str, str]) -> Answer:
        view = read_only(resource)
        return self._run(view, extras) if self._takes_extras else self._run(view)


def _takes_extras(run: Callable[..., Answer]) -> bool:
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(each.kind in positional for each in inspect.signature(run).parameters.values()) > 1


def defines_run(path: str) -> bool:
    """Whether a Python file has a function run; nothing of it is executed."""
    try:
        with open(path, "rb") as file:
            tree = ast.parse(file.read())
    except SyntaxError as error:
        message = f"it is not valid Python: {printable(error.msg)} (line {error.lineno})"
        raise LoadError(message, f"try it by hand: python {path}") from error
    return any(isinstance(each, ast.FunctionDef) and each.name == "run" for each in tree.body)


def load_module(path: str) -> TransformPlugin:
    """A plugin of a Python file."""
    file = os.path.basename(path)
    digest = digest_of(path)
    # One name for one content at one place: two files of one name are two modules.
    name = f"_fleetform_transform_{hashlib.sha256(f'{path} {digest}'.encode()).hexdigest()[:16]}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
        return PythonPlugin(module.run, str(getattr(module, "NAME", file)), file, digest, module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        message = printable(f"it cannot be loaded: {type(error).__name__}: {error}")
        raise LoadError(message, f"try it by hand: python {path}") from error


def installed_plugins() -> Iterator[tuple[str, TransformPlugin | LoadError]]:
    """Plugins of installed packages, by name, each loaded or why it cannot be."""
    for point in sorted(importlib.metadata.entry_points(group=ENTRY_POINTS), key=lambda each: each.name):
        where = point.dist
        package = f"{where.name} {where.version}" if where is not None else ""
        try:
            found = point.load()
            run = found if inspect.isfunction(found) else found.run
            yield point.name, PythonPlugin(run, point.name, "", f"{point.name}@{package}", found)
        except (Exception, SystemExit) as error:
            message = printable(f"it cannot be loaded: {type(error).__name__}: {error}")
            yield point.name, LoadError(message, f"check the package {package}" if package else "check its package")
