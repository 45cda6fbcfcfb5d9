"""Pictures: answers as SVG and as pages that stand alone.

    rollout_svg.py  a simulation as one SVG: lanes over time, in a wide and a narrow layout
    lane.py           one stage: its level over time, soak, failures, approvals
    time_axis.py      from times to positions, and which times are written at the axis
    theme.py          colours, light and dark; patterns and glyphs
    page.py         the same as a page of HTML with figures and lists
    words.py        times and durations as people say them
    markup.py       elements and texts, escaped: names are anybody's

What belongs here: functions from records of answers to text. What does not: what happens and why, which is decided, and
files. A picture loads nothing from anywhere, and runs nothing.
"""
