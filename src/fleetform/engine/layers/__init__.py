"""What people wrote, compiled: each object becomes layers and items once, and every decision points at them.

What cannot be read is left out here; checks say so, with its place. Nothing here looks at more than one object.
"""
