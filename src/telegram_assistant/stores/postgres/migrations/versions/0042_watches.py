"""Watches, the index that finds the watches of a post, and alerts."""

from alembic import op

from telegram_assistant.stores.postgres.migrations.classes import system_table, tenant_table

revision = "0042"
down_revision = "0041"


def upgrade() -> None:
    watches()
    watch_terms()
    alerts()
    quiet_until()
    subject_of()
    index_watch()
    forget_watch_terms()
    preview_watch()


def watches() -> None:
    op.execute(
        """
        CREATE TABLE watches (
            tenant_id bigint NOT NULL DEFAULT current_tenant() REFERENCES tenants ON DELETE CASCADE,
            watch_id uuid NOT NULL DEFAULT gen_random_uuid(),
            name text NOT NULL,
            kind text NOT NULL DEFAULT 'words' CHECK (kind IN ('words', 'meaning', 'mention', 'changes',
                'silence', 'story')),
            query text NOT NULL,
            words tsquery,
            channel_ids bigint[],
            langs text[],
            needs smallint NOT NULL DEFAULT 0,
            tags text[],
            kinds text[],
            with_ads boolean NOT NULL DEFAULT false,
            hours integer CHECK (hours > 0),
            posts integer CHECK (posts > 0),
            severity text NOT NULL DEFAULT 'normal' CHECK (severity IN ('low', 'normal', 'critical')),
            quiet_from time,
            quiet_until time,
            zone text NOT NULL DEFAULT 'UTC',
            receivers uuid[] NOT NULL DEFAULT '{}',
            created_by text NOT NULL,
            created_at timestamptz NOT NULL DEFAULT now(),
            begins_at timestamptz NOT NULL DEFAULT now(),
            paused_at timestamptz,
            PRIMARY KEY (tenant_id, watch_id),
            UNIQUE (tenant_id, name),
            CHECK ((quiet_from IS NULL) = (quiet_until IS NULL))
        )
        """
    )
    op.execute(
        "CREATE INDEX watches_kind ON watches (kind) WHERE (paused_at IS NULL AND kind IN ('silence', "
        "'meaning', 'story'))"
    )
    tenant_table("watches", "What a tenant wants to be told about.", "SELECT, INSERT, UPDATE, DELETE")
    op.execute("COMMENT ON COLUMN watches.words IS 'Null: the watch asks for no words.'")
    op.execute("COMMENT ON COLUMN watches.begins_at IS 'Only what happens from then on raises alerts.'")
    op.execute("COMMENT ON COLUMN watches.hours IS 'How long a channel must be silent.'")
    op.execute("COMMENT ON COLUMN watches.posts IS 'How many posts a story must have.'")


def watch_terms() -> None:
    op.execute(
        """
        CREATE TABLE watch_terms (
            term text NOT NULL,
            tenant_id bigint NOT NULL REFERENCES tenants ON DELETE CASCADE,
            watch_id uuid NOT NULL,
            PRIMARY KEY (term, tenant_id, watch_id)
        )
        """
    )
    op.execute("CREATE INDEX watch_terms_watch ON watch_terms (tenant_id, watch_id)")
    system_table(
        "watch_terms",
        "The inverted index of watches: a post can match a watch only if it has one of the terms of the "
        "watch.",
    )
    op.execute("COMMENT ON COLUMN watch_terms.term IS 'w:lexeme, c:channel, t:tag, or a: for every change.'")


def alerts() -> None:
    op.execute(
        """
        CREATE TABLE alerts (
            tenant_id bigint NOT NULL DEFAULT current_tenant() REFERENCES tenants ON DELETE CASCADE,
            alert_id uuid NOT NULL DEFAULT gen_random_uuid(),
            watch_id uuid NOT NULL,
            kind text NOT NULL DEFAULT 'posted' CHECK (kind IN ('posted', 'mentioned', 'edited', 'deleted',
                'silent', 'grown')),
            subject text NOT NULL,
            channel_id bigint NOT NULL,
            message bigint,
            severity text NOT NULL DEFAULT 'normal' CHECK (severity IN ('low', 'normal', 'critical')),
            happened_at timestamptz NOT NULL,
            created_at timestamptz NOT NULL DEFAULT now(),
            seen_at timestamptz,
            seen_by text,
            PRIMARY KEY (tenant_id, alert_id),
            UNIQUE (tenant_id, watch_id, kind, subject)
        )
        """
    )
    op.execute("CREATE INDEX alerts_newest ON alerts (tenant_id, created_at DESC, alert_id DESC)")
    op.execute("CREATE INDEX alerts_unread ON alerts (tenant_id, created_at DESC) WHERE (seen_at IS NULL)")
    tenant_table(
        "alerts",
        "What watches have found: one row for each watch and story.",
        "SELECT, DELETE",
        "UPDATE (seen_at, seen_by)",
    )
    op.execute(
        "COMMENT ON COLUMN alerts.subject IS 'The story, the text that copies share, "
        "the post or the channel: a watch tells of it once.'"
    )


def quiet_until() -> None:
    """The moment when quiet hours end, or the moment itself outside of them."""
    op.execute(
        """
        CREATE FUNCTION quiet_until(moment timestamptz, begins time, ends time,
            zone text) RETURNS timestamptz LANGUAGE sql STABLE PARALLEL SAFE
        AS $$
            SELECT CASE
                WHEN begins IS NULL OR begins = ends THEN moment
                WHEN begins < ends AND (l.t < begins OR l.t >= ends) THEN moment
                WHEN begins > ends AND l.t < begins AND l.t >= ends THEN moment
                ELSE (l.d + CASE WHEN l.t < ends THEN 0 ELSE 1 END + ends) AT TIME ZONE zone END
            FROM (SELECT (moment AT TIME ZONE zone)::date AS d, (moment AT TIME ZONE zone)::time AS t) l
        $$
        """
    )


def subject_of() -> None:
    """The subject by which alerts count a post once: its words if it has enough of them, otherwise its album
    or itself.

    Short texts are not compared: a channel that warns twice in the same few words warns of two things.
    """
    op.execute(
        """
        CREATE FUNCTION subject_of(words tsvector, channel_id bigint, message_id bigint,
            grouped_id bigint) RETURNS text
        LANGUAGE sql STABLE PARALLEL SAFE
        AS $$
            SELECT CASE
                WHEN length(words) >= 8 THEN 'text:'
                    || encode(sha256(convert_to(array_to_string(tsvector_to_array(words), ' '), 'UTF8')),
                        'hex')
                WHEN grouped_id IS NOT NULL THEN 'album:' || channel_id || '/' || grouped_id
                ELSE 'post:' || channel_id || '/' || message_id END
        $$
        """
    )


def index_watch() -> None:
    """Writes the terms of a watch of the current tenant. Each alternative needs its rarest word, or all of
    `otherwise`.

    Returns false, and indexes nothing, if an alternative has neither: such a watch would have to look at
    every post.
    """
    op.execute(
        """
        CREATE FUNCTION index_watch(indexed uuid, alternatives text[], positives text[],
            otherwise text[]) RETURNS boolean
        LANGUAGE plpgsql SECURITY DEFINER SET search_path TO 'public', 'pg_temp'
        AS $$
            DECLARE
                terms text[] := '{}';
                place int;
                lexeme text;
                plan json;
                share float8;
                rarest text;
                least_share float8;
                lacks_words boolean := cardinality(alternatives) = 0;
            BEGIN
                IF NOT EXISTS (SELECT 1 FROM watches w
                    WHERE w.tenant_id = current_tenant() AND w.watch_id = indexed) THEN
                    RETURN false;
                END IF;
                FOR place IN 1 .. cardinality(alternatives) LOOP
                    CONTINUE WHEN numnode(websearch_to_tsquery('russian', alternatives[place])) = 0;
                    rarest := NULL;
                    FOREACH lexeme IN ARRAY tsvector_to_array(to_tsvector('russian', positives[place])) LOOP
                        EXECUTE format(
                            'EXPLAIN (FORMAT JSON) SELECT FROM post_search WHERE words @@ %L::tsquery',
                            '''' || replace(replace(lexeme, '\\', '\\\\'), '''', '''''')
                                || '''') INTO plan;
                        share := (plan -> 0 -> 'Plan' ->> 'Plan Rows')::float8;
                        IF rarest IS NULL OR share < least_share OR share = least_share
                            AND length(lexeme) > length(rarest) THEN
                            rarest := lexeme;
                            least_share := share;
                        END IF;
                    END LOOP;
                    IF rarest IS NULL THEN
                        lacks_words := true;
                    ELSE
                        terms := terms || ('w:' || rarest);
                    END IF;
                END LOOP;
                IF lacks_words THEN
                    terms := terms || otherwise;
                END IF;
                IF lacks_words AND cardinality(otherwise) = 0 OR cardinality(terms) = 0 THEN
                    RETURN false;
                END IF;
                DELETE FROM watch_terms t WHERE t.tenant_id = current_tenant() AND t.watch_id = indexed;
                INSERT INTO watch_terms (term, tenant_id, watch_id) SELECT DISTINCT unnest(terms),
                    current_tenant(), indexed;
                RETURN true;
            END
        $$
        """
    )
    op.execute("REVOKE ALL ON FUNCTION index_watch FROM PUBLIC")
    op.execute("GRANT EXECUTE ON FUNCTION index_watch TO tga_tenant")


def forget_watch_terms() -> None:
    op.execute(
        """
        CREATE FUNCTION forget_watch_terms(forgotten uuid) RETURNS void
        LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path TO 'public', 'pg_temp'
        AS $$ DELETE FROM watch_terms WHERE tenant_id = current_tenant() AND watch_id = forgotten $$
        """
    )
    op.execute("REVOKE ALL ON FUNCTION forget_watch_terms FROM PUBLIC")
    op.execute("GRANT EXECUTE ON FUNCTION forget_watch_terms TO tga_tenant")


def preview_watch() -> None:
    """The posts since a moment that the current tenant sees and a watch would have found, the newest `most`
    of them, one for each subject.

    Of posts with the same subject, or `by_channel` of the same channel, the first one counts, as it does for
    alerts. The last column says how many posts matched.
    """
    op.execute(
        """
        CREATE FUNCTION preview_watch(sought text, within bigint[], since timestamptz, langs text[],
            needs smallint, wanted_tags text[],
            wanted_kinds text[], with_ads boolean, by_channel boolean, most integer)
            RETURNS TABLE(channel_id bigint, message_id bigint, posted_at timestamptz, matches bigint)
        LANGUAGE plpgsql SECURITY DEFINER SET search_path TO 'public', 'pg_temp'
            SET plan_cache_mode TO 'force_custom_plan'
        AS $$
            #variable_conflict use_column
            DECLARE
                query tsquery := CASE WHEN sought <> '' THEN websearch_to_tsquery('russian', sought) END;
                consented boolean := EXISTS (SELECT 1 FROM ai_consents k
                    WHERE k.tenant_id = current_tenant());
                reached bigint[];
                first_window timestamptz;
            BEGIN
                SELECT array_agg(s.channel_id), min(s.visible_from) INTO reached, first_window
                    FROM subscriptions s WHERE s.tenant_id = current_tenant() AND s.active
                        AND (within IS NULL OR s.channel_id = ANY (within));
                IF reached IS NULL OR query IS NOT NULL AND numnode(query) = 0 THEN
                    RETURN;
                END IF;
                RETURN QUERY
                    WITH met AS MATERIALIZED (
                        SELECT m.channel_id, m.message_id, m.posted_at, m.words FROM post_search m
                        WHERE m.posted_at >= greatest(since, first_window)
                            AND (query IS NULL OR m.words @@ query)
                          AND (langs IS NULL OR m.lang = ANY (langs)) AND m.has & needs = needs
                              AND m.channel_id = ANY (reached)
                    ),
                    newest AS (SELECT * FROM met ORDER BY met.posted_at DESC, met.channel_id, met.message_id
                        LIMIT most),
                    fitting AS (
                        SELECT n.channel_id, n.message_id, n.posted_at, n.words FROM newest n
                        CROSS JOIN LATERAL (
                            SELECT s.ai_policy FROM subscriptions s
                            WHERE s.tenant_id = current_tenant() AND s.channel_id = n.channel_id AND s.active
                                AND n.posted_at >= s.visible_from
                            OFFSET 0) s
                        LEFT JOIN LATERAL (
                            SELECT e.data ->> 'kind' AS kind, (e.data ->> 'is_ad')::boolean AS is_ad,
                                   ARRAY(SELECT jsonb_array_elements_text(e.data -> 'tags')) AS tags
                            FROM post_enrichment e
                            WHERE e.channel_id = n.channel_id AND e.message_id = n.message_id
                                AND e.kind = 'tags'
                              AND CASE e.tier WHEN 'provider' THEN s.ai_policy = 'provider' AND consented
                                  ELSE s.ai_policy <> 'off' END
                            ORDER BY e.revision DESC, e.tier DESC LIMIT 1) e ON true
                        WHERE (with_ads OR e.is_ad IS NOT TRUE)
                            AND (wanted_tags IS NULL OR e.tags && wanted_tags)
                          AND (wanted_kinds IS NULL OR e.kind = ANY (wanted_kinds))
                    ),
                    subjects AS (
                        SELECT DISTINCT ON (o.subject) f.channel_id, f.message_id, f.posted_at FROM fitting f
                        CROSS JOIN LATERAL (
                            SELECT CASE WHEN by_channel THEN f.channel_id::text
                                ELSE subject_of(f.words, f.channel_id, f.message_id, CASE
                                    WHEN length(f.words) < 8 THEN (
                                    SELECT p.grouped_id FROM posts p
                                    WHERE p.channel_id = f.channel_id AND p.message_id = f.message_id) END)
                                END AS subject OFFSET 0) o
                        ORDER BY o.subject, f.posted_at, f.channel_id, f.message_id
                    )
                    SELECT s.channel_id, s.message_id, s.posted_at, (SELECT count(*) FROM newest)
                    FROM subjects s
                    ORDER BY s.posted_at DESC, s.channel_id, s.message_id;
            END
        $$
        """
    )
    op.execute("REVOKE ALL ON FUNCTION preview_watch FROM PUBLIC")
    op.execute("GRANT EXECUTE ON FUNCTION preview_watch TO tga_tenant")
