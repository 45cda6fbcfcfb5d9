"""The loop: reads, decides, plans, admits, delivers and observes, again and again, and writes only what differs.

    control.py     one pass, top to bottom:
    intake.py        what the source has now, taken or refused once
    accepting.py     files of the source become the fleet's, if they are whole and valid
    observing.py     what was delivered is judged; what time and observations do to what is stored
    admitting.py     the plan's starts are rendered, and only what rendered is stored as admitted (B2)
    delivering.py    what is admitted and not delivered goes to its destination
    cluster_answers.py  what deliveries straight to clusters tell of them
    sealing.py       what holds secrets: stored by reference, rendered whole where it is applied
    reaching.py      how clusters are reached
    drifting.py    delivered files that somebody changed, found between passes
    caring.py      what is done now and then while nothing is due: decide anew, render again, forget what nobody needs
    polling.py     a repository elsewhere, fetched beside the loop
    asking.py      what people request of rollouts, between passes
    viewing.py     the fleet as it is stored, for those who ask beside the loop
    standing.py    what all of these begin from: the image, and the fleet as it was last decided from it
    surroundings.py  what a control plane stands in, as wiring chose it
    image.py       everything stored, in memory; what a step changes in it becomes one commit
    records.py     what is stored beside what is known of plugins and rollouts
    driver.py      passes when something happened or is due

Every step ends in at most one commit, and begins from what is stored: a process that is killed between any two of them,
or whose commit's answer was lost, goes on from there when it starts again. Nothing here decides anything: engine does.
"""
