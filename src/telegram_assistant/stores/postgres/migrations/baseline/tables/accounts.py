"""Telegram accounts, their logins, limits and plans."""

from alembic import op

from telegram_assistant.stores.postgres.migrations.classes import system_table, tenant_table


def create() -> None:
    telegram_accounts()
    account_limits()
    account_plans()
    login_attempts()
    push_state()


def telegram_accounts() -> None:
    """One Telegram account is one row: Telegram counts requests per account,
    so two rows would have twice its budget.
    """
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
            created_at timestamptz NOT NULL DEFAULT now(),
            user_id bigint UNIQUE,
            phone_print bytea
        )
        """
    )
    op.execute(
        "CREATE UNIQUE INDEX telegram_accounts_phone ON telegram_accounts (phone_print) WHERE (phone_print "
        "IS NOT NULL)"
    )
    op.execute("CREATE INDEX telegram_accounts_tenant ON telegram_accounts (tenant_id)")
    tenant_table(
        "telegram_accounts",
        "Logins that read channels. The session is a full login: encrypted, and readable for ingest only.",
        "SELECT (account_id, public_id, tenant_id, phone_masked, state, state_reason, lease_owner, "
        "lease_until, created_at)",
        "UPDATE (state, state_reason)",
    )
    op.execute("REVOKE SELECT ON telegram_accounts FROM tga_system")
    op.execute(
        """
        GRANT SELECT (account_id, public_id, tenant_id, phone_masked, key_id, state, state_reason,
            lease_owner, lease_epoch, lease_until,
            created_at, user_id, phone_print) ON telegram_accounts TO tga_system
        """
    )
    op.execute("GRANT SELECT ON telegram_accounts TO tga_ingest")


def account_limits() -> None:
    op.execute(
        """
        CREATE TABLE account_limits (
            account_id bigint NOT NULL REFERENCES telegram_accounts ON DELETE CASCADE,
            method text NOT NULL,
            blocked_until timestamptz,
            tokens_at timestamptz,
            tokens double precision[],
            pace double precision NOT NULL DEFAULT 1,
            paced_at timestamptz NOT NULL DEFAULT now(),
            PRIMARY KEY (account_id, method)
        )
        """
    )
    system_table(
        "account_limits", "What Telegram asked each account to wait for, and how much of each budget is used."
    )


def account_plans() -> None:
    op.execute(
        """
        CREATE TABLE account_plans (
            account_id bigint PRIMARY KEY REFERENCES telegram_accounts ON DELETE CASCADE,
            channels int NOT NULL,
            requests_per_second real NOT NULL,
            price double precision NOT NULL,
            trim real NOT NULL,
            longest_seconds real NOT NULL,
            planned_at timestamptz NOT NULL
        )
        """
    )
    system_table(
        "account_plans",
        "What a poll must be worth for each account, so that its requests suffice for all its channels.",
    )


def login_attempts() -> None:
    """The prompt for a person (`shown`) is sealed under the key that the person's client sent along."""
    op.execute(
        """
        CREATE TABLE login_attempts (
            attempt_id uuid DEFAULT gen_random_uuid() PRIMARY KEY,
            tenant_id bigint NOT NULL REFERENCES tenants ON DELETE CASCADE,
            account_id bigint REFERENCES telegram_accounts ON DELETE CASCADE,
            state text NOT NULL DEFAULT 'wanted',
            error text,
            created_at timestamptz NOT NULL DEFAULT now(),
            expires_at timestamptz NOT NULL,
            taken_by text,
            public_key bytea,
            question int NOT NULL DEFAULT 0,
            answer bytea,
            way text NOT NULL DEFAULT 'phone' CHECK (way IN ('phone', 'qr')),
            door_key bytea,
            shown bytea
        )
        """
    )
    op.execute(
        """
        CREATE UNIQUE INDEX login_attempts_open ON login_attempts (account_id)
            WHERE (state <> ALL (ARRAY['done', 'failed',
            'expired']))
        """
    )
    system_table("login_attempts", "Logins in progress: an interface asks, ingest answers.")
    op.execute("REVOKE SELECT, INSERT, UPDATE, DELETE ON login_attempts FROM tga_system")
    op.execute(
        """
        GRANT SELECT (attempt_id, tenant_id, account_id, state, error, created_at, expires_at, taken_by,
            public_key, question, way, door_key,
            shown) ON login_attempts TO tga_system
        """
    )
    op.execute("GRANT INSERT (tenant_id, expires_at, way, door_key) ON login_attempts TO tga_system")
    op.execute("GRANT UPDATE (state, error, answer, shown) ON login_attempts TO tga_system")
    op.execute("GRANT INSERT, SELECT, UPDATE, DELETE ON login_attempts TO tga_ingest")


def push_state() -> None:
    op.execute(
        """
        CREATE TABLE push_state (
            account_id bigint NOT NULL REFERENCES telegram_accounts ON DELETE CASCADE,
            channel_id bigint NOT NULL,
            pts bigint NOT NULL,
            seen_at timestamptz NOT NULL DEFAULT now(),
            qts bigint NOT NULL DEFAULT 0,
            seq bigint NOT NULL DEFAULT 0,
            moment timestamptz,
            PRIMARY KEY (account_id, channel_id)
        ) WITH (fillfactor=70)
        """
    )
    system_table(
        "push_state",
        "How far the live updates of a channel have been seen by an account; "
        "channel 0 is the account itself.",
    )
