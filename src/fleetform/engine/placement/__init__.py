"""Placements: which clusters are chosen, in which groups, and why others are not; place is the way in."""
