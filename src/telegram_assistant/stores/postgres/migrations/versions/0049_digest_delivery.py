"""Digests reach receivers through the outbox of alerts, and feed readers at secret addresses."""

from alembic import op

revision = "0049"
down_revision = "0048"


def upgrade() -> None:
    op.execute("ALTER TABLE digest_plans ADD COLUMN receivers uuid[] NOT NULL DEFAULT '{}'")
    op.execute(
        """
        ALTER TABLE deliveries
            ALTER COLUMN alert_id DROP NOT NULL,
            ADD COLUMN digest_id uuid,
            ADD COLUMN user_id bigint REFERENCES users ON DELETE CASCADE,
            ADD UNIQUE (tenant_id, receiver_id, digest_id),
            ADD CHECK (alert_id IS NULL OR digest_id IS NULL),
            ADD CHECK ((digest_id IS NULL) = (user_id IS NULL))
        """
    )
    op.execute("COMMENT ON COLUMN deliveries.user_id IS 'Whose digest it is.'")
    op.execute(
        "COMMENT ON TABLE deliveries IS 'class: tenant. The outbox of alerts and digests, "
        "in order for each receiver.'"
    )
    op.execute(
        "COMMENT ON TABLE receivers IS 'class: tenant. Where a tenant wants alerts and digests: "
        "webhooks and e-mail addresses.'"
    )
    op.execute(
        "GRANT INSERT (delivery_id, receiver_id, digest_id, user_id, due_at) ON deliveries TO tga_tenant"
    )
    feeds_of_people()


def feeds_of_people() -> None:
    """A feed of digests belongs to a person, and ends when they leave the tenant."""
    op.execute(
        """
        ALTER TABLE feed_addresses
            ADD COLUMN user_id bigint REFERENCES users ON DELETE CASCADE,
            DROP CONSTRAINT feed_addresses_kind_check,
            ADD CONSTRAINT feed_addresses_kind_check CHECK (kind IN ('watch', 'folder', 'search', 'story',
                'digest'))
        """
    )
    op.execute("COMMENT ON COLUMN feed_addresses.user_id IS 'Whose digests the feed lists.'")
    op.execute("DROP FUNCTION find_feed_address")
    op.execute(
        """
        CREATE FUNCTION find_feed_address(address_hash bytea)
            RETURNS TABLE(tenant_id bigint, tenant uuid, kind text, subject text, name text, user_id bigint,
                language text)
        LANGUAGE sql STABLE SECURITY DEFINER SET search_path TO 'public', 'pg_temp'
        AS $$
            SELECT f.tenant_id, t.public_id, f.kind, f.subject, f.name, f.user_id, u.language
            FROM feed_addresses f JOIN tenants t USING (tenant_id) LEFT JOIN users u USING (user_id)
            WHERE f.hash = address_hash AND t.suspended_at IS NULL AND (f.user_id IS NULL OR EXISTS (
                SELECT 1 FROM memberships m WHERE m.tenant_id = f.tenant_id AND m.user_id = f.user_id))
        $$
        """
    )
    op.execute("REVOKE ALL ON FUNCTION find_feed_address FROM PUBLIC")
    op.execute("GRANT EXECUTE ON FUNCTION find_feed_address TO tga_api")
