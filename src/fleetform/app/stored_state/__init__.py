"""Stored state: what is known of a fleet as a document, in both directions."""
