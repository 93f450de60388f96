"""Processes that may touch almost nothing: what a parser of strangers' content runs in, so that taking it over gains nothing."""
