"""The domain model: frozen values and pure functions without I/O."""
