"""The page of a simulation stands alone, and says what the picture shows."""

from __future__ import annotations

import re
from html.parser import HTMLParser

from fleetform.engine.plan.rollouts import Policy
from fleetform.engine.plan.scenario import Scenario, Spell
from fleetform.pictures.page import rollout_page
from support.plans import stages
from support.simulations import played

_VOID = {"meta", "br", "img", "link"}


class _Tree(HTMLParser):
    """Tags that are open, all attributes, and what is written."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += attrs
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += f" {data}"


def read(text: str) -> _Tree:
    tree = _Tree()
    tree.feed(text)
    assert tree.open == []
    return tree


def test_it_loads_nothing_and_runs_nothing() -> None:
    text = rollout_page(played(Scenario(failing=(Spell("prod-0"),))))
    names = {name for name, _ in read(text).attributes}
    assert not names & {"src", "href", "onclick", "onload", "srcset", "action"}
    addresses = re.findall(r"(?:https?:)?//[^\s\"'<]+", text)
    assert set(addresses) <= {"http://www.w3.org/2000/svg"}
    assert "@import" not in text


def test_both_pictures_have_identifiers_of_their_own() -> None:
    identifiers = [value for name, value in read(rollout_page(played())).attributes if name == "id"]
    assert len(identifiers) == len(set(identifiers))


def test_figures_stages_failures_and_assumptions_are_told() -> None:
    text = " ".join(read(rollout_page(played(Scenario(failing=(Spell("prod-0"),))))).text.split())
    assert "3 of 9" in text
    assert "prod-0 fails Mon 16 Nov 13:20" in text
    assert "Not up to date in the end" in text
    assert "each start takes 10m" in text
    assert "git:main" in text


def test_it_follows_light_and_dark() -> None:
    text = rollout_page(played())
    assert "@media(prefers-color-scheme:dark)" in text
    assert '<meta name="color-scheme" content="light dark">' in text


def test_thousands_of_failures_are_counted_and_some_are_named() -> None:
    policy = Policy("standard", stages(qa={"max_failures": "100%"}))
    text = rollout_page(played(Scenario(failure_rate=1.0), policy, qa=2_000))
    assert "<b>2,000 clusters</b> fail " in text, "those of a stage are told together"
    assert text.count("qa-1") < 200
    assert len(text) < 100_000


def test_on_a_narrow_screen_each_value_bears_the_name_of_its_column() -> None:
    text = rollout_page(played())
    cells = [value for name, value in read(text).attributes if name == "data-name"]
    columns = ["stage", "clusters", "starts", "done", "before it", "soak", "outcome"]
    assert cells == columns * (len(cells) // len(columns)), "row by row, in the order of the columns"
    assert "td::before{content:attr(data-name)}" in text


def test_what_failed_stands_out_in_a_stage_that_is_done() -> None:
    policy = Policy("standard", stages(qa={"max_failures": 1}, prod={}))
    text = rollout_page(played(Scenario(failing=(Spell("qa-0"),)), policy, qa=3, prod=2))
    assert '<span class="done">2 of 3 updated</span>, <span class="bad">1 failed</span>' in text
