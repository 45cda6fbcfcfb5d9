"""Versions of definitions: which one a plugin wants, what is between two of them, how long each is kept.

choose finds the wanted revision; upgrade_gates and lifecycle say whether and when a plugin may move to it, migrations
reads values of older versions for it; span and compatibility compare versions, for people and for authors; retention
says which may go. How a rollout moves over clusters is not decided here, and the notation of versions and ranges is in
syntax.
"""
