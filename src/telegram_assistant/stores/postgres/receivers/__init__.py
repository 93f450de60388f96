"""Receivers of alerts and digests, their deliveries, and the addresses of feeds."""
