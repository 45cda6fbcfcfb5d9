"""helm and kubectl for tests, and charts and definitions in a few lines to render with them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tools.kit import KitError, NotForThisMachineError, kit

from fleetform.model.kinds.base import Metadata
from fleetform.model.kinds.definition import PluginDefinitionSpec
from fleetform.model.objects import Object, Origin, Ref
from fleetform.model.results.rendering import Rendered, RendererName, RenderFailure, RenderInput
from fleetform.renderers.batch import Renderers
from fleetform.syntax.yaml_in import read_one
from support.servers import packed

ABOUT = "apiVersion: v2\nname: web\nversion: 1.0.0\n"
CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n"
TEMPLATE = (
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}, namespace: {{ .Release.Namespace }}}\n"
    "data: {replicas: {{ .Values.replicas | quote }}}\n"
)


def tools() -> Path:
    """A folder with helm and kubectl; where they cannot be brought, those on the path will do."""
    try:
        return kit()
    except KitError as error:
        found = shutil.which("helm")
        if found is not None and shutil.which("kubectl") is not None:
            return Path(found).parent
        if isinstance(error, NotForThisMachineError):
            pytest.skip(str(error))
        raise


def path_with(folder: Path) -> str:
    return f"{folder}{os.pathsep}{os.environ['PATH']}"


def write_files(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


def chart_files(template: str = TEMPLATE, **more: str) -> dict[str, str]:
    """A chart with one template; more are files, with __ for / and _ for . in their names."""
    others = {name.replace("__", "/").replace("_", "."): text for name, text in more.items()}
    return {"Chart.yaml": ABOUT, "values.yaml": "replicas: 1\n", "templates/all.yaml": template, **others}


def archive(template: str = TEMPLATE, version: str = "1.0.0") -> bytes:
    """A chart as Helm packs it."""
    files = chart_files(template) | {"Chart.yaml": ABOUT.replace("1.0.0", version)}
    return packed({f"web/{name}": text for name, text in files.items()})


def definition(source: str, file: str | Path = "definition.yaml", organization: str = "acme") -> Object[Any]:
    """The definition web 1.0.0 with a source, in flow-style YAML."""
    spec = msgspec.convert({"version": "1.0.0", "source": read_one(source)}, PluginDefinitionSpec)
    ref = Ref("PluginDefinition", organization, "web")
    return Object(ref, Metadata(name="web", namespace=organization), spec, Origin(str(file), 1, 9))


def input_of(renderer: RendererName, defined: Object[Any], **more: Any) -> RenderInput:
    """An input of the release web in the namespace apps."""
    given: dict[str, Any] = {"values": {}, "variables": {}, "release_name": "web", "release_namespace": "apps"}
    return RenderInput(defined, renderer, **{**given, **more})


class Place:
    """A folder of definitions and their sources, with a cache of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.cache = folder / "fleet", folder / "cache"
        self.folder.mkdir()

    def write(self, files: Mapping[str, str], below: str = "") -> None:
        write_files(self.folder / below, files)

    def renderers(self, **more: Any) -> Renderers:
        return Renderers(str(self.cache), **more)

    def define(self, source: str) -> Object[Any]:
        return definition(source, self.folder / "definition.yaml")

    def chart(self, files: Mapping[str, str] | None = None, name: str = "web") -> Object[Any]:
        """The definition of a chart in a folder, which is written."""
        self.write(chart_files() if files is None else files, f"charts/{name}")
        return self.define(f"{{helm: {{repository: ./charts, chart: {name}}}}}")

    def kustomization(self, files: Mapping[str, str]) -> Object[Any]:
        self.write(files, "kustomize")
        return self.define("{kustomize: {path: kustomize}}")

    def manifests(self, files: Mapping[str, str]) -> Object[Any]:
        self.write(files, "manifests")
        return self.define("{manifests: {path: ./manifests}}")

    def render(self, *inputs: RenderInput, **more: Any) -> list[Rendered | RenderFailure]:
        return self.renderers(**more).render(inputs)

    def objects(self, input_: RenderInput, **more: Any) -> list[dict[str, Any]]:
        """What an input that renders comes to."""
        (answer,) = self.render(input_, **more)
        assert isinstance(answer, Rendered), msgspec.to_builtins(answer)
        return list(answer.objects)

    def failure(self, input_: RenderInput, **more: Any) -> RenderFailure:
        """Why an input does not render."""
        (answer,) = self.render(input_, **more)
        assert isinstance(answer, RenderFailure), answer.objects
        assert answer.hint
        return answer
