"""Receivers are confirmed before anything is sent to them, tenants take turns,
and secrets of webhooks are sealed.
"""

from alembic import op

from telegram_assistant.stores.postgres.migrations.classes import system_table, tenant_table

revision = "0059"
down_revision = "0058"


def upgrade() -> None:
    confirmed_receivers()
    receiver_secrets()
    single_addresses()
    confirmation_codes()
    delivery_shares()
    letter_counts()


def confirmed_receivers() -> None:
    """A receiver that has taken something before counts as confirmed."""
    op.execute(
        """
        ALTER TABLE receivers
            ADD COLUMN confirmed_at timestamptz,
            ADD COLUMN code_number integer NOT NULL DEFAULT 1,
            ADD COLUMN wrong_codes integer NOT NULL DEFAULT 0,
            ADD COLUMN claimed_at timestamptz
        """
    )
    op.execute("UPDATE receivers SET confirmed_at = created_at WHERE delivered_at IS NOT NULL")
    op.execute(
        "COMMENT ON COLUMN receivers.confirmed_at IS 'Somebody there has shown the code; "
        "nothing else is sent before.'"
    )
    op.execute(
        "COMMENT ON COLUMN receivers.code_number IS 'Raised with every new code: older codes and links end.'"
    )
    op.execute("GRANT SELECT (confirmed_at, code_number, wrong_codes) ON receivers TO tga_tenant")
    op.execute(
        "GRANT INSERT (receiver_id), UPDATE (confirmed_at, code_number, "
        "wrong_codes) ON receivers TO tga_tenant"
    )


def receiver_secrets() -> None:
    """Secrets that lay in the clear are not kept: their webhooks need a new one."""
    op.execute(
        """
        CREATE TABLE receiver_secrets (
            tenant_id bigint NOT NULL DEFAULT current_tenant() REFERENCES tenants ON DELETE CASCADE,
            receiver_id uuid NOT NULL,
            made_at timestamptz NOT NULL DEFAULT now(),
            sealed text NOT NULL,
            ends_at timestamptz,
            PRIMARY KEY (tenant_id, receiver_id, made_at)
        )
        """
    )
    tenant_table(
        "receiver_secrets",
        "What signs the requests of a webhook, sealed with SECRET_KEY.",
        "SELECT (tenant_id, receiver_id, made_at, ends_at)",
        "INSERT (tenant_id, receiver_id, sealed)",
        "UPDATE (ends_at)",
        "DELETE",
    )
    op.execute(
        "COMMENT ON COLUMN receiver_secrets.ends_at IS 'When a secret that was replaced stops signing.'"
    )
    op.execute("ALTER TABLE receivers DROP COLUMN secret")


def single_addresses() -> None:
    """One address once per tenant. Watches and digests of a later duplicate go to the oldest one."""
    op.execute(
        """
        CREATE TEMPORARY TABLE duplicate_receivers ON COMMIT DROP AS
        SELECT tenant_id, receiver_id, oldest_id FROM (
            SELECT tenant_id, receiver_id, first_value(receiver_id) OVER (
                PARTITION BY tenant_id, kind, CASE kind WHEN 'email' THEN lower(address) ELSE address END
                    ORDER BY created_at, receiver_id
            ) AS oldest_id FROM receivers) r
        WHERE receiver_id <> oldest_id
        """
    )
    for table in ("watches", "digest_plans"):
        op.execute(
            f"""
            UPDATE {table} t SET receivers = (
                SELECT array_agg(DISTINCT coalesce(d.oldest_id, chosen)) FROM unnest(t.receivers) AS chosen
                LEFT JOIN duplicate_receivers d ON d.tenant_id = t.tenant_id AND d.receiver_id = chosen)
            WHERE EXISTS (SELECT 1 FROM duplicate_receivers d
                WHERE d.tenant_id = t.tenant_id AND d.receiver_id = ANY (t.receivers))
            """
        )
    for table in ("deliveries", "receivers"):
        op.execute(
            f"DELETE FROM {table} t USING duplicate_receivers d WHERE t.tenant_id = d.tenant_id "
            "AND t.receiver_id = d.receiver_id"
        )
    op.execute(
        "CREATE UNIQUE INDEX receivers_address ON receivers (tenant_id, kind, "
        "(CASE kind WHEN 'email' THEN lower(address) ELSE address END))"
    )


def confirmation_codes() -> None:
    op.execute(
        """
        ALTER TABLE deliveries
            ADD COLUMN code_number integer,
            ADD UNIQUE (tenant_id, receiver_id, code_number),
            ADD CHECK (code_number IS NULL OR (alert_id IS NULL AND digest_id IS NULL))
        """
    )
    op.execute(
        "COMMENT ON COLUMN deliveries.code_number IS 'Of the code that confirms the receiver, "
        "if that is what is delivered.'"
    )
    op.execute("GRANT INSERT (code_number) ON deliveries TO tga_tenant")
    op.execute(
        """
        CREATE TABLE unsubscribed_addresses (
            tenant_id bigint NOT NULL DEFAULT current_tenant() REFERENCES tenants ON DELETE CASCADE,
            address_hash bytea NOT NULL,
            unsubscribed_at timestamptz NOT NULL DEFAULT now(),
            PRIMARY KEY (tenant_id, address_hash)
        )
        """
    )
    tenant_table(
        "unsubscribed_addresses",
        "SHA-256 of e-mail addresses whose readers want no more mails of a tenant.",
        "SELECT, INSERT, DELETE",
    )


def delivery_shares() -> None:
    op.execute(
        """
        CREATE TABLE delivery_shares (
            tenant_id bigint PRIMARY KEY DEFAULT current_tenant() REFERENCES tenants ON DELETE CASCADE,
            served_at timestamptz NOT NULL DEFAULT '-infinity',
            hour timestamptz NOT NULL DEFAULT '-infinity',
            attempts integer NOT NULL DEFAULT 0
        ) WITH (fillfactor = 50)
        """
    )
    tenant_table(
        "delivery_shares",
        "When a tenant had its last turn of deliveries, and its attempts in an hour.",
        "SELECT",
        "INSERT (tenant_id)",
    )
    op.execute("INSERT INTO delivery_shares (tenant_id) SELECT DISTINCT tenant_id FROM receivers")


def letter_counts() -> None:
    op.execute(
        """
        CREATE TABLE letter_counts (
            address_hash bytea NOT NULL,
            day date NOT NULL,
            letters integer NOT NULL DEFAULT 0,
            codes integer NOT NULL DEFAULT 0,
            PRIMARY KEY (address_hash, day)
        )
        """
    )
    system_table("letter_counts", "How many mails an address has got on a day, of all tenants.")
