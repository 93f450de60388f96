"""Receivers of alerts and digests: deliveries, their signatures and retries."""
