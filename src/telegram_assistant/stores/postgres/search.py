"""Finding posts by words, for one tenant."""

from telegram_assistant.stores.postgres.database import TenantTransactions
from telegram_assistant.stores.postgres.rows import POST_COLUMNS, StoredPost, stored_post


class WordSearch:
    """A tenant store. The words are read by a function that looks only at the tenant's channels; the texts under row-level security."""

    def __init__(self, transactions: TenantTransactions) -> None:
        self._transactions = transactions

    async def find(self, words: str, *, limit: int = 20) -> tuple[StoredPost, ...]:
        """Newest first. Words are understood as people write them: "a phrase", or, -without."""
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(
                f"""
                SELECT p.* FROM search_words($1, $2) f CROSS JOIN LATERAL (
                    SELECT {POST_COLUMNS} FROM posts WHERE channel_id = f.channel_id AND message_id = f.message_id LIMIT 1) p
                ORDER BY p.posted_at DESC, p.channel_id, p.message_id
                """,
                words,
                limit,
            )
        return tuple(stored_post(row) for row in rows)
