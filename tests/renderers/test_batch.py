"""Many inputs: each distinct one is rendered once, ever; what changes by itself is found."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from pathlib import Path
from typing import Any

import pytest

from fleetform.artifacts.digests import folder_files
from fleetform.model.results.rendering import Rendered, RenderFailure
from support.kit import CONFIG, TEMPLATE, Place, chart_files, input_of


class Wrapper:
    """A helm that writes down how it is called."""

    def __init__(self, folder: Path, helm: Path) -> None:
        self.folder = folder / "calls"
        self.folder.mkdir()
        self.program = folder / "helm"
        script = f'#!/bin/sh\necho "$@" > "$(mktemp {self.folder}/$1.XXXXXX)"\nexec {helm} "$@"\n'
        self.program.write_text(script)
        self.program.chmod(0o755)

    @property
    def renders(self) -> int:
        return len(list(self.folder.glob("template.*")))

    @property
    def arguments(self) -> list[str]:
        return [each.read_text() for each in self.folder.iterdir()]

    def reset(self) -> None:
        for each in self.folder.iterdir():
            each.unlink()


@pytest.fixture
def wrapper(tmp_path: Path, tools_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Wrapper:
    made = Wrapper(tmp_path, tools_folder / "helm")
    monkeypatch.setenv("FLEETFORM_HELM", str(made.program))
    return made


RANDOM = TEMPLATE.replace("replicas:", "password: {{ randAlphaNum 20 | quote }}, replicas:", 1)


@pytest.mark.rule("B2", "B28")
def test_a_thousand_inputs_of_four_charts_and_twenty_values_start_helm_24_times(place: Place, wrapper: Wrapper) -> None:
    charts = [place.chart(chart_files(TEMPLATE + f"# {number}\n"), f"chart-{number}") for number in range(4)]
    inputs = [input_of("helm", charts[n % 4], values={"replicas": n // 4 % 5}) for n in range(1_000)]
    answers = place.render(*inputs)
    assert wrapper.renders == 24
    for given, answer in zip(inputs, answers, strict=True):
        assert isinstance(answer, Rendered)
        assert answer.objects[0]["data"] == {"replicas": str(given.values["replicas"])}
        assert not answer.unsteady
    wrapper.reset()
    again = place.render(*inputs)
    assert wrapper.renders == 0
    assert [(each.key, each.objects) for each in again if isinstance(each, Rendered)] == [
        (each.key, each.objects) for each in answers if isinstance(each, Rendered)
    ]


@pytest.mark.rule("B2")
def test_the_key_is_of_all_that_decides_and_of_nothing_else(place: Place) -> None:
    chart, other = place.chart(), place.chart(chart_files(TEMPLATE + "# other\n"), "other")
    here: dict[str, Any] = {"values": {"replicas": 1}}
    inputs = [
        input_of("helm", chart, **here),
        input_of("helm", place.chart(), **here),
        input_of("helm", chart, values={"replicas": 2}),
        input_of("helm", chart, values={"replicas": "1"}),
        input_of("helm", other, **here),
        input_of("helm", chart, **here, release_name="other"),
        input_of("helm", chart, **here, release_namespace="other"),
        input_of("helm", chart, **here, configs=(("a", "b"),)),
    ]
    keys = [each.key for each in place.render(*inputs) if isinstance(each, Rendered)]
    assert all(key.startswith("r1:") for key in keys)
    assert (len(keys), len(set(keys)), keys[0]) == (8, 7, keys[1])


@pytest.mark.rule("B28")
def test_a_chart_that_changes_by_itself_is_found_and_remembered(place: Place, wrapper: Wrapper) -> None:
    chart = place.chart(chart_files(RANDOM))
    (first,) = place.render(input_of("helm", chart))
    assert isinstance(first, Rendered)
    assert (first.unsteady, wrapper.renders) == (True, 2)
    (again, other) = place.render(input_of("helm", chart), input_of("helm", chart, values={"replicas": 9}))
    assert isinstance(again, Rendered)
    assert isinstance(other, Rendered)
    assert (again.unsteady, other.unsteady, wrapper.renders) == (True, True, 3)
    assert again.objects == first.objects


@pytest.mark.rule("B28")
def test_what_fails_is_no_trial_and_another_input_is(place: Place, wrapper: Wrapper) -> None:
    chart = place.chart(chart_files(RANDOM + '{{ if eq (int .Values.replicas) 0 }}{{ fail "none" }}{{ end }}'))
    (failed,) = place.render(input_of("helm", chart, values={"replicas": 0}))
    assert isinstance(failed, RenderFailure)
    assert wrapper.renders == 1
    inputs = [input_of("helm", chart, values={"replicas": number}) for number in (0, 1, 2)]
    answers = place.render(*inputs)
    assert [isinstance(each, Rendered) and each.unsteady for each in answers] == [False, True, True]
    assert wrapper.renders == 5


def test_one_input_that_fails_fails_alone_and_answers_are_in_order(place: Place) -> None:
    good, bad = place.chart(), place.chart(chart_files('{{ fail "bad" }}'), "bad")
    plain = place.manifests({"a.yaml": CONFIG})
    nothing = place.define("{manifests: {path: none}}")
    inputs = [
        input_of("helm", bad),
        input_of("helm", good),
        input_of("manifests", plain),
        input_of("manifests", nothing),
    ]
    kinds = [type(each) for each in place.render(*inputs * 2)]
    assert kinds == [RenderFailure, Rendered, Rendered, RenderFailure] * 2
    assert place.render() == []


class Kept:
    """A temporary folder that stays, to be looked at."""

    def __init__(self, prefix: str, ignore_cleanup_errors: bool) -> None:
        self.name = tempfile.mkdtemp(prefix=prefix)

    def __enter__(self) -> str:
        return self.name

    def __exit__(self, *_: object) -> None:
        pass

    def cleanup(self) -> None:
        pass


@pytest.mark.rule("S5")
def test_values_stand_in_no_argument_and_in_no_file_but_the_answer(
    place: Place, wrapper: Wrapper, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    monkeypatch.setattr("tempfile.TemporaryDirectory", Kept)
    template = CONFIG + "data: {a: {{ .Values.shown }}}\n# {{ .Values.hidden | len }}\n"
    values = {"shown": "placeholder-shown", "hidden": "placeholder-hidden"}
    place.objects(input_of("helm", place.chart(chart_files(template)), values=values))
    assert wrapper.arguments
    assert not any("placeholder" in each for each in wrapper.arguments)
    files = [each for each in tmp_path.rglob("*") if each.is_file()]
    assert any(each.is_relative_to(scratch) for each in files)
    assert not any(b"placeholder-hidden" in each.read_bytes() for each in files)
    holding = [each for each in files if b"placeholder-shown" in each.read_bytes()]
    assert [each.relative_to(place.cache).parts[:2] for each in holding] == [("renders-1", "objects")]


def test_the_cache_is_its_users_alone_and_what_is_damaged_is_made_anew(place: Place, wrapper: Wrapper) -> None:
    input_ = input_of("helm", place.chart())
    expected = place.objects(input_)
    kept = [each for each in place.cache.rglob("*") if each.is_file()]
    assert sorted(each.relative_to(place.cache).parts[1] for each in kept) == ["objects", "steady", "tidied"]
    assert {oct(each.stat().st_mode & 0o777) for each in kept} == {"0o600"}
    assert oct((place.cache / "renders-1").stat().st_mode & 0o777) == "0o700"
    (objects,) = (each for each in kept if "objects" in each.parts)
    whole = objects.read_bytes()
    for content in (b"", b"\xff", whole[:-9], b'{"key": "r1:x", "objects": []}', b"[" * 100_000):
        objects.write_bytes(content)
        wrapper.reset()
        assert place.objects(input_) == expected
        assert wrapper.renders == 1
        assert objects.read_bytes() == whole


def test_a_cache_that_cannot_be_written_is_no_failure(place: Place) -> None:
    place.cache.write_text("a file where a folder should be")
    assert place.objects(input_of("helm", place.chart()))


def test_another_version_of_the_tool_renders_anew(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "helm"
    monkeypatch.setenv("FLEETFORM_HELM", str(program))
    keys = set()
    for version in ("v3.20.0", "v4.0.0"):
        answer = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {version}}}"
        program.write_text(f'#!/bin/sh\nif [ "$1" = version ]; then echo {version}; else echo "{answer}"; fi\n')
        program.chmod(0o755)
        (found,) = place.render(input_of("helm", place.chart()))
        assert isinstance(found, Rendered)
        assert found.objects[0]["metadata"]["name"] == version
        keys.add(found.key)
    assert len(keys) == 2


def test_sources_are_looked_at_once(place: Place) -> None:
    chart, renderers = place.chart(), place.renderers()
    before = renderers.digest(chart)
    (first,) = renderers.render([input_of("helm", chart)])
    place.write({"values.yaml": "replicas: 7\n"}, "charts/web")
    assert renderers.digest(chart) == before
    (found,) = renderers.render([input_of("helm", chart)])
    assert isinstance(first, Rendered)
    assert isinstance(found, Rendered)
    assert found.objects == first.objects
    # What is not known yet would be rendered from other files than the rest.
    (other,) = renderers.render([input_of("helm", chart, release_name="other")])
    assert isinstance(other, RenderFailure)
    assert other.message == "the source of web changed while it was read"


class Files(dict[str, bytes]):
    """Files that can be looked after."""


def test_bytes_are_read_once_a_call_and_held_no_longer(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[weakref.ref[Files]] = []

    def read(definition: Any, boundary: Any) -> Any:
        gathered = folder_files(definition, boundary)
        assert gathered is not None
        files = Files(gathered.files)
        reads.append(weakref.ref(files))
        return gathered._replace(files=files)

    monkeypatch.setattr("fleetform.artifacts.obtain.folder_files", read)
    renderers = place.renderers()
    chart, plain = place.chart(), place.manifests({"a.yaml": CONFIG})
    for number in (1, 2):
        inputs = [input_of("helm", chart, values={"replicas": number * each}) for each in (10, 20, 30)]
        inputs += [input_of("manifests", plain, variables={"x": f"{number}-{each}"}) for each in (1, 2)]
        assert all(isinstance(each, Rendered) for each in renderers.render(inputs))
        gc.collect()
        assert [each() for each in reads] == [None] * 2 * number
    renderers.render(inputs)
    assert len(reads) == 4
    assert place.renderers().digest(chart) is not None
    gc.collect()
    assert reads[-1]() is None


def test_an_interrupt_ends_every_tool(place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program, started = tmp_path / "helm", tmp_path / "started"
    script = f'if [ "$1" = version ]; then echo v4.0.0; else echo $$ >> {started}; sleep 300; fi\n'
    program.write_text(f"#!/bin/sh\n{script}")
    program.chmod(0o755)
    monkeypatch.setenv("FLEETFORM_HELM", str(program))
    inputs = [input_of("helm", place.chart(), values={"replicas": number}) for number in range(6)]
    # A shell starts its jobs in the background with interrupts ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)

    def interrupt() -> None:
        while not (started.exists() and started.read_text().count("\n") >= 2):
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    try:
        with pytest.raises(KeyboardInterrupt):
            place.render(*inputs, workers=2)
    finally:
        signal.signal(signal.SIGINT, before)
    assert started.read_text().count("\n") == 2
    alive = [line for line in started.read_text().split() if Path(f"/proc/{line}").exists()]
    assert alive == []


def test_importing_it_imports_no_http() -> None:
    code = "import sys, fleetform.renderers.batch; sys.exit('httpx2' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
