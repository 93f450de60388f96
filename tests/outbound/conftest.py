"""A small web, as the tests of crawling have it."""

from tests.crawling.conftest import web

__all__ = ["web"]
