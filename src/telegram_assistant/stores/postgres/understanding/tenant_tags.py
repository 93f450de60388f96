"""How a tenant wants tags shown: some hidden, some under another name. Everybody else's stay as they are."""

from dataclasses import dataclass

from telegram_assistant.stores.postgres.database import TenantTransactions


@dataclass(frozen=True, slots=True)
class TagChoice:
    """What a tenant has decided about a tag."""

    language: str
    tag: str
    shown_as: str | None = None
    hidden: bool = False


class TenantTags:
    """A tenant store."""

    def __init__(self, transactions: TenantTransactions) -> None:
        self._transactions = transactions

    async def choices(self) -> tuple[TagChoice, ...]:
        async with self._transactions.begin() as connection:
            rows = await connection.fetch("SELECT lang, tag, shown_as, hidden FROM tenant_tags ORDER BY lang, tag")
        return tuple(TagChoice(row["lang"], row["tag"], row["shown_as"], row["hidden"]) for row in rows)

    async def choose(self, choice: TagChoice) -> None:
        """A choice without a name that hides nothing takes an earlier one back."""
        async with self._transactions.begin() as connection:
            if choice.shown_as is None and not choice.hidden:
                await connection.execute("DELETE FROM tenant_tags WHERE lang = $1 AND tag = $2", choice.language, choice.tag)
                return
            await connection.execute(
                """
                INSERT INTO tenant_tags (lang, tag, shown_as, hidden) VALUES ($1, $2, $3, $4)
                ON CONFLICT (tenant_id, lang, tag) DO UPDATE SET shown_as = excluded.shown_as, hidden = excluded.hidden
                """,
                choice.language,
                choice.tag,
                choice.shown_as,
                choice.hidden,
            )
