"""The page of a simulation stands alone, and says what the picture shows."""

from __future__ import annotations

import re
from html.parser import HTMLParser

from fleetform.engine.plan.scenario import Scenario, Spell
from fleetform.pictures.page import rollout_page
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
    text = rollout_page(played(Scenario(failure_rate=1.0), None, qa=2_000))
    assert text.count("qa-1") < 200
    assert len(text) < 100_000
