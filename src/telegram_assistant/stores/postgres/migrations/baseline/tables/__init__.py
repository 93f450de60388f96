"""Tables with their indexes, grants and policies, one file per subject."""

from telegram_assistant.stores.postgres.migrations.baseline.tables import (
    accounts,
    channels,
    delivery,
    media,
    posts,
    reading,
    search,
    spending,
    tenants,
    understanding,
)

TABLES = (tenants, accounts, channels, reading, posts, media, understanding, spending, search, delivery)
"""In the order in which they are created."""
