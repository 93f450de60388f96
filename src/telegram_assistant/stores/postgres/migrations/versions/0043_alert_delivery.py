"""How alerts leave: receivers, their outbox, and addresses of feeds."""

from alembic import op

from telegram_assistant.stores.postgres.migrations.classes import tenant_table

revision = "0043"
down_revision = "0042"


def upgrade() -> None:
    receivers()
    deliveries()
    feed_addresses()
    find_feed_address()


def receivers() -> None:
    """A tenant writes the secret of a webhook once and never reads it back."""
    op.execute(
        """
        CREATE TABLE receivers (
            tenant_id bigint NOT NULL DEFAULT current_tenant() REFERENCES tenants ON DELETE CASCADE,
            receiver_id uuid NOT NULL DEFAULT gen_random_uuid(),
            kind text NOT NULL DEFAULT 'webhook' CHECK (kind IN ('webhook', 'email')),
            name text NOT NULL,
            address text NOT NULL,
            secret text NOT NULL DEFAULT '',
            language text NOT NULL DEFAULT 'en' CHECK (language IN ('en', 'ru')),
            created_by text NOT NULL,
            created_at timestamptz NOT NULL DEFAULT now(),
            failures integer NOT NULL DEFAULT 0,
            failing_since timestamptz,
            retry_at timestamptz,
            trouble text,
            paused_at timestamptz,
            delivered_at timestamptz,
            leased_by text,
            leased_until timestamptz,
            PRIMARY KEY (tenant_id, receiver_id),
            UNIQUE (tenant_id, name)
        )
        """
    )
    seen_text = (
        "tenant_id, receiver_id, kind, name, address, language, created_by, created_at, failures, "
        "failing_since, retry_at, trouble, paused_at"
    )
    tenant_table(
        "receivers",
        "Where a tenant wants its alerts: webhooks and e-mail addresses.",
        f"SELECT ({seen_text}, delivered_at)",
        "INSERT (tenant_id, kind, name, address, secret, language, created_by)",
        "UPDATE (failures, failing_since, retry_at, trouble, paused_at)",
        "DELETE",
    )


def deliveries() -> None:
    op.execute(
        """
        CREATE TABLE deliveries (
            tenant_id bigint NOT NULL DEFAULT current_tenant() REFERENCES tenants ON DELETE CASCADE,
            delivery_id uuid NOT NULL DEFAULT gen_random_uuid(),
            number bigint GENERATED ALWAYS AS IDENTITY,
            receiver_id uuid NOT NULL,
            alert_id uuid NOT NULL,
            due_at timestamptz NOT NULL,
            created_at timestamptz NOT NULL DEFAULT now(),
            attempts integer NOT NULL DEFAULT 0,
            delivered_at timestamptz,
            PRIMARY KEY (tenant_id, delivery_id),
            UNIQUE (tenant_id, receiver_id, alert_id)
        )
        """
    )
    op.execute(
        "CREATE INDEX deliveries_waiting ON deliveries (tenant_id, receiver_id, due_at, "
        "number) WHERE (delivered_at IS NULL)"
    )
    tenant_table(
        "deliveries",
        "The outbox of alerts, in order for each receiver.",
        "SELECT, DELETE",
        "UPDATE (due_at, delivered_at)",
    )
    op.execute(
        "COMMENT ON COLUMN deliveries.delivery_id IS 'Sent with every attempt: "
        "a receiver that has it already ignores it.'"
    )
    op.execute("COMMENT ON COLUMN deliveries.due_at IS 'After the quiet hours of the watch.'")


def feed_addresses() -> None:
    op.execute(
        """
        CREATE TABLE feed_addresses (
            tenant_id bigint NOT NULL DEFAULT current_tenant() REFERENCES tenants ON DELETE CASCADE,
            address_id uuid NOT NULL DEFAULT gen_random_uuid(),
            hash bytea NOT NULL UNIQUE,
            kind text NOT NULL DEFAULT 'watch' CHECK (kind IN ('watch', 'folder', 'search', 'story')),
            subject text NOT NULL,
            name text NOT NULL,
            created_by text NOT NULL,
            created_at timestamptz NOT NULL DEFAULT now(),
            PRIMARY KEY (tenant_id, address_id)
        )
        """
    )
    tenant_table(
        "feed_addresses",
        "Secret addresses of RSS and Atom feeds, by their SHA-256.",
        "SELECT, INSERT, DELETE",
    )


def find_feed_address() -> None:
    op.execute(
        """
        CREATE FUNCTION find_feed_address(address_hash bytea) RETURNS TABLE(tenant_id bigint, kind text,
            subject text, name text)
        LANGUAGE sql STABLE SECURITY DEFINER SET search_path TO 'public', 'pg_temp'
        AS $$
            SELECT f.tenant_id, f.kind, f.subject, f.name FROM feed_addresses f
            JOIN tenants t USING (tenant_id)
            WHERE f.hash = address_hash AND t.suspended_at IS NULL
        $$
        """
    )
    op.execute("REVOKE ALL ON FUNCTION find_feed_address FROM PUBLIC")
    op.execute("GRANT EXECUTE ON FUNCTION find_feed_address TO tga_api")
