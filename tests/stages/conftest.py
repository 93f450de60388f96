"""The program in front of a server that speaks the providers' protocols."""

from tests.ai.conftest import app, opened, prices, redis, server

__all__ = ["app", "opened", "prices", "redis", "server"]
