"""Two fleets side by side: what differs between plugins, options, configs, rendered objects and definitions, and why.

Nothing here knows how a difference is shown.
"""
