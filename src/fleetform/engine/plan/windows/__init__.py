"""When changes may start: openings of one window, calendars that combine windows, and windows that are of no use.

Durations are added and compared in UTC only: within one zone Python compares wall clocks, which lie twice a year.
"""
