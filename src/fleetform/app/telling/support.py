"""What is told before the support of a version ends: once for each version and organization, however many run it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from msgspec import structs

from fleetform.app.answering.advice import Words
from fleetform.app.support_ends import Ending
from fleetform.app.telling.notices import Subject, notice
from fleetform.app.telling.plans import COUNTDOWN, Told
from fleetform.model.objects import Ref
from fleetform.model.results.advice import Advice
from fleetform.syntax.times import distance_text

# An upgrade takes longer than an approval: this is told earlier, too.
_AHEAD = {"30d": timedelta(days=30), **COUNTDOWN}


def support_notices(endings: Sequence[Ending], now: datetime, words: Words) -> Told:
    notices, looks = [], []
    for each in endings:
        left = each.at - now
        looks += [each.at - span for span in _AHEAD.values() if each.at - span > now]
        reached = [name for name, span in _AHEAD.items() if timedelta(0) < left <= span]
        if not reached:
            continue
        subject = Subject(Ref("PluginDefinition", each.organization, each.definition), "", before=[each.version])
        instance = f"support {each.version} {reached[-1]} {each.at:%Y-%m-%dT%H:%MZ}"
        do = words(Advice("take-newer-version", each.organization))
        found = notice("Countdown", subject, now, "", each.clusters, until=each.at, do=do, instance=instance)
        run = f"{len(each.clusters):,} {'cluster runs' if len(each.clusters) == 1 else 'clusters run'} it"
        title = f"support of {each.definition} {each.version} ends {distance_text(left)}; {run}"
        notices.append(found._replace(notification=structs.replace(found.notification, title=title)))
    return Told(notices, min(looks, default=None))
