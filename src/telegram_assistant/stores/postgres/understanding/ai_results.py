"""What providers answered, by the hash of what they were asked: nothing is paid for twice."""

from collections.abc import Mapping, Sequence

from telegram_assistant.domain.understanding.policy import ProviderRequest
from telegram_assistant.stores.postgres.database import SystemTransactions


class AiResults:
    """A system store. An answer is JSON, or None where the provider refused to speak about it."""

    def __init__(self, transactions: SystemTransactions) -> None:
        self._transactions = transactions

    async def find(self, keys: Sequence[bytes]) -> Mapping[bytes, str | None]:
        async with self._transactions.begin() as connection:
            rows = await connection.fetch("SELECT key, data::text FROM ai_results WHERE key = ANY($1::bytea[])", list(keys))
        return {row["key"]: row["data"] for row in rows}

    async def keep(self, asked: ProviderRequest, answers: Mapping[bytes, str | None]) -> None:
        """The first answer stays: who asked the same at the same time gets no other one."""
        async with self._transactions.begin() as connection:
            await connection.execute(
                """
                INSERT INTO ai_results (key, data, work, provider, model, prompt_version)
                SELECT key, data::jsonb, $3, $4, $5, $6 FROM unnest($1::bytea[], $2::text[]) AS a (key, data) ORDER BY key
                ON CONFLICT (key) DO NOTHING
                """,
                list(answers),
                list(answers.values()),
                asked.work.value,
                asked.provider,
                asked.model,
                asked.prompt_version,
            )
