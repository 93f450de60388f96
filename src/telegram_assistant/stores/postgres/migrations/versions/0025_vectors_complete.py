"""Whether the vectors hold every post: a search says so where they do not."""

from alembic import op

revision = "0025"
down_revision = "0024"


def upgrade() -> None:
    op.execute("ALTER TABLE rebuilds ADD COLUMN completed_at timestamptz")
    op.execute("COMMENT ON COLUMN rebuilds.completed_at IS 'When what is searched last held every post; null: it may lack some.'")
    op.execute("UPDATE rebuilds SET completed_at = finished_at")
    # A tenant learns nothing but this: how many posts there are is not its to know.
    op.execute(
        """
        CREATE FUNCTION vectors_are_complete() RETURNS boolean
        LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp
        AS $$ SELECT EXISTS (SELECT 1 FROM rebuilds WHERE projection = 'vectors' AND completed_at IS NOT NULL) $$
        """
    )
    op.execute("REVOKE ALL ON FUNCTION vectors_are_complete FROM PUBLIC")
    op.execute("GRANT EXECUTE ON FUNCTION vectors_are_complete TO tga_tenant")
