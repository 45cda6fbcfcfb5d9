"""The public library of transforms: plugins, a runner, and what a run gives.

A plugin is anything with a name and `run(resource) → Response`. It sees the object read-only, and answers with JSON
patch operations, a whiteout, new resources. A Runner asks every plugin and settles their operations by priority. The
names here are public and stay; the modules inside are not. Nothing here starts a program or reads a file: adapters for
executables are in fleetform.transformers.
"""

from fleetform.engine.transform.records import (
    Ignored,
    Kept,
    NewResource,
    Proposal,
    Reason,
    Response,
    Settled,
    TransformError,
)
from fleetform.engine.transform.settle import settle
from fleetform.syntax.json_patch import (
    CRANE,
    STRICT,
    Operation,
    PatchError,
    Relaxations,
    apply_patch,
    apply_text,
    parse_patch,
    pointer_to,
    read_patch,
    write_patch,
)
from fleetform.transform.operations import add, copy, move, operations_between, remove, replace, require
from fleetform.transform.runner import Answer, Failure, Outcome, Plugin, PluginError, Runner
from fleetform.transform.views import plain, read_only, thaw

__all__ = [
    "CRANE",
    "STRICT",
    "Answer",
    "Failure",
    "Ignored",
    "Kept",
    "NewResource",
    "Operation",
    "Outcome",
    "PatchError",
    "Plugin",
    "PluginError",
    "Proposal",
    "Reason",
    "Relaxations",
    "Response",
    "Runner",
    "Settled",
    "TransformError",
    "add",
    "apply_patch",
    "apply_text",
    "copy",
    "move",
    "operations_between",
    "parse_patch",
    "plain",
    "pointer_to",
    "read_only",
    "read_patch",
    "remove",
    "replace",
    "require",
    "settle",
    "thaw",
    "write_patch",
]
