"""Parses that are kept between commands: the same answers for less work, and nothing that others wrote is believed."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetform.load import parses as kept_parses
from fleetform.load import reader
from fleetform.load.inputs import InputFile
from fleetform.load.locator import FileLocator
from fleetform.load.parses import KeptParses, ParsedDocument, Parses
from fleetform.load.reader import load_input, read_file
from fleetform.ports.inputs import Document, Input
from fleetform.syntax.yaml_out import write_documents
from support.command import Runner

TEXTS = {
    "one.yaml": "apiVersion: v1\nkind: A\n---\n# second\nkind: B\nspec: {i: 1, f: 1.5, t: yes, x: ~}\n",
    "list.json": '{"kind": "XList", "items": [{"kind": "C", "i": 1e3}, {"kind": "D"}]}',
    "odd.yaml": "kind: E\ny: 1\n",
    "broken.yaml": "kind: [F\n---\nkind: G\n",
    "none.yaml": "# nothing\n",
    "large.yaml": f"kind: H\nsize: {2**64}\n",
}


@pytest.fixture(autouse=True)
def _everything_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_parses, "_IN_A_BLINK", 0)


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    folder = tmp_path / "fleet"
    folder.mkdir()
    for name, text in TEXTS.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "parses"


@pytest.fixture
def key(tmp_path: Path) -> Path:
    return tmp_path / "state" / "parses.key"


def seen(read: Input) -> Any:
    """All that reading says, types and lines included."""
    documents = [(repr(each.tree), *lines(each)) for each in read.documents]
    return documents, [(each.code, each.message, each.hint, str(each.at)) for each in read.diagnostics], read.files


def lines(document: Document) -> tuple[Any, ...]:
    origin = document.origin
    return origin.file, origin.first_line, origin.last_line, origin.base, document.remarks


def opened(cache: Path, key: Path) -> Parses:
    return Parses(KeptParses(str(cache), str(key)))


def read_again(fleet: Path, cache: Path, key: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Input, list[str]]:
    """What another command reads, and the files that it parses."""
    parsed: list[str] = []
    parse = reader._read_yaml

    def noted(name: str, text: str) -> Iterator[Any]:
        parsed.append(os.path.basename(name))
        return parse(name, text)

    with monkeypatch.context() as patched:
        patched.setattr(reader, "_read_yaml", noted)
        return load_input([str(fleet)], parses=opened(cache, key)), parsed


PARSED_ALWAYS = ["broken.yaml", "odd.yaml"]


def test_what_did_not_change_is_not_parsed_again_and_reads_the_same(
    fleet: Path, cache: Path, key: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = load_input([str(fleet)])
    first = load_input([str(fleet)], parses=opened(cache, key))
    again, parsed = read_again(fleet, cache, key, monkeypatch)
    assert sorted(parsed) == PARSED_ALWAYS
    assert seen(plain) == seen(first) == seen(again)


def test_files_of_the_same_bytes_share_their_trees_also_where_an_earlier_command_parsed_them(
    fleet: Path, cache: Path, key: Path
) -> None:
    (fleet / "two.yaml").write_text(TEXTS["one.yaml"], encoding="utf-8")
    names = ("one.yaml", "two.yaml")
    for _ in range(2):
        documents = load_input([str(fleet)], parses=opened(cache, key)).documents
        one, two = ([each.tree for each in documents if each.origin.file.endswith(name)] for name in names)
        assert len(one) == 2
        assert list(map(id, one)) == list(map(id, two))


def test_a_changed_file_is_parsed_and_kept(
    fleet: Path, cache: Path, key: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load_input([str(fleet)], parses=opened(cache, key))
    (fleet / "one.yaml").write_text("kind: Z\n")
    again, parsed = read_again(fleet, cache, key, monkeypatch)
    assert "one.yaml" in parsed
    assert {"kind": "Z"} in [each.tree for each in again.documents]
    assert sorted(read_again(fleet, cache, key, monkeypatch)[1]) == PARSED_ALWAYS


def test_a_text_that_is_json_in_one_file_and_yaml_in_another_is_read_as_each_of_them(cache: Path, key: Path) -> None:
    content = b'{"kind": "A", "a": 1, "a": 2}\n'
    parses = opened(cache, key)
    for name in ("a.yaml", "a.json"):
        plain = list(read_file(InputFile(name, content), FileLocator()))
        assert str(list(read_file(InputFile(name, content), FileLocator(), parses))) == str(plain)


def shards(cache: Path) -> list[Path]:
    return sorted(each for each in cache.iterdir() if each.is_file())


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


def empty(path: Path) -> None:
    path.write_bytes(b"")


def forge(path: Path) -> None:
    """As whoever knows the format would, without the key."""
    digests = [kept_parses._digest(name, text.encode()) for name, text in TEXTS.items()]
    lie = msgspec.msgpack.encode([ParsedDocument({"kind": "Lie"}, 1, 1)])
    payload = msgspec.msgpack.encode(dict.fromkeys(digests, lie))
    path.write_bytes(hashlib.blake2b(payload, digest_size=32).digest() + payload)


def swap(path: Path) -> None:
    """Another shard, which is signed."""
    other = next(each for each in shards(path.parent) if each != path)
    path.write_bytes(other.read_bytes())


def open_to_others(path: Path) -> None:
    path.chmod(0o666)


def make_a_link(path: Path) -> None:
    real = path.with_suffix(".real")
    path.rename(real)
    path.symlink_to(real)


def make_a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize(
    "damage", [truncate, flip, empty, forge, swap, open_to_others, make_a_link], ids=lambda each: each.__name__
)
def test_a_damaged_or_tampered_shard_is_ignored_and_written_anew(
    damage: Any, fleet: Path, cache: Path, key: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = load_input([str(fleet)])
    load_input([str(fleet)], parses=opened(cache, key))
    for shard in shards(cache):
        damage(shard)
    again, parsed = read_again(fleet, cache, key, monkeypatch)
    assert seen(again) == seen(plain)
    assert "one.yaml" in parsed
    assert sorted(read_again(fleet, cache, key, monkeypatch)[1]) == PARSED_ALWAYS
    assert all(each.lstat().st_mode & 0o777 == 0o600 for each in shards(cache) if each.suffix != ".real")


def test_what_another_user_owns_is_ignored(
    fleet: Path, cache: Path, key: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load_input([str(fleet)], parses=opened(cache, key))
    monkeypatch.setattr("fleetform.outside.files.os.geteuid", lambda: os.getuid() + 1)
    again, parsed = read_again(fleet, cache, key, monkeypatch)
    assert "one.yaml" in parsed
    assert seen(again) == seen(load_input([str(fleet)]))


def test_a_folder_that_others_may_write_to_is_neither_read_nor_written(
    fleet: Path, cache: Path, key: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load_input([str(fleet)], parses=opened(cache, key))
    for shard in shards(cache):
        shard.unlink()
    cache.chmod(0o777)
    load_input([str(fleet)], parses=opened(cache, key))
    assert shards(cache) == []


def test_a_cache_from_another_machine_is_not_believed(
    fleet: Path, cache: Path, key: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load_input([str(fleet)], parses=opened(cache, key))
    key.unlink()
    assert "one.yaml" in read_again(fleet, cache, key, monkeypatch)[1]
    assert sorted(read_again(fleet, cache, key, monkeypatch)[1]) == PARSED_ALWAYS


def test_another_parser_does_not_believe_what_this_one_kept(
    fleet: Path, cache: Path, key: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load_input([str(fleet)], parses=opened(cache, key))
    monkeypatch.setattr(kept_parses, "_parser", lambda: b"another")
    assert "one.yaml" in read_again(fleet, cache, key, monkeypatch)[1]


@pytest.mark.parametrize("blocked", ["cache", "state"])
def test_where_nothing_can_be_written_everything_is_parsed(
    blocked: str, fleet: Path, cache: Path, key: Path, tmp_path: Path
) -> None:
    (tmp_path / blocked).write_text("in the way")
    for _ in range(2):
        assert seen(load_input([str(fleet)], parses=opened(cache, key))) == seen(load_input([str(fleet)]))


def test_a_folder_in_the_place_of_a_shard_is_left_alone(
    fleet: Path, cache: Path, key: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load_input([str(fleet)], parses=opened(cache, key))
    for shard in shards(cache):
        make_a_folder(shard)
    assert seen(read_again(fleet, cache, key, monkeypatch)[0]) == seen(load_input([str(fleet)]))


def test_the_cache_is_bounded_and_what_was_used_last_stays(
    cache: Path, key: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_parses, "_SHARDS", 1)
    monkeypatch.setattr(kept_parses, "_MAX_SHARD", 2000)
    contents = [f"kind: A\nsize: {number}\ntext: {'x' * 100}\n".encode() for number in range(100)]
    for content in contents:
        parses = opened(cache, key)
        for each in (contents[0], content):
            list(read_file(InputFile("a.yaml", each), FileLocator(), parses))
        parses.save()
    (shard,) = shards(cache)
    assert shard.stat().st_size < 4000
    parses = opened(cache, key)
    known = [number for number, each in enumerate(contents) if parses.find("a.yaml", each) is not None]
    assert 5 < len(known) < 20
    assert (known[0], known[-1]) == (0, 99)


def test_what_is_parsed_in_a_blink_is_not_kept(
    fleet: Path, cache: Path, key: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_parses, "_IN_A_BLINK", sum(len(each) for each in TEXTS.values()))
    load_input([str(fleet)], parses=opened(cache, key))
    assert not cache.exists()
    assert not key.exists()


SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
)
TREES = st.recursive(
    SCALARS, lambda below: st.lists(below, max_size=4) | st.dictionaries(st.text(), below, max_size=4), max_leaves=20
)


@given(st.lists(st.dictionaries(st.text(), TREES, max_size=4), max_size=3))
def test_kept_trees_are_the_same_to_the_last_type(trees: list[Any]) -> None:
    content = write_documents(trees).encode()
    parses, kept = Parses(), KeptParses("nowhere", "nowhere")
    plain = list(read_file(InputFile("a.yaml", content), FileLocator(), parses))
    parse = parses.find("a.yaml", content)
    if parse is None:
        # There is something to say about it.
        return
    kept.add(b"digest", parse)
    kept._shards = {kept_parses._shard_of(b"digest"): dict(kept._new[kept_parses._shard_of(b"digest")])}
    found = kept.find(b"digest")
    assert repr(found) == repr(parse)
    assert [repr(each.tree) for each in plain if isinstance(each, Document)] == [repr(each.tree) for each in parse]


READ = """
import sys
from fleetform.load import parses
from fleetform.load.parses import KeptParses, Parses
from fleetform.load.reader import load_input
parses._IN_A_BLINK = 0
for _ in range(20):
    read = load_input([sys.argv[1]], parses=Parses(KeptParses(sys.argv[2], sys.argv[3])))
    assert len(read.documents) == 200 and not read.diagnostics
    assert all(each.tree == {"kind": "A", "size": int(each.origin.file[-8:-5])} for each in read.documents)
"""


def test_commands_at_the_same_time_share_the_cache(
    tmp_path: Path, cache: Path, key: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    for number in range(200):
        (folder / f"{number:03}.yaml").write_text(f"kind: A\nsize: {number}\n")
    command = [sys.executable, "-c", READ, str(folder), str(cache), str(key)]
    running = [subprocess.Popen(command) for _ in range(4)]
    assert [each.wait() for each in running] == [0] * 4
    assert read_again(folder, cache, key, monkeypatch)[1] == []


@pytest.mark.parametrize("flags", [(), ("--no-cache",)])
def test_the_cache_is_off_on_request(
    flags: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLEETFORM_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    run = Runner(tmp_path / "fleet", capsys, monkeypatch)
    run.write(a="apiVersion: fleetform.dev/v1alpha1\nkind: Cluster\nmetadata: {name: a, namespace: acme}\n")
    first = run("get", "clusters", *flags)
    assert (tmp_path / "cache" / "parses").exists() is not bool(flags)
    assert run("get", "clusters", *flags) == first
