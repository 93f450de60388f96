"""The ingest's way from a tick to a stored post, against a simulator."""

from tests.ingest.conftest import control, fresh_config, office, rsa_key, sim, telethons_config

__all__ = ["control", "fresh_config", "office", "rsa_key", "sim", "telethons_config"]
