"""A canary: a secret that is bound through two names and an output is in no answer of the command line."""

from __future__ import annotations

from base64 import b64encode

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from properties.strategies import examples
from support.bound import definition_of, preset, thing
from support.command import Runner
from support.fleets import BASE, documents

CANARIES = st.text("abcdefghijklmnopqrstuvwxyz0123456789", min_size=12, max_size=24)
# The producer wraps the secret, and offers it in a map; the consumer makes text of it, and something of that.
PRODUCER = documents(
    preset("[]", "[{name: U, objectFieldRef: {kind: Secret, name: s, fieldPath: /data/k}}, {name: V, value: <$(U)>}]")
    .replace("name: web", "name: ca"),
    definition_of("ca", "[{name: out, value: {in: $(V)}}]"),
)  # fmt: skip
READ = "{name: OUT, pluginOutputRef: {definition: ca, output: out}}, {name: W, value: $(OUT), as: json}"
SHAPES = st.sampled_from(
    [
        "{name: Z, value: 'x$(W)'}",
        "{name: Z, value: {deep: [$(OUT)]}, as: json}",
        "{name: Z, value: [$(W)], as: yaml}",
        "{name: Z, value: $(W), as: string}",
    ]
)
VALUES = st.sampled_from(
    [
        "[{name: host, value: $(Z)}]",
        "[{name: labels, value: {a: {b: $(Z)}}}, {name: host, value: [$(Z)]}]",
        "[{name: args, value: ['--token=$(Z)']}, {name: replicas, value: $(Z)}]",
        "[{name: replicas, value: {a: $(Z)}}, {name: host, value: 'in $(Z) text'}]",
    ]
)
# Bindings that fail, and must not tell over what.
ODD = st.sampled_from(
    [
        "",
        ", {name: R, objectFieldRef: {kind: ConfigMap, name: $(Z), fieldPath: /data/k}}",
        ", {name: R, clusterFieldRef: {path: /spec/$(W)}}",
        ", {name: R, value: 'a $(ALL) b'}, {name: ALL, objectFieldRef: {kind: Secret, name: s, fieldPath: /data}}",
        ", {name: R, objectFieldRef: {kind: Secret, name: s, fieldPath: /data/k/x}}",
        ", {name: R, objectFieldRef: {kind: Secret, name: s, fieldPath: .}}",
        ", {name: R, value: $(W), as: base64decode}",
    ]
)


def files(coded: str, bindings: str, values: str) -> dict[str, str]:
    return {
        "clusters": BASE["clusters.yaml"],
        "definition": BASE["definition.yaml"],
        "preset": preset(values, bindings, "  substitute: {TOKEN: $(Z)}\n"),
        "producer": PRODUCER,
        "secret": thing("Secret", "s", f"data: {{k: {coded}}}"),
    }


def in_base64(text: str) -> str:
    return b64encode(text.encode()).decode()


@pytest.mark.rule("B18", "R3-18", "S5")
@settings(examples(15), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(canary=CANARIES, shape=SHAPES, values=VALUES, odd=ODD)
def test_a_bound_secret_is_never_printed(
    tmp_path_factory: pytest.TempPathFactory,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    canary: str,
    shape: str,
    values: str,
    odd: str,
) -> None:
    run = Runner(tmp_path_factory.mktemp("fleet"), capsys, monkeypatch)
    for folder, text in (("before", "another"), ("after", canary)):
        written = files(in_base64(text), f"[{READ}, {shape}{odd}]", values)
        run.write(**{f"{folder}__{name}": content for name, content in written.items()})
    where = ("-f", "after", "-n", "acme")
    asked: list[tuple[str, ...]] = [
        ("validate", "-f", "after"),
        ("diff", "before", "after"),
        ("diff", "after", "before"),
    ]
    asked += [("explain", name, "-c", "eu-1", *where) for name in ("web", "ca")]
    asked += [("get", kind, *where) for kind in ("plugins", "presets", "clusters", "definitions")]
    answers = [run(*words, *how) for words in asked for how in ((), ("-o", "json"))]
    answers.append(run("explain", "web", "host", "-c", "eu-1", *where))
    assert [each.err for each in answers if each.code not in (0, 1)] == []
    said = "\n".join(each.out + each.err for each in answers)
    assert "secret" in said
    for leak in (canary, in_base64(canary), in_base64(canary).rstrip("="), in_base64(f"<{canary}>")):
        assert leak not in said
