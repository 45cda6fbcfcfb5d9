"""Random play: a player of the laws driven by one seed, so that every run can be played again."""

from __future__ import annotations

from datetime import timedelta
from random import Random
from typing import Any

from support.laws import HALF, Fleet, Player
from support.plans import DAY, HOUR


def fleet_of(dice: Random, **fixed: Any) -> Fleet:
    drawn: dict[str, Any] = {
        "clusters": dice.randint(1, 5),
        "stages": dice.randint(1, 3),
        "concurrency": dice.choice([None, 1, 2, "50%"]),
        "budget": dice.randint(0, 2),
        "soak": dice.choice([timedelta(0), HOUR]),
        "deadline": dice.choice([None, 2 * HOUR]),
        "windowed": dice.random() < 0.4,
        "frozen": dice.random() < 0.3,
        "approvals": dice.choice([0, 0, 1, 2]),
        "on_failure": dice.choice(["Halt", "Rollback", "Continue"]),
        "retries": dice.randint(0, 1),
    }
    return Fleet(**(drawn | fixed))


def play_by_chance(seed: int, moves: int = 40, **fixed: Any) -> Player:
    """Plays; LawBrokenError if a plan breaks a law."""
    dice = Random(seed)
    player = Player(fleet_of(dice, **fixed))
    for _ in range(moves):
        move(player, dice)
    return player


def move(player: Player, dice: Random) -> None:
    names = [each.key[1] for each in player.change.candidates] or ["c0"]
    name, on = dice.choice(names), dice.random() < 0.4
    choice = dice.random()
    if choice < 0.30:
        player.settle()
    elif choice < 0.38:
        player.plan(stop_after=dice.randint(0, 6))
    elif choice < 0.65:
        player.observe(name, dice.choice(["Healthy", "Healthy", "Failed", "Unknown"]), stale=dice.random() < 0.1)
    elif choice < 0.80:
        player.pass_time(dice.choice([HALF, HOUR, 6 * HOUR, DAY, -HOUR]))
    elif choice < 0.83:
        player.hold(name, on)
    elif choice < 0.86:
        player.silence(name, on)
    elif choice < 0.88:
        player.relabel(name, dice.randint(0, 2))
    elif choice < 0.90:
        player.join(dice.randint(0, 1), dice.randint(0, 2))
    elif choice < 0.91:
        player.leave(name)
    elif choice < 0.96:
        player.approve(dice.choice(["ann", "bob", "eve"]), dice.choice(["", "", "c1:another"]))
    elif choice < 0.98:
        player.pause(on)
    else:
        player.want_something_new()
