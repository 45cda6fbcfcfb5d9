"""An archive's bytes become a chart, or an error that gives the reason."""

from __future__ import annotations

import gzip
import io
import json
import tarfile

import pytest

from fleetform.artifacts import archives
from fleetform.artifacts.charts import ChartError, read_chart
from support.servers import packed, packed_chart


def why_not(archive: bytes) -> str:
    with pytest.raises(ChartError) as caught:
        read_chart(archive)
    return str(caught.value)


def test_a_chart_says_what_it_is() -> None:
    about = {
        "appVersion": "2.4",
        "description": " Serves pages ",
        "icon": "https://example.org/icon.svg",
        "home": "https://example.org",
        "deprecated": True,
        "annotations": {"a": "b"},
        "dependencies": [{"name": "redis"}, {"name": "postgresql", "alias": "db"}],
    }
    chart = read_chart(packed_chart("web", "1.0.0", "replicas: 1\n", {"type": "object"}, about))
    assert (chart.name, chart.version, chart.app_version) == ("web", "1.0.0", "2.4")
    assert (chart.description, chart.icon, chart.home) == (
        "Serves pages",
        "https://example.org/icon.svg",
        "https://example.org",
    )
    assert (chart.deprecated, chart.annotations, chart.dependencies) == (True, {"a": "b"}, ("redis", "db"))
    assert (chart.values, chart.schema) == ({"replicas": 1}, {"type": "object"})


def test_a_chart_may_say_little() -> None:
    chart = read_chart(packed_chart("web", "1.0.0"))
    assert (chart.description, chart.deprecated, chart.values, chart.schema) == (None, False, {}, None)


def test_only_the_charts_own_files_are_read() -> None:
    files: dict[str, bytes | str] = {
        "./any/Chart.yaml": "\ufeffname: web\nversion: 1.0.0\n",
        "any/charts/sub/Chart.yaml": "name: sub\nversion: 2.0.0\n",
        "any/charts/sub/values.yaml": "b: 1\n",
        "any/values.yaml": "a: 1\n",
        "any/crds/broken.yaml": b"\xff",
    }
    chart = read_chart(packed(files))
    assert (chart.name, chart.values) == ("web", {"a": 1})


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"web/values.yaml": "a: 1"}, "it has no Chart.yaml"),
        ({"Chart.yaml": "name: web"}, "it has no Chart.yaml"),
        ({"web/Chart.yaml": "name: web"}, "Chart.yaml must give name and version, both as text"),
        ({"web/Chart.yaml": "name: web\nversion: 1.0"}, "Chart.yaml must give name and version, both as text"),
        ({"web/Chart.yaml": "- a"}, "Chart.yaml is not a map"),
        ({"web/Chart.yaml": "name: a\nname: b"}, "Chart.yaml must give name and version, both as text"),
        ({"web/Chart.yaml": b"\xff"}, "Chart.yaml is not UTF-8"),
        ({"web/Chart.yaml": "name: a\nversion: 1.0.0", "web/values.yaml": "7"}, "values.yaml is not a map"),
        (
            {"web/Chart.yaml": "name: a\nversion: 1.0.0", "web/values.schema.json": "{"},
            "values.schema.json is not JSON",
        ),
        (
            {"web/Chart.yaml": "name: a\nversion: 1.0.0", "web/values.schema.json": b'"\xff"'},
            "values.schema.json is not JSON",
        ),
        (
            {"web/Chart.yaml": "name: a\nversion: 1.0.0", "web/values.schema.json": "[" * 300 + "]" * 300},
            "values.schema.json is nested too deep",
        ),
        ({"../Chart.yaml": ""}, "it has a file that leads out of it, '../Chart.yaml'"),
        ({"/web/Chart.yaml": ""}, "it has a file that leads out of it, '/web/Chart.yaml'"),
    ],
)
def test_what_is_no_chart_says_why(files: dict[str, bytes | str], message: str) -> None:
    assert why_not(packed(files)) == message


def test_broken_archives_are_refused() -> None:
    whole = packed_chart("web", "1.0.0")
    broken = "it is not a .tar.gz archive, or a broken one"
    for archive in (b"", b"not an archive", gzip.compress(b"not a tar" * 1_000), whole[:40], whole[:-20], whole[:-8]):
        assert why_not(archive) == broken


def test_a_schema_that_is_no_map_says_nothing() -> None:
    assert read_chart(packed_chart("web", "1.0.0", schema=json.loads("true"))).schema == {}


def test_archives_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    chart: dict[str, bytes | str] = {"web/Chart.yaml": "name: web\nversion: 1.0.0\n"}
    monkeypatch.setattr(archives, "MAX_UNPACKED", 100_000)
    monkeypatch.setattr(archives, "MAX_FILE", 100)
    monkeypatch.setattr(archives, "MAX_MEMBERS", 20)
    assert read_chart(packed(chart)).name == "web"
    assert why_not(packed({**chart, "web/x": b"x" * 200_000})) == "it unpacks to more than 100,000 bytes"
    assert why_not(packed({"web/values.yaml": b"#" * 101, **chart})) == "web/values.yaml is larger than 100 bytes"
    assert why_not(packed({f"web/{number}": b"" for number in range(30)})) == "it has more than 20 files"


def test_links_are_passed_over() -> None:
    unzipped = io.BytesIO()
    with tarfile.open(fileobj=unzipped, mode="w") as archive:
        link = tarfile.TarInfo("web/Chart.yaml")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    assert why_not(gzip.compress(unzipped.getvalue())) == "it has no Chart.yaml"


def test_a_slip_that_helm_reads_over_is_a_remark() -> None:
    chart = read_chart(
        packed(
            {"web/Chart.yaml": "name: a\nversion: 1.0.0\nname: b\n---\n", "web/values.yaml": "a: {b: 1, b: 2}\n---\n"}
        )
    )
    assert (chart.name, chart.values) == ("b", {"a": {"b": 2}})
    assert chart.remarks == (
        "Chart.yaml, line 3: the key name is there twice, and the last value counts",
        "values.yaml, line 1: the key b is there twice, and the last value counts",
    )
