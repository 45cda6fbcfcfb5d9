"""The command line as a contract: verbs, exit codes, JSON."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fleetform.cli.main import VERBS
from fleetform.cli.progress import progress
from fleetform.cli.terminal import guarded
from fleetform.syntax.yaml_in import read_one
from support.command import Runner
from support.fleets import BASE, documents, override


def test_validate_says_yes_with_counts(run: Runner) -> None:
    result = run("validate", "-o", "json")
    assert (result.code, result.json["kind"], result.json["valid"]) == (0, "ValidateResult", True)
    assert result.json["counts"] == {"files": 3, "objects": 5, "errors": 0, "warnings": 0}


def test_validate_exits_1_on_errors_and_prints_what_where_and_the_way_out(run: Runner) -> None:
    run.write(override=override("o", "[{path: replicas, value: many}]", "pluginDefinitionNames: [web]"))
    result = run("validate")
    assert result.code == 1
    assert "error[wrong-type]: replicas is an int option" in result.out
    assert "--> override.yaml:4:" in result.out
    assert result.out.rstrip().endswith("4 files, 6 objects: 1 error, 0 warnings")


def test_a_diagnostic_has_all_its_fields(run: Runner) -> None:
    run.write(override=override("o", "[{path: replicas, value: many}]", "pluginDefinitionNames: [web]"))
    (found,) = run("validate", "-o", "json").json["diagnostics"]
    assert set(found) == {"code", "severity", "message", "hint", "object", "path", "place", "related"}
    assert (found["object"], found["path"]) == ("PluginOverride/acme/o", "spec.overrides[0].value")
    assert found["place"] == {"file": "override.yaml", "line": 4, "column": 37}


def test_strict_turns_warnings_into_errors(run: Runner) -> None:
    run.write(override=override("o", "[{path: replicas, value: 3}]", "expires: 2020-01-01"))
    assert run("validate").code == 0
    assert run("validate", "--strict").code == 1


@pytest.mark.rule("B7")
def test_under_strict_a_warning_that_only_decisions_show_refuses_as_an_error_does(run: Runner) -> None:
    run.write(overrides=documents(*(override(name, f"[{{path: host, value: {name}}}]") for name in ("a", "b"))))
    assert run("get", "plugins", "web-eu-1").code == 0
    result = run("get", "plugins", "web-eu-1", "--strict")
    assert (result.code, "error[tie-undecided]" in result.err) == (2, True)


@pytest.mark.parametrize("verb", [("get", "plugins"), ("explain", "web-eu-1"), ("diff", ".")])
def test_every_verb_but_validate_exits_2_on_invalid_input_and_says_why(run: Runner, verb: tuple[str, ...]) -> None:
    run.write(broken="a: [1\n")
    result = run(*verb)
    assert (result.code, result.out) == (2, "")
    assert "error[bad-yaml]" in result.err


@pytest.mark.rule("S8")
@pytest.mark.parametrize(
    "question",
    [("web-eu-1",), ("web", "-c", "eu-1"), ("-c", "eu-1", "--definition", "web")],
)
def test_a_plugin_is_found_by_its_name_its_preset_or_its_definition(run: Runner, question: tuple[str, ...]) -> None:
    result = run("explain", *question, "-o", "json")
    assert (result.code, result.json["plugin"], result.json["cluster"]) == (0, "web-eu-1", "eu-1")


@pytest.mark.rule("S8")
def test_several_matches_exit_2_and_are_listed(run: Runner) -> None:
    result = run("explain", "web")
    assert result.code == 2
    assert all(f"web-{cluster}" in result.err for cluster in ("eu-1", "eu-2", "us-1"))


@pytest.mark.rule("S8")
def test_releases_default_to_the_definitions_name(run: Runner) -> None:
    spec = run("get", "plugins", "web-eu-1", "-o", "json").json["items"][0]["spec"]
    assert (spec["releaseName"], spec["releaseNamespace"]) == ("web", "web")


def test_explain_has_the_promised_fields_and_agrees_with_get(run: Runner) -> None:
    run.write(override=override("o", "[{path: replicas, value: 5}, {path: labels.team, value: x}]"))
    view = run("explain", "web-eu-1", "-o", "json").json
    assert {"plugin", "cluster", "definition", "target", "admitted", "appliedOverrides", "values", "options"} <= set(
        view
    )
    assert {"configs", "configsHidden", "bindings", "diagnostics"} <= set(view)
    replicas = next(option for option in view["options"] if option["path"] == "replicas")
    assert set(replicas) >= {"path", "type", "value", "winner", "hidden", "migratedFrom", "mentions"}
    assert replicas["winner"]["layer"] == "override"
    assert replicas["winner"]["rank"] == 1
    assert replicas["winner"]["tie"] is None
    assert replicas["winner"]["object"]["place"]["file"] == "override.yaml"
    assert [hidden["value"] for hidden in replicas["hidden"]] == [2, 1]
    item = run("get", "plugins", "web-eu-1", "-o", "json").json["items"][0]
    assert item["status"]["values"] == view["values"] == {"replicas": 5, "labels": {"team": "x"}, "args": ["a", "b"]}


@pytest.mark.rule("S20")
def test_explain_has_one_entry_per_declared_option_with_parts_inside(run: Runner) -> None:
    run.write(override=override("o", "[{path: labels.team, value: x}]"))
    options = run("explain", "web-eu-1", "-o", "json").json["options"]
    assert [option["path"] for option in options] == ["args", "host", "labels", "replicas", "token"]
    (part,) = options[2]["parts"]
    assert (part["path"], part["inside"], part["value"]) == ("labels.team", "team", "x")
    assert [hidden["value"] for hidden in part["hidden"]] == ["none"]


@pytest.mark.rule("R0-8")
def test_explain_of_a_path_inside_an_option_shows_the_split(run: Runner) -> None:
    run.write(override=override("o", "[{path: labels.team, value: x}]"))
    result = run("explain", "web-eu-1", "/labels/team")
    assert result.out.startswith("/labels/team = x")
    assert "team inside the option labels" in result.out


def test_explain_prints_the_winner_first_with_its_place(example: Runner) -> None:
    result = example("explain", "cert-manager", "-n", "acme", "-c", "eu-prod-1", "replicaCount")
    lines = result.out.splitlines()
    assert lines[0].startswith("replicaCount = 6 ")
    assert lines[0].endswith("cert-manager 1.14.2 on eu-prod-1 · acme")
    marks = [line.split()[0] for line in lines[1:]]
    assert marks == ["●", "○", "○", "○", "○", "○"]
    assert lines[1].endswith("overrides/acme-incidents.yaml:16")
    assert "default of 1.14.2" in lines[-1]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("explain", "wep-eu-1"), 1, "did you mean web-eu-1?"),
        (("explain", "web-eu-1", "replica"), 1, "did you mean replicas?"),
        (("explain", "web", "-c", "eu-9"), 1, "there is no cluster eu-9"),
        (("get", "plugins", "nope"), 1, "not among the plugins"),
        (("get", "plugns"), 2, "Did you mean plugins?"),
        (("explian", "x"), 2, "Did you mean explain?"),
        (("validate", "--stric"), 2, "--strict"),
        (("get", "plugins", "-o", "xml"), 2, "xml"),
        (("get", "plugins", "-l", "a=="), 0, "no plugins in acme"),
        (("get", "plugins", "-l", "a in b"), 2, "expected ("),
        (("get", "plugins", "--at", "soon"), 2, "2026-12-31"),
        (("get", "plugins", "-n", "acmee"), 1, "did you mean acme?"),
        (("validate", "--server", "http://x"), 2, "drop --server"),
        (("explain",), 2, "Name a plugin"),
        (("explain", "--definition", "web"), 2, "-c"),
        (("validate", "--state", "none.json"), 2, "none.json"),
        (("diff", "-f", "definition.yaml"), 2, "git"),
        (("diff", ".", "--fail-on", "nothing"), 2, "nothing"),
    ],
)
def test_what_a_user_gets_wrong_gets_an_exit_code_and_a_word(
    run: Runner, arguments: tuple[str, ...], code: int, said: str
) -> None:
    result = run(*arguments)
    assert (result.code, said in result.err, "Traceback" in result.err) == (code, True, False)


def test_an_empty_folder_is_a_warning_not_an_error(run: Runner) -> None:
    for file in run.folder.iterdir():
        file.unlink()
    result = run("validate")
    assert (result.code, "fleetform init" in result.out) == (0, True)


def test_selectors_narrow_what_is_listed(run: Runner) -> None:
    names = run("get", "plugins", "-l", "tier=gold,region!=us", "-o", "name").out.split()
    assert names == ["plugin/web-eu-1"]
    assert run("get", "clusters", "-c", "us-1", "-o", "name").out == "cluster/us-1\n"


def test_two_organizations_without_a_flag_print_nothing_and_say_what_to_do(example: Runner) -> None:
    result = example("get", "plugins")
    assert (result.code, result.out) == (0, "")
    assert "acme, globex" in result.err


@pytest.mark.parametrize(
    "kind", ["clusters", "definitions", "revisions", "presets", "overrides", "policies", "windows", "organizations"]
)
def test_every_kind_is_listed_as_a_table_and_as_data(example: Runner, kind: str) -> None:
    table = example("get", kind, "-A", "-o", "wide")
    assert table.code == 0
    assert table.out.startswith("ORGANIZATION")
    view = example("get", kind, "-A", "-o", "json").json
    assert view["kind"] == "List"
    assert len(view["items"]) == len(table.out.splitlines()) - 1
    assert read_one(example("get", kind, "-A", "-o", "yaml").out) == view


def test_kinds_that_are_not_in_the_input_are_empty_lists(run: Runner) -> None:
    assert run("get", "windows", "-o", "json").json["items"] == []


def test_diff_of_two_folders_groups_clusters_and_sets_exit_codes(run: Runner, tmp_path: Path) -> None:
    run.write(after__base=documents(*BASE.values()), after__override=override("o", "[{path: replicas, value: 9}]"))
    run.write(before__base=documents(*BASE.values()))
    result = run("diff", "before", "after")
    assert result.code == 0
    assert "3 clusters · 3 plugins changed · nothing deleted" in result.out
    assert "3 clusters (eu-1, eu-2, us-1)" in result.out
    assert "replicas 2 → 9   (after/override.yaml:4)" in result.out
    assert run("diff", "before", "after", "--exit-code").code == 1
    assert run("diff", "before", "before", "--exit-code").code == 0
    assert run("diff", "before", "after", "--max-clusters", "2").code == 1
    assert run("diff", "before", "after", "--max-clusters", "3").code == 0
    assert run("diff", "before", "after", "--fail-on", "delete,blocked").code == 0


def test_diff_fails_on_deletes_blocked_and_ties_when_asked(run: Runner) -> None:
    required = BASE["definition.yaml"].replace(
        "{name: host, type: string}", "{name: host, type: string, required: true}"
    )
    ties = documents(*(override(name, f"[{{path: replicas, value: {value}}}]") for name, value in (("a", 1), ("b", 2))))
    run.write(before__base=documents(*BASE.values()))
    run.write(deleted__base=documents(BASE["clusters.yaml"], BASE["definition.yaml"]))
    run.write(blocked__base=documents(BASE["clusters.yaml"], required.replace("1.0.0", "1.1.0"), BASE["preset.yaml"]))
    run.write(tied__base=documents(*BASE.values(), ties))
    for folder, what in (("deleted", "delete"), ("blocked", "blocked"), ("tied", "tie")):
        assert run("diff", "before", folder).code == 0
        assert run("diff", "before", folder, "--fail-on", what).code == 1


def test_diff_as_json_has_the_promised_fields(run: Runner) -> None:
    run.write(after__base=documents(*BASE.values()), after__override=override("o", "[{path: replicas, value: 9}]"))
    run.write(before__base=documents(*BASE.values()))
    view = run("diff", "before", "after", "-o", "json").json
    assert {"kind", "from", "to", "changeId", "summary", "changes", "groups", "changelog", "overrides"} <= set(view)
    assert set(view["summary"]) == {
        "clusters", "plugins", "options", "installs", "upgrades", "downgrades", "deletes", "blocked", "unknown",
    }  # fmt: skip
    assert {"cluster", "plugin", "action", "version", "breaking", "options", "configs", "manifests", "blocked"} <= set(
        view["changes"][0]
    )


def test_a_markdown_comment_fits_however_large_the_change(run: Runner) -> None:
    clusters = documents(
        *(
            f"apiVersion: fleetform.dev/v1alpha1\nkind: Cluster\nmetadata: {{name: c{number}, namespace: acme}}\n"
            for number in range(900)
        )
    )
    blocks = "".join(
        f"  - {{clusterName: c{number}, overrides: [{{name: host, value: host-{number}-{'x' * 200}}}]}}\n"
        for number in range(900)
    )
    run.write(before__base=documents(clusters, BASE["definition.yaml"], BASE["preset.yaml"]))
    run.write(
        after__base=documents(
            clusters, BASE["definition.yaml"], BASE["preset.yaml"] + "  clusterOptionOverrides:\n" + blocks
        )
    )
    text = run("diff", "before", "after", "-o", "markdown").out
    assert len(text.encode()) <= 60_000
    assert "and 860 other values" in text


def test_convert_writes_native_files_that_mean_the_same(run: Runner) -> None:
    run.write(
        old__preset="""
        apiVersion: greenhouse.sap/v1alpha1
        kind: PluginPreset
        metadata: {name: web, namespace: acme}
        spec:
          clusterSelector: {matchLabels: {region: eu}}
          plugin:
            displayName: Web
            pluginDefinitionRef: {name: web, kind: ClusterPluginDefinition}
            optionValues: [{name: replicas, value: 4}]
        """
    )
    (run.folder / "preset.yaml").unlink()
    before = run("get", "plugins", "-o", "json").json["items"]
    result = run("convert", "old", "-n", "acme", "--output-dir", "new")
    assert result.code == 0
    assert result.out.split() == ["new/acme/pluginpresets/web.yaml"]
    assert "displayName" in result.err
    (run.folder / "old" / "preset.yaml").unlink()
    after = run("get", "plugins", "-o", "json").json["items"]
    assert [item["status"]["values"] for item in after] == [item["status"]["values"] for item in before]
    assert run("convert", "old", "new", "-n", "acme", "--check").code == 0


def test_convert_check_exits_1_where_something_is_not_native(run: Runner) -> None:
    run.write(old="kind: PluginOverride\nname: o\nspec: {overrides: [{path: replicas, value: 3}]}\n")
    result = run("convert", "old.yaml", "-n", "acme", "--check")
    assert (result.code, result.out) == (1, "acme/pluginoverrides/o.yaml\n")


def test_convert_does_not_replace_files_unasked(run: Runner) -> None:
    assert run("convert", "preset.yaml", "--output-dir", "new").code == 0
    assert run("convert", "preset.yaml", "--output-dir", "new").code == 2
    assert run("convert", "preset.yaml", "--output-dir", "new", "--dry-run").code == 0
    assert run("convert", "preset.yaml", "--output-dir", "new", "--yes").code == 0


def test_init_makes_a_fleet_that_validates_and_explains(run: Runner) -> None:
    assert run("init", "new").code == 0
    assert run("validate", "new", "--strict").code == 0
    assert "Guten Tag" in run("explain", "hello", "-c", "eu-prod-1", "greeting", "-f", "new").out
    assert run("init", "new").code == 2
    assert run("init", "preset.yaml").code == 2


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script_for_each_shell(run: Runner, shell: str) -> None:
    result = run("completion", shell)
    assert (result.code, "_FLEETFORM_COMPLETE" in result.out) == (0, True)


def test_version_is_printed_in_both_ways(run: Runner) -> None:
    assert run("--version").out == run("version").out
    assert run("version", "-o", "json").json["kind"] == "Version"


def test_help_names_every_exit_code_that_the_reference_does(run: Runner, root: Path) -> None:
    page = (root / "docs/reference/cli.md").read_text(encoding="utf-8").split("\n## Exit codes\n")[1].split("\n## ")[0]
    codes = re.findall(r"^\| (\d+) \|", page, re.MULTILINE)
    shown = run("-h").out.split("Exit codes:")[1]
    assert re.findall(r"(\d+) [a-z]", shown) == codes


@pytest.mark.parametrize("verb", sorted(VERBS))
def test_every_verb_has_help_with_an_example(run: Runner, verb: str) -> None:
    result = run(verb, "-h")
    assert (result.code, "Example" in result.out) == (0, True)


@pytest.mark.parametrize("group", ["catalog", "rollout", "transform"])
def test_every_verb_of_a_group_has_help_with_an_example_and_is_told_whole_in_its_list(run: Runner, group: str) -> None:
    listed = run(group, "-h").out.split("Commands:\n")[1].split("\n\n")[0].splitlines()
    assert listed
    assert not [line for line in listed if line.endswith("...")]
    for line in listed:
        result = run(group, line.split()[0], "-h")
        assert (result.code, "Example" in result.out) == (0, True), line


def test_a_state_file_brings_stamps_that_settle_ties(run: Runner) -> None:
    run.write(
        overrides=documents(
            override("a", "[{path: replicas, value: 3}]"),
            override("b", "[{path: replicas, value: 4}]"),
        )
    )
    stamps = [
        {"kind": "PluginOverride", "organization": "acme", "name": name, "created": f"2026-0{month}-01T00:00:00Z"}
        for name, month in (("a", 2), ("b", 1))
    ]
    (run.folder / "state.json").write_text(json.dumps({"kind": "State", "version": 1, "stamps": stamps, "plugins": []}))
    files = [f"-f{name}.yaml" for name in ("overrides", "clusters", "definition", "preset")]
    question = ["explain", "web-eu-1", "replicas", "-o", "json", *files]
    assert run(*question).json["options"][0]["value"] == 4
    with_state = run(*question, "--state", "state.json").json["options"][0]
    assert (with_state["value"], with_state["winner"]["tie"]) == (3, "created")


def test_time_can_be_moved(run: Runner) -> None:
    run.write(override=override("o", "[{path: replicas, value: 9}]", "expires: 2026-06-01"))
    values = [
        run("explain", "web-eu-1", "replicas", "-o", "json", "--at", at).json["options"][0]["value"]
        for at in ("2026-05-31", "2026-06-01")
    ]
    assert values == [9, 2]


def test_findings_never_show_lines_that_may_hold_secrets(run: Runner) -> None:
    run.write(
        broken='password: "hunter2\n',
        secret='apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData:\n  plain: "hunter2\n',
        override=override("o", "[{path: token, value: [hunter2]}]", "pluginDefinitionNames: [web]"),
        block=(
            "apiVersion: fleetform.dev/v1alpha1\nkind: PluginOverride\nmetadata: {name: p, namespace: acme}\n"
            "spec:\n  overrides:\n  - path: token\n    value: |\n      hunter2\n      hunter2\n"
            "  - path: /token\n    value: b\n"
        ),
        unclosed='a:\n  pin: "hunter2\n',
    )
    result = run("validate", "-v")
    assert result.code == 1
    assert "hunter2" not in result.out


def test_a_named_pipe_is_not_waited_for(run: Runner) -> None:
    os.mkfifo(run.folder / "pipe.yaml")
    assert run("validate").code == 0
    assert run("validate", "pipe.yaml").code == 1


def test_converted_sources_point_to_where_they_were(run: Runner) -> None:
    assert run("convert", "definition.yaml", "--output-dir", "new").code == 0
    (file,) = (run.folder / "new").rglob("*.yaml")
    path = read_one(file.read_text())["spec"]["source"]["manifests"]["path"]
    assert (file.parent / path).resolve() == (run.folder / "manifests").resolve()


def test_a_failure_is_one_document_too(run: Runner) -> None:
    for arguments in (("get", "plugins", "x"), ("explain", "x"), ("get", "plugins", "--state", "none")):
        result = run(*arguments, "-o", "json")
        assert result.code in (1, 2)
        assert result.json["diagnostics"][0]["severity"] == "error"


def test_explain_of_an_option_shows_the_gates_of_that_option_only(run: Runner) -> None:
    options = "  - {name: hostname, type: string, required: true}\n"
    run.write(definition=BASE["definition.yaml"] + options)
    assert "required-option" not in run("explain", "web-eu-1", "host").out
    assert "required-option" in run("explain", "web-eu-1", "hostname").out


def test_validate_against_a_commit_fails_a_change_without_a_bump(run: Runner) -> None:
    for arguments in (
        ["init", "-q"],
        ["add", "."],
        ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x"],
    ):
        subprocess.run(["git", *arguments], cwd=run.folder, check=True)
    run.write(definition=BASE["definition.yaml"].replace("default: 1,", "default: 2,"))
    result = run("validate", "--against", "HEAD", "-o", "json")
    assert (result.code, [each["code"] for each in result.json["diagnostics"]]) == (1, ["changed-without-bump"])
    assert "changed-without-bump" in run("validate", "--against", "HEAD", "-o", "markdown").out
    assert run("validate", "--against", "HEAD~9").code == 2


def test_from_a_folder_beside_a_fleet_the_same_is_compared(run: Runner) -> None:
    run.write(manifests__it="apiVersion: v1\nkind: ConfigMap\nmetadata: {name: it}\n")
    for arguments in (
        ["init", "-q"],
        ["add", "."],
        ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x"],
    ):
        subprocess.run(["git", *arguments], cwd=run.folder, check=True)
    run.write(manifests__it="apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}\n")
    here = run("diff").out
    assert "renders changed under one version" in here
    run.folder = run.folder / "beside"
    run.folder.mkdir()
    assert run("diff", "-f", "..").out == here
    assert run("validate", "-f", "git:HEAD:..").out.splitlines()[-1] == run("validate", "-f", "..").out.splitlines()[-1]


def test_what_takes_long_says_so_on_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    printed = ""
    with progress("reading", "files", patience=0) as said:
        said.report(4100, 10000)
        for _ in range(1000):
            printed += capsys.readouterr().err
            if "4,100" in printed:
                break
            time.sleep(0.01)
    printed = guarded(printed + capsys.readouterr().err)
    assert "\rreading 4,100 of 10,000 files…" in printed
    assert printed.endswith(" \r")


def test_what_is_streamed_is_counted_as_it_is_taken() -> None:
    with progress("writing", "plugins") as said:
        streamed = said.counting(["a", "b", "c"], 3)
        assert (str(said), next(streamed), next(streamed)) == ("writing…", "a", "b")
        assert (str(said), list(streamed)) == ("writing 1 of 3 plugins…", ["c"])


@pytest.mark.parametrize(("quiet", "after"), [(False, 60.0), (True, 0.0)])
def test_what_is_done_at_once_or_quiet_says_nothing(
    quiet: bool, after: float, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with progress("reading fleet", quiet=quiet, patience=after):
        pass
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("metadata", ["metadata: c1", "metadata: [1]", "kind: [Cluster]"])
def test_a_greenhouse_document_of_a_wrong_shape_is_an_error_like_any_other(run: Runner, metadata: str) -> None:
    kind = "" if metadata.startswith("kind") else "kind: Cluster\n"
    run.write(odd=f"apiVersion: greenhouse.sap/v1alpha1\n{kind}{metadata}\n")
    assert run("validate").code in (0, 1)


def test_a_git_input_without_a_revision_is_refused(run: Runner) -> None:
    assert run("diff", "git:").code == 2


def test_a_snippet_shows_no_value_although_nobody_knows_yet_that_it_is_secret(run: Runner) -> None:
    run.write(override=override("o", "[{path: token, value: hunter2, strategy: Mrge}]"))
    result = run("validate")
    assert (result.code, "hunter2" in result.out, "strategy" in result.out) == (1, False, True)


def test_an_option_that_becomes_secret_is_masked_on_both_sides_of_a_diff(run: Runner) -> None:
    value = override("o", "[{path: host, value: hunter2}]")
    newer = (
        BASE["definition.yaml"]
        .replace("1.0.0", "2.0.0")
        .replace("{name: host, type: string}", "{name: host, type: secret}")
    )
    run.write(before__base=documents(*BASE.values(), value))
    run.write(after__base=documents(BASE["clusters.yaml"], newer, BASE["preset.yaml"], value))
    for output in ("table", "json", "markdown"):
        assert "hunter2" not in run("diff", "before", "after", "-o", output).out


def test_a_relabelled_cluster_is_neither_new_nor_gone_under_a_selector(run: Runner) -> None:
    relabelled = BASE["clusters.yaml"].replace("region: us", "region: moon")
    run.write(before__base=documents(*BASE.values()))
    run.write(after__base=documents(relabelled, BASE["definition.yaml"], BASE["preset.yaml"]))
    summary = run("diff", "before", "after", "-l", "region=us", "-o", "json").json["summary"]
    assert (summary["installs"], summary["deletes"]) == (0, 0)


def test_values_are_masked_where_the_definition_is_not_known(run: Runner) -> None:
    run.write(
        preset=BASE["preset.yaml"].replace("{name: web}\n", "{name: wep}\n") + "    - {name: token, value: hunter2}\n"
    )
    assert "hunter2" not in run("get", "presets", "-o", "yaml").out


@pytest.mark.parametrize("question", ["plan", "why -l tier=gold", "simulate", "get clusters", "diff . ."])
def test_an_answer_from_a_folder_without_manifests_says_so(run: Runner, question: str) -> None:
    for file in run.folder.glob("*.yaml"):
        file.unlink()
    assert "warning: there is no manifest in .; give a folder with -f" in run(*question.split()).err
    assert [each["code"] for each in run(*question.split(), "-o", "json").json["diagnostics"]] == ["empty-input"]
