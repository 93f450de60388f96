"""What the owner of a tenant manages: accounts in several states, a bill, and keys."""

from datetime import UTC, datetime, timedelta
from uuid import uuid4

from telegram_assistant.domain.accounts.account import AccountState
from telegram_assistant.domain.ids import TenantId
from telegram_assistant.reasons import Reason, dump_reason
from tests.conftest import Admin

BROKEN = Reason("login_interrupted", "the ingest role was stopped; begin again")


async def build_managed(admin: Admin, tenant_id: TenantId) -> None:
    await _accounts(admin, tenant_id)
    await _bill(admin, tenant_id)
    await _keys(admin, tenant_id)


async def _accounts(admin: Admin, tenant_id: TenantId) -> None:
    for state, phone in ((AccountState.ACTIVE, "+7999*****41"), (AccountState.QUARANTINED, "+4930******08"), (AccountState.NEW, None)):
        account_id = await admin.fetchval(
            """
            INSERT INTO telegram_accounts (tenant_id, state, state_reason, phone_masked, key_id, session, lease_owner, lease_until)
            VALUES ($1, $2, $3, $4, CASE WHEN $2 <> 'new' THEN 'k' END, '', CASE WHEN $2 = 'active' THEN 'reader-1#a3f0' END,
                    now() + interval '1 hour')
            RETURNING account_id
            """,
            tenant_id,
            state.value,
            dump_reason(BROKEN) if state is AccountState.QUARANTINED else None,
            phone,
        )
        if state is AccountState.ACTIVE:
            await admin.execute(
                """
                INSERT INTO account_limits (account_id, method, blocked_until, tokens, tokens_at, pace) VALUES
                    ($1, 'messages.getHistory', now() + interval '40 minutes', NULL, now(), 0.7),
                    ($1, 'contacts.resolveUsername', NULL, '{3, 18, 9}', now(), 1)
                """,
                account_id,
            )


async def _bill(admin: Admin, tenant_id: TenantId) -> None:
    now = datetime.now(UTC)
    await admin.execute(
        "INSERT INTO budgets (tenant_id, money_micro, month, used_micro) VALUES ($1, 500000000, date_trunc('month', now()), 212400000)", tenant_id
    )
    for number, (purpose, micro) in enumerate((("tagging", 4_600_000), ("vision", 2_900_000), ("tagging", 9_100_000), ("vectors", 800_000))):
        await admin.execute(
            """
            INSERT INTO usage (at, call_id, tenant_id, micro, tokens, work, purpose, provider, model, status, call_sent_tokens,
                               call_received_tokens, call_micro, payers, latency_ms)
            VALUES ($1, $2, $3, $4, 1000, 'chat', $5, 'gigachat', 'GigaChat-2', 'ok', 1, 1, 1, 1, 100)
            """,
            now - timedelta(days=3 * number),
            uuid4(),
            tenant_id,
            micro,
            purpose,
        )


async def _keys(admin: Admin, tenant_id: TenantId) -> None:
    await admin.execute(
        """
        INSERT INTO api_keys (tenant_id, hash, name, prefix, scopes, created_by, last_used_at, revoked_at) VALUES
            ($1, gen_random_uuid()::text::bytea, 'панель мониторинга', 'tga_hK3f9a', '{read}', 'Анна', now() - interval '1 hour', NULL),
            ($1, gen_random_uuid()::text::bytea, 'old script', 'tga_q8Zx1b', '{read,write}', 'Анна', NULL, now() - interval '2 days')
        """,
        tenant_id,
    )
    await admin.execute(
        """
        INSERT INTO audit_log (tenant_id, actor, action, subject, facts) VALUES
            ($1, 'Анна', 'create_api_key', '/keys', '{"name": "old script", "scopes": ["read", "write"]}'),
            ($1, 'Анна', 'give_consent', '/ai/consent', '{}')
        """,
        tenant_id,
    )
