"""Who may ask: people, their roles, keys; what they have changed; and what they were answered, for who asks again."""

from alembic import op

from telegram_assistant.stores.postgres.migrations.classes import system_table, tenant_table

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    people()
    keys()
    changes()


def people() -> None:
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


def keys() -> None:
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
            revoked_at timestamptz
        )
        """
    )
    op.execute("CREATE INDEX api_keys_tenant ON api_keys (tenant_id, created_at, key_id)")
    # A tenant never reads a hash: who makes a key knows it, and who asks with one is looked up by the system.
    tenant_table(
        "api_keys",
        "Keys of programs, by their SHA-256. Opens no more than the role of its person, if it has one.",
        "SELECT (key_id, tenant_id, user_id, name, prefix, scopes, created_by, created_at, expires_at, last_used_at, revoked_at)",
        "INSERT",
        "UPDATE (revoked_at)",
    )


def changes() -> None:
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
    tenant_table("audit_log", "Every change that a person or a program of theirs has made. It is written once and never changed.", "SELECT", "INSERT")
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
    tenant_table("idempotency_keys", "Answers to changes, for a day: who asks again hears the same.", "SELECT", "INSERT", "UPDATE", "DELETE")
