"""convert --migrate: what migrations do in memory is written into people's files, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.command import Runner
from support.fleets import BASE, DEFINITION

CHANGES = """  changes:
    breaking: false
    migrations:
    - {rename: {from: host, to: server.host}}
    - {remove: {name: legacy, reason: unused}}
    - {retype: {name: args, expression: "[value]"}}
"""
OLD = DEFINITION.replace("{name: args, type: list, default: [a, b]}", "{name: args, type: string}")
OLD += "  - {name: legacy, type: bool}\n"
NEW = (
    DEFINITION.replace("1.0.0", "2.0.0")
    .replace("{name: host, type: string}", "{name: server.host, type: string}")
    .replace("default: [a, b]", "default: []")
    + CHANGES
)
PRESET = """# The shop's front.
apiVersion: fleetform.dev/v1alpha1
kind: PluginPreset
metadata: {name: web, namespace: acme}
spec:
  clusterSelector: {}
  plugin:
    pluginDefinition: {name: web}
    optionValues:
    # Asked for by the shop.
    - name:   host      # as DNS has it
      value: 'shop.example.com'
    - {name: replicas,  value: 2}

    - {name: args, value: "-v --color"}   # loud
    - name: legacy
      value: true
  groups:
  - name: eu
    clusterSelector: {matchLabels: {region: eu}}
    optionValues: {host: eu.example.com, replicas: 3}
  clusterOptionOverrides:
  - clusterName: us-1
    overrides:
    - {name: "host", value: us.example.com}
"""
OVERRIDE = """apiVersion: fleetform.dev/v1alpha1
kind: PluginOverride
metadata: {name: canary, namespace: acme}
spec:
  clusterSelector: {clusterNames: [eu-1]}
  overrides:
  - path: host
    value: canary.example.com
"""
MIGRATED = (
    PRESET.replace("name:   host      #", "name:   server.host      #")
    .replace('{name: args, value: "-v --color"}', '{name: args, value: ["-v --color"]}')
    .replace("    - name: legacy\n      value: true\n", "")
    .replace("{host: eu.example.com", "{server.host: eu.example.com")
    .replace('{name: "host", value: us', '{name: "server.host", value: us')
)


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    folder = tmp_path / "old"
    folder.mkdir()
    files = {**BASE, "definition.yaml": OLD, "newer.yaml": NEW, "preset.yaml": PRESET, "override.yaml": OVERRIDE}
    for name, text in files.items():
        (folder / name).write_text(text)
    return folder


@pytest.mark.rule("B9", "R2-6")
def test_names_and_values_are_rewritten_on_every_layer_and_every_other_byte_stays(run: Runner, fleet: Path) -> None:
    before = json.loads(run("get", "plugins", "-f", str(fleet), "-o", "json").out)
    done = run("convert", str(fleet), "--migrate")
    assert (done.code, "6 values rewritten in 2 files" in done.err) == (0, True)
    assert (fleet / "preset.yaml").read_text() == MIGRATED
    assert (fleet / "override.yaml").read_text() == OVERRIDE.replace("path: host", "path: server.host")
    after = json.loads(run("get", "plugins", "-f", str(fleet), "-o", "json").out)
    values = [[item["status"]["values"] for item in view["items"]] for view in (before, after)]
    assert values[0] == values[1]


@pytest.mark.rule("B9")
def test_what_was_migrated_needs_nothing_more(run: Runner, fleet: Path) -> None:
    assert run("convert", str(fleet), "--migrate", "--check").code == 1
    run("convert", str(fleet), "--migrate")
    done = run("convert", str(fleet), "--migrate", "--check")
    assert (done.code, done.out) == (0, "")


@pytest.mark.rule("B9")
@pytest.mark.parametrize("between", ["\n---\n", "\n---\n# Another one.\n", "\n\n--- "], ids=["", "comment", "in line"])
def test_documents_of_one_file_are_rewritten_each_in_its_own_lines(run: Runner, fleet: Path, between: str) -> None:
    """Also where each is one line, so that the values stand in its first and last line."""
    head = "apiVersion: fleetform.dev/v1alpha1, kind: PluginOverride"
    spec = "spec: {clusterSelector: {}, overrides: [{path: host, value: a.example.com}, {path: replicas, value: 4}]}"
    text = between.join(f"{{{head}, metadata: {{name: {name}, namespace: acme}}, {spec}}}" for name in "abc")
    (fleet / "override.yaml").write_text(text)
    assert run("convert", str(fleet), "--migrate").code == 0
    assert (fleet / "override.yaml").read_text() == text.replace("path: host", "path: server.host")


@pytest.mark.parametrize("flag", ["--check", "--dry-run"])
def test_a_patch_is_shown_and_nothing_written(run: Runner, fleet: Path, flag: str) -> None:
    done = run("convert", str(fleet), "--migrate", flag)
    assert "-    - name:   host      # as DNS has it\n+    - name:   server.host" in done.out
    assert (fleet / "preset.yaml").read_text() == PRESET


@pytest.mark.rule("B9")
def test_a_value_that_a_cluster_still_needs_as_it_is_stays(run: Runner, fleet: Path) -> None:
    state = {
        "kind": "State", "version": 1, "stamps": [],
        "plugins": [
            {"organization": "acme", "cluster": "us-1", "plugin": "web-us-1", "admitted": {"version": "1.0.0"}}
        ],
    }  # fmt: skip
    (fleet / "newer.yaml").write_text(NEW.replace("breaking: false", "breaking: true"))
    (fleet / "state.json").write_text(json.dumps(state))
    done = run("convert", "-f", str(fleet), "--migrate", "--state", str(fleet / "state.json"), "--dry-run")
    assert "host stays as it is: us-1 still reads it as it is" in done.err
    # The group and the override reach no cluster that still runs the old version.
    assert "+    optionValues: {server.host: eu.example.com, replicas: 3}" in done.out
    assert "name:   server.host" not in done.out


def test_a_value_whose_new_name_is_set_beside_it_is_left_to_a_person(run: Runner, fleet: Path) -> None:
    both = PRESET.replace(
        "    - {name: replicas,", "    - {name: server.host, value: b.example.com}\n    - {name: replicas,"
    )
    (fleet / "preset.yaml").write_text(both)
    done = run("convert", str(fleet), "--migrate")
    assert "host stays as it is: server.host is set beside it already" in done.err
    assert "name:   host" in (fleet / "preset.yaml").read_text()


def test_the_edits_are_data_too_and_hide_secrets(run: Runner, fleet: Path) -> None:
    view = json.loads(run("convert", str(fleet), "--migrate", "--dry-run", "-o", "json").out)
    assert view["kind"] == "Migration"
    actions = {(each["path"], each["action"]) for each in view["edits"]}
    assert actions == {("host", "rename"), ("args", "retype"), ("legacy", "remove")}
    assert {each["path"]: each.get("to") for each in view["edits"]} == {
        "host": "server.host",
        "args": None,
        "legacy": None,
    }


def test_a_file_that_is_linked_and_its_permissions_stay(run: Runner, fleet: Path, tmp_path: Path) -> None:
    real = tmp_path / "elsewhere.txt"
    (fleet / "preset.yaml").rename(real)
    real.chmod(0o640)
    (fleet / "preset.yaml").symlink_to(real)
    run("convert", str(fleet), "--migrate")
    assert (fleet / "preset.yaml").is_symlink()
    assert (real.read_text(), real.stat().st_mode & 0o777) == (MIGRATED, 0o640)


def test_migrating_into_another_folder_is_refused(run: Runner, fleet: Path) -> None:
    done = run("convert", str(fleet), "--migrate", "--output-dir", "x")
    assert (done.code, "drop --output-dir" in done.err) == (2, True)


def test_values_that_come_from_configs_are_nobodys_to_rewrite(example: Runner, root: Path) -> None:
    done = example("convert", str(root / "examples" / "seed-1" / "native"), "--migrate", "--dry-run")
    assert (done.code, done.out) == (0, "")


@pytest.mark.rule("B9", "R2-6")
def test_an_override_of_which_nothing_would_be_left_is_left_to_a_person(run: Runner, fleet: Path) -> None:
    emptied = OVERRIDE.replace("path: host", "path: legacy").replace("canary.example.com", "true")
    (fleet / "override.yaml").write_text(emptied)
    done = run("convert", str(fleet), "--migrate")
    assert "legacy stays as it is: nothing would be left of canary: delete it" in done.err
    assert (fleet / "override.yaml").read_text() == emptied
    assert run("validate", "-f", str(fleet)).code == 0


@pytest.mark.rule("R2-6", "S58")
def test_a_map_that_is_merged_and_becomes_a_list_is_left_to_a_person(run: Runner, fleet: Path) -> None:
    merged = OVERRIDE.replace("path: host", "path: labels").replace("canary.example.com", "{a: x}\n    strategy: Merge")
    newer = NEW.replace("{name: labels, type: map, default: {team: none}}", "{name: labels, type: list}")
    newer += '    - {retype: {name: labels, expression: "value.map(k, k)"}}\n'
    (fleet / "override.yaml").write_text(merged)
    (fleet / "newer.yaml").write_text(newer)
    done = run("convert", str(fleet), "--migrate")
    assert "labels stays as it is: Merge needs a map option, and labels is a list option" in done.err
    assert (fleet / "override.yaml").read_text() == merged


@pytest.mark.rule("R2-6", "R2-22")
def test_a_preset_that_lost_its_release_still_reads_a_value_as_it_is(run: Runner, fleet: Path) -> None:
    younger = PRESET.replace("{name: web, namespace: acme}", "{name: young, namespace: acme}")
    younger = younger.replace("pluginDefinition: {name: web}", "pluginDefinition: {name: web, version: 1.0.0}")
    (fleet / "preset.yaml").write_text(
        PRESET.replace("namespace: acme}", "namespace: acme, creationTimestamp: 2026-01-01}")
    )
    (fleet / "young.yaml").write_text(younger)
    done = run("convert", str(fleet), "--migrate")
    assert "host stays as it is: eu-1 still reads it as it is" in done.err
    assert (fleet / "override.yaml").read_text() == OVERRIDE


@pytest.mark.rule("R2-6", "S58")
def test_a_new_name_that_would_overlap_a_path_beside_it_is_left_to_a_person(run: Runner, fleet: Path) -> None:
    newer = NEW.replace("to: server.host}", "to: server}")
    newer = newer.replace("name: server.host, type: string", "name: server, type: map")
    (fleet / "newer.yaml").write_text(newer)
    (fleet / "definition.yaml").write_text(OLD.replace("{name: host, type: string}", "{name: host, type: map}"))
    (fleet / "preset.yaml").write_text(PRESET.split("    optionValues", maxsplit=1)[0])
    written = OVERRIDE.replace("canary.example.com", "{name: a}\n  - {path: server.zone, value: eu}")
    (fleet / "override.yaml").write_text(written)
    done = run("convert", str(fleet), "--migrate")
    assert "host stays as it is: server.zone is set beside it already" in done.err
    assert (fleet / "override.yaml").read_text() == written


@pytest.mark.rule("R2-6", "S58")
def test_a_value_that_its_new_name_does_not_take_is_left_to_a_person(run: Runner, fleet: Path) -> None:
    newer = NEW.replace("{name: server.host, type: string}", "{name: server.host, type: int}")
    (fleet / "newer.yaml").write_text(newer)
    done = run("convert", str(fleet), "--migrate")
    assert "host stays as it is: server.host is an int option and must be a whole number, not the text" in done.err
    assert run("validate", "-f", str(fleet)).code == 0


@pytest.mark.rule("R2-6", "S58")
def test_a_value_that_another_definition_of_its_override_would_refuse_is_left_to_a_person(
    run: Runner, fleet: Path
) -> None:
    other = DEFINITION.replace("name: web,", "name: shop,").replace(
        "{name: args, type: list, default: [a, b]}", "{name: args, type: string}"
    )
    (fleet / "other.yaml").write_text(other)
    both = OVERRIDE.replace("path: host", "path: args").replace(
        "  overrides:", "  pluginDefinitionNames: [web, shop]\n  overrides:"
    )
    (fleet / "override.yaml").write_text(both)
    done = run("convert", str(fleet), "--migrate")
    assert "args stays as it is: args is a string option and must be text, not a list" in done.err
    assert (fleet / "override.yaml").read_text() == both
    assert run("validate", "-f", str(fleet)).code == 0


@pytest.mark.rule("R2-6", "S60")
def test_items_of_one_list_under_two_names_are_left_to_a_person(run: Runner, fleet: Path) -> None:
    """As they are written one is removed after the other; in one list their indexes would count together."""
    newer = NEW.replace("to: server.host}", "to: server.hosts}")
    newer = newer.replace("name: server.host, type: string", "name: server.hosts, type: list")
    (fleet / "newer.yaml").write_text(newer)
    older = OLD.replace("{name: host, type: string}", "{name: host, type: list, default: [a, b, c, d]}")
    (fleet / "definition.yaml").write_text(older)
    (fleet / "preset.yaml").write_text(PRESET.split("    optionValues", maxsplit=1)[0])
    start = OVERRIDE.partition("  - path")[0]
    old, new = (f"  - {{path: '{path}', strategy: Remove}}\n" for path in ("host[0]", "server.hosts[1]"))
    (fleet / "override.yaml").write_text(start + old + new)
    done = run("convert", str(fleet), "--migrate")
    assert "host[0] stays as it is: server.hosts[1] is set beside it already" in done.err
    # Both under the old name are in one list before and after.
    (fleet / "override.yaml").write_text(start + old + old.replace("[0]", "[1]"))
    assert run("convert", str(fleet), "--migrate").code == 0
    assert (fleet / "override.yaml").read_text().count("server.hosts[") == 2


@pytest.mark.rule("R2-6", "S14")
@pytest.mark.parametrize("item", ["{path: host, value: x}", "{path: host, strategy: Remove}"])
def test_an_override_that_also_names_a_definition_without_the_new_name_stays(
    run: Runner, fleet: Path, item: str
) -> None:
    (fleet / "other.yaml").write_text(OLD.replace("name: web", "name: other"))
    names = "  pluginDefinitionNames: [web, other]\n  overrides:\n"
    written = OVERRIDE.partition("  overrides:\n")[0] + names + f"  - {item}\n"
    (fleet / "override.yaml").write_text(written)
    done = run("convert", str(fleet), "--migrate")
    assert "host stays as it is: other has no option server.host" in done.err
    assert (fleet / "override.yaml").read_text() == written
    assert run("validate", str(fleet)).code != 2
