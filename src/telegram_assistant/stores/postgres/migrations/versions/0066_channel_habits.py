"""How channels begin and end their posts, as far as the tenant's posts show it."""

from alembic import op

revision = "0066"
down_revision = "0065"


def upgrade() -> None:
    op.execute("ALTER TABLE subscriptions ADD COLUMN habits bigint[]")
    op.execute(
        "COMMENT ON COLUMN subscriptions.habits IS 'Hashes of the lines with which this channel begins or "
        "ends its posts, learnt from the posts that the tenant sees; none until they are learnt.'"
    )
    op.execute("GRANT UPDATE (habits) ON subscriptions TO tga_tenant")
    forget_when_following_anew()


def forget_when_following_anew() -> None:
    """A tenant that follows again after leaving sees other posts, so what its former posts showed is gone."""
    op.execute(
        """
        CREATE OR REPLACE FUNCTION keep_window() RETURNS trigger
        LANGUAGE plpgsql SET search_path TO 'public', 'pg_temp'
        AS $$
            BEGIN
                IF TG_OP = 'INSERT' THEN
                    NEW.visible_from := window_start(NEW.created_at, NEW.history_days);
                ELSIF NEW.active AND NOT OLD.active AND OLD.suspended_reason IS DISTINCT
                    FROM 'the tenant is suspended' THEN
                    NEW.created_at := now();
                    NEW.visible_from := window_start(NEW.created_at, NEW.history_days);
                    NEW.network := NULL;
                    NEW.habits := NULL;
                ELSE
                    NEW.visible_from := least(OLD.visible_from,
                        window_start(NEW.created_at, NEW.history_days));
                END IF;
                RETURN NEW;
            END
        $$
        """
    )
