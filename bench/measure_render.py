"""Rendering: 1,000 plugins with 20 distinct inputs of 4 charts, and how often helm runs for them.

helm is a script that counts and then calls the real one, so that the figure is what was started and not what was meant.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import msgspec
from tools.kit import kit

from bench.calibrate import calibrate
from bench.table import Row, at_most, plainly, print_table
from fleetform.model.kinds.base import Metadata
from fleetform.model.kinds.definition import PluginDefinitionSpec
from fleetform.model.objects import Object, Origin, Ref
from fleetform.model.results.rendering import Rendered, RenderInput
from fleetform.renderers.batch import Renderers

PLUGINS, DISTINCT, CHARTS = 1_000, 20, 4
TITLE = f"Rendering: {PLUGINS:,} plugins, {DISTINCT} distinct inputs of {CHARTS} charts"
_TEMPLATE = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: {{ .Release.Name }}}
spec: {replicas: {{ .Values.replicas }}}
"""


def rows() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        return _rows(Path(folder))


def _rows(folder: Path) -> list[Row]:
    runs = folder / "runs"
    os.environ["FLEETFORM_HELM"] = str(_counting(folder, runs))
    inputs = _inputs(folder)
    loop = calibrate()
    first = _seconds(folder, inputs)
    started = _templates(runs)
    again = _seconds(folder, inputs)
    return [
        at_most("runs of helm", started, DISTINCT + CHARTS, "runs"),
        plainly("the first time", first, "s", loop),
        plainly("  a run of helm, two at a time", first / started * 1e3, "ms", loop),
        at_most("runs of helm once more", _templates(runs) - started, 0, "runs"),
        plainly("once more, from the cache", again * 1e3, "ms", loop),
    ]


def _counting(folder: Path, runs: Path) -> Path:
    script = folder / "helm"
    script.write_text(f'#!/bin/sh\necho "$1" >> {runs}\nexec {kit() / "helm"} "$@"\n', encoding="utf-8")
    script.chmod(0o755)
    return script


def _templates(runs: Path) -> int:
    return runs.read_text(encoding="utf-8").split().count("template")


def _seconds(folder: Path, inputs: Sequence[RenderInput]) -> float:
    start = perf_counter()
    answers = Renderers(str(folder / "cache")).render(inputs)
    took = perf_counter() - start
    assert all(isinstance(each, Rendered) for each in answers)
    return took


def _inputs(folder: Path) -> list[RenderInput]:
    charts = [_chart(folder, number) for number in range(CHARTS)]
    made = []
    for number in range(PLUGINS):
        which = number % DISTINCT
        values: dict[str, Any] = {"replicas": which}
        made.append(RenderInput(charts[which % CHARTS], "helm", values, {}, "web", "web"))
    return made


def _chart(folder: Path, number: int) -> Object[PluginDefinitionSpec]:
    chart = folder / "charts" / f"chart-{number}"
    (chart / "templates").mkdir(parents=True)
    (chart / "Chart.yaml").write_text(f"apiVersion: v2\nname: chart-{number}\nversion: 1.0.0\n", encoding="utf-8")
    (chart / "templates" / "all.yaml").write_text(_TEMPLATE, encoding="utf-8")
    source = {"helm": {"repository": "./charts", "chart": f"chart-{number}"}}
    spec = msgspec.convert({"version": "1.0.0", "source": source}, PluginDefinitionSpec)
    ref = Ref("PluginDefinition", "acme", f"chart-{number}")
    return Object(ref, Metadata(name=ref.name), spec, Origin(str(folder / "definition.yaml"), 1, 9))


if __name__ == "__main__":
    print_table(TITLE, rows())
