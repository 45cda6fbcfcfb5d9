"""Reports made of decisions: what each override did, and how far plugins have come.

Nothing is decided here, and findings are made of these reports in engine/check.
"""
