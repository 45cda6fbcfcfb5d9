"""World: from decisions and what is stored to what a plan takes.

    Decisions, Inputs (hashes), Stored  →  OwnerChanges  →  World (engine/plan/records)  →  plan(world, now)

    changes.py    OwnerChanges: one Change for each owner, made when it is asked for; what nothing new reaches is taken
                  over from the pass before as it is
    parts.py        owners, and groups of them that move by themselves, with their plugins
    context.py      what all owners of an organization have in common, compiled once
    candidate.py    one plugin on one cluster, and what its owner wants of it
    joining.py      what a cluster gets that joins while a rollout runs, decided on the side (sides.py) its stage is at
    made_of.py      the objects that an owner's plugins are made of
    staging.py      which stage a cluster belongs to: RolloutPolicy, written in place, or Open Cluster Management's
    opening.py      which windows and freezes count for a plugin
    contents.py     what an owner's plugins are made of, and the name of a change (B3b)
    consent.py      who agreed to what, and who made the change
    removals.py   plugins that are stored and that nobody wants any more
    stored.py     what earlier passes and people left behind
    hashes.py     hashes that are not known
    plugin_states.py  what is stored of each plugin, by its key

What belongs here: reading objects, selectors and what is stored, once per distinct input. What does not: what time and
order make of it (plan), what a plugin is made of (desired), and any I/O.
"""
