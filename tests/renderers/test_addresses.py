"""Kustomize would load addresses wherever files may stand; what comes from there is in no digest, so none is."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from fleetform.outside.processes import Programs, cut_off
from support.kit import CONFIG, Place, input_of
from support.servers import Reply, WebServer

PATCH = CONFIG + "data: {fetched: 'yes'}\n"
BASE = "resources: [config.yaml]\n"
NAMING = {
    "resources": ("resources: [config.yaml, 'URL']\n", "resources[1]"),
    "bases": (BASE + "bases: ['URL']\n", "bases[0]"),
    "components": (BASE + "components: ['URL']\n", "components[0]"),
    "generators": (BASE + "generators: ['URL']\n", "generators[0]"),
    "transformers": (BASE + "transformers: ['URL']\n", "transformers[0]"),
    "validators": (BASE + "validators: ['URL']\n", "validators[0]"),
    "configurations": (BASE + "configurations: ['URL']\n", "configurations[0]"),
    "crds": (BASE + "crds: ['URL']\n", "crds[0]"),
    "openapi": (BASE + "openapi: {path: 'URL'}\n", "openapi.path"),
    "patches": (BASE + "patches: [{path: 'URL'}]\n", "patches[0].path"),
    "plain patches": (BASE + "patches: ['URL']\n", "patches[0]"),
    "merges": (BASE + "patchesStrategicMerge: ['URL']\n", "patchesStrategicMerge[0]"),
    "operations": (BASE + "patchesJson6902: [{path: 'URL', target: {}}]\n", "patchesJson6902[0].path"),
    "replacements": (BASE + "replacements: [{path: 'URL'}]\n", "replacements[0].path"),
    "files": (BASE + "configMapGenerator: [{name: a, files: ['URL']}]\n", "configMapGenerator[0].files[0]"),
    "named files": (BASE + "configMapGenerator: [{name: a, files: ['x=URL']}]\n", "configMapGenerator[0].files[0]"),
    "envs": (BASE + "secretGenerator: [{name: a, envs: ['URL']}]\n", "secretGenerator[0].envs[0]"),
    "env": (BASE + "secretGenerator: [{name: a, env: 'URL'}]\n", "secretGenerator[0].env"),
    "charts": (BASE + "helmCharts: [{name: a, repo: 'URL'}]\n", "helmCharts[0].repo"),
    "values": (BASE + "helmCharts: [{name: a, valuesFile: 'URL'}]\n", "helmCharts[0].valuesFile"),
    "another case": (BASE + "PATCHES: [{Path: 'URL'}]\n", "PATCHES[0].Path"),
    "a second document": (BASE + "---\npatches: [{path: 'URL'}]\n", "patches[0].path"),
}


@pytest.fixture
def server() -> Iterator[WebServer]:
    with WebServer(lambda _: Reply(200, PATCH.encode())) as started:
        yield started


def refused(place: Place, files: dict[str, str]) -> str:
    failure = place.failure(input_of("kustomize", place.kustomization({"config.yaml": CONFIG, **files})))
    assert failure.hint == "rendering fetches nothing: put the file into the folder, and name it by its path"
    return failure.message


@pytest.mark.parametrize(("text", "field"), NAMING.values(), ids=NAMING)
def test_an_address_is_refused_wherever_it_stands(place: Place, server: WebServer, text: str, field: str) -> None:
    url = f"{server.url}/p.yaml"
    message = refused(place, {"kustomization.yaml": text.replace("URL", url)})
    assert message == f"kustomization.yaml: {field} is an address, {url}"
    assert server.asked == []


ADDRESSES = ["https://x.invalid/a", "HTTP://x.invalid/a", "http:x", " http://x", "git::https://x/y", "gh:x/y"]
ADDRESSES += ["git@x.invalid:a/b", "ssh://git@x.invalid/a", "file:///a", "oci://x/y"]


@pytest.mark.parametrize("address", ADDRESSES)
def test_every_kind_of_address(place: Place, address: str) -> None:
    message = refused(place, {"kustomization.yaml": BASE + f"components: ['{address}']\n"})
    assert message.startswith("kustomization.yaml: components[0] is an address, ")


def test_logins_in_addresses_are_not_told(place: Place) -> None:
    text = BASE + "patches: [{path: 'https://me:secret@x.invalid/a?token=secret'}]\n"
    assert "secret" not in refused(place, {"kustomization.yaml": text})


def test_a_file_that_is_called_as_an_address_is_no_excuse(place: Place, server: WebServer) -> None:
    url = f"{server.url}/p.yaml"
    text = f"resources: ['{url}']\n"
    refused(place, {"kustomization.yaml": text, url.replace("//", "/"): CONFIG})
    assert server.asked == []


def test_kustomizations_that_it_builds_upon_are_held_to_the_same(place: Place, server: WebServer) -> None:
    base = {"kustomization.yaml": f"{BASE}patches: [{{path: '{server.url}/p'}}]\n", "config.yaml": CONFIG}
    place.write(base, "base")
    message = refused(place, {"kustomization.yaml": "resources: [../base]\n"})
    assert message == f"../base/kustomization.yaml: patches[0].path is an address, {server.url}/p"
    place.write(base, "kustomize/unused")
    source = place.kustomization({"config.yaml": CONFIG, "kustomization.yaml": BASE})
    assert place.objects(input_of("kustomize", source))


PLUGIN = "apiVersion: builtin\nkind: PatchTransformer\nmetadata: {name: x}\npath: URL\n"


def test_settings_of_its_own_plugins_are_looked_at_too(place: Place, server: WebServer) -> None:
    plugin = PLUGIN.replace("URL", f"{server.url}/p")
    inline = "".join(f"  {line}\n" for line in plugin.splitlines())
    flow = f'{{apiVersion: builtin, kind: PatchTransformer, metadata: {{name: x}}, path: "{server.url}/p"}}'
    for text, name in (
        (BASE + "transformers: [t.yaml]\n", "t.yaml"),
        (BASE + "transformers: [t]\n", "t/t.yaml"),
        (BASE + f"transformers:\n- |\n{inline}", "kustomization.yaml"),
        (BASE + f"transformers: ['{flow}']\n", "kustomization.yaml"),
    ):
        files = {"kustomization.yaml": text, "t.yaml": plugin}
        files |= {"t/kustomization.yaml": "resources: [t.yaml]\n", "t/t.yaml": plugin} if "[t]" in text else {}
        assert refused(place, files) == f"{name}: path is an address, {server.url}/p"
    assert server.asked == []


def test_a_kustomization_that_we_cannot_read_is_not_handed_on(place: Place, server: WebServer) -> None:
    """kustomize takes the last of two fields of one name."""
    text = f"patches: []\nresources: [config.yaml]\npatches: [{{path: '{server.url}/p'}}]\n"
    source = place.kustomization({"config.yaml": CONFIG, "kustomization.yaml": text})
    assert place.failure(input_of("kustomize", source)).message == "kustomization.yaml:3: duplicate key patches"
    (place.folder / "kustomize/kustomization.yaml").write_bytes(b"a: \xff\n")
    assert place.failure(input_of("kustomize", source)).message == "kustomization.yaml is not UTF-8"
    assert server.asked == []


def test_texts_may_hold_addresses(place: Place) -> None:
    text = (
        BASE + "commonAnnotations: {a: 'https://example.org/x'}\n"
        "configMapGenerator: [{name: b, literals: ['url=https://example.org/x']}]\n"
        "patches:\n- patch: |\n    apiVersion: v1\n    kind: ConfigMap\n    metadata: {name: web}\n"
        "    data: {u: 'https://example.org/x'}\n"
        "patchesStrategicMerge:\n- |\n  apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: web}\n"
        "  data: {v: 'https://example.org/x'}\n"
    )
    source = place.kustomization({"config.yaml": CONFIG, "kustomization.yaml": text})
    (web,) = (each for each in place.objects(input_of("kustomize", source)) if each["metadata"]["name"] == "web")
    assert set(web["data"]) == {"u", "v"}


@pytest.mark.skipif(not cut_off(), reason="this system takes no network away")
def test_an_address_that_nobody_saw_is_not_reached(
    place: Place, server: WebServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fleetform.artifacts.kustomizations._REFERRING", (("resources",),))
    text = BASE + f"patches: [{{path: '{server.url}/p'}}]\n"
    failure = place.failure(
        input_of("kustomize", place.kustomization({"config.yaml": CONFIG, "kustomization.yaml": text}))
    )
    assert failure.hint == "rendering fetches nothing: put the file into the folder"
    assert server.asked == []


def test_a_program_without_network_runs_as_any_other(server: WebServer) -> None:
    code = "import sys, urllib.request as r; print(sys.stdin.read()); sys.stdout.flush(); r.urlopen(sys.argv[1])"
    command = [sys.executable, "-c", code, server.url]
    assert Programs().run(command, b"in").code == 0
    done = Programs().run(command, b"in", offline=True)
    assert done.stdout == b"in\n"
    assert (done.code, len(server.asked)) == ((1, 1) if cut_off() else (0, 2))


def test_a_system_that_cannot_take_the_network_away_is_fine(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fleetform.outside.processes.cut_off", lambda: ())
    source = place.kustomization({"config.yaml": CONFIG, "kustomization.yaml": BASE})
    assert place.objects(input_of("kustomize", source))
    cut_off.cache_clear()
    monkeypatch.setenv("PATH", "")
    try:
        assert cut_off() == ()
    finally:
        cut_off.cache_clear()
