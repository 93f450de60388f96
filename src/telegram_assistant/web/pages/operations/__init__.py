"""Pages for the operator: overview, checks, dead letters."""
