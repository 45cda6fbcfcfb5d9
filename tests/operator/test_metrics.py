"""Metrics of a replica: what organizations tell, each with its name, and what it tells of itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from fleetform.operator.admission.reviews import Answer
from fleetform.operator.metrics import OperatorMetrics, Replica, Requests
from web.test_metrics import Measured, labels, scraped


@pytest.mark.rule("R2-27")
def test_organizations_tell_the_same_as_everywhere_each_under_its_name(tmp_path: Path) -> None:
    operator = OperatorMetrics(Replica(2, lambda: [1], dict), Requests())
    assert scraped(operator)["fleetform_organizations"] == {(): 0}
    ends = []
    for name in ("acme", "globex"):
        (tmp_path / name).mkdir()
        measured = Measured(tmp_path / name)
        measured.wait(hours=3)
        ends.append(operator.works_for(name, measured.metrics, lambda: 7))
    found = scraped(operator)
    acme, globex = labels(organization="acme"), labels(organization="globex")
    for name in ("fleetform_source_refused", "fleetform_notifications_waiting", "fleetform_cluster_work_waiting"):
        assert found[name] == {acme: 0, globex: 0}
    assert found["fleetform_pass_duration_seconds_count"] == {acme: 1, globex: 1}
    assert found["fleetform_status_waiting"] == {acme: 7, globex: 7}
    # Its own label stays: what a control plane says of an organization is of that one.
    assert found["fleetform_plugins"].keys() == {labels(organization="acme", preset="web")}
    assert (found["fleetform_shards"], found["fleetform_shards_held"]) == ({(): 2}, {(): 1})
    ends[0]()
    found = scraped(operator)
    assert found["fleetform_source_refused"] == {globex: 0}
    assert found["fleetform_organizations"] == {(): 1}


def test_an_organization_that_is_begun_again_is_not_forgotten_by_the_end_before(tmp_path: Path) -> None:
    operator = OperatorMetrics(Replica(1, lambda: [0], dict), Requests())
    measured = Measured(tmp_path)
    before = operator.works_for("acme", measured.metrics, lambda: 0)
    operator.works_for("acme", measured.metrics, lambda: 1)
    before()
    assert scraped(operator)["fleetform_status_waiting"] == {labels(organization="acme"): 1}


def test_reviews_are_counted_by_what_was_answered() -> None:
    operator = OperatorMetrics(Replica(1, lambda: [0], dict), Requests())
    for answer in (
        Answer(),
        Answer(warnings=["look"]),
        Answer(False, "no"),
        Answer(False, "no", 403),
        Answer(False, "not read", 503),
        Answer(False, "a bug", 500),
    ):
        operator.reviewed(answer, 0.004)
    found = scraped(operator)
    counts = {dict(key)["result"]: value for key, value in found["fleetform_admission_requests_total"].items()}
    assert counts == {"allowed": 1, "warned": 1, "refused": 2, "not-ready": 1, "failed": 1}
    assert found["fleetform_admission_duration_seconds_count"] == {(): 6}
    assert found["fleetform_admission_duration_seconds_bucket"][labels(le="0.003")] == 0
    assert found["fleetform_admission_duration_seconds_bucket"][labels(le="0.01")] == 6


def test_requests_and_broken_watches_are_counted() -> None:
    requests = Requests()
    to = requests.to("management")
    for method, status in (("PATCH", 200), ("PATCH", 200), ("PUT", 409), ("GET", 0)):
        to(method, status)
    requests.to("workload")("PATCH", 200)
    found = scraped(OperatorMetrics(Replica(1, list, lambda: {"plugins": 3}), requests))
    assert found["fleetform_api_requests_total"] == {
        labels(server="management", method="PATCH", code="200"): 2,
        labels(server="management", method="PUT", code="409"): 1,
        labels(server="management", method="GET", code="none"): 1,
        labels(server="workload", method="PATCH", code="200"): 1,
    }
    assert found["fleetform_watch_restarts_total"] == {labels(kind="plugins"): 3}
