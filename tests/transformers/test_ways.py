"""The faster ways to run plugins: kept alive, in this process, several at once. Each gives what the plain way gives."""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest

from fleetform.outside.processes import Limits
from fleetform.transform import Answer, Failure, Outcome, Response, Runner, add
from fleetform.transform.runner import ask
from fleetform.transformers.discover import discover
from fleetform.transformers.executables import StreamPlugin, Workshop
from fleetform.transformers.modules import installed_plugins
from fleetform.transformers.parallel import run_all
from fleetform.transformers.plugins import BoundPlugin, TransformPlugin
from support.plugins import METADATA, python_plugin, script, shell_plugin

SMALL = Limits(seconds=3, memory=300_000_000, output=1_000_000)


def resources(number: int = 12) -> list[dict[str, Any]]:
    """Objects of every kind: with labels and without, left out, and one on which a plugin fails."""
    found: list[dict[str, Any]] = []
    for each in range(number):
        name = f"bad-{each}" if each == 5 else f"web-{each}"
        metadata = {"name": name, "annotations": {"text": "ä\u2028\n" * each}}
        kind = "Endpoints" if each == 3 else "Pod"
        found.append({"apiVersion": "v1", "kind": kind, "metadata": metadata, "spec": {"n": [each, 1.5, None]}})
        if each % 2:
            metadata["labels"] = {"a": "b"}
    return found


@pytest.fixture
def workshop() -> Iterator[Workshop]:
    with Workshop(SMALL, workers=2) as opened:
        yield opened


def only(folder: Path, workshop: Workshop) -> TransformPlugin:
    found = discover(str(folder), workshop)
    assert found.problems == ()
    return found.plugins[0]


def answers(plugin: TransformPlugin) -> list[Response | Failure]:
    bound = BoundPlugin(plugin, {"owner": "team-a"})
    return [ask(bound, each) for each in resources()]


def plainly(found: list[Response | Failure]) -> list[Any]:
    return [each if isinstance(each, Response) else each.message.replace("ValueError: ", "") for each in found]


def test_a_plugin_that_streams_answers_as_one_that_is_started_each_time(tmp_path: Path, workshop: Workshop) -> None:
    python_plugin(tmp_path, "owner", streams=True)
    plain = discover(str(tmp_path), workshop, streams=False).plugins[0]
    streaming = only(tmp_path, workshop)
    assert isinstance(streaming, StreamPlugin)
    assert not isinstance(plain, StreamPlugin)
    assert (plain.name, plain.optional_fields, plain.identity) == (
        streaming.name, streaming.optional_fields, streaming.identity,
    )  # fmt: skip
    expected = plainly(answers(plain))
    assert plainly(answers(streaming)) == expected
    assert sum(isinstance(each, str) for each in expected) == 1


def test_a_plugin_in_this_process_answers_as_one_in_another(tmp_path: Path, workshop: Workshop) -> None:
    python_plugin(tmp_path / "programs")
    python_plugin(tmp_path / "modules", run_bit=False)
    program, module = only(tmp_path / "programs", workshop), only(tmp_path / "modules", workshop)
    assert (program.is_external, module.is_external) == (True, False)
    assert (program.name, program.version, program.optional_fields, program.identity) == (
        module.name, module.version, module.optional_fields, module.identity,
    )  # fmt: skip
    assert plainly(answers(module)) == plainly(answers(program))


def outcomes(found: Iterator[Outcome]) -> list[Any]:
    return [(each.resource["metadata"]["name"], each.settled, each.failures) for each in found]


@pytest.mark.parametrize("workers", [2, 5])
def test_several_at_once_give_what_one_after_another_gives(tmp_path: Path, workshop: Workshop, workers: int) -> None:
    python_plugin(tmp_path, "a-owner", streams=True)
    python_plugin(tmp_path, "b-owner.py", run_bit=False)
    shell_plugin(tmp_path, "c", '{"patches":[{"op":"add","path":"/metadata/labels/owner","value":"shell"}]}')
    plugins = [BoundPlugin(each) for each in discover(str(tmp_path), workshop).plugins]
    runner = Runner(plugins, ["c"])
    assert outcomes(run_all(runner, resources(40), workers)) == outcomes(map(runner.run, resources(40)))


def test_plugins_in_this_process_run_one_after_another_also_beside_others(tmp_path: Path, workshop: Workshop) -> None:
    class Single:
        name = "single"
        threads: ClassVar[set[int]] = set()

        def run(self, resource: Mapping[str, Any]) -> Answer:
            self.threads.add(threading.get_ident())
            return [add("/x", 1)]

    shell_plugin(tmp_path, "c", "{}")
    runner = Runner([BoundPlugin(only(tmp_path, workshop)), Single()])
    assert len(list(run_all(runner, resources(20), 4))) == 20
    assert Single.threads == {threading.get_ident()}


def test_whoever_stops_listening_leaves_nothing_running(tmp_path: Path, workshop: Workshop) -> None:
    shell_plugin(tmp_path, "c", "{}")
    running = run_all(Runner([BoundPlugin(only(tmp_path, workshop))]), resources(40), 2)
    next(running)
    running.close()  # type: ignore[attr-defined]
    assert not [each for each in threading.enumerate() if each.name.startswith("transform")]


STREAMS = f"""#!{sys.executable}
import json, os, sys, time
if sys.argv[1:] != ["stream"]:
    print('{METADATA % "odd"}'[:-1] + ',"modes":["stream"]}}')
    sys.exit()
for line in sys.stdin:
    request = json.loads(line)
    name, number = request["metadata"]["name"], request["requestId"]
    if name == "hang":
        time.sleep(300)
    if name == "die":
        sys.exit("it is \\x1b[1mtoo much")
    if name == "flood":
        print("x" * 2_000_000, flush=True)
    if name == "twice":
        print(json.dumps({{"requestId": number}}), flush=True)
    if name == "log":
        sys.stderr.write("log " * 100_000); sys.stderr.flush()
    if name == "close":
        os.close(2); os.close(1); time.sleep(300)
    if name == "warn":
        print("WARNING: deprecated", flush=True)
    if name == "stale":
        number -= 1
    patches = [{{"op": "add", "path": "/pid", "value": os.getpid()}}]
    print(json.dumps({{"patches": patches, "requestId": number}}), flush=True)
"""


def asked(plugin: TransformPlugin, name: str) -> Any:
    tree = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}}
    found = ask(BoundPlugin(plugin), tree)
    return found.message if isinstance(found, Failure) else found.operations[0].value


@pytest.mark.rule("B20")
def test_a_stream_is_one_process_until_it_fails_and_then_another(tmp_path: Path, workshop: Workshop) -> None:
    script(tmp_path, "odd", STREAMS)
    plugin = only(tmp_path, workshop)
    first = asked(plugin, "web")
    assert asked(plugin, "web") == first
    assert asked(plugin, "log") == first
    assert asked(plugin, "hang") == "odd took longer than 3 s"
    assert asked(plugin, "die") == r"it is \x1b[1mtoo much"
    assert asked(plugin, "flood") == "odd printed more than 1 MB"
    assert asked(plugin, "warn").startswith("its reply cannot be read: ")
    assert re.fullmatch("it answers request [0-9]+ where [0-9]+ is next", asked(plugin, "stale"))
    assert asked(plugin, "close").startswith("odd closed its output before")
    second = asked(plugin, "web")
    assert second != first
    assert not Path(f"/proc/{first}").exists()
    plugin.close()
    assert not Path(f"/proc/{second}").exists()


@pytest.mark.rule("B20", "R4-19")
def test_of_many_requests_at_once_those_that_fail_fail_alone(tmp_path: Path, workshop: Workshop) -> None:
    script(tmp_path, "odd", STREAMS)
    plugin = BoundPlugin(only(tmp_path, workshop))
    wanted = ["web", "die", "web", "hang", "warn", "web", "twice", "web", "web", "flood", "web"]
    trees = [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "data": "x" * 50_000} for name in wanted]
    found = plugin.run_many(trees)
    failed = {name for name, each in zip(wanted, found, strict=True) if isinstance(each, Failure)}
    assert {"die", "hang", "warn", "flood"} <= failed <= {*wanted}
    # What prints twice is out of step with the next; that one cannot be told apart, and fails.
    after = wanted.index("twice") + 1
    assert [isinstance(each, Failure) for number, each in enumerate(found) if wanted[number] == "web"] == [
        number == after for number in range(len(wanted)) if wanted[number] == "web"
    ]


def test_a_request_that_no_pipe_holds_is_streamed(tmp_path: Path, workshop: Workshop) -> None:
    script(tmp_path, "odd", STREAMS)
    plugin = only(tmp_path, workshop)
    tree = {"metadata": {"name": "web"}, "data": {"x": "y" * 900_000}}
    assert isinstance(ask(BoundPlugin(plugin), tree), Response)


@pytest.mark.rule("R4-19")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "import nothing_of_that_name\ndef run(resource): pass\n",
            "it cannot be loaded: ModuleNotFoundError: No module",
        ),
        ("raise SystemExit('no')\ndef run(resource): pass\n", "it cannot be loaded: SystemExit: no"),
    ],
)
def test_a_module_that_cannot_be_loaded_is_named(text: str, message: str, tmp_path: Path, workshop: Workshop) -> None:
    script(tmp_path, "bad.py", text, run_bit=False)
    script(tmp_path, "good.py", "def run(resource): pass\n", run_bit=False)
    script(tmp_path, "helper.py", "raise ValueError('imported by others')\n", run_bit=False)
    script(tmp_path, "broken.py", "def run(resource:\n", run_bit=False)
    found = discover(str(tmp_path), workshop)
    assert [each.name for each in found.plugins] == ["good.py"]
    assert [each.file for each in found.problems] == ["bad.py", "broken.py"]
    assert found.problems[1].message == "it is not valid Python: '(' was never closed (line 1)"
    assert found.problems[0].message.startswith(message)


def test_a_module_may_take_options_or_not_and_name_itself_or_not(tmp_path: Path, workshop: Workshop) -> None:
    with_options = "NAME = 'mine'\ndef run(resource, extras): return [{'op':'add','path':'/x','value':extras['x']}]\n"
    script(tmp_path, "a.py", with_options, run_bit=False)
    script(
        tmp_path,
        "b.py",
        "def run(resource): return [{'op':'add','path':'/y','value':resource['kind']}]\n",
        run_bit=False,
    )
    first, second = discover(str(tmp_path), workshop).plugins
    assert (first.name, second.name) == ("mine", "b.py")
    outcome = Runner([BoundPlugin(first, {"x": "1"}), BoundPlugin(second)]).run({"kind": "Pod"})
    assert [each.operation.value for each in outcome.kept] == ["1", "Pod"]


def test_packages_bring_plugins_by_entry_points(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    about = tmp_path / "some_plugins-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: some-plugins\nVersion: 1.0\n")
    points = ("broken = some_plugins:nothing", "labels = some_plugins:Labels", "short = some_plugins:run")
    (about / "entry_points.txt").write_text("\n".join(["[fleetform.transforms]", *points]))
    labels_class = "class Labels:\n    VERSION = '2'\n    run = staticmethod(lambda resource: [])\n"
    (tmp_path / "some_plugins.py").write_text(f"def run(resource): return None\n{labels_class}")
    monkeypatch.syspath_prepend(str(tmp_path))
    found = dict(installed_plugins())
    assert list(found) == ["broken", "labels", "short"]
    assert isinstance(found["broken"], Exception)
    labels = found["labels"]
    assert isinstance(labels, TransformPlugin)
    assert (labels.name, labels.version, labels.identity) == ("labels", "2", "labels@some-plugins 1.0")
