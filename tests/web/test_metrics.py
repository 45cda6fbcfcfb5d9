"""Metrics: what they count, where they are served, and alert rules that speak of nothing else."""

from __future__ import annotations

import re
import shlex
import subprocess
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import httpx2
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector

from fleetform.app.numbers import numbers
from fleetform.loop.control import PassReport
from fleetform.loop.metrics import Build, Metrics
from fleetform.operator.metrics import OperatorMetrics, Replica, Requests
from fleetform.ports.delivery import Failure
from fleetform.ports.store import UnavailableError
from fleetform.store.sqlite import SqliteStore
from fleetform.store.sqlite_reader import SqliteReader
from fleetform.web.monitoring import serve_monitoring
from loop.test_control import STAGES, plane, upgraded
from loop.test_support_ends import policy
from loop.test_telling import APPROVED, CLUSTERS, HOOK, breaking
from support.plane import Files, Plane

ROOT = Path(__file__).parents[2]
RULES = yaml.safe_load((ROOT / "deploy" / "alerts.yaml").read_text(encoding="utf-8"))["groups"][0]["rules"]
Sample = dict[tuple[tuple[str, str], ...], float]


class Measured:
    """A control plane whose passes are measured."""

    def __init__(self, folder: Path, **files: str) -> None:
        first = plane(**files)
        database = str(folder / "fleet.db")
        self.plane = Plane(Files(first.files.files), SqliteStore(database))
        self.metrics = Metrics(lambda: SqliteReader(database), f"{database}-wal", lambda: self.plane.clock.at)

    def wait(self, **span: float) -> PassReport:
        self.plane.wait(**span)
        report = self.plane.control.run_pass()
        self.metrics.told(report)
        self.metrics.looked()
        return report

    def read(self) -> dict[str, Sample]:
        """All samples, by name and labels, as Prometheus would read them."""
        return scraped(Build(), self.metrics)


def scraped(*collectors: Collector) -> dict[str, Sample]:
    served = serve_monitoring(collectors, "127.0.0.1", 0)
    try:
        text = httpx2.get(f"http://127.0.0.1:{served.port}/metrics", trust_env=False).text
    finally:
        served.end()
    return samples(text)


def samples(text: str) -> dict[str, Sample]:
    """All samples of an answer, by name and labels; each metric stands there once."""
    found: dict[str, Sample] = {}
    families = list(text_string_to_metric_families(text))
    assert len({each.name for each in families}) == len(families)
    for family in families:
        for sample in family.samples:
            found.setdefault(sample.name, {})[tuple(sorted(sample.labels.items()))] = sample.value
    return found


def labels(**named: str) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(named.items()))


WEB = labels(organization="acme", preset="web")
ACME = labels(organization="acme")


@pytest.mark.rule("R2-27")
def test_pending_updates_are_counted_by_organization_preset_and_reason(tmp_path: Path) -> None:
    measured = Measured(tmp_path, **{"policy.yaml": APPROVED})
    measured.wait(hours=3)
    found = measured.read()
    assert found["fleetform_plugins"] == {WEB: 3}
    assert found["fleetform_plugins_pending"] == {labels(organization="acme", preset="web", reason="approval"): 2}
    assert found["fleetform_plugins_waiting"] == {labels(organization="acme", gate="approval"): 2}
    assert found["fleetform_oldest_waiting_seconds"] == {ACME: 3 * 3600}
    assert found["fleetform_versions_running"] == {WEB: 1}
    assert (found["fleetform_plugins_blocked"], found["fleetform_plugins_failed"]) == ({WEB: 0}, {WEB: 0})


@pytest.mark.rule("R2-27")
def test_blocked_failed_and_spread_are_counted(tmp_path: Path) -> None:
    policy = STAGES.replace("maxConcurrency: 1", "maxFailures: 0").replace("onFailure: Rollback", "onFailure: Halt")
    measured = Measured(tmp_path, **{"policy.yaml": policy})
    measured.wait(hours=3)
    measured.plane.health.says["us-1", "1.1.0"] = "Failed"
    upgraded(measured.plane)
    measured.plane.targets.broken["eu-1"] = Failure("disk full", "make room")
    measured.wait(hours=3)
    found = measured.read()
    assert found["fleetform_plugins_failed"] == {WEB: 1}
    assert found["fleetform_deliveries_failing"] == {ACME: 1}
    other = tmp_path / "other"
    other.mkdir()
    blocked = Measured(other)
    blocked.wait(hours=3)
    breaking(blocked.plane)
    blocked.wait(hours=1)
    assert blocked.read()["fleetform_plugins_blocked"] == {WEB: 3}


@pytest.mark.rule("R2-27")
def test_passes_refusals_and_the_outbox_are_told(tmp_path: Path) -> None:
    measured = Measured(tmp_path, **{"organization.yaml": HOOK})
    measured.wait(hours=3)
    measured.metrics.failed(UnavailableError("the disk is full", ""))
    found = measured.read()
    assert found["fleetform_passes_total"] == {labels(outcome="done"): 1, labels(outcome="failed"): 1}
    assert found["fleetform_pass_duration_seconds_count"] == {(): 1}
    at = measured.plane.clock.at.timestamp()
    assert found["fleetform_last_successful_pass_timestamp_seconds"] == {(): at}
    assert found["fleetform_last_look_timestamp_seconds"] == {(): at}
    assert found["fleetform_notifications_waiting"] == {(): 2}
    assert found["fleetform_database_wal_bytes"][()] > 0
    assert found["fleetform_source_refused"] == {(): 0}
    measured.plane.files.files["preset.yaml"] = "not: [valid"
    measured.wait(minutes=1)
    assert measured.read()["fleetform_source_refused"] == {(): 1}


@pytest.mark.rule("R2-27")
def test_no_number_is_by_cluster_or_plugin() -> None:
    found = plane(**{"clusters.yaml": CLUSTERS, "policy.yaml": APPROVED})
    found.wait(hours=2)
    report = found.control.run_pass()
    assert report.plan is not None
    counted = numbers(report.plan)
    assert counted.plugins == {("acme", "web"): 1000}
    assert counted.waiting == {("acme", "approval"): 990}
    assert sum(counted.pending.values()) == 990


def waiting_since(found: Plane) -> dict[str, datetime]:
    report = found.control.run_pass()
    assert report.plan is not None
    return numbers(report.plan).waiting_since


@pytest.mark.rule("R2-27")
def test_a_change_waits_from_its_beginning_until_it_is_everywhere() -> None:
    found = plane(**{"policy.yaml": STAGES.replace("maxConcurrency: 1", "minSuccessTime: 2h")})
    found.wait(hours=5)
    assert waiting_since(found) == {}
    begun = found.clock.at
    upgraded(found)
    found.wait(minutes=50)
    assert waiting_since(found) == {"acme": begun}
    # The last stage soaks: nothing is left to deliver, and its rollout is not over yet.
    found.wait(minutes=40)
    assert waiting_since(found) == {}
    found.wait(hours=3)
    assert waiting_since(found) == {}
    begun = found.clock.at
    breaking(found)
    found.wait(hours=1)
    assert waiting_since(found) == {"acme": begun}


@pytest.mark.rule("R2-27")
@pytest.mark.parametrize(("on_failure", "waits"), [("Rollback", False), ("Halt", True)])
def test_what_went_back_waits_for_nothing_any_more_and_what_halted_does(on_failure: str, waits: bool) -> None:
    found = plane(**{"policy.yaml": STAGES.replace("onFailure: Rollback", f"onFailure: {on_failure}")})
    found.wait(hours=3)
    begun = found.clock.at
    found.health.says["us-1", "1.1.0"] = "Failed"
    upgraded(found)
    found.wait(hours=2)
    assert waiting_since(found) == ({"acme": begun} if waits else {})


@pytest.mark.rule("R2-27")
@pytest.mark.parametrize("other", ["a", "z"])
def test_of_several_changes_that_wait_the_one_that_began_first_counts(other: str) -> None:
    second = plane().files.files["preset.yaml"].replace("name: web, namespace", f"name: {other}, namespace")
    found = plane(**{"policy.yaml": APPROVED})
    found.wait(hours=1)
    begun = found.clock.at - timedelta(hours=1)
    found.files.files["second.yaml"] = second
    found.wait(hours=1)
    report = found.control.run_pass()
    assert report.plan is not None
    opened = [each.rollout.created for each in report.plan.owners if each.rollout is not None and each.rollout.is_open]
    assert sorted(opened) == [begun, begun + timedelta(hours=1)]
    assert numbers(report.plan).waiting_since == {"acme": begun}


def test_a_first_scrape_finds_no_fleet_and_no_database(tmp_path: Path) -> None:
    missing = str(tmp_path / "none.db")
    metrics = Metrics(lambda: SqliteReader(missing), f"{missing}-wal", lambda: plane().clock.at + timedelta(days=1))
    names = set(scraped(Build(), metrics))
    assert "fleetform_build_info" in names
    assert "fleetform_plugins" not in names


def known_metrics(tmp_path: Path) -> set[str]:
    measured = Measured(tmp_path, **{"policy.yaml": APPROVED, "support.yaml": policy(90)})
    measured.wait(hours=3)
    replica = Replica(1, lambda: [0], lambda: {"plugins": 0})
    requests = Requests()
    operator = OperatorMetrics(replica, requests)
    requests.to("management")("GET", 200)
    operator.works_for("acme", measured.metrics, lambda: 0)
    return set(measured.read()) | set(scraped(operator))


@pytest.mark.rule("R2-27")
def test_alert_rules_speak_of_metrics_that_exist_and_have_a_runbook(tmp_path: Path) -> None:
    known = known_metrics(tmp_path)
    page = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    anchors = {line.lstrip("# ").lower() for line in page.splitlines() if line.startswith("#")}
    names: list[str] = []
    for rule in RULES:
        used = set(re.findall(r"fleetform_\w+", rule["expr"]))
        assert used, rule["alert"]
        assert used <= known, used - known
        assert _closed(rule["expr"]), rule["expr"]
        annotations: dict[str, Any] = rule["annotations"]
        assert sorted(annotations) == ["description", "runbook", "summary"]
        assert annotations["runbook"] == f"docs/operations.md#{rule['alert'].lower()}"
        assert rule["alert"].lower() in anchors
        assert rule["labels"]["severity"] in ("critical", "warning")
        names.append(rule["alert"])
    assert len(set(names)) == len(names)


@pytest.mark.rule("R2-27")
def test_the_alert_rules_say_how_each_gets_an_address_that_can_be_opened() -> None:
    text = (ROOT / "deploy" / "alerts.yaml").read_text(encoding="utf-8")
    (command,) = re.findall(r"^#   (sed .*)$", text, re.MULTILINE)
    done = subprocess.run(shlex.split(command), cwd=ROOT, capture_output=True, text=True, check=True)
    linked = yaml.safe_load(done.stdout)["groups"][0]["rules"]
    page = "https://git.example.com/fleetform/blob/main/docs/operations.md"
    assert [each["annotations"]["runbook_url"] for each in linked] == [
        f"{page}#{each['alert'].lower()}" for each in RULES
    ]


def _closed(expression: str) -> bool:
    """Whether brackets come in pairs: there is no Prometheus here to ask."""
    left = re.sub(r'"[^"]*"', "", expression)
    while (shorter := re.sub(r"\([^()\[\]{}]*\)|\[[^()\[\]{}]*\]|\{[^()\[\]{}]*\}", "", left)) != left:
        left = shorter
    return not re.search(r"[()\[\]{}]", left)


@pytest.mark.rule("R2-27")
def test_every_metric_stands_in_the_operations_page(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    told = set(re.findall(r"`(fleetform_\w+)`", page))
    served = {re.sub(r"_(bucket|count|sum|created)$", "", name) for name in known_metrics(tmp_path)}
    assert told == served
