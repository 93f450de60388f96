"""Says of the posts of a list which of them are advertising."""

from telegram_assistant.stores.postgres.migrations.indexes import add_index

revision = "0058"
down_revision = "0057"


def upgrade() -> None:
    """Few posts are: an index of these alone answers for all others."""
    add_index(
        "post_enrichment",
        "post_enrichment_ads",
        "(channel_id, message_id) WHERE kind = 'tags' AND (data ->> 'is_ad')::boolean",
    )
