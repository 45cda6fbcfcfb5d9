"""Kustomizations, by kustomize itself, which reaches neither files outside its folders nor the network."""

from __future__ import annotations

from fleetform.outside.processes import Programs
from fleetform.renderers.failures import RenderError, words_of
from fleetform.renderers.objects import DocumentError, Tree, objects_in
from fleetform.renderers.tools import Tool

# It would fetch whatever address stands where a file may stand; the digest of a source covers no such bytes. Addresses
# are refused before; this is for one that nobody saw. Without a path it finds no git, and this proxy is a port that
# nobody listens on. Go asks no proxy for addresses of this machine.
_NOWHERE = "http://127.0.0.1:9"
_NO_NETWORK = {"PATH": "", "HTTP_PROXY": _NOWHERE, "HTTPS_PROXY": _NOWHERE}


def render_kustomization(programs: Programs, tool: Tool, root: str, folder: str) -> list[Tree]:
    """What the kustomization of a folder builds; root is what its messages leave out of paths."""
    done = programs.run((*tool.command, folder), environment=_NO_NETWORK, offline=True)
    said = words_of(done.stderr, root)
    if done.code:
        hint = "rendering fetches nothing: bring it into the folder" if "dial tcp" in said else ""
        message = f"{tool}: {said or f'it ended with {done.code}'}"
        raise RenderError(message, hint or "check the kustomization, and the files that it names")
    try:
        return list(objects_in(done.stdout.decode("utf-8", "replace")))
    except DocumentError as error:
        message = f"line {error.line} of what {tool.name} prints: {error.message}"
        raise RenderError(message, error.hint or "check the files that the kustomization names") from error
