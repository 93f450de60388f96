"""The program in front of a server that speaks the providers' protocols,
and what several stages are tested with.
"""

from tests.ai.conftest import app, minilm, open_program, prices, redis, server

__all__ = ["app", "minilm", "open_program", "prices", "redis", "server"]
