"""Stores: what must outlive a pass. `sqlite` on disk, `memory` for tests and trials, both held to one contract.

What belongs here: how records, events, the audit log and messages are kept. What does not: what records mean.
"""
