"""Processes that may touch almost nothing.

Parsers of untrusted content run in them, so that taking one over gains nothing.
"""
