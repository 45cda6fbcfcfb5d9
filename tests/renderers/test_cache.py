"""What was rendered is kept as long as somebody uses it."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from fleetform.renderers.cache import RenderCache
from support.kit import Place, input_of

DAY = 24 * 60 * 60.0
OBJECTS = ({"kind": "A"},)


def age(path: Path, days: float) -> None:
    then = time.time() - days * DAY
    os.utime(path, (then, then))


def days_since(path: Path) -> float:
    return (time.time() - path.stat().st_mtime) / DAY


def filled(folder: Path, *keys: str) -> dict[str, Path]:
    """A cache with objects of keys, and where each of them is."""
    cache, found = RenderCache(str(folder)), dict[str, Path]()
    for key in keys:
        before = set(folder.rglob("*"))
        cache.keep_objects(key, OBJECTS)
        (found[key],) = (each for each in set(folder.rglob("*")) - before if each.is_file())
    return found


def test_what_nobody_used_for_a_month_is_removed(tmp_path: Path) -> None:
    files = filled(tmp_path, "old", "young", "used")
    left = files["old"].with_name(".abc.part")
    left.write_bytes(b"of a run that was killed")
    for path, days in ((files["old"], 31), (files["young"], 29), (files["used"], 31), (left, 31)):
        age(path, days)
    cache = RenderCache(str(tmp_path))
    assert cache.objects("used") == OBJECTS
    cache.tidy()
    assert [each.exists() for each in (*files.values(), left)] == [False, True, True, False]
    assert (cache.objects("old"), cache.objects("young")) == (None, OBJECTS)


def test_a_use_counts_once_a_day(tmp_path: Path) -> None:
    path = filled(tmp_path, "a")["a"]
    for days, expected in ((0.5, 0.5), (2.0, 0.0)):
        age(path, days)
        assert RenderCache(str(tmp_path)).objects("a") == OBJECTS
        assert days_since(path) == pytest.approx(expected, abs=0.01)


def test_it_is_done_once_a_day(tmp_path: Path) -> None:
    files = filled(tmp_path, "a", "b", "c")
    age(files["a"], 40)
    RenderCache(str(tmp_path)).tidy()
    assert not files["a"].exists()
    (stamp,) = tmp_path.glob("renders-*/tidied")
    age(files["b"], 40)
    RenderCache(str(tmp_path)).tidy()
    assert files["b"].exists()
    age(stamp, 2)
    RenderCache(str(tmp_path)).tidy()
    assert not files["b"].exists()
    assert files["c"].exists()
    assert days_since(stamp) < 0.01


def test_several_do_it_at_once(tmp_path: Path) -> None:
    files = filled(tmp_path, *(f"old-{number}" for number in range(50)), "young")
    for key, path in files.items():
        age(path, 40 if key != "young" else 1)
    wait, met = threading.Barrier(4), list[Exception]()

    def work() -> None:
        cache = RenderCache(str(tmp_path))
        wait.wait()
        try:
            cache.tidy()
        except Exception as error:
            met.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert met == []
    assert [key for key, path in files.items() if path.exists()] == ["young"]


def test_where_there_is_no_cache_none_is_made(tmp_path: Path) -> None:
    RenderCache(str(tmp_path / "none")).tidy()
    assert not (tmp_path / "none").exists()


def test_rendering_tidies(place: Place) -> None:
    path = filled(place.cache, "old")["old"]
    age(path, 40)
    place.objects(input_of("manifests", place.manifests({"a.yaml": "{apiVersion: v1, kind: A, metadata: {name: a}}"})))
    assert not path.exists()
