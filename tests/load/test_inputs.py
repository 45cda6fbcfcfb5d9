"""Which files an input names, and in which order."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path

import pytest

from fleetform.load.inputs import InputFile, read_inputs
from fleetform.load.reader import load_input
from fleetform.model.results.diagnostics import Diagnostic, Place


def write(folder: Path, *names: str, text: str = "kind: A\n") -> None:
    for name in names:
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


def names_of(*inputs: str) -> list[str]:
    """The files that are read, by name."""
    return [found.name for found in read_inputs(inputs) if isinstance(found, InputFile)]


def problems_of(*inputs: str) -> list[Diagnostic]:
    return [found for found in read_inputs(inputs) if isinstance(found, Diagnostic)]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to stand in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.rule("S10")
def test_yaml_yml_and_json_files_load_and_others_do_not(folder: Path) -> None:
    write(folder, "a.yaml", "b.yml", "c.json", "d.txt", "e.yaml.bak", "yaml", "README.md")
    assert names_of(".") == ["a.yaml", "b.yml", "c.json"]


@pytest.mark.rule("S64")
def test_an_ignore_file_leaves_files_and_folders_out_below_its_own(folder: Path) -> None:
    write(folder, "a.yaml", "x/a.yaml", "x/b.yaml", "x/y/a.yaml", "y/a.yaml", "z/b.yaml")
    (folder / ".fleetformignore").write_text("y/\n/x/b.yaml\n")
    (folder / "z").joinpath(".fleetformignore").write_text("*\n")
    assert names_of(".") == ["a.yaml", "x/a.yaml"]
    # Its rules are relative to its folder, whatever the input is called; a file that is named is always read.
    assert names_of(str(folder)) == [f"{folder}/a.yaml", f"{folder}/x/a.yaml"]
    assert names_of("z/b.yaml", "y") == ["z/b.yaml", "y/a.yaml"]


def test_folders_are_read_in_the_order_of_names(folder: Path) -> None:
    write(folder, "b.yaml", "a/z.yaml", "a/b/c.yaml", "c/a.yaml", "A.yaml")
    assert names_of(".") == ["A.yaml", "a/b/c.yaml", "a/z.yaml", "b.yaml", "c/a.yaml"]


def test_inputs_are_read_in_the_order_given(folder: Path) -> None:
    write(folder, "a/x.yaml", "b/x.yaml")
    assert names_of("b", "a") == ["b/x.yaml", "a/x.yaml"]


def test_a_file_that_is_named_twice_is_read_once(folder: Path) -> None:
    write(folder, "a/x.yaml")
    assert names_of("a", "./a/x.yaml", "a/../a") == ["a/x.yaml"]


def test_hidden_files_and_folders_are_left_alone(folder: Path) -> None:
    write(folder, ".git/x.yaml", "a/.hidden/x.yaml", ".x.yaml", "a/y.yaml")
    assert names_of(".") == ["a/y.yaml"]


@pytest.mark.rule("S10")
def test_the_folders_of_a_helm_chart_are_left_alone_and_what_stands_beside_it_is_read(folder: Path) -> None:
    write(folder, "c/web/Chart.yaml", "c/web/definition.yaml", "c/web/templates/x.yaml", "c/web/a/b/x.yaml", "c/y.yaml")
    assert names_of(".") == ["c/web/definition.yaml", "c/y.yaml"]


def test_a_link_that_leads_back_up_ends(folder: Path) -> None:
    write(folder, "a/x.yaml")
    (folder / "a" / "back").symlink_to(folder)
    assert names_of(".") == ["a/x.yaml"]


def test_a_linked_folder_is_read(folder: Path) -> None:
    write(folder, "a/x.yaml")
    (folder / "b").symlink_to(folder / "a")
    assert names_of("b") == ["b/x.yaml"]


def test_a_missing_path_is_reported(folder: Path) -> None:
    (problem,) = problems_of("nope")
    assert problem.code == "cannot-read"
    assert problem.message == "cannot read nope: there is no such file or folder"
    assert problem.at == Place("nope")


def test_a_file_that_cannot_be_opened_is_reported_and_hides_no_other(folder: Path) -> None:
    write(folder, "a.yaml", "c.yaml")
    (folder / "b.yaml").symlink_to(folder / "gone.yaml")
    assert names_of(".") == ["a.yaml", "c.yaml"]
    (problem,) = problems_of(".")
    gone = folder / "gone.yaml"
    assert problem.message == f"cannot read b.yaml: it is a symbolic link to {gone}, which does not exist"
    assert problem.hint == "fix the link, or leave it out by .fleetformignore"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
@pytest.mark.parametrize("name", ["locked.yaml", "locked"])
def test_what_permissions_forbid_is_reported(folder: Path, name: str) -> None:
    write(folder, "a.yaml", "locked.yaml", "locked/x.yaml")
    (folder / name).chmod(0)
    try:
        assert [each.message for each in problems_of(".")] == [f"cannot read {name}: permission denied"]
    finally:
        (folder / name).chmod(0o755)


def test_stdin_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"kind: A\n")))
    assert list(read_inputs(["-"])) == [InputFile("stdin", b"kind: A\n")]


def test_stdin_mixes_with_files(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(folder, "a.yaml")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"kind: B\n")))
    assert [document.tree for document in load_input(["a.yaml", "-"]).documents] == [{"kind": "A"}, {"kind": "B"}]


def test_an_empty_folder_holds_nothing() -> None:
    read = load_input(["."])
    assert (read.documents, read.diagnostics, read.files) == ([], [], 0)


def test_every_broken_file_is_reported_and_every_sound_one_is_read(folder: Path) -> None:
    write(folder, "a.yaml", text="kind: [\n")
    write(folder, "b.yaml", text="kind: B\n")
    (folder / "c.yaml").write_bytes(b"kind: \xff\n")
    write(folder, "d.json", text="{")
    write(folder, "e.json", text='{"kind": "E"}')
    read = load_input([".", "nope"])
    assert [document.tree["kind"] for document in read.documents] == ["B", "E"]
    assert [read.locator.place(each.at).file for each in read.diagnostics if each.at is not None] == [
        "a.yaml",
        "c.yaml",
        "d.json",
        "nope",
    ]
    assert read.files == 5


# ---- What never ends


def test_links_to_devices_and_pipes_are_refused_by_name(folder: Path) -> None:
    write(folder, "a.yaml")
    os.symlink("/dev/zero", folder / "endless.yaml")
    os.mkfifo(folder / "pipe.yaml")
    os.symlink("pipe.yaml", folder / "to-pipe.json")
    found = list(read_inputs(["."]))
    assert [each.name for each in found if isinstance(each, InputFile)] == ["a.yaml"]
    assert [each.message for each in found if isinstance(each, Diagnostic)] == [
        "cannot read endless.yaml: it is a device, not a file",
        "cannot read to-pipe.json: it is a pipe, not a file",
    ]


def test_a_file_is_not_read_beyond_the_limit(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open(folder / "sparse.yaml", "wb") as file:
        file.truncate(1 << 40)
    write(folder, "small.yaml")
    assert names_of(".") == ["small.yaml"]
    assert [each.message for each in problems_of(".")] == ["cannot read sparse.yaml: it is larger than 256 MB"]


def test_stdin_is_not_read_beyond_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fleetform.load.inputs.MAX_FILE", 1 << 20)
    with open("/dev/zero") as endless:
        monkeypatch.setattr(sys, "stdin", endless)
        (found,) = read_inputs(["-"])
    assert isinstance(found, Diagnostic)
    assert found.message == "cannot read stdin: it is larger than 1 MB"


@pytest.mark.parametrize(("size", "is_read"), [(1, True), (8, True), (9, False)])
def test_as_much_as_the_limit_is_read_and_not_a_byte_more(
    folder: Path, monkeypatch: pytest.MonkeyPatch, size: int, is_read: bool
) -> None:
    monkeypatch.setattr("fleetform.load.inputs.MAX_FILE", 8)
    monkeypatch.setattr("fleetform.load.inputs.MAX_INPUT", 8)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"x" * size)))
    assert [isinstance(found, InputFile) for found in read_inputs(["-"])] == [is_read]
    write(folder, "a.yaml", text="x" * (size - 1))
    write(folder, "b.yaml", text="x")
    assert names_of(".") == ["a.yaml", "b.yaml"][: 2 if is_read else 1]


def test_an_input_that_is_too_large_is_told_so_at_the_file_that_makes_it_so(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fleetform.load.inputs.MAX_INPUT", 2 << 30)
    # As large as they say, without a byte of it on the disk.
    monkeypatch.setattr("fleetform.load.inputs.InputFile.content", property(lambda _: range(1 << 30)))
    write(folder, "a.yaml", "b.yaml", "c.yaml", "d.yaml")
    *read, problem = read_inputs(["."])
    assert len(read) == 2
    assert isinstance(problem, Diagnostic)
    assert (problem.message, problem.hint) == (
        "cannot read c.yaml: with it the input is larger than 2 GB",
        "give less",
    )


def test_what_is_no_file_and_no_folder_is_refused(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    (problem,) = problems_of("pipe")
    assert problem.message == "cannot read pipe: it is neither a file nor a folder"


def test_who_wants_to_know_is_told_how_many_files_are_read(folder: Path) -> None:
    write(folder, "a/x.yaml", "a/y.yaml", "b.yaml", "c/z.yaml")
    told: list[tuple[int, int]] = []
    list(read_inputs(["a", "b.yaml", "c"], report=lambda done, all_: told.append((done, all_))))
    assert told == [(0, 2), (1, 2), (0, 1)]


def test_many_links_to_a_large_file_are_not_read_without_end(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fleetform.load.inputs.MAX_INPUT", 100)
    write(folder, "a.yaml", text="kind: " + "a" * 40 + "\n")
    for name in "bcdef":
        os.symlink("a.yaml", folder / f"{name}.yaml")
    assert names_of(".") == ["a.yaml", "b.yaml"]
    (problem,) = problems_of(".")
    assert "c.yaml" in problem.message
