"""A Python file, without a run bit: loaded into Fleetform's own process.

While a move is on, one replica is enough, and nothing runs by schedule.
"""

NAME, VERSION = "cautious", "1.0"


def run(resource):
    if resource["kind"] == "Deployment":
        return [{"op": "replace", "path": "/spec/replicas", "value": 1}]
    if resource["kind"] == "CronJob":
        return [{"op": "add", "path": "/spec/suspend", "value": True}]
    return None
