"""Codecs: text to trees and back, pure functions of their input.

Trees are what JSON can hold: dict with text keys, list, str, int, float, bool, None.
"""
