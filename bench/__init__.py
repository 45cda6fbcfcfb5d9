"""Measurements: ratios in one run, beside a fixed calibration loop. Never part of the tests."""
