"""Templates of other tools: one finding for all below a folder at the top of what is read."""

from __future__ import annotations

import pytest

from fleetform.load.inputs import InputFile
from fleetform.load.reader import load_files
from fleetform.model.results.diagnostics import Diagnostic, Place

TEMPLATE = "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: {{ .Release.Name }}\n"
OURS = "apiVersion: fleetform.dev/v1alpha1\nkind: Cluster\nmetadata:\n  name: {{ .Values.cluster }}\n"
PLAIN = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"


def findings(**files: str) -> list[Diagnostic]:
    read = [InputFile(name.replace("__", "/") + ".yaml", text.encode()) for name, text in files.items()]
    return list(load_files(read, "fleet").diagnostics)


def files_of(found: Diagnostic) -> list[str]:
    return [each.file for each in (found.at, *found.related) if isinstance(each, Place)]


@pytest.mark.rule("S10")
def test_templates_below_one_folder_are_one_warning_that_names_them_all() -> None:
    charts = {f"charts__{each}__templates__web": TEMPLATE for each in ("a", "b", "c")}
    (found,) = findings(**charts, other__plain=PLAIN)
    assert found.severity == "warning"
    assert found.message == "3 files below charts look like Helm templates, and are skipped"
    assert found.hint == "render them first, or leave them out: write charts/ into .fleetformignore"
    assert files_of(found) == [f"charts/{each}/templates/web.yaml" for each in ("a", "b", "c")]


def test_each_folder_at_the_top_has_a_warning_of_its_own_wherever_the_input_lies() -> None:
    parts = {f"home__me__fleet__{part}__templates__{each}": TEMPLATE for part in ("one", "two") for each in "ab"}
    assert [each.message for each in findings(**parts)] == [
        f"2 files below home/me/fleet/{part}/templates look like Helm templates, and are skipped"
        for part in ("one", "two")
    ]
    assert [each.hint.split(": write ")[1] for each in findings(**parts)] == [
        "one/templates/ into .fleetformignore",
        "two/templates/ into .fleetformignore",
    ]


def test_a_folder_that_holds_manifests_too_is_not_to_be_left_out() -> None:
    mixed = {"part__a": TEMPLATE, "part__b": TEMPLATE, "part__plain": PLAIN, "other__plain": PLAIN}
    (found,) = findings(**mixed)
    assert found.hint == "render them first, or leave them out by .fleetformignore"


def test_several_templates_in_one_file_are_one_warning() -> None:
    (found,) = findings(a=f"{TEMPLATE}---\n{TEMPLATE}", b=PLAIN)
    assert found.message == "2 documents look like Helm templates, and are skipped"


def test_one_template_alone_and_those_of_our_own_kinds_are_told_with_what_cannot_be_read() -> None:
    alone, ours = findings(charts__a=TEMPLATE, fleet__b=OURS)
    assert (alone.severity, ours.severity) == ("warning", "error")
    assert all("this looks like a Helm template" in each.hint for each in (alone, ours))
    assert "a map key must be text" in alone.message
