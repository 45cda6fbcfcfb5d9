"""The picture of a rollout: lanes, marks and times stand where they should, and names are only names."""

from __future__ import annotations

import re
from datetime import timedelta
from xml.etree import ElementTree

import pytest
from msgspec import structs

from fleetform.engine.plan.rollouts import Policy
from fleetform.engine.plan.scenario import Scenario, Spell
from fleetform.model.answers.simulation import Simulation
from fleetform.pictures.lane import gathered
from fleetform.pictures.page import rollout_page
from fleetform.pictures.rollout_svg import NARROW, WIDE, Layout, rollout_svg
from support.plans import HOUR, NOON, stages
from support.simulations import SVG, of_class, parsed, played, texts

HOSTILE = "</text><script>alert(1)</script>\"'&\u202e\x07<!--"


def picture(simulation: Simulation, layout: Layout = WIDE) -> ElementTree.Element:
    return parsed(rollout_svg(simulation, layout))


def lanes(root: ElementTree.Element) -> list[ElementTree.Element]:
    return of_class(root, "g", "lane")


def paths(lane: ElementTree.Element, class_: str) -> list[str]:
    return [each.get("d") or "" for each in of_class(lane, "path", class_)]


def xs(path: str) -> list[float]:
    return [float(each) for each in re.findall(r"[MH](-?[0-9.]+)", path)]


@pytest.mark.parametrize("layout", [WIDE, NARROW])
def test_there_is_a_lane_for_each_stage_in_order_inside_the_picture(layout: Layout) -> None:
    root = picture(played(), layout)
    width, height = float(root.get("width") or 0), float(root.get("height") or 0)
    names = [of_class(lane, "text", "n")[0] for lane in lanes(root)]
    found = [(float(each.get("y") or 0), each.text) for each in names]
    assert [name for _, name in found] == ["qa", "prod", "gold"]
    assert [y for y, _ in found] == sorted(y for y, _ in found)
    assert width == layout.width
    for path in (each.get("d") or "" for each in root.iter(f"{SVG}path")):
        assert all(-10 <= x <= width for x in xs(path)), path
        assert all(-10 <= float(y) <= height for y in re.findall(r"V(-?[0-9.]+)", path)), path


def test_later_stages_rise_further_to_the_right_and_end_at_the_full_level() -> None:
    root = picture(played())
    rises = []
    for lane in lanes(root):
        (line,) = paths(lane, "fl")
        steps = re.findall(r"H([0-9.]+)V([0-9.]+)", line)
        heights = [float(y) for _, y in steps]
        assert heights == sorted(heights, reverse=True), "a level that only grows"
        rises.append(float(steps[0][0]))
    assert rises == sorted(rises)


def test_windows_freezes_soak_and_approvals_stand_in_the_lane_that_has_them() -> None:
    qa, _, gold = lanes(picture(played(Scenario(until=NOON + timedelta(days=3)))))
    assert not of_class(qa, "rect", "w")
    assert of_class(gold, "rect", "w")
    filled = [[each.get("fill") for each in lane.iter(f"{SVG}rect")] for lane in (qa, gold)]
    assert "url(#whs)" in filled[0]
    assert "url(#whs)" in filled[1]
    assert "2 approvals Mon 16 Nov 14:30" in texts(gold)
    assert of_class(gold, "circle", "k")
    assert not of_class(qa, "circle", "k")


def test_a_freeze_is_crossed_and_named() -> None:
    late = Scenario(approval_delay=timedelta(days=3))
    gold = lanes(picture(played(late)))[-1]
    assert "url(#whz)" in [each.get("fill") for each in gold.iter(f"{SVG}rect")]
    assert "hard freeze xmas" in texts(gold)


def test_failures_are_marked_where_they_happen_and_counted() -> None:
    root = picture(played(Scenario(failing=(Spell("prod-0"), Spell("prod-1")))))
    qa, prod, gold = lanes(root)
    assert [len(of_class(lane, "g", "mark")) for lane in (qa, prod, gold)] == [0, 1, 0]
    (mark,) = of_class(prod, "g", "mark")
    assert "2" in texts(mark)
    (halted,) = paths(prod, "xl")
    x = float(re.findall(r"translate\(([0-9.]+)", mark.get("transform") or "")[0])
    assert abs(xs(halted)[0] - x - 6) < 1
    assert "2 clusters fail" in texts(root)[[each.startswith("halts") for each in texts(root)].index(True)]
    assert "does not start" in texts(gold)


def test_a_way_back_goes_down_again() -> None:
    policy = Policy("standard", stages(qa={}, prod={"max_concurrency": 2}), on_failure="Rollback")
    root = picture(played(Scenario(failing=(Spell("prod-3"),)), policy, qa=2, prod=4))
    qa, prod = lanes(root)
    for lane in (qa, prod):
        (line,) = paths(lane, "fl")
        heights = [float(each) for each in re.findall(r"V([0-9.]+)", line)]
        assert heights[-1] == max(heights), "it ends where it began"
    assert "2 rolled back" in texts(qa)


def test_what_has_happened_is_solid_and_the_forecast_is_dashed() -> None:
    simulation = played()
    under_way = structs.replace(simulation, start=NOON + HOUR)
    qa = lanes(picture(under_way))[0]
    assert paths(qa, "pl")
    assert paths(qa, "fl")
    assert not paths(lanes(picture(simulation))[0], "pl")


@pytest.mark.parametrize("layout", [WIDE, NARROW])
def test_names_are_escaped_whatever_they_are(layout: Layout) -> None:
    simulation = played(Scenario(failing=(Spell("prod-0"),)))
    hostile = structs.replace(
        simulation,
        from_=HOSTILE,
        to=HOSTILE,
        rollouts=[structs.replace(each, preset=HOSTILE, to=[HOSTILE]) for each in simulation.rollouts],
        stages=[
            structs.replace(each, name=HOSTILE, freezes=[structs.replace(one, name=HOSTILE) for one in each.freezes])
            for each in simulation.stages
        ],
        events=[structs.replace(each, cluster=HOSTILE, plugin=HOSTILE, stage=HOSTILE) for each in simulation.events],
        left=[structs.replace(each, message=HOSTILE, do=HOSTILE, clusters=[HOSTILE]) for each in simulation.left],
    )
    svg = rollout_svg(hostile, layout)
    root = parsed(svg)
    assert [each.tag for each in root.iter() if "script" in str(each.tag)] == []
    assert any("</text>" in each for each in texts(root))
    for text in (svg, rollout_page(hostile)):
        assert "<script" not in text
        assert "<!--" not in text
        assert "\u202e" not in text
        assert "\x07" not in text


@pytest.mark.parametrize(
    ("sizes", "duration"),
    [
        ({"all": 3}, timedelta(minutes=1)),
        ({f"s{number}": 1 for number in range(8)}, timedelta(days=2)),
        ({"qa": 100, "prod": 500}, timedelta(minutes=10)),
    ],
)
def test_small_long_and_large_rollouts_are_drawn_whole(sizes: dict[str, int], duration: timedelta) -> None:
    simulation = played(Scenario(duration=duration, failure_rate=0.0), None, **sizes)
    svg = rollout_svg(simulation)
    assert len(lanes(parsed(svg))) == len(sizes)
    assert len(svg) < 60_000, "levels that cannot be told apart are drawn once"


def test_what_is_close_together_is_one_mark_with_its_number() -> None:
    assert [(each.x, each.number) for each in gathered([100, 5, 10, 26, 40])] == [(5, 3), (40, 1), (100, 1)]


def test_nothing_to_do_is_a_picture_too() -> None:
    simulation = structs.replace(played(), stages=[], rollouts=[], events=[])
    assert "nothing changes" in texts(picture(simulation))


def test_those_who_do_not_see_it_are_told_what_it_shows() -> None:
    root = picture(played())
    title, description = root.find(f"{SVG}title"), root.find(f"{SVG}desc")
    assert title is not None
    assert description is not None
    assert title.text == "certs 1.0.0 → 1.1.0"
    assert "gold: done" in (description.text or "")
    assert root.get("aria-labelledby") == f"{title.get('id')} {description.get('id')}"


def test_until_when_an_approval_can_wait_is_marked() -> None:
    simulation = played()
    gold = simulation.stages[-1]
    assert gold.approvals is not None
    asked = structs.replace(gold.approvals, decide_by=NOON + 10 * HOUR, later_costs="1d")
    told = structs.replace(simulation, stages=[*simulation.stages[:-1], structs.replace(gold, approvals=asked)])
    lane = lanes(picture(told))[-1]
    assert "2 approvals by Mon 16 Nov 22:00" in texts(lane)
    assert "given later, it ends 1 d later" in texts(lane)
    assert len(paths(lane, "ka")) == 1
    assert not paths(lanes(picture(simulation))[-1], "ka")
