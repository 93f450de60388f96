"""A tenant's choices about tags: hidden or renamed. Other tenants' tags stay unchanged."""

from dataclasses import dataclass

from telegram_assistant.stores.postgres.database import TenantTransactions


@dataclass(frozen=True, slots=True)
class TagChoice:
    """A tenant's choice about one tag."""

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
            rows = await connection.fetch(
                "SELECT lang, tag, shown_as, hidden FROM tenant_tags ORDER BY lang, tag"
            )
        return tuple(TagChoice(row["lang"], row["tag"], row["shown_as"], row["hidden"]) for row in rows)

    async def choose(self, choice: TagChoice) -> None:
        """Saves a choice. One that neither renames nor hides the tag deletes the earlier choice."""
        async with self._transactions.begin() as connection:
            if choice.shown_as is None and not choice.hidden:
                await connection.execute(
                    "DELETE FROM tenant_tags WHERE lang = $1 AND tag = $2", choice.language, choice.tag
                )
                return
            await connection.execute(
                """
                INSERT INTO tenant_tags (lang, tag, shown_as, hidden) VALUES ($1, $2, $3, $4)
                ON CONFLICT (tenant_id, lang, tag) DO UPDATE
                    SET shown_as = excluded.shown_as, hidden = excluded.hidden
                """,
                choice.language,
                choice.tag,
                choice.shown_as,
                choice.hidden,
            )
