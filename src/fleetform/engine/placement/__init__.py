"""Placements: which clusters are chosen, in which groups, and why others are not.

place is the way in for one placement, placements for all of a snapshot. choice takes the steps in order: sets and
predicates (pool, expressions), taints, scores, spread; groups divides what is chosen, why explains what is not. facts
reads a cluster as Open Cluster Management describes it. Selectors without a placement are matched in engine/index, and
what a preset does with the chosen clusters is not known here.
"""
