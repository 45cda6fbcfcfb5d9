"""Plan: which clusters may move from what is admitted to what is wanted now, which wait, for what and until when.

The shape, in records and functions:

    World (changes of owners, stored progress of plugins, removals, limits)  +  now
        → plan()  →  Plan (a Step for each plugin, with Reasons; a rollout for each owner; the next look)
        → carry_out.writes()  →  what is stored, in order
    progress.observed(), progress.settle(): observations and time move what is stored, and nothing else does

    plan.py       the whole; owner.py one owner, top to bottom:
    current.py      which rollout: the one that runs, a new one, or none
    members.py      who is in it, and what each has come to with the hash that it should get
    stages.py       the core: slots, budgets, soak, turns; RolloutPolicy and OCM's strategies are two spellings of it
    failure.py      halt, or go back
    starts.py       who starts, and what holds the others: gates/, one file each, gates/chain.py in order
    outcome.py      what becomes of the rollout
    deletions.py    what nobody wants any more
    checks.py       the plan counts again before it is handed out
    policy.py, windows/   what people write, compiled
    requests.py     pause, resume, abort, retry, roll back: what people ask of a rollout
    earliest.py     when a plugin starts at the earliest, and on what condition
    simulate.py     the same plan on a virtual clock, from event to event; stage_spans.py: stage by stage

What belongs here: decisions about time and order. What does not: what a plugin is made of, how it is rendered and
delivered, how health is observed, where anything is stored. Everything is pure: no clock, no I/O, no randomness.
"""
