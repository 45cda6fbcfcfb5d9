"""Mutants: small faults put into the product one at a time, to see whether a test notices."""
