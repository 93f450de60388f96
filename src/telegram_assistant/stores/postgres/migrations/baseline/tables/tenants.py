"""Tenants: people, API keys, the audit log and quotas."""

from alembic import op

from telegram_assistant.stores.postgres.migrations.classes import system_table, tenant_table


def create() -> None:
    alembic_version()
    tenants()
    users()
    api_keys()
    audit_log()
    idempotency_keys()
    installation_keys()
    memberships()
    quotas()


def alembic_version() -> None:
    system_table("alembic_version", "How far the schema has come.", system_may="SELECT")


def tenants() -> None:
    op.execute(
        """
        CREATE TABLE tenants (
            tenant_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
            public_id uuid NOT NULL DEFAULT gen_random_uuid() UNIQUE,
            name text NOT NULL UNIQUE,
            is_operator boolean NOT NULL DEFAULT false,
            created_at timestamptz NOT NULL DEFAULT now(),
            default_ai_policy text NOT NULL DEFAULT 'local' CHECK (default_ai_policy IN ('off', 'local',
                'provider')),
            suspended_at timestamptz,
            suspended_reason text
        )
        """
    )
    tenant_table("tenants", "Who the system works for.", "SELECT", "UPDATE (default_ai_policy)")
    op.execute(
        "COMMENT ON COLUMN tenants.default_ai_policy IS 'What may understand a channel that is followed "
        "without saying so.'"
    )


def users() -> None:
    op.execute(
        """
        CREATE TABLE users (
            user_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
            public_id uuid NOT NULL DEFAULT gen_random_uuid() UNIQUE,
            name text NOT NULL UNIQUE,
            created_at timestamptz NOT NULL DEFAULT now()
        )
        """
    )
    system_table("users", "People. What they are in a tenant stands in memberships.")


def api_keys() -> None:
    """A tenant never reads a hash: whoever creates a key knows it, and authentication looks keys up by
    function.

    `ancestors` is read at every authentication, so it is a short list and not a chain of look-ups.
    """
    op.execute(
        """
        CREATE TABLE api_keys (
            hash bytea PRIMARY KEY,
            key_id uuid NOT NULL DEFAULT gen_random_uuid() UNIQUE,
            tenant_id bigint NOT NULL DEFAULT current_tenant() REFERENCES tenants ON DELETE CASCADE,
            user_id bigint REFERENCES users ON DELETE CASCADE,
            name text NOT NULL,
            prefix text NOT NULL,
            scopes text[] NOT NULL,
            created_by text NOT NULL,
            created_at timestamptz NOT NULL DEFAULT now(),
            expires_at timestamptz,
            last_used_at timestamptz,
            revoked_at timestamptz,
            ancestors uuid[] NOT NULL DEFAULT '{}' CHECK (cardinality(ancestors) <= 8)
        )
        """
    )
    op.execute("CREATE INDEX api_keys_tenant ON api_keys (tenant_id, created_at, key_id)")
    tenant_table(
        "api_keys",
        "Keys of programs, by their SHA-256. Opens no more than the role of its person, if it has one.",
        "INSERT",
        "SELECT (key_id, tenant_id, user_id, name, prefix, scopes, created_by, created_at, expires_at, "
        "last_used_at, revoked_at, ancestors)",
        "UPDATE (revoked_at)",
    )
    op.execute(
        """
        COMMENT ON COLUMN api_keys.ancestors
            IS 'The keys that it was made with, the first one first; its parent is the last.'
        """
    )


def audit_log() -> None:
    op.execute(
        """
        CREATE TABLE audit_log (
            at timestamptz NOT NULL DEFAULT now(),
            entry_id uuid NOT NULL DEFAULT gen_random_uuid(),
            tenant_id bigint NOT NULL DEFAULT current_tenant(),
            actor text NOT NULL,
            key_id uuid,
            action text NOT NULL,
            subject text NOT NULL,
            facts jsonb NOT NULL DEFAULT '{}',
            PRIMARY KEY (tenant_id, at, entry_id)
        ) PARTITION BY RANGE (at)
        """
    )
    op.execute("CREATE TABLE audit_log_rest PARTITION OF audit_log DEFAULT")
    tenant_table(
        "audit_log",
        "Every change that a person or a program of theirs has made. It is written once and never changed.",
        "INSERT, SELECT",
    )


def idempotency_keys() -> None:
    op.execute(
        """
        CREATE TABLE idempotency_keys (
            tenant_id bigint NOT NULL DEFAULT current_tenant() REFERENCES tenants ON DELETE CASCADE,
            key text NOT NULL,
            request bytea NOT NULL,
            taken_until timestamptz NOT NULL,
            status smallint,
            answer bytea,
            created_at timestamptz NOT NULL DEFAULT now(),
            PRIMARY KEY (tenant_id, key)
        )
        """
    )
    op.execute("CREATE INDEX idempotency_keys_created ON idempotency_keys (created_at)")
    tenant_table(
        "idempotency_keys",
        "Answers to changes, for a day: who asks again hears the same.",
        "INSERT, SELECT, UPDATE, DELETE",
    )


def installation_keys() -> None:
    op.execute(
        """
        CREATE TABLE installation_keys (
            name text PRIMARY KEY,
            key bytea NOT NULL
        )
        """
    )
    system_table(
        "installation_keys",
        "Random keys of this installation that all of its processes share.",
        system_may="SELECT",
    )


def memberships() -> None:
    op.execute(
        """
        CREATE TABLE memberships (
            tenant_id bigint NOT NULL REFERENCES tenants ON DELETE CASCADE,
            user_id bigint NOT NULL REFERENCES users ON DELETE CASCADE,
            role text NOT NULL CHECK (role IN ('owner', 'editor', 'viewer')),
            created_at timestamptz NOT NULL DEFAULT now(),
            PRIMARY KEY (tenant_id, user_id)
        )
        """
    )
    tenant_table("memberships", "What a person is in a tenant.", "SELECT")


def quotas() -> None:
    op.execute(
        """
        CREATE TABLE quotas (
            tenant_id bigint PRIMARY KEY REFERENCES tenants ON DELETE CASCADE,
            media_bytes_limit bigint CHECK (media_bytes_limit >= 0),
            media_bytes bigint NOT NULL DEFAULT 0,
            counted_at timestamptz
        )
        """
    )
    tenant_table("quotas", "How much a tenant may keep, and keeps.", "SELECT")
    op.execute("COMMENT ON COLUMN quotas.media_bytes_limit IS 'Null: as MEDIA_QUOTA_BYTES says.'")
    op.execute(
        "COMMENT ON COLUMN quotas.media_bytes IS 'Stored or promised, in full for everybody who wants them.'"
    )
