"""Following channels of a simulator into a real database."""

from tests.telegram.conftest import account, control, fresh_config, rsa_key, sim

__all__ = ["account", "control", "fresh_config", "rsa_key", "sim"]
