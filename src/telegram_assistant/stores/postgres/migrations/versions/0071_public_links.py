"""Public links: a story or a digest of a person, readable without a login until the link ends.

Only the hash of a token is stored. A link ends with its maker's membership, and with a role that may change
nothing.
"""

from alembic import op

from telegram_assistant.stores.postgres.migrations.classes import person_table

revision = "0071"
down_revision = "0070"


def upgrade() -> None:
    op.execute(
        """
        CREATE TABLE public_links (
            link_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
            tenant_id bigint NOT NULL DEFAULT current_tenant() REFERENCES tenants ON DELETE CASCADE,
            user_id bigint NOT NULL DEFAULT current_person() REFERENCES users ON DELETE CASCADE,
            hash bytea NOT NULL UNIQUE,
            kind text NOT NULL,
            subject text NOT NULL,
            created_at timestamptz NOT NULL DEFAULT now(),
            expires_at timestamptz NOT NULL
        )
        """
    )
    op.execute("CREATE INDEX public_links_by_person ON public_links (tenant_id, user_id)")
    op.execute("COMMENT ON COLUMN public_links.subject IS 'The id of a post of the story, or of the digest.'")
    person_table(
        "public_links",
        "Links to a story or a digest of a person that work without a login, by their SHA-256.",
        "SELECT, INSERT, DELETE",
    )
    op.execute(
        """
        CREATE FUNCTION find_public_link(link_hash bytea)
            RETURNS TABLE(tenant_id bigint, user_id bigint, kind text, subject text, expires_at timestamptz)
        LANGUAGE sql STABLE SECURITY DEFINER SET search_path TO 'public', 'pg_temp'
        AS $$
            SELECT l.tenant_id, l.user_id, l.kind, l.subject, l.expires_at
            FROM public_links l JOIN tenants t USING (tenant_id)
            JOIN memberships m ON m.tenant_id = l.tenant_id AND m.user_id = l.user_id
            WHERE l.hash = link_hash AND l.expires_at > now() AND t.suspended_at IS NULL
                AND m.role IN ('owner', 'editor')
        $$
        """
    )
    op.execute("REVOKE ALL ON FUNCTION find_public_link FROM PUBLIC")
    op.execute("GRANT EXECUTE ON FUNCTION find_public_link TO tga_api")
    op.execute(
        """
        CREATE FUNCTION end_public_links() RETURNS trigger LANGUAGE plpgsql
            SET search_path TO 'public', 'pg_temp'
        AS $$
        BEGIN
            IF TG_OP = 'DELETE' OR NEW.role = 'viewer' THEN
                DELETE FROM public_links WHERE tenant_id = OLD.tenant_id AND user_id = OLD.user_id;
            END IF;
            RETURN NULL;
        END
        $$
        """
    )
    op.execute("REVOKE ALL ON FUNCTION end_public_links FROM PUBLIC")
    op.execute(
        "CREATE TRIGGER end_public_links AFTER UPDATE OF role OR DELETE ON memberships FOR EACH ROW "
        "EXECUTE FUNCTION end_public_links()"
    )
