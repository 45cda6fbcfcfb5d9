"""Small transform plugins, of every kind, written into a folder."""

from __future__ import annotations

import sys
from pathlib import Path

METADATA = '{"name":"%s","version":"v1","requestVersion":["v1"],"responseVersion":["v1"]}'

SHELL = """#!/bin/sh
read -r request
if [ "$request" = "{}" ]; then
  echo '%(metadata)s'
else
  echo '%(reply)s'
fi
"""

# The same plugin for a single request, for a stream, and as a module: it labels every object with its owner.
PYTHON = """#!%(python)s
import json, sys

NAME, VERSION = "owner", "1.2"
OPTIONAL_FIELDS = [("owner", "Who owns it", "team-a")]


def run(resource, extras):
    metadata = resource["metadata"]
    if metadata["name"].startswith("bad"):
        raise ValueError("no owner for " + metadata["name"])
    if resource["kind"] == "Endpoints":
        return {"version": "v1", "isWhiteOut": True}
    value = extras.get("owner", "nobody")
    operations = [{"op": "add", "path": "/metadata/labels/owner", "value": value}]
    if "labels" not in metadata:
        operations.insert(0, {"op": "add", "path": "/metadata/labels", "value": {}})
    return {"version": "v1", "patches": operations}


def main():
    streams = sys.argv[1:] == ["stream"]
    for line in sys.stdin:
        request = json.loads(line)
        if not request:
            fields = [dict(zip(("flagName", "help", "example"), each)) for each in OPTIONAL_FIELDS]
            reply = {"name": NAME, "version": VERSION, "requestVersion": ["v1"], "responseVersion": ["v1"],
                     "optionalFields": fields, "modes": %(modes)s}
        else:
            extras, number = request.pop("extras") or {}, request.pop("requestId", None)
            try:
                reply = run(request, extras)
            except ValueError as error:
                if not streams:
                    print(json.dumps({"type": "x", "message": "ValueError", "error": str(error)}), file=sys.stderr)
                    sys.exit(1)
                reply = {"error": "ValueError: " + str(error)}
            if streams:
                reply["requestId"] = number
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
"""


def shell_plugin(folder: Path, file: str, reply: str, name: str = "", metadata: str | None = None) -> Path:
    """A shell script that always replies the same."""
    known = METADATA % (name or file) if metadata is None else metadata
    return script(folder, file, SHELL % {"metadata": known, "reply": reply})


def script(folder: Path, file: str, text: str, run_bit: bool = True) -> Path:
    path = folder / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755 if run_bit else 0o644)
    return path


def python_plugin(folder: Path, file: str = "owner.py", *, streams: bool = False, run_bit: bool = True) -> Path:
    """A plugin in Python: a program, with a mode more if it streams; without a run bit a module."""
    return script(
        folder, file, PYTHON % {"python": sys.executable, "modes": '["stream"]' if streams else "[]"}, run_bit
    )
