"""Running the installation: doctor, readiness, rebuilds, upkeep and dead letters."""
