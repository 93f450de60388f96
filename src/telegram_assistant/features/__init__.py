"""Features: one function for each thing that a person can ask for."""
