"""From decisions to the records of answers: references with their places, provenance, masked values and manifests.

Nothing is decided here, and secrets are masked here: what a verb shows of a value comes from this package.
"""
