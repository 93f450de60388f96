"""Who the system works for, and what it follows: tenants, accounts, channels, subscriptions, schedule, coverage."""

from alembic import op

from telegram_assistant.stores.postgres.migrations.classes import subscribed_table, system_table, tenant_table

revision = "0001"
down_revision = None


def upgrade() -> None:
    system_table("alembic_version", "How far the schema has come.", system_may="SELECT")
    functions()
    tenants()
    accounts()
    channels()


def functions() -> None:
    # Unset gives no tenant and so no rows; a transaction that never named its tenant sees nothing.
    op.execute(
        """
        CREATE FUNCTION current_tenant() RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE
        AS $$ SELECT nullif(current_setting('app.tenant_id', true), '')::bigint $$
        """
    )


def tenants() -> None:
    op.execute(
        """
        CREATE TABLE tenants (
            tenant_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
            public_id uuid NOT NULL DEFAULT gen_random_uuid() UNIQUE,
            name text NOT NULL UNIQUE,
            is_operator boolean NOT NULL DEFAULT false,
            created_at timestamptz NOT NULL DEFAULT now()
        )
        """
    )
    tenant_table("tenants", "Who the system works for.", "SELECT")


def accounts() -> None:
    op.execute(
        """
        CREATE TABLE telegram_accounts (
            account_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
            public_id uuid NOT NULL DEFAULT gen_random_uuid() UNIQUE,
            tenant_id bigint NOT NULL REFERENCES tenants,
            phone_masked text,
            session bytea,
            key_id text,
            state text NOT NULL DEFAULT 'new',
            state_reason text,
            lease_owner text,
            lease_epoch bigint NOT NULL DEFAULT 0,
            lease_until timestamptz,
            created_at timestamptz NOT NULL DEFAULT now()
        )
        """
    )
    op.execute("CREATE INDEX telegram_accounts_tenant ON telegram_accounts (tenant_id)")
    tenant_table(
        "telegram_accounts",
        "Logins that read channels. The session is a full login: encrypted, and readable for ingest only.",
        "SELECT (account_id, public_id, tenant_id, phone_masked, state, state_reason, lease_owner, lease_until, created_at)",
    )
    op.execute(
        """
        CREATE TABLE account_limits (
            account_id bigint NOT NULL REFERENCES telegram_accounts ON DELETE CASCADE,
            method text NOT NULL,
            blocked_until timestamptz,
            last_wait_seconds int,
            tokens real,
            tokens_at timestamptz,
            used_today int NOT NULL DEFAULT 0,
            used_on date,
            PRIMARY KEY (account_id, method)
        )
        """
    )
    system_table("account_limits", "What Telegram asked each account to wait for, and how much of each budget is used.")
    op.execute(
        """
        CREATE TABLE account_channels (
            account_id bigint NOT NULL REFERENCES telegram_accounts ON DELETE CASCADE,
            channel_id bigint NOT NULL,
            access_hash bigint NOT NULL,
            joined boolean NOT NULL DEFAULT false,
            read_at timestamptz,
            PRIMARY KEY (account_id, channel_id)
        )
        """
    )
    op.execute("CREATE INDEX account_channels_channel ON account_channels (channel_id)")
    system_table("account_channels", "Which account can open which channel: an access hash is valid for one account only.")
    op.execute(
        """
        CREATE TABLE push_state (
            account_id bigint NOT NULL REFERENCES telegram_accounts ON DELETE CASCADE,
            channel_id bigint NOT NULL,
            pts bigint NOT NULL,
            seen_at timestamptz NOT NULL DEFAULT now(),
            PRIMARY KEY (account_id, channel_id)
        ) WITH (fillfactor = 70)
        """
    )
    system_table("push_state", "How far the live updates of a channel have been seen by an account; channel 0 is the account itself.")
    op.execute(
        """
        CREATE TABLE login_attempts (
            attempt_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
            tenant_id bigint NOT NULL REFERENCES tenants ON DELETE CASCADE,
            account_id bigint REFERENCES telegram_accounts ON DELETE CASCADE,
            kind text NOT NULL,
            state text NOT NULL DEFAULT 'wanted',
            detail jsonb NOT NULL DEFAULT '{}',
            error text,
            created_at timestamptz NOT NULL DEFAULT now(),
            expires_at timestamptz NOT NULL
        )
        """
    )
    system_table("login_attempts", "Logins in progress: a door asks, ingest answers.")


def channels() -> None:
    op.execute(
        """
        CREATE TABLE channels (
            channel_id bigint PRIMARY KEY CHECK (channel_id > 0),
            username text,
            title text NOT NULL,
            kind text NOT NULL DEFAULT 'channel',
            is_private boolean NOT NULL DEFAULT false,
            protected boolean NOT NULL DEFAULT false,
            ai_blocked boolean NOT NULL DEFAULT false,
            is_active boolean NOT NULL DEFAULT true,
            last_parsed_at timestamptz,
            newest_message_id bigint,
            newest_posted_at timestamptz,
            parked_reason text,
            parked_until timestamptz,
            created_at timestamptz NOT NULL DEFAULT now()
        ) WITH (fillfactor = 80)
        """
    )
    op.execute("CREATE INDEX channels_username ON channels (lower(username)) WHERE username IS NOT NULL")
    op.execute(
        """
        CREATE TABLE subscriptions (
            tenant_id bigint NOT NULL REFERENCES tenants ON DELETE CASCADE,
            channel_id bigint NOT NULL REFERENCES channels,
            active boolean NOT NULL DEFAULT true,
            suspended_reason text,
            folder text,
            priority text NOT NULL DEFAULT 'normal' CHECK (priority IN ('high', 'normal', 'low')),
            ai_policy text NOT NULL DEFAULT 'local' CHECK (ai_policy IN ('off', 'local', 'provider')),
            history_days int NOT NULL DEFAULT 7 CHECK (history_days >= 0),
            retention_days int CHECK (retention_days > 0),
            wants_media boolean NOT NULL DEFAULT true,
            created_at timestamptz NOT NULL DEFAULT now(),
            PRIMARY KEY (tenant_id, channel_id) INCLUDE (active)
        )
        """
    )
    op.execute("CREATE INDEX subscriptions_channel ON subscriptions (channel_id, tenant_id) WHERE active")
    # A tenant may not insert or activate: whether it may follow a private channel is not its own decision.
    tenant_table(
        "subscriptions",
        "Which tenant follows which channel. Everything a tenant sees, it sees through an active row here.",
        "SELECT, DELETE",
        "UPDATE (folder, priority, ai_policy, history_days, retention_days, wants_media)",
    )
    subscribed_table("channels", "Channels, once, whoever follows them.")
    op.execute(
        """
        CREATE TABLE poll_schedule (
            channel_id bigint PRIMARY KEY REFERENCES channels ON DELETE CASCADE,
            account_id bigint REFERENCES telegram_accounts ON DELETE SET NULL,
            next_poll_at timestamptz NOT NULL DEFAULT now(),
            lease_epoch bigint NOT NULL DEFAULT 0,
            last_polled_at timestamptz,
            tier text NOT NULL DEFAULT 'normal',
            weight real NOT NULL DEFAULT 1,
            level real NOT NULL DEFAULT 0,
            level_at timestamptz,
            burst real NOT NULL DEFAULT 0,
            burst_at timestamptz,
            fail_count int NOT NULL DEFAULT 0
        ) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02)
        """
    )
    op.execute("CREATE INDEX poll_schedule_due ON poll_schedule (account_id, next_poll_at)")
    system_table("poll_schedule", "When each channel is read next, by which account, under which lease.")
    op.execute(
        """
        CREATE TABLE coverage (
            channel_id bigint PRIMARY KEY REFERENCES channels ON DELETE CASCADE,
            floor_id bigint NOT NULL,
            verified int8multirange COMPRESSION lz4 NOT NULL,
            verified_at timestamptz NOT NULL
        ) WITH (fillfactor = 70)
        """
    )
    subscribed_table("coverage", "Which message ids are proven to be read. A gap is what is missing between the floor and the newest.")
