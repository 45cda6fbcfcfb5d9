"""fleetform transform: Crane's flags and files, and what it prints."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from support.command import Runner

DEPLOYMENT = "export/resources/shop/Deployment_apps_v1_shop_web"
PYTHON = 'def run(resource):\n    return [{"op": "replace", "path": "/spec/replicas", "value": 5}]\n'
SHELL = """#!/bin/sh
read line
case "$line" in
  "{}"*) echo '{"name":"b","version":"v0.1","requestVersion":["v1"],"responseVersion":["v1"]}';;
  *) echo '{"version":"v1","patches":[{"op":"replace","path":"/spec/replicas","value":7}]}';;
esac
"""


@pytest.fixture
def crane(run: Runner) -> Runner:
    """A folder with an export of one Deployment and two plugins that clash."""
    run.write(
        **{
            DEPLOYMENT.replace("/", "__"): """
            apiVersion: apps/v1
            kind: Deployment
            metadata: {name: web, namespace: shop, uid: abc}
            spec: {replicas: 1}
            """
        }
    )
    executable(run.folder / "plugins" / "b.sh", SHELL)
    (run.folder / "plugins" / "a.py").write_text(PYTHON, encoding="utf-8")
    return run


def executable(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


@pytest.mark.rule("R4-2", "R4-4", "S41")
def test_without_priorities_the_first_plugin_by_path_wins(crane: Runner) -> None:
    result = crane("transform")
    assert result.code == 0
    assert "replace /spec/replicas: a.py wins over b (path)" in result.out
    assert "1 resource · 2 operations kept · 1 lost · in transform" in result.out


@pytest.mark.rule("R4-1", "R4-10")
def test_priorities_change_the_winner_and_the_loser_is_named_with_its_reason(crane: Runner) -> None:
    answer = crane("transform", "--plugin-priorities", " b , a.py", "-o", "json").json
    (item,) = answer["items"]
    assert [each["path"] for each in item["kept"]] == ["/metadata/uid", "/spec/replicas"]
    assert item["kept"][1]["value"] == 7
    (lost,) = item["ignored"]
    assert (lost["PluginName"], lost["Operation"]["value"], lost["reason"]) == ("a.py", 5, "path")
    assert [each["name"] for each in answer["plugins"]] == ["KubernetesPlugin", "a.py", "b"]


@pytest.mark.rule("R4-16")
def test_a_file_of_priorities_has_numbers_of_which_the_lower_wins(crane: Runner) -> None:
    (crane.folder / "order.yaml").write_text("a.py: 20\nb: 10\n", encoding="utf-8")
    assert "b wins over a.py" in crane("transform", "--plugin-priorities-file", "order.yaml").out
    (crane.folder / "order.yaml").write_text("a.py: yes\n", encoding="utf-8")
    refused = crane("transform", "--plugin-priorities-file", "order.yaml")
    assert (refused.code, "a.py needs a whole number" in refused.err) == (2, True)


@pytest.mark.rule("R4-15")
def test_an_unknown_name_warns_with_the_nearest_and_a_repeated_one_is_a_usage_error(crane: Runner) -> None:
    typo = crane("transform", "--plugin-priorities", "b,KubernetesPlugn")
    assert typo.code == 0
    assert "did you mean KubernetesPlugin?" in typo.err
    repeated = crane("transform", "--plugin-priorities", "b,b")
    assert (repeated.code, "names b twice" in repeated.err) == (2, True)


@pytest.mark.rule("S41")
def test_the_built_in_plugin_can_be_skipped(crane: Runner) -> None:
    answer = crane("transform", "-s", "KubernetesPlugin,b", "-o", "json").json
    assert [each["name"] for each in answer["plugins"]] == ["a.py"]
    assert [each["path"] for each in answer["items"][0]["kept"]] == ["/spec/replicas"]


@pytest.mark.rule("R4-19", "S41")
def test_one_bad_plugin_is_named_and_the_rest_still_run(crane: Runner) -> None:
    executable(crane.folder / "plugins" / "bad.sh", "#!/bin/sh\necho oops\n")
    result = crane("transform")
    assert result.code == 1
    assert "bad.sh" in result.err
    assert "1 resource" in result.out
    assert (crane.folder / "transform" / "resources" / "shop" / "transform-Deployment_apps_v1_shop_web.yaml").exists()


@pytest.mark.rule("S41")
def test_a_resource_on_which_a_plugin_fails_gets_no_file_and_the_others_do(crane: Runner) -> None:
    failing = (
        'def run(resource):\n    if resource["metadata"]["name"] == "web":\n        raise ValueError("not this one")\n'
    )
    (crane.folder / "plugins" / "a.py").write_text(failing, encoding="utf-8")
    crane.write(export__other="apiVersion: v1\nkind: Service\nmetadata: {name: other}\n")
    result = crane("transform")
    assert result.code == 1
    assert "a.py fails: ValueError: not this one" in result.err
    written = sorted(path.name for path in (crane.folder / "transform").rglob("transform-*"))
    assert written == ["transform-other.yaml"]


def test_a_broken_file_of_the_export_is_named_with_its_line(crane: Runner) -> None:
    crane.write(export__broken="a: [")
    result = crane("transform")
    assert (result.code, "broken.yaml: line" in result.err) == (1, True)


def test_apply_writes_what_comes_of_it(crane: Runner) -> None:
    crane("transform", "--plugin-priorities", "b")
    result = crane("transform", "apply", "--output-dir", "out")
    assert (result.code, result.out) == (0, "1 file in out\n")
    text = (crane.folder / "out" / "resources" / "shop" / "Deployment_apps_v1_shop_web.yaml").read_text()
    assert "replicas: 7" in text
    assert "uid" not in text


def test_plugins_and_their_options_are_listed(crane: Runner) -> None:
    names = [each["name"] for each in crane("transform", "list-plugins", "-o", "json").json["items"]]
    assert names[0] == "KubernetesPlugin"
    assert names[-2:] == ["a.py", "b"]
    assert "registry-replacement" in crane("transform", "optionals").out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("-e", "nowhere"), "nowhere is not a folder"),
        (("--optional-flags", "{"), "not valid JSON"),
        (("--plugin-timeout", "soon"), "soon is not a duration"),
        (("--plugin-priorities", "a", "--plugin-priorities-file", "f"), "exclude each other"),
    ],
)
def test_a_wrong_call_is_refused_in_words(crane: Runner, arguments: tuple[str, ...], message: str) -> None:
    result = crane("transform", *arguments)
    assert result.code == 2
    assert message in result.err


@pytest.mark.rule("R4-19")
def test_ten_runs_give_the_same_bytes(crane: Runner) -> None:
    runs = set()
    for _ in range(10):
        crane("transform", "--ignored-patches-dir", "ignored")
        files = sorted(
            path for name in ("transform", "ignored") for path in (crane.folder / name).rglob("*") if path.is_file()
        )
        runs.add(tuple((path.name, path.read_bytes()) for path in files))
    assert len(runs) == 1
