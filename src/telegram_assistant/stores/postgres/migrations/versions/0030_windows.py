"""What a tenant sees of a channel begins where its own window begins, and at the moment since which it follows the channel.

What is stored from before is there because somebody else asked for it, and nobody shall learn that. `visible_from` is the UTC day on
which the tenant began to follow the channel, less the days of history that it wants; it only moves back.
"""

from alembic import op

from telegram_assistant.stores.postgres.migrations.classes import beside_posts, within_window
from telegram_assistant.stores.postgres.migrations.indexes import add_index

revision = "0030"
down_revision = "0029"


def upgrade() -> None:
    # With deleted_at, which the policy of posts asks for: without it the feed would read a row of the table for each channel.
    add_index("posts", "posts_newest", "(channel_id, posted_at DESC, message_id DESC) INCLUDE (deleted_at)")
    windows()
    posts()
    op.execute("DROP INDEX posts_feed")


def windows() -> None:
    # Whoever wants more than Telegram has existed wants everything.
    op.execute(
        """
        CREATE FUNCTION window_start(followed_at timestamptz, history_days int) RETURNS timestamptz
        LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
            SELECT CASE WHEN d.day <= date '2013-08-14' THEN '-infinity' ELSE d.day::timestamp AT TIME ZONE 'UTC' END
            FROM (SELECT (followed_at AT TIME ZONE 'UTC')::date - history_days AS day) d
        $$
        """
    )
    # A trigger, so that no statement forgets it. Who follows again after leaving begins anew, and so does who could not read the channel
    # any more; a tenant that the operator suspends and resumes has not left.
    op.execute(
        """
        CREATE FUNCTION keep_window() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
        BEGIN
            IF TG_OP = 'INSERT' THEN
                NEW.visible_from := window_start(NEW.created_at, NEW.history_days);
            ELSIF NEW.active AND NOT OLD.active AND OLD.suspended_reason IS DISTINCT FROM 'the tenant is suspended' THEN
                NEW.created_at := now();
                NEW.visible_from := window_start(NEW.created_at, NEW.history_days);
            ELSE
                NEW.visible_from := least(OLD.visible_from, window_start(NEW.created_at, NEW.history_days));
            END IF;
            RETURN NEW;
        END $$
        """
    )
    op.execute("ALTER TABLE subscriptions ADD visible_from timestamptz")
    op.execute("UPDATE subscriptions SET visible_from = window_start(created_at, history_days)")
    op.execute("CREATE TRIGGER keep_window BEFORE INSERT OR UPDATE ON subscriptions FOR EACH ROW EXECUTE FUNCTION keep_window()")
    op.execute("ALTER TABLE subscriptions ALTER visible_from SET NOT NULL")
    op.execute("COMMENT ON COLUMN subscriptions.visible_from IS 'The tenant sees what was posted since this UTC midnight; -infinity: everything.'")
    op.execute("COMMENT ON COLUMN subscriptions.created_at IS 'Since when the tenant follows the channel; what was noticed before, it does not see.'")
    # The policies find all that they ask for in these indexes.
    op.execute("DROP INDEX subscriptions_channel")
    op.execute("CREATE INDEX subscriptions_channel ON subscriptions (channel_id, tenant_id) INCLUDE (visible_from, created_at) WHERE active")
    op.execute(
        """
        ALTER TABLE subscriptions DROP CONSTRAINT subscriptions_pkey,
            ADD PRIMARY KEY (tenant_id, channel_id) INCLUDE (active, visible_from, created_at)
        """
    )


def posts() -> None:
    within_window("posts", "posts.posted_at >= s.visible_from AND (posts.deleted_at IS NULL OR posts.deleted_at >= s.created_at)")
    within_window("media_groups", "media_groups.posted_at >= s.visible_from")
    for table in ("post_enrichment", "post_links", "post_media", "forwards"):
        beside_posts(table)
    beside_posts("post_versions", noticed="replaced_at")
    beside_posts("post_counts", noticed="seen_at")
