from collections.abc import AsyncIterator

import pytest

from testkit.web import Web, small_web
from tests.crawling.tricks import NAMES


@pytest.fixture
async def web() -> AsyncIterator[Web]:
    async with small_web(NAMES) as running:
        yield running
