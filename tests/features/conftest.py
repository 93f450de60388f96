"""Fixtures for the tests of several features."""

from tests.ai.conftest import minilm

__all__ = ["minilm"]
