"""Kustomizations, built by kustomize itself, which reaches neither files outside its folders nor the network."""

from __future__ import annotations

from fleetform.outside.processes import Programs
from fleetform.renderers.failures import RenderError, error_of_tool
from fleetform.renderers.parse import DocumentError, objects_in
from fleetform.renderers.tools import Tool
from fleetform.syntax.trees import YamlMap

# kustomize would fetch any address in place of a file, and the digest of a source does not cover such bytes. Addresses
# are refused before; this is for one that was overlooked. Without a PATH it finds no git, and nobody listens on the
# port of this proxy. Go uses no proxy for addresses of this machine.
_NOWHERE = "http://127.0.0.1:9"
_NO_NETWORK = {"PATH": "", "HTTP_PROXY": _NOWHERE, "HTTPS_PROXY": _NOWHERE}


def render_kustomization(programs: Programs, tool: Tool, root: str, folder: str) -> list[YamlMap]:
    """The objects of the kustomization in a folder; messages show paths without the root."""
    done = programs.run((*tool.command, folder), environment=_NO_NETWORK, offline=True)
    printed = error_of_tool(done.stderr, root)
    if done.code:
        hint = "rendering fetches nothing: put the file into the folder" if "dial tcp" in printed else ""
        message = f"{tool}: {printed or f'it ended with {done.code}'}"
        raise RenderError(message, hint or "check the kustomization, and the files that it names")
    try:
        return list(objects_in(done.stdout.decode("utf-8", "replace")))
    except DocumentError as error:
        message = f"line {error.line} of what {tool.name} prints: {error.message}"
        raise RenderError(message, error.hint or "check the files that the kustomization names") from error
