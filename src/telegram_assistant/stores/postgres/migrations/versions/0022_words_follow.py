"""Words that are made anew get what is stored meanwhile only when all their slices are there: a row that comes while its slice is made fails.

And the table is locked before its trigger goes: PostgreSQL would take its slices first, those who write take it first, and so both wait.
"""

from alembic import op

revision = "0022"
down_revision = "0021"

DEFINER = "LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET lock_timeout = '5s' SET client_min_messages = warning"


def upgrade() -> None:
    op.execute(
        f"""
        CREATE OR REPLACE FUNCTION begin_post_search() RETURNS void {DEFINER} AS $$
        BEGIN
            LOCK TABLE post_search IN ACCESS EXCLUSIVE MODE;
            DROP TRIGGER IF EXISTS follow ON post_search;
            DROP TABLE IF EXISTS post_search_next;
            CREATE TABLE post_search_next (LIKE post_search INCLUDING DEFAULTS INCLUDING INDEXES INCLUDING STORAGE INCLUDING COMMENTS)
                PARTITION BY RANGE (posted_at);
            CREATE TABLE post_search_next_rest PARTITION OF post_search_next DEFAULT;
            EXECUTE format('COMMENT ON TABLE post_search_next IS %L', obj_description('post_search'::regclass, 'pg_class'));
            ALTER TABLE post_search_next ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
            GRANT SELECT, INSERT, UPDATE, DELETE ON post_search_next TO tga_system;
            CREATE POLICY everything ON post_search_next TO tga_system, tga_owner USING (true) WITH CHECK (true);
        END $$
        """
    )
    op.execute(
        f"""
        CREATE FUNCTION follow_post_search_from_now() RETURNS void {DEFINER} AS $$
        BEGIN
            CREATE TRIGGER follow AFTER INSERT OR UPDATE OR DELETE ON post_search FOR EACH ROW EXECUTE FUNCTION follow_post_search();
        END $$
        """
    )
    op.execute("REVOKE ALL ON FUNCTION follow_post_search_from_now() FROM PUBLIC")
    op.execute("GRANT EXECUTE ON FUNCTION follow_post_search_from_now() TO tga_system")
