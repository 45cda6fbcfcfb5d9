"""What people read of a difference: by cause, without contradiction, nothing hidden in a count."""

from __future__ import annotations

import os
import subprocess

import pytest

from support.command import Runner

_CLUSTERS = "".join(
    f"apiVersion: fleetform.dev/v1alpha1\nkind: Cluster\nmetadata: {{name: c{number}, namespace: acme}}\n---\n"
    for number in range(3)
)


def _plugin(name: str, default: int) -> str:
    return f"""
apiVersion: fleetform.dev/v1alpha1
kind: PluginDefinition
metadata: {{name: {name}, namespace: acme}}
spec: {{version: 1.0.0, options: [{{name: replicas, type: int, default: {default}}}, {{name: token, type: secret}}]}}
---
apiVersion: fleetform.dev/v1alpha1
kind: PluginPreset
metadata: {{name: {name}, namespace: acme}}
spec: {{clusterSelector: {{}}, plugin: {{pluginDefinition: {{name: {name}}}}}}}
---
"""


_OVERRIDE = """
apiVersion: fleetform.dev/v1alpha1
kind: PluginOverride
metadata: {name: more, namespace: acme}
spec: {overrides: [{path: replicas, value: 7}]}
"""
_FLEET = _CLUSTERS + _plugin("web", 1) + _plugin("dns", 1) + _plugin("logs", 2)


def test_one_edited_override_is_one_block_whatever_it_touches(run: Runner) -> None:
    run.write(old__all=_FLEET, new__all=_FLEET + _OVERRIDE)
    result = run("diff", "old", "new")
    assert result.out == (
        "3 clusters · 9 plugins changed · nothing deleted\n"
        "  ~ override more: 9 plugins on 3 clusters   (new/all.yaml:50)\n"
        "      replicas 1 → 7 on 3 clusters: dns, web\n"
        "      replicas 2 → 7 on 3 clusters: logs\n"
    )
    comment = run("diff", "old", "new", "-o", "markdown").out
    assert "**override more: 9 plugins on 3 clusters (new/all.yaml:50)**\n\n- replicas 1 → 7 on 3 clusters" in comment


def test_an_override_of_one_definition_is_shown_as_ever(run: Runner) -> None:
    run.write(
        old__all=_FLEET, new__all=_FLEET + _OVERRIDE.replace("{overrides", "{pluginDefinitionNames: [web], overrides")
    )
    assert "  ~ 3 clusters (c0, c1, c2)   web 1.0.0\n      replicas 1 → 7   (" in run("diff", "old", "new").out


def test_what_is_blocked_counts_as_nothing_else(run: Runner) -> None:
    newer = _plugin("web", 1).partition("---")[0].replace("version: 1.0.0", "version: 2.0.0, changes: {breaking: true}")
    run.write(old__all=_FLEET, new__all=f"{_FLEET}{newer}")
    result = run("diff", "old", "new")
    assert result.out.startswith("3 clusters · nothing deleted · 3 blocked\n")
    summary = run("diff", "old", "new", "-o", "json").json["summary"]
    assert (summary["upgrades"], summary["blocked"]) == (3, 3)


_SECRET = (
    _FLEET
    + """
apiVersion: fleetform.dev/v1alpha1
kind: PluginOverride
metadata: {name: token, namespace: acme}
spec: {pluginDefinitionNames: [web], overrides: [{path: token, SOURCE}]}
"""
)


def test_what_is_unknown_can_be_listed_and_accepted(run: Runner) -> None:
    text = _SECRET.replace("SOURCE", "valueFrom: {secret: {name: web, key: token}}")
    run.write(old__all=text, new__all=text)
    result = run("diff", "old", "new", "-o", "wide")
    assert result.out.splitlines()[0].startswith("no known change · 3 unknown")
    assert "  ? c0   web-c0: token cannot be compared" in result.out
    unknown = run("diff", "old", "new", "-o", "json").json["unknown"]
    assert unknown[0] == {
        "organization": "acme",
        "cluster": "c0",
        "plugin": "web-c0",
        "options": ["token"],
        "variables": [],
    }
    assert len(unknown) == 3
    assert run("diff", "old", "new", "--exit-code").code == 1
    assert run("diff", "old", "new", "--exit-code", "--accept-unknown").code == 0


def test_of_a_secret_it_is_said_that_it_changed(run: Runner) -> None:
    run.write(old__all=_SECRET.replace("SOURCE", "value: a"), new__all=_SECRET.replace("SOURCE", "value: b"))
    assert "      token (secret) changed   (new/all.yaml:" in run("diff", "old", "new").out


def test_bare_it_compares_the_last_commit_with_the_folder(run: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    for file in run.folder.glob("*.yaml"):
        file.unlink()
    run.write(all=_FLEET)
    who = {f"GIT_{who}_{what}": "a@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "one"]):
        subprocess.run(["git", *command], cwd=run.folder, check=True, env={**os.environ, **who})
    assert run("diff").out == "no change\n"
    run.write(all=_FLEET + _OVERRIDE)
    assert run("diff").out.startswith("3 clusters · 9 plugins changed")


def test_a_side_more_than_there_are_is_refused(run: Runner) -> None:
    result = run("diff", "before", "after", "-f", "third")
    assert (result.code, "nothing left to read with -f" in result.err) == (2, True)
