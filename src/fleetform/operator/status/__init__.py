"""What Fleetform tells on an API server: statuses, generated objects, Events.

All of it is a projection of what is stored: `projection` computes it, `writing` brings it there where it differs.
Losing it costs nothing, as it is written again.
"""
