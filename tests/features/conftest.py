"""What several features are tested with."""

from tests.ai.conftest import minilm

__all__ = ["minilm"]
