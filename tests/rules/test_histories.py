"""A definition repository's history, replayed step by step: each change is answered by what it did."""

from __future__ import annotations

import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from fleetform.app.comparing.definition_changes import against
from fleetform.app.fleet import Fleet
from fleetform.wiring.fleets import open_fleet
from support.answers import validate
from support.command import Runner
from support.fleets import fleet_of
from support.histories import BREAKS, DIALECTS, KINDS, OFFENDING, Files, Finding, Step, make_history

SEEDS = range(8)
STEPS = 40
COMMITS = 14


def written(folder: Path, files: Files) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def diagnostics(fleet: Fleet, base: Fleet) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = validate(fleet, against(fleet, base))["diagnostics"]
    return found


def errors_of(found: list[dict[str, Any]], folder: Path) -> tuple[Finding, ...]:
    errors = [each for each in found if each["severity"] == "error"]
    findings = [Finding(each["code"], _file(each, folder), _name(each)) for each in errors]
    return tuple(sorted(findings, key=lambda each: (each.file, each.code)))


def vanished_of(found: list[dict[str, Any]]) -> list[str]:
    return sorted(_name(each) or "" for each in found if each["code"] == "vanished-definition")


def unreadable_in(step: Step) -> set[str]:
    """The definitions whose files cannot be read after the step."""
    return {each.file.partition("/")[0] for each in step.errors if each.definition is None}


def _file(diagnostic: dict[str, Any], folder: Path) -> str:
    return str(Path(diagnostic["place"]["file"]).relative_to(folder))


def _name(diagnostic: dict[str, Any]) -> str | None:
    ref: str | None = diagnostic["object"]
    return ref.rpartition("/")[2] if ref is not None else None


@pytest.mark.rule("R2-10", "S27")
@pytest.mark.parametrize("seed", SEEDS)
def test_every_step_is_answered_by_what_it_did(seed: int, tmp_path: Path) -> None:
    base = open_fleet([str(written(tmp_path / "0", {}))])
    for number, step in enumerate(make_history(seed, STEPS), 1):
        folder = written(tmp_path / str(number), step.after)
        fleet = open_fleet([str(folder)])
        found = diagnostics(fleet, base)
        assert errors_of(found, folder) == step.errors, (number, step.deeds)
        said = [name for name in vanished_of(found) if name not in unreadable_in(step)]
        assert said == step.vanished, (number, step.deeds)
        base = fleet


@pytest.mark.rule("R2-10")
def test_the_seeds_hold_every_kind_of_step_in_both_dialects() -> None:
    deeds = [deed for seed in SEEDS for step in make_history(seed, STEPS) for deed in step.deeds]
    counts = Counter((each.kind, each.dialect) for each in deeds)
    assert {kind for kind, _ in counts} == set(KINDS)
    for kind in (*OFFENDING, "repaired", *(f"broken by {each}" for each in BREAKS)):
        assert all(counts[kind, dialect] for dialect in DIALECTS), (kind, counts)
    assert {code for each in deeds for code in each.codes} == {
        "changed-without-bump",
        "option-removed",
        "option-required",
        "option-retyped",
        "requirement-lost",
        "version-went-down",
    }


# ---- The same through git and the command line


class Repository:
    """A git repository that is committed to step by step."""

    def __init__(self, runner: Runner) -> None:
        self.run = runner
        self._git("init", "-q")
        self.commit({}, {})

    def commit(self, before: Files, after: Files) -> None:
        for name in before.keys() - after.keys():
            (self.run.folder / name).unlink()
        written(self.run.folder, after)
        self._git("add", "-A")
        self._git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "x")

    def _git(self, *arguments: str) -> None:
        subprocess.run(["git", *arguments], cwd=self.run.folder, check=True)


@pytest.fixture
def repository(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Repository:
    return Repository(Runner(tmp_path, capsys, monkeypatch))


@pytest.mark.rule("R2-10")
def test_commits_are_held_to_the_one_before(repository: Repository) -> None:
    codes = Counter[int]()
    for step in make_history(3, 2 * COMMITS):
        repository.commit(step.before, step.after)
        if step.unreadable_before:
            continue
        result = repository.run("validate", "--against", "HEAD~1", "-o", "markdown")
        assert result.code == (1 if step.errors else 0), (step.deeds, result)
        assert result.out.startswith(f"### Fleetform: {len(step.errors)} error")
        assert all(
            f"`{each.code}`" in result.out and (each.definition or each.file) in result.out for each in step.errors
        )
        codes[result.code] += 1
    assert codes.total() >= COMMITS
    assert min(codes[0], codes[1]) >= 3


@pytest.mark.rule("R2-10")
@pytest.mark.parametrize("broken", list(BREAKS))
def test_a_repair_of_a_broken_file_passes(repository: Repository, broken: str) -> None:
    text = native("1.0.0", "{name: host, type: string}")
    repository.commit({}, {"web/definition.yaml": BREAKS[broken].spoil(text)})
    repository.commit({}, {"web/definition.yaml": text})
    assert repository.run("validate", "--against", "HEAD~1").code == 0


@pytest.mark.rule("R2-10")
def test_an_error_elsewhere_in_the_base_hides_no_offence(repository: Repository) -> None:
    odd = native("1.0.0", "{name: host, type: strin}").replace("name: web", "name: odd")
    before = native("1.0.0", "{name: host, type: string}")
    after = native("1.1.0", "{name: other, type: string}")
    repository.commit({}, {"odd/definition.yaml": odd, "web/definition.yaml": before})
    repository.commit({}, {"web/definition.yaml": after})
    result = repository.run("validate", "--against", "HEAD~1")
    assert (result.code, "removes the option host" in result.out) == (1, True)


# ---- Single steps that no history above takes


def native(version: str, options: str, more: str = "") -> str:
    """A definition; options and more are flow-style YAML."""
    return (
        "apiVersion: fleetform.dev/v1alpha1\nkind: PluginDefinition\nmetadata: {name: web, namespace: acme}\n"
        f"spec:\n  version: {version}\n  options: [{options}]\n{more}"
    )


def greenhouse(more: str) -> str:
    return native("1.0.0", "{name: host, type: string}", more).replace("fleetform.dev", "greenhouse.sap")


def migrating(*steps: str) -> str:
    return f"  changes: {{breaking: false, migrations: [{', '.join(steps)}]}}\n"


def beside(*texts: str) -> str:
    return "---\n".join(texts)


HOST = "{name: host, type: string}"
REQUIRED = "{name: host, type: string, required: true}"
OTHER = "{name: other, type: string}"
ARGUMENT = "{name: 'args[0]', type: string, required: true}"
TO_OTHER = migrating("{rename: {from: host, to: other}}")


@pytest.mark.rule("R2-10", "S27")
@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param(
            native("1.0.0", "{name: limits, type: map, default: {cpu: true}}"),
            native("1.0.0", "{name: limits, type: map, default: {cpu: 1}}"),
            ["changed-without-bump"],
        ),
        pytest.param(native("1.0.0", HOST), native("v1.0.0", HOST), []),
        pytest.param(
            native("1.0.0+a", HOST),
            native("1.0.0+b", f"{HOST}, {OTHER}"),
            ["changed-without-bump"],
        ),
        pytest.param(
            native("1.0.0", HOST),
            native("1.1.0", f"{HOST}, {ARGUMENT}", migrating("{require: {name: 'args[0]'}}")),
            [],
        ),
        pytest.param(
            native("1.0.0", HOST),
            native("1.1.0", "{name: other, type: int}", TO_OTHER),
            ["option-retyped"],
        ),
        pytest.param(
            native("1.0.0", HOST),
            native("1.1.0", REQUIRED.replace("host", "other"), TO_OTHER),
            ["option-required"],
        ),
        pytest.param(native("1.0.0", REQUIRED), native("1.1.0", OTHER, TO_OTHER), ["requirement-lost"]),
        pytest.param(
            native("1.0.0", HOST),
            beside(native("1.1.0", OTHER, TO_OTHER), native("1.2.0", "{name: third, type: string}")),
            ["option-removed"],
        ),
        pytest.param(
            beside(native("1.0.0", HOST), native("2.0.0", HOST)),
            beside(native("1.0.0", HOST), native("1.0.1", OTHER), native("2.0.0", HOST)),
            ["option-removed"],
        ),
        pytest.param(
            native("1.0.0", HOST),
            beside(native("1.1.0", OTHER), native("2.0.0", OTHER)),
            ["option-removed"],
        ),
        pytest.param(
            greenhouse("  uiApplication: {name: web, version: 1.0.0}\n"),
            greenhouse("  uiApplication: {name: web, version: 2.0.0}\n"),
            ["changed-without-bump"],
        ),
        pytest.param(
            greenhouse("  weight: 1\n"),
            greenhouse("  weight: 2\n"),
            ["changed-without-bump"],
        ),
    ],
)
def test_a_single_step_is_answered_by_what_it_did(before: str, after: str, expected: list[str]) -> None:
    fleet = fleet_of(after)
    found = diagnostics(fleet, fleet_of(before))
    assert [each["code"] for each in found if each["severity"] == "error"] == expected


@pytest.mark.rule("S27")
@pytest.mark.parametrize("broken", list(BREAKS))
def test_a_definition_whose_file_is_broken_is_not_said_to_be_gone(broken: str) -> None:
    text = native("1.0.0", HOST)
    found = diagnostics(fleet_of(BREAKS[broken].spoil(text)), fleet_of(text))
    assert [each["code"] for each in found if each["severity"] != "info"] == [BREAKS[broken].code]


@pytest.mark.rule("R2-10")
def test_a_folder_that_the_base_does_not_have_is_compared_with_nothing(repository: Repository) -> None:
    text = native("1.0.0", HOST)
    repository.commit({}, {"old/definition.yaml": text})
    repository.commit({}, {"new/definition.yaml": text.replace("name: web", "name: other")})
    assert repository.run("validate", "new", "--against", "HEAD~1").code == 0
