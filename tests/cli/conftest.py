"""Commands in our own process, with the test's database as their environment."""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog
from typer.testing import CliRunner


@pytest.fixture(autouse=True)
def logging_as_before() -> Iterator[None]:
    """Commands configure logging for their process, which is ours here."""
    configured, root = structlog.get_config(), logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    structlog.configure(**configured)
    root.handlers[:] = handlers
    root.setLevel(level)
    logging.captureWarnings(capture=False)


@pytest.fixture
def runner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, database: dict[str, str]) -> CliRunner:
    monkeypatch.chdir(tmp_path)
    for name in database:
        monkeypatch.delenv(name, raising=False)
    return CliRunner(env=dict(database))
