"""The objects that the owner of a tenant manages: accounts in several states, a bill, and keys."""

from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

from telegram_assistant.domain.accounts.account import AccountState
from telegram_assistant.domain.accounts.login import INTERRUPTED
from telegram_assistant.domain.ids import TenantId
from telegram_assistant.reasons import Reason, dump_reason
from tests.conftest import Admin


async def build_managed(admin: Admin, tenant_id: TenantId) -> None:
    await _accounts(admin, tenant_id)
    await _bill(admin, tenant_id)
    await _keys(admin, tenant_id)
    await watch_everything(admin, tenant_id)


async def build_member(admin: Admin, tenant_id: TenantId) -> UUID:
    """An owner who has made one of everything. Returns their public id."""
    row = await admin.fetchrow(
        "INSERT INTO users (name) VALUES ($1) RETURNING user_id, public_id",
        f"Ева из отдела новостей {tenant_id}",
    )
    assert row is not None
    eve, public_id = row
    await admin.execute(
        "INSERT INTO memberships (tenant_id, user_id, role) VALUES ($1, $2, 'owner')", tenant_id, eve
    )
    await admin.execute(
        """
        INSERT INTO one_time_links (hash, kind, tenant_id, role, created_by, created_by_user, expires_at)
        SELECT sha256(concat($1::bigint, role)::bytea), 'invitation', $1, role, 'Ева', $2, now()
            + interval '1 day'
        FROM unnest(ARRAY['owner', 'viewer']) role
        """,
        tenant_id,
        eve,
    )
    await admin.execute(
        """
        INSERT INTO api_keys (tenant_id, hash, user_id, name, prefix, scopes, created_by)
        VALUES ($1, $3, $2, 'табло', 'tga_abcdef', '{read,write,admin}', 'Ева')
        """,
        tenant_id,
        eve,
        uuid4().bytes,
    )
    await admin.execute(
        "INSERT INTO feed_addresses (tenant_id, hash, subject, name, created_by, created_by_user) "
        "VALUES ($1, $3, 'x', 'Снег', 'Ева', $2)",
        tenant_id,
        eve,
        uuid4().bytes,
    )
    await admin.execute(
        """
        INSERT INTO receivers (tenant_id, kind, name, address, created_by, created_by_user)
        VALUES ($1, 'webhook', 'Запасной', 'https://eve.example/alerts', 'Ева', $2)
        """,
        tenant_id,
        eve,
    )
    return UUID(str(public_id))


async def watch_everything(admin: Admin, tenant_id: TenantId) -> None:
    """Watches of several kinds, alerts about what is followed or is not any more, receivers that work,
    fail and are paused, and a feed.
    """
    trouble = dump_reason(Reason("webhook_refused", "it answered with status {status}", status=503))
    await admin.execute(
        """
        WITH watched AS (
            INSERT INTO watches (tenant_id, name, kind, query, hours, severity, paused_at, created_by) VALUES
                ($1, 'Снег в метро', 'words', 'снег "в метро" -реклама', NULL, 'normal', NULL, 'anna'),
                ($1, 'Правки о мостах', 'changes', 'мост or переправа', NULL, 'critical', NULL, 'anna'),
                ($1, 'Молчание', 'silence', '', 24, 'low', now(), 'anna') RETURNING watch_id, kind)
        INSERT INTO alerts (tenant_id, watch_id, kind, subject, channel_id, message, severity, happened_at,
            seen_at, seen_by)
        SELECT $1, w.watch_id, a.kind, a.kind || n, n, CASE WHEN a.kind <> 'silent' THEN 1 END, a.severity,
            now() - n * interval '1 hour',
               CASE WHEN n % 2 = 0 THEN now() END, CASE WHEN n % 2 = 0 THEN 'anna' END
        FROM watched w JOIN (VALUES ('words', 'posted', 'normal'), ('changes', 'edited', 'critical'),
            ('changes', 'deleted', 'critical'),
            ('silence', 'silent', 'low')) AS a(watch_kind, kind, severity) ON a.watch_kind = w.kind CROSS
                JOIN generate_series(1, 2) n
        """,
        tenant_id,
    )
    await admin.execute(
        """
        INSERT INTO receivers (tenant_id, kind, name, address, created_by, failures, retry_at, trouble,
            paused_at, delivered_at, confirmed_at)
        VALUES
            ($1, 'webhook', 'Редакция', 'https://desk.example/alerts', 'anna', 0, NULL, NULL, NULL,
                now() - interval '5 minutes', now()),
            ($1, 'webhook', 'Архив', 'https://archive.example/a/long/address/that/goes/on/and/on', 'anna', 4,
                now(), $2, NULL, NULL, now()),
            ($1, 'email', 'Дежурный', 'duty@desk.example', 'anna', 90, NULL, $2, now(), NULL, now()),
            ($1, 'email', 'Новый читатель', 'reader@desk.example', 'anna', 0, NULL, NULL, NULL,
                now() - interval '1 minute', NULL)
        """,
        tenant_id,
        trouble,
    )
    await admin.execute(
        "INSERT INTO feed_addresses (tenant_id, hash, subject, name, created_by) "
        "VALUES ($1, $2, 'x', 'Снег в метро', 'anna')",
        tenant_id,
        uuid4().bytes,
    )


async def _accounts(admin: Admin, tenant_id: TenantId) -> None:
    for state, phone in (
        (AccountState.ACTIVE, "+7999*****41"),
        (AccountState.QUARANTINED, "+4930******08"),
        (AccountState.NEW, None),
    ):
        account_id = await admin.fetchval(
            """
            INSERT INTO telegram_accounts (tenant_id, state, state_reason, phone_masked, key_id, session,
                lease_owner, lease_until)
            VALUES ($1, $2, $3, $4, CASE WHEN $2 <> 'new' THEN 'k' END, '', CASE WHEN $2 = 'active'
                THEN 'reader-1#a3f0' END,
                    now() + interval '1 hour')
            RETURNING account_id
            """,
            tenant_id,
            state.value,
            dump_reason(INTERRUPTED) if state is AccountState.QUARANTINED else None,
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
        "INSERT INTO budgets (tenant_id, money_micro, month, used_micro) "
        "VALUES ($1, 500000000, date_trunc('month', now()), 212400000)",
        tenant_id,
    )
    for number, (purpose, micro) in enumerate(
        (("tagging", 4_600_000), ("vision", 2_900_000), ("tagging", 9_100_000), ("vectors", 800_000))
    ):
        await admin.execute(
            """
            INSERT INTO usage (at, call_id, tenant_id, micro, tokens, work, purpose, provider, model, status,
                call_sent_tokens,
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
        INSERT INTO api_keys (tenant_id, hash, name, prefix, scopes, created_by, last_used_at,
            revoked_at) VALUES
            ($1, gen_random_uuid()::text::bytea, 'панель мониторинга', 'tga_hK3f9a', '{read}', 'Анна',
                now() - interval '1 hour', NULL),
            ($1, gen_random_uuid()::text::bytea, 'old script', 'tga_q8Zx1b', '{read,write}', 'Анна', NULL,
                now() - interval '2 days')
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
