"""Sources that take long: nobody waits for them for ever, and they are there once they have come."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from threading import enumerate as enumerate_threads

import pytest

from fleetform.model.results.rendering import Rendered, RendererName, RenderFailure
from fleetform.renderers.slow_sources import Definition, SlowSources
from support.kit import Place, definition, input_of
from support.silent import SilentServer

_PATIENCE = 20.0


class Sources:
    """Some definitions; a source comes once it may. `begun` is how often each was begun, `ended` how many rounds are
    over."""

    def __init__(self, patience: float) -> None:
        self.at = 0.0
        self.one, self.other = (definition(f"{{helm: {{repository: https://{x}.io, chart: c}}}}") for x in "ab")
        self.may = {id(each): Event() for each in (self.one, self.other)}
        self.begun: list[int] = []
        self.ended = 0
        self.bug: Exception | None = None
        self.slow = SlowSources[str](patience, lambda: self.at)

    @contextmanager
    def begin(self) -> Iterator[Callable[[Definition], str]]:
        yield self.obtain
        self.ended += 1

    def obtain(self, wanted: Definition) -> str:
        self.begun.append(id(wanted))
        assert self.may[id(wanted)].wait(_PATIENCE)
        if self.bug is not None:
            raise self.bug
        return f"source {len(self.begun)}"

    def ask(self, *definitions: Definition) -> list[str | None]:
        return self.slow.obtain(definitions, self.begin)


def test_what_comes_in_time_is_there_and_what_does_not_is_there_another_time() -> None:
    sources = Sources(0.2)
    sources.may[id(sources.one)].set()
    found = sources.ask(sources.one, sources.other)
    assert (found[0] is not None, found[1]) == (True, None)
    assert sources.ask(sources.other) == [None], "it is not begun twice"
    assert sources.begun.count(id(sources.other)) == 1
    sources.may[id(sources.other)].set()
    sources.slow._patience = _PATIENCE
    assert sources.ask(sources.other) != [None]
    assert sources.ask(sources.other) != [None], "what was taken is asked for anew: it may be another by now"
    assert sources.begun.count(id(sources.other)) == 2


def test_what_nobody_asked_for_again_for_an_hour_is_forgotten() -> None:
    sources = Sources(0.05)
    assert sources.ask(sources.one) == [None]
    sources.at = 3601.0
    sources.ask(sources.other)
    assert list(sources.slow._fetches) == [id(sources.other)]
    for each in sources.may.values():
        each.set()


def test_what_should_never_happen_is_raised_where_the_source_is_asked_for() -> None:
    sources = Sources(_PATIENCE)
    sources.bug = RuntimeError("a bug")
    sources.may[id(sources.one)].set()
    with pytest.raises(RuntimeError, match="a bug"):
        sources.ask(sources.one)
    sources.bug = None
    assert sources.ask(sources.one) != [None]


@pytest.mark.rule("B2")
@pytest.mark.parametrize("renderer", ["helm", "kustomize"])
def test_a_server_that_says_nothing_keeps_no_other_render_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, renderer: RendererName
) -> None:
    for name in [each for each in os.environ if each.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    place = Place(tmp_path)
    near = place.manifests({"a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"})
    with SilentServer() as server:
        sources = {
            "helm": f"{{helm: {{repository: 'http://{server.host}/charts', chart: c, version: 1.0.0}}}}",
            "kustomize": f"{{kustomize: {{git: {{url: 'http://{server.host}/x.git', ref: {{tag: v1}}}}}}}}",
        }
        far = place.define(sources[renderer])
        renderers = place.renderers(patience=0.2)
        for _ in range(2):
            slow, made = renderers.render([input_of(renderer, far), input_of("manifests", near)])
            assert isinstance(made, Rendered)
            assert isinstance(slow, RenderFailure)
            assert (slow.message, slow.unavailable) == ("the source of web 1.0.0 is still being fetched", True)
        # Git is asked after somebody found out whether there is anybody at all.
        assert server.taken <= 2
    # What was begun ends, and closes its connections.
    for thread in [each for each in enumerate_threads() if each.name in ("source", "sources")]:
        thread.join(_PATIENCE)
        assert not thread.is_alive()
