"""Watches: their index, matching and previews; alerts, receivers, deliveries and feed addresses."""
