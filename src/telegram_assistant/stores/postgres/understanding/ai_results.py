"""Cache of providers' answers, keyed by the hash of the request: nothing is paid for twice."""

from collections.abc import Mapping, Sequence

from telegram_assistant.domain.understanding.policy import ProviderRequest
from telegram_assistant.stores.postgres.database import SystemTransactions


class AiResults:
    """A system store. An answer is JSON, or None if the provider refused to answer."""

    def __init__(self, transactions: SystemTransactions) -> None:
        self._transactions = transactions

    async def find(self, keys: Sequence[bytes]) -> Mapping[bytes, str | None]:
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(
                "SELECT key, data::text FROM ai_results WHERE key = ANY($1::bytea[])", list(keys)
            )
        return {row["key"]: row["data"] for row in rows}

    async def keep(self, request: ProviderRequest, answers: Mapping[bytes, str | None]) -> None:
        """Stores the answers. The first answer stays: concurrent equal requests get the same one."""
        async with self._transactions.begin() as connection:
            await connection.execute(
                """
                -- $1 keys, $2 answers, $3 work, $4 provider, $5 model, $6 prompt version
                INSERT INTO ai_results (key, data, work, provider, model, prompt_version)
                SELECT key, data::jsonb, $3, $4, $5, $6 FROM unnest($1::bytea[], $2::text[]) AS a (key, data)
                ORDER BY key
                ON CONFLICT (key) DO NOTHING
                """,
                list(answers),
                list(answers.values()),
                request.work.value,
                request.provider,
                request.model,
                request.prompt_version,
            )
