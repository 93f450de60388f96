"""Functions of the database, one file per subject."""

from telegram_assistant.stores.postgres.migrations.baseline.functions import (
    accounts,
    channels,
    delivery,
    posts,
    search,
    tenants,
    understanding,
)

FUNCTIONS = (tenants, accounts, channels, posts, understanding, search, delivery)
"""In the order in which they are created."""
