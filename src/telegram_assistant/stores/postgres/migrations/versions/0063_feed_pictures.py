"""A feed is found by its id too, which stands in the addresses of its pictures,
and speaks the language of the person who made it.
"""

from alembic import op

revision = "0063"
down_revision = "0062"


def upgrade() -> None:
    """The function `find_feed_address` stays for processes of the previous release."""
    op.execute(
        "ALTER TABLE feed_addresses ADD COLUMN language text NOT NULL DEFAULT 'en' CHECK (language IN "
        "('en', 'ru'))"
    )
    op.execute(
        "COMMENT ON COLUMN feed_addresses.language IS 'Of the words that are ours, "
        "unless the person whose digests it lists has chosen one.'"
    )
    op.execute(
        "COMMENT ON TABLE feed_addresses IS 'class: tenant. Secret addresses of RSS, Atom and JSON feeds, "
        "by their SHA-256.'"
    )
    op.execute("CREATE INDEX feed_addresses_by_id ON feed_addresses (address_id)")
    op.execute(
        """
        CREATE FUNCTION find_feed(address_hash bytea, address uuid)
            RETURNS TABLE(
                address_id uuid, hash bytea, tenant_id bigint, tenant uuid, kind text, subject text,
                name text, user_id bigint, language text)
        LANGUAGE sql STABLE SECURITY DEFINER SET search_path TO 'public', 'pg_temp'
        AS $$
            SELECT f.address_id, f.hash, f.tenant_id, t.public_id, f.kind, f.subject, f.name, f.user_id,
                coalesce(u.language, f.language)
            FROM feed_addresses f JOIN tenants t USING (tenant_id) LEFT JOIN users u USING (user_id)
            WHERE (f.hash = address_hash OR f.address_id = address) AND t.suspended_at IS NULL
                AND (f.user_id IS NULL OR EXISTS (
                SELECT 1 FROM memberships m WHERE m.tenant_id = f.tenant_id AND m.user_id = f.user_id))
        $$
        """
    )
    op.execute("REVOKE ALL ON FUNCTION find_feed FROM PUBLIC")
    op.execute("GRANT EXECUTE ON FUNCTION find_feed TO tga_api")
