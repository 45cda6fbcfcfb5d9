"""Text of others reaches people on many paths: it steers no terminal, forges no line, shows no secret, does nothing in
a comment."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator

import pytest

from support.command import Runner

# Colours, a title, a bell, a change of direction, a blank of no width, a control of eight bits, a line of its own.
_ESCAPES = "\x1b[31m\x1b]0;x\x07\u202e\u2066\u200b\x9b2J\rx"
_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
_E = json.dumps(_ESCAPES)[1:-1]

# Escapes wherever text is free: hints, changelogs, group names, owners, option names, kinds, fields, reasons.
_FLEET = f"""
apiVersion: fleetform.dev/v1alpha1
kind: Cluster
metadata: {{name: one, namespace: acme, labels: {{env: prod}}, annotations: {{"a": "{_E}"}}}}
spec: {{facts: {{zone: "{_E}"}}, taints: [{{key: a, value: "{_E}", effect: NoSelect}}]}}
---
apiVersion: fleetform.dev/v1alpha1
kind: PluginDefinition
metadata: {{name: web, namespace: acme}}
spec:
  version: 1.0.0
  displayName: "{_E}"
  source: {{manifests: {{path: ./manifests}}}}
  options: [{{name: replicas, type: int, default: 1}}, {{name: "name{_E}", type: string, default: "{_E}"}}]
---
apiVersion: fleetform.dev/v1alpha1
kind: PluginDefinition
metadata: {{name: web, namespace: acme}}
spec:
  version: 2.0.0
  source: {{manifests: {{path: ./manifests}}}}
  changes: {{breaking: true, summary: "{_E}", changelog: "{_E}\\n{_E}", acknowledge: "{_E}"}}
  options:
    - {{name: replicas, type: int, default: 2}}
    - {{name: "name{_E}", type: string, default: "b{_E}"}}
    - {{name: "new{_E}", type: string, required: true}}
---
apiVersion: fleetform.dev/v1alpha1
kind: PluginPreset
metadata: {{name: web, namespace: acme}}
spec:
  clusterSelector: {{}}
  groups: [{{name: "group{_E}", clusterSelector: {{}}, optionValues: [{{name: replicas, value: 3}}]}}]
  plugin: {{pluginDefinition: {{name: web, version: VERSION}}}}
---
apiVersion: fleetform.dev/v1alpha1
kind: PluginOverride
metadata: {{name: more, namespace: acme}}
spec:
  pluginDefinitionNames: [web]
  reason: "{_E}"
  owner: "{_E}"
  overrides: [{{path: "name{_E}", value: "v{_E}"}}, {{path: replicas, expression: "cluster.labels['{_E}']"}}]
---
apiVersion: v1
kind: ConfigMap
metadata: {{name: notes, namespace: acme}}
data: {{a: "{_E}"}}
"""
_BROKEN = f"""
---
apiVersion: fleetform.dev/v1alpha1
kind: "Cluster{_E}"
metadata: {{name: two, namespace: acme}}
---
apiVersion: fleetform.dev/v1alpha1
kind: Cluster
metadata: {{name: "three{_E}", namespace: "acme{_E}"}}
spec: {{"field{_E}": 1, timeZone: "{_E}"}}
---
apiVersion: "fleetform.dev/{_E}"
kind: Cluster
metadata: {{name: four, namespace: acme}}
---
apiVersion: fleetform.dev/v1alpha1
kind: PluginOverride
metadata: {{name: bad, namespace: acme}}
spec:
  pluginDefinitionNames: ["{_E}"]
  overrides: [{{path: "a[{_E}", value: 1}}, {{path: b, expression: "{_E} +"}}]
---
"{_E}": "{_E}"
"{_E}": twice
"""


def write_fleets(run: Runner) -> None:
    """Three fleets: one that is sound, the same with another version, and one that is broken."""
    for name, text in (("old", _FLEET), ("new", _FLEET), ("broken", _FLEET + _BROKEN)):
        folder = run.folder / name
        (folder / "manifests").mkdir(parents=True)
        (folder / "manifests" / "a.yaml").write_text(f'apiVersion: v1\nkind: A\nmetadata: {{name: a}}\ndata: "{_E}"\n')
        version = "1.0.0" if name == "old" else "2.0.0"
        (folder / "all.yaml").write_text(text.replace("VERSION", version), encoding="utf-8")


def questions() -> Iterator[tuple[str, ...]]:
    """What every verb can be asked about them."""
    formats = ("table", "wide", "json", "yaml")
    for fleet in ("old", "new", "broken"):
        at = ("-f", fleet, "-n", "acme")
        yield from (("validate", *at, "-v", "-o", output) for output in (*formats, "markdown"))
        for output in formats:
            for kind in ("clusters", "definitions", "overrides", "plugins", "presets", "revisions"):
                yield "get", kind, *at, "-v", "-o", output
            yield "explain", "web", "-c", "one", *at, "-o", output
            yield "explain", "web", "-c", "one", "replicas", *at, "-o", output
            yield "render", "web", "-c", "one", *at, "-o", output
        yield "convert", fleet, "-n", "acme"
    for output in (*formats, "markdown"):
        yield "diff", "old", "new", "-o", output
        yield "diff", "old", "new", "--render", "-o", output
    yield "explain", _ESCAPES, "-f", "old"
    yield "get", "plugin", _ESCAPES, "-f", "old"
    yield "get", _ESCAPES
    yield (_ESCAPES,)
    yield "validate", "-f", _ESCAPES
    yield "diff", f"git:{_ESCAPES}", "old"


def test_no_verb_lets_text_steer_a_terminal(run: Runner) -> None:
    write_fleets(run)
    for question in questions():
        result = run(*question)
        assert result.code != 70, (question, result.err)
        for text in (result.out, result.err):
            found = _STEERING.search(text)
            assert found is None, (question, text[max(0, found.start() - 200) : found.end() + 50])


def test_what_is_escaped_in_data_is_still_the_same_data(run: Runner) -> None:
    from fleetform.syntax.yaml_in import read_one

    run.write(config=f'apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a, namespace: acme}}\ndata: {{a: "{_E}"}}\n')
    run.write(
        fleet=f"""
        apiVersion: fleetform.dev/v1alpha1
        kind: Cluster
        metadata: {{name: odd, namespace: acme}}
        spec: {{facts: {{zone: "{_E}\\U000e0041"}}}}
        """
    )
    wanted = _ESCAPES + "\U000e0041"
    assert run("get", "cluster", "odd", "-o", "json").json["items"][0]["spec"]["facts"]["zone"] == wanted
    tree = read_one(run("get", "cluster", "odd", "-o", "yaml").out)
    assert isinstance(tree, dict)
    assert tree["items"][0]["spec"]["facts"]["zone"] == wanted


def test_colours_are_for_terminals_that_have_them(run: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    from fleetform.cli.terminal import guarded, wants_color
    from fleetform.cli.text import Painter

    class Screen:
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert wants_color(Screen())  # type: ignore[arg-type]
    monkeypatch.setenv("NO_COLOR", "1")
    assert not wants_color(Screen())  # type: ignore[arg-type]
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert not wants_color(Screen())  # type: ignore[arg-type]
    painted = Painter(True)(f"red {_ESCAPES}", fg="red")
    assert guarded(painted).startswith("\x1b[31mred \\x1b[31m")
    assert guarded(painted).endswith("x\x1b[0m")


def test_a_name_forges_no_line_of_a_table(run: Runner) -> None:
    run.write(
        odd="""
        apiVersion: fleetform.dev/v1alpha1
        kind: PluginPreset
        metadata: {name: odd, namespace: acme, annotations: {a: b}}
        spec:
          clusterSelector: {}
          groups: [{name: "g\\nNAME  everything is fine", clusterSelector: {}, optionValues: [{name: a, value: 1}]}]
          plugin: {pluginDefinition: {name: "no\\nerror[bad-yaml]: forged"}}
        """
    )
    result = run("validate", "-v")
    assert result.code == 1
    assert not [line for line in result.out.splitlines() if line.startswith(("error[bad-yaml]: forged", "NAME "))]


# ---- Long lines, many findings


def test_what_is_shown_of_a_long_line_is_short_and_points_at_the_place(run: Runner) -> None:
    fields = ",".join(f'"f{number}": 1' for number in range(20_000))
    cluster = '{"apiVersion": "fleetform.dev/v1alpha1", "kind": "Cluster", "metadata": {"name": "x"}, "spec": {%s}}'
    (run.folder / "long.json").write_text(cluster % fields)
    (run.folder / "name.yaml").write_text(
        f"apiVersion: fleetform.dev/v1alpha1\nkind: Cluster\nmetadata: {{name: {'a' * 200_000}}}\n"
    )
    result = run("validate")
    assert result.code == 1
    assert max(map(len, result.out.splitlines())) < 1_200
    assert len(result.out) < 30_000
    (run.folder / "long.json").unlink()
    (run.folder / "name.yaml").unlink()
    run.write(
        wide=f"apiVersion: fleetform.dev/v1alpha1\nkind: Cluster\nmetadata: {{labels: {{}}, name: A_{'b' * 300}}}\n"
    )
    lines = run("validate").out.splitlines()
    place = next(index for index, line in enumerate(lines) if line.startswith("  --> wide.yaml"))
    shown, mark = lines[place + 1], lines[place + 2]
    assert len(shown) < 140
    assert len(mark) < 140
    assert shown[mark.index("^") :].startswith("name: A_")


def test_a_thousand_errors_are_summarised(run: Runner) -> None:
    one = "apiVersion: fleetform.dev/v1alpha1\nkind: Cluster\nmetadata: {name: c%d, namespace: acme}\nspec: {nope: 1}\n"
    (run.folder / "many.yaml").write_text("---\n".join(one % number for number in range(1000)))
    result = run("validate")
    assert result.code == 1
    assert result.out.count("error[unknown-field]") == 8
    assert "and 992 more: 992 × unknown-field" in result.out
    assert result.out.rstrip().endswith("1,000 errors, 0 warnings")
    assert run("validate", "-o", "wide").out.count("error[unknown-field]") == 1000
    assert len(run("validate", "-o", "json").json["diagnostics"]) == 1000
    refused = run("get", "plugins")
    assert refused.code == 2
    assert refused.err.count("error[unknown-field]") == 8


# ---- Secrets


_LOGINS = """
apiVersion: fleetform.dev/v1alpha1
kind: Cluster
metadata: {name: one, namespace: acme}
---
apiVersion: fleetform.dev/v1alpha1
kind: PluginDefinition
metadata: {name: web, namespace: acme}
spec:
  version: 1.0.0
  docsURL: "https://bob:hunter2@docs.example.org?token=hunter2"
  source: SOURCE
  options:
  - {name: url, type: string, default: "https://bob:hunter2@example.org/?sig=hunter2"}
  - {name: map, type: map}
  - {name: made, type: string}
---
apiVersion: fleetform.dev/v1alpha1
kind: Catalog
metadata: {name: extra, namespace: acme}
spec: {sources: [{git: {url: "https://bob:hunter2@git.example.org/x.git"}}]}
---
apiVersion: fleetform.dev/v1alpha1
kind: PluginPreset
metadata: {name: web, namespace: acme}
spec:
  clusterSelector: {}
  plugin:
    pluginDefinition: {name: web}
    optionValues:
    - {name: map, value: {at: [{url: "https://bob:hunter2@example.org/a"}]}}
    - {name: made, expression: "'https://bob:hunter2@example.org/' + cluster.name"}
---
apiVersion: fleetform.dev/v1alpha1
kind: PluginOverride
metadata: {name: more, namespace: acme}
spec: {overrides: [{path: map.to, value: "redis://:hunter2@cache.example.org/0"}]}
"""
_SOURCES = (
    '{helm: {repository: "https://bob:hunter2@127.0.0.1:9/x?token=hunter2", chart: web, version: 1.0.0}}',
    '{helm: "https://bob:hunter2@127.0.0.1:9/x?token=hunter2"}',
    '{helm: {repository: {a: 1}, chart: "oci://bob:hunter2@127.0.0.1:9/x"}}',
    '{kustomize: {git: {url: "https://bob:hunter2@127.0.0.1:9/x.git", ref: {tag: v1}}}}',
    '{kustomize: {git: "git+https://bob:hunter2-which-is-a-very-long-password-indeed@127.0.0.1:9/x.git"}}',
    '"ssh://bob:hunter2@127.0.0.1:9/x.git"',
)


@pytest.mark.rule("S5")
@pytest.mark.parametrize("source", _SOURCES)
def test_logins_of_addresses_are_never_printed(run: Runner, source: str) -> None:
    run.write(logins=_LOGINS.replace("SOURCE", source))
    for output in ("table", "json", "wide"):
        for question in (
            ("validate", "-v"),
            ("get", "definitions"),
            ("get", "revisions"),
            ("get", "catalogs"),
            ("get", "plugins"),
            ("get", "presets"),
            ("get", "overrides"),
            ("explain", "web-one"),
            ("explain", "web-one", "map"),
            ("explain", "web-one", "made"),
            ("render", "web-one"),
        ):
            result = run(*question, "-n", "acme", "-o", output)
            assert "hunter2" not in result.err + result.out, (question, output)


@pytest.mark.rule("S5")
def test_a_login_is_shown_by_a_mark_and_rendered_as_it_is(run: Runner) -> None:
    object_ = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {url: '${url}', made: '${made}'}\n"
    fleet = _LOGINS.replace("SOURCE", "{manifests: {path: ./objects}}")
    run.write(old__fleet=fleet, old__objects__web=object_, new__objects__web=object_)
    run.write(new__fleet=fleet.replace("hunter2", "hunter3"))
    values = run("explain", "web-one", "-f", "old", "-o", "json").json["values"]
    assert values["url"] == "https://(secret)@example.org/?…"
    assert values["map"] == {
        "at": [{"url": "https://(secret)@example.org/a"}],
        "to": "redis://(secret)@cache.example.org/0",
    }
    assert "url: https://bob:hunter2@example.org/?sig=hunter2" in run("render", "web-one", "-f", "old").out
    for output in ("table", "wide", "json", "markdown"):
        result = run("diff", "old", "new", "--render", "-o", output)
        assert "hunter" not in result.out + result.err
        assert "https://(secret)@example.org" in result.out
    assert "  url (secret) changed" in run("diff", "old", "new").out


def test_no_word_of_a_secret_options_expression_is_shown(run: Runner) -> None:
    run.write(
        secret="""
        apiVersion: fleetform.dev/v1alpha1
        kind: PluginDefinition
        metadata: {name: vault, namespace: acme}
        spec:
          version: 1.0.0
          options: [{name: token, type: secret}, {name: other, type: secret}, {name: third, type: secret}]
        ---
        apiVersion: fleetform.dev/v1alpha1
        kind: PluginPreset
        metadata: {name: vault, namespace: acme}
        spec:
          clusterSelector: {}
          plugin:
            pluginDefinition: {name: vault}
            optionValues: [{name: token, expression: "cluster.labels.hunter2"}]
        """
    )
    for expression in ("hunter2 + 1", "'hunter2' + ", "cluster.name + hunter2()", "int('hunter2')", "1 + 'hunter2'"):
        run.write(
            override=f"""
            apiVersion: fleetform.dev/v1alpha1
            kind: PluginOverride
            metadata: {{name: o, namespace: acme}}
            spec: {{pluginDefinitionNames: [vault], overrides: [{{path: other, expression: "{expression}"}}]}}
            """
        )
        for question in (("validate", "-v"), ("validate", "-o", "json"), ("explain", "vault", "-c", "eu-prod-1")):
            result = run(*question, "-n", "acme")
            assert "hunter2" not in result.out + result.err, (question, expression)


def test_a_default_is_masked_if_any_version_calls_the_option_secret(run: Runner) -> None:
    one = """
        apiVersion: fleetform.dev/v1alpha1
        kind: PluginDefinition
        metadata: {name: vault, namespace: acme}
        spec: {version: %s, options: [{name: token, type: %s, default: hunter2, enum: [hunter2, hunter3]}]}
    """
    run.write(a=one % ("1.0.0", "string"), b=one % ("2.0.0", "secret"))
    for kind in ("definitions", "revisions"):
        for output in ("table", "wide", "json", "yaml"):
            result = run("get", kind, "-n", "acme", "-o", output)
            assert result.code == 0
            assert "hunter" not in result.out


# ---- Comments on pull requests


def test_nothing_in_a_comment_does_anything(run: Runner) -> None:
    evil = "@everyone </details> <img src=x> ![a](https://b) ``` fixes #12 <script> | x | [a](javascript:b) &#64;you"
    text = f"""
        apiVersion: fleetform.dev/v1alpha1
        kind: PluginDefinition
        metadata: {{name: web, namespace: acme}}
        spec:
          version: VERSION
          changes: {{breaking: true, changelog: {json.dumps(evil + "````" + evil)}, acknowledge: {json.dumps(evil)}}}
          options: [{{name: a, type: string, default: DEFAULT}}]
        ---
        apiVersion: fleetform.dev/v1alpha1
        kind: PluginPreset
        metadata: {{name: web, namespace: acme}}
        spec: {{clusterSelector: {{}}, plugin: {{pluginDefinition: {{name: web}}}}}}
        ---
        apiVersion: fleetform.dev/v1alpha1
        kind: Cluster
        metadata: {{name: one, namespace: acme}}
    """
    run.write(old__a=text.replace("VERSION", "1.0.0").replace("DEFAULT", "x"))
    run.write(new__a=text.replace("VERSION", "2.0.0").replace("DEFAULT", json.dumps(evil)))
    comment = run("diff", "old", "new", "-o", "markdown").out
    assert "everyone" in comment
    # Outside of code nothing is left that Markdown or the forge would act upon.
    prose = re.sub(r"(?ms)^(`{3,})text\n.*?\n\1$", "", comment)
    prose = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", prose)
    assert len(re.findall(r"(?<!\\)</details>", prose)) == prose.count("<details>") == 1
    html, image, issue, entity = (
        r"(?<!\\)<(?!/?details|/?summary)",
        r"(?<!\\)!\[",
        r"(?<![\\&#])#\d",
        r"(?<!\\)&(?!#8203;)",
    )
    for dangerous in (r"@\w", html, image, issue, entity):
        assert not re.search(dangerous, prose), (dangerous, prose)


def test_a_patch_is_exact_unless_a_terminal_shows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from fleetform.cli.terminal import exact, guarded

    assert guarded(exact("a\r\n\x1b")) == "a\r\n\x1b"
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    assert guarded(exact("a\r\n\x1b")) == "a\\x0d\n\\x1b"


def test_a_file_whose_name_is_no_text_is_named_in_every_format(run: Runner) -> None:
    text = "apiVersion: fleetform.dev/v1alpha1\nkind: Cluster\nmetadata: {name: c1}\nspec: {typo: 1}\n"
    (run.folder / os.fsdecode(b"a\xff.yaml")).write_text(text, encoding="utf-8")
    for output in ("table", "wide", "json", "yaml", "markdown"):
        result = run("validate", "-o", output)
        assert (result.code, "udcff.yaml" in result.out) == (1, True), (output, result.err)


def test_what_is_written_in_place_of_a_map_is_not_quoted(run: Runner) -> None:
    run.write(
        odd="""
        apiVersion: fleetform.dev/v1alpha1
        kind: PluginOverride
        metadata: {name: a, namespace: acme}
        spec:
          overrides: hunter2
        ---
        apiVersion: fleetform.dev/v1alpha1
        kind: PluginPreset
        metadata: {name: b, namespace: acme}
        spec:
          clusterSelector: {}
          controlPlaneBindings: [{name: A, objectFieldRef: hunter2}]
          plugin: {pluginDefinition: web, optionValues: [{name: pin, valueFrom: 4711}]}
        """
    )
    result = run("validate")
    assert (result.code, "hunter2" in result.out, "4711" in result.out) == (1, False, False)
    assert "overrides must be a list, not text" in result.out


def test_a_definition_whose_version_is_none_is_an_error_of_its_own(run: Runner) -> None:
    run.write(
        odd="""
        apiVersion: fleetform.dev/v1alpha1
        kind: PluginDefinition
        metadata: {name: lone, namespace: acme}
        spec: {version: ">=1, <2"}
        """
    )
    listed = run("get", "definitions")
    assert (listed.code, "lone" in listed.out) == (2, False)
    assert "error[bad-version]" in listed.err
    assert "lone" in run("get", "definitions", "--partial").out
