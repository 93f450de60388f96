"""The stages of the pipeline, one file each.

A stage loads, filters, computes, saves and emits; the runtime does everything else.
"""
