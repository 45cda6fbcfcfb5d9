"""Which states of plugins a question is about: `Waiting`, `Failed,Blocked`, `!UpToDate`."""

from __future__ import annotations

from typing import get_args

from fleetform.app.errors import BadValueError
from fleetform.model.answers.planning import PluginPhase
from fleetform.model.shape import did_you_mean

STATES: tuple[str, ...] = get_args(PluginPhase)
STATE_HELP = f"Only plugins in this state; repeatable. A leading ! leaves one out. States: {', '.join(STATES)}."


class StateFilter:
    """States that are meant; without any, all."""

    def __init__(self, texts: tuple[str, ...] = ()) -> None:
        """Several are alternatives; those with an exclamation mark are left out."""
        self._wanted: set[str] = set()
        self._others: set[str] = set()
        by_name = {each.lower(): each for each in STATES}
        for text in [part.strip() for each in texts for part in each.split(",") if part.strip()]:
            name = by_name.get(text.removeprefix("!").lower())
            if name is None:
                hint = did_you_mean(text.removeprefix("!"), list(STATES), f"there are {', '.join(STATES)}")
                raise BadValueError(f"{text} is not a state of a plugin", hint)
            (self._others if text.startswith("!") else self._wanted).add(name)

    @property
    def is_all(self) -> bool:
        return not self._wanted and not self._others

    def holds(self, state: str) -> bool:
        return (not self._wanted or state in self._wanted) and state not in self._others


ALL_STATES = StateFilter()
