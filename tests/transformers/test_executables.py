"""Executables as Crane has them: the wire format, discovery, and the bounds that they run in."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fleetform.outside.processes import Limits
from fleetform.transform import Failure, Operation, Response, Runner
from fleetform.transform.runner import ask
from fleetform.transformers.discover import Discovered, discover
from fleetform.transformers.executables import Workshop, digest_of
from fleetform.transformers.plugins import BoundPlugin
from support.plugins import METADATA, python_plugin, script, shell_plugin

TREE: dict[str, Any] = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": {}}
ADD = '{"version":"v1","patches":[{"op":"add","path":"/spec/x","value":1}]}'
SMALL = Limits(seconds=3, memory=300_000_000, output=1_000_000)


@pytest.fixture
def workshop() -> Iterator[Workshop]:
    with Workshop(SMALL) as opened:
        yield opened


def answer(found: Discovered, name: str, extras: dict[str, str] | None = None, tree: Any = TREE) -> Response | Failure:
    plugin = next(each for each in found.plugins if each.name == name)
    return ask(BoundPlugin(plugin, extras), tree)


def failure(found: Discovered, name: str) -> str:
    got = answer(found, name)
    assert isinstance(got, Failure)
    return got.message


def names(found: Discovered) -> list[str]:
    return [each.name for each in found.plugins]


def test_a_plugin_is_asked_for_metadata_and_for_patches(tmp_path: Path, workshop: Workshop) -> None:
    python_plugin(tmp_path, "plugin")
    found = discover(str(tmp_path), workshop)
    (plugin,) = found.plugins
    assert (plugin.name, plugin.version, plugin.file) == ("owner", "1.2", "plugin")
    assert [(each.flag_name, each.help, each.example) for each in plugin.optional_fields] == [
        ("owner", "Who owns it", "team-a")
    ]
    assert plugin.identity == digest_of(str(tmp_path / "plugin"))
    got = answer(found, "owner", {"owner": "team-b"})
    assert isinstance(got, Response)
    assert got.operations[-1] == Operation(op="add", path="/metadata/labels/owner", value="team-b")


def test_a_request_is_the_object_on_one_line_with_extras(tmp_path: Path, workshop: Workshop) -> None:
    text = f"#!/bin/sh\nread -r line\n[ \"$line\" = '{{}}' ] && echo '{METADATA % 'say'}' && exit\n"
    script(tmp_path, "say", text + 'cat >&2\necho "$line" >&2\nexit 1\n')
    found = discover(str(tmp_path), workshop)
    object_ = '"apiVersion":"v1","kind":"Pod","metadata":{"name":"web"},"spec":{}'
    assert failure(found, "say") == f'{{{object_},"extras":null}}'
    got = answer(found, "say", {"a": "b"})
    assert isinstance(got, Failure)
    assert got.message == f'{{{object_},"extras":{{"a":"b"}}}}'


@pytest.mark.rule("R4-4")
def test_plugins_are_found_below_a_folder_in_the_order_of_their_paths(tmp_path: Path, workshop: Workshop) -> None:
    for file in ("b", "a/z", "a-b", "c/d/e"):
        shell_plugin(tmp_path, file, ADD)
    (tmp_path / "README.md").write_text("# Plugins\n")
    found = discover(str(tmp_path), workshop)
    assert names(found) == ["a/z", "a-b", "b", "c/d/e"]
    assert found.problems == ()


@pytest.mark.rule("R4-6")
def test_a_plugin_without_a_name_goes_by_its_file(tmp_path: Path, workshop: Workshop) -> None:
    shell_plugin(tmp_path, "10-mine", ADD, metadata='{"requestVersion":["v1"],"responseVersion":["v1"]}')
    assert names(discover(str(tmp_path), workshop)) == ["10-mine"]


BAD = {
    "exits": ("#!/bin/sh\necho no such option >&2\nexit 3\n", "it ended with 3: no such option"),
    "stderr": (f"#!/bin/sh\necho deprecated >&2\necho '{METADATA % 'x'}'\n", "it complains when asked for"),
    "warns": (f"#!/bin/sh\necho WARNING: old libc\necho '{METADATA % 'x'}'\n", "its metadata cannot be read: "),
    "empty": ("#!/bin/sh\ncat > /dev/null\n", "its metadata is empty"),
    "old": ('#!/bin/sh\necho \'{"name":"x","requestVersion":["v0"]}\'\n', "its metadata has no v1 in requestVersion"),
    "hangs": ("#!/bin/sh\nsleep 300\n", "hangs took longer than 3 s"),
    "floods": ("#!/bin/sh\nyes\n", "floods printed more than 1 MB"),
    "missing": ("#!/no/such/interpreter\n", "missing cannot be started: No such file or directory"),
}  # fmt: skip


@pytest.mark.rule("R4-19")
def test_a_plugin_that_does_not_load_is_named_and_the_rest_are_found(tmp_path: Path, workshop: Workshop) -> None:
    for file, (text, _) in BAD.items():
        script(tmp_path, file, text)
    shell_plugin(tmp_path, "good", ADD)
    shell_plugin(tmp_path, "zgood", ADD)
    found = discover(str(tmp_path), workshop)
    assert names(found) == ["good", "zgood"]
    problems = {each.file: each for each in found.problems}
    assert problems.keys() == BAD.keys()
    for file, (_, message) in BAD.items():
        assert problems[file].message.startswith(message)
        assert problems[file].hint


def test_a_script_without_a_run_bit_is_mentioned_and_other_files_are_not(tmp_path: Path, workshop: Workshop) -> None:
    script(tmp_path, "forgotten.sh", "#!/bin/sh\necho hi\n", run_bit=False)
    script(tmp_path, "notes.txt", "a plugin\n", run_bit=False)
    (problem,) = discover(str(tmp_path), workshop).problems
    assert (problem.file, problem.is_error) == ("forgotten.sh", False)
    assert problem.hint == f"chmod +x {tmp_path}/forgotten.sh"


@pytest.mark.rule("S43")
def test_nothing_outside_the_folder_runs(tmp_path: Path, workshop: Workshop) -> None:
    folder = tmp_path / "plugins"
    shell_plugin(folder, "inside", ADD)
    outside = shell_plugin(tmp_path, "outside", ADD)
    (folder / "link").symlink_to(outside)
    (folder / "same").symlink_to(folder / "inside")
    found = discover(str(folder), workshop)
    assert [each.file for each in found.plugins] == ["inside", "same"]
    assert [(each.file, each.message) for each in found.problems] == [
        ("link", "it is a link that leads out of the folder")
    ]


def test_a_folder_that_is_not_there_is_a_problem(workshop: Workshop) -> None:
    assert [each.message for each in discover("/no/such/folder", workshop).problems] == ["there is no such folder"]


REPLIES = {
    "fails": ("exit 1", '{"type":"x","message":"error when running plugin","error":"no \\u001b[1mspec"}',
              r"error when running plugin: no \x1b[1mspec"),
    "dies": ("exit 2", "", "it ended with 2"),
    "shouts": ("exit 1", "\x1b]0;owned\x07 boom", r"\x1b]0;owned\x07 boom"),
    "warns": ("echo 'WARNING: x'; exit 0", "", "its reply cannot be read: "),
    "silent": ("exit 0", "", "its reply is empty"),
    "wrong": ('echo \'{"patches":[{"op":"remove","path":"a"}]}\'; exit 0', "", "patches[0] in its reply: 'a' is"),
    "hangs": ("sleep 300", "", "hangs took longer than 3 s"),
    "floods": ("yes", "", "floods printed more than 1 MB"),
}  # fmt: skip


@pytest.mark.rule("B20", "R4-5")
@pytest.mark.parametrize("name", REPLIES)
def test_a_plugin_that_fails_says_why_and_its_words_cannot_steer_a_terminal(
    name: str, tmp_path: Path, workshop: Workshop
) -> None:
    then, said, message = REPLIES[name]
    text = f"#!/bin/sh\nread -r line\n[ \"$line\" = '{{}}' ] && echo '{METADATA % name}' && exit\n"
    script(tmp_path, name, f"{text}cat >&2 <<'E'\n{said}\nE\n{then}\n" if said else f"{text}{then}\n")
    assert failure(discover(str(tmp_path), workshop), name).startswith(message)


def test_a_log_on_stderr_is_no_failure_of_a_run(tmp_path: Path, workshop: Workshop) -> None:
    text = f"#!/bin/sh\nread -r line\n[ \"$line\" = '{{}}' ] && echo '{METADATA % 'logs'}' && exit\n"
    script(tmp_path, "logs", f"{text}echo level=info >&2\necho '{ADD}'\n")
    assert isinstance(answer(discover(str(tmp_path), workshop), "logs"), Response)


def test_new_resources_come_with_a_reply(tmp_path: Path, workshop: Workshop) -> None:
    shell_plugin(tmp_path, "builds", '{"version":"v1","isWhiteOut":true,"newResources":[{"kind":"Build"}]}')
    found = discover(str(tmp_path), workshop)
    outcome = Runner([BoundPlugin(each) for each in found.plugins]).run(TREE)
    assert (outcome.whiteouts, outcome.new_resources) == (("builds",), (("builds", {"kind": "Build"}),))


@pytest.mark.rule("B20")
def test_a_plugin_sees_nothing_of_ours_and_leaves_nothing_running(
    tmp_path: Path, workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", "/secret")
    with open(tmp_path / "secret", "w") as secret:
        os.set_inheritable(secret.fileno(), True)
        text = f"""#!{sys.executable}
import json, os, subprocess, sys
if json.load(sys.stdin):
    child = subprocess.Popen(["sleep", "300"])
    seen = [sorted(os.environ), len(os.listdir("/proc/self/fd")), child.pid]
    print(json.dumps(seen), file=sys.stderr)
    sys.exit(1)
print('{METADATA % "spy"}')
"""
        script(tmp_path / "plugins", "spy", text)
        seen, descriptors, child = json.loads(failure(discover(str(tmp_path / "plugins"), workshop), "spy"))
    assert "KUBECONFIG" not in seen
    # Its own three, and the one that lists them.
    assert descriptors == 4
    end = time.monotonic() + 5
    while Path(f"/proc/{child}").exists() and "Z" not in Path(f"/proc/{child}/stat").read_text().split()[2]:
        assert time.monotonic() < end
        time.sleep(0.02)
