"""What may be understood by whom, what it costs, and texts that a provider writes."""
