from collections.abc import AsyncIterator

import pytest

from tests.pages.tricks import NAMES
from tests.pages.web import Web, small_web


@pytest.fixture
async def web() -> AsyncIterator[Web]:
    async with small_web(NAMES) as running:
        yield running
