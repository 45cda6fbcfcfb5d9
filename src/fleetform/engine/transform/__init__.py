"""Transforms, pure: which operations of several plugins on one object are kept, and what becomes of the object.

Running plugins is an adapter's work (transformers); here are only their answers.
"""
