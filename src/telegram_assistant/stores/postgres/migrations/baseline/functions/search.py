"""Functions of the full-text index."""

from alembic import op


def create() -> None:
    begin_post_search()
    follow_post_search()
    follow_post_search_from_now()
    search_words()
    switch_post_search()
    vectors_are_complete()


def begin_post_search() -> None:
    """From now on whatever is written to post_search goes into post_search_next too.

    tga_system may not create tables, so this function and its neighbours run as the owner and touch nothing
    but the words.
    """
    op.execute(
        """
        CREATE FUNCTION begin_post_search() RETURNS void
        LANGUAGE plpgsql SECURITY DEFINER SET search_path TO 'public', 'pg_temp' SET lock_timeout TO '5s'
            SET client_min_messages TO 'warning'
        AS $$
            BEGIN
                LOCK TABLE post_search IN ACCESS EXCLUSIVE MODE;
                DROP TRIGGER IF EXISTS follow ON post_search;
                DROP TABLE IF EXISTS post_search_next;
                CREATE TABLE post_search_next (LIKE post_search INCLUDING DEFAULTS INCLUDING INDEXES
                        INCLUDING STORAGE INCLUDING COMMENTS)
                    PARTITION BY RANGE (posted_at);
                CREATE TABLE post_search_next_rest PARTITION OF post_search_next DEFAULT;
                EXECUTE format('COMMENT ON TABLE post_search_next IS %L',
                    obj_description('post_search'::regclass, 'pg_class'));
                ALTER TABLE post_search_next ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
                GRANT SELECT, INSERT, UPDATE, DELETE ON post_search_next TO tga_system;
                CREATE POLICY everything ON post_search_next TO tga_system, tga_owner USING (true)
                    WITH CHECK (true);
            END
        $$
        """
    )
    op.execute("REVOKE ALL ON FUNCTION begin_post_search FROM PUBLIC")
    op.execute("GRANT EXECUTE ON FUNCTION begin_post_search TO tga_system")


def follow_post_search() -> None:
    op.execute(
        """
        CREATE FUNCTION follow_post_search() RETURNS trigger
        LANGUAGE plpgsql SET search_path TO 'public', 'pg_temp'
        AS $$
            BEGIN
                IF TG_OP = 'DELETE' THEN
                    DELETE FROM post_search_next n
                    WHERE n.channel_id = OLD.channel_id AND n.message_id = OLD.message_id
                        AND n.posted_at = OLD.posted_at;
                ELSE
                    INSERT INTO post_search_next (channel_id, message_id, posted_at, words, lang, has)
                    VALUES (NEW.channel_id, NEW.message_id, NEW.posted_at, NEW.words, NEW.lang, NEW.has)
                    ON CONFLICT (channel_id, message_id, posted_at)
                    DO UPDATE SET words = excluded.words, lang = excluded.lang, has = excluded.has;
                END IF;
                RETURN NULL;
            END
        $$
        """
    )
    op.execute("REVOKE ALL ON FUNCTION follow_post_search FROM PUBLIC")


def follow_post_search_from_now() -> None:
    op.execute(
        """
        CREATE FUNCTION follow_post_search_from_now() RETURNS void
        LANGUAGE plpgsql SECURITY DEFINER SET search_path TO 'public', 'pg_temp' SET lock_timeout TO '5s'
            SET client_min_messages TO 'warning'
        AS $$
            BEGIN
                CREATE TRIGGER follow AFTER INSERT OR UPDATE OR DELETE ON post_search
                    FOR EACH ROW EXECUTE FUNCTION follow_post_search();
            END
        $$
        """
    )
    op.execute("REVOKE ALL ON FUNCTION follow_post_search_from_now FROM PUBLIC")
    op.execute("GRANT EXECUTE ON FUNCTION follow_post_search_from_now TO tga_system")


def search_words() -> None:
    """Runs with the owner's rights and names no channel that the tenant does not subscribe to, nor results
    that it may not see.

    Reads slices newest first until there are enough matches or the time is over; a slice is read for those
    channels whose windows reach into it. A word that occurs in every twentieth post is not looked up: the
    tenant's newest posts are walked through. A rare word is looked up in all slices at once. The planner's
    own estimate decides which of both it is. The order is (posted_at DESC, channel_id, message_id), and
    `before` is a position in it. A last row without a rank says how far the search went; it is missing when
    `most` were found.
    """
    op.execute(
        r"""
        CREATE FUNCTION search_words(sought text, within bigint[], since timestamptz, before timestamptz,
            before_channel bigint, before_message
            bigint, langs text[], needs smallint, wanted_tags text[], wanted_kinds text[], with_ads boolean,
            most integer, budget interval)
            RETURNS TABLE(channel_id bigint, message_id bigint, posted_at timestamptz, rank real, lang text,
                kind text, tags text[])
        LANGUAGE plpgsql SECURITY DEFINER SET search_path TO 'public', 'pg_temp' SET "TimeZone" TO 'UTC'
            SET plan_cache_mode TO
            'force_generic_plan'
        AS $$
            #variable_conflict use_column
            DECLARE
                over_at timestamptz := clock_timestamp() + budget;
                query tsquery := websearch_to_tsquery('russian', sought);
                consented boolean := EXISTS (SELECT 1 FROM ai_consents k
                    WHERE k.tenant_id = current_tenant());
                reached bigint[];
                windows timestamptz[];
                first_window timestamptz;
                last_window timestamptz;
                there bigint[];
                seen_from timestamptz;
                is_seen text := '(m.posted_at >= $11 OR EXISTS (
                    SELECT 1 FROM subscriptions s
                    WHERE s.tenant_id = current_tenant() AND s.channel_id = m.channel_id """
        r"""AND m.posted_at >= s.visible_from OFFSET 0))';
                plan json;
                expected float8 := 'infinity';
                share float8 := 1;
                looking text;
                slice record;
                step int;
                place record;
                met_channels bigint[];
                met_messages bigint[];
                met_at timestamptz[];
                met_fits boolean[];
                met int;
                found int := 0;
                added int;
            BEGIN
                -- another one may take its place, and its slices with it
                LOCK TABLE post_search IN ACCESS SHARE MODE;
                SELECT array_agg(s.channel_id), array_agg(s.visible_from), min(s.visible_from),
                    max(s.visible_from)
                    INTO reached, windows, first_window, last_window
                    FROM subscriptions s WHERE s.tenant_id = current_tenant() AND s.active
                        AND (within IS NULL OR s.channel_id = ANY (within));
                since := greatest(since, first_window);
                IF reached IS NULL OR sought <> '' AND numnode(query) = 0 THEN
                    RETURN QUERY VALUES (NULL::bigint, NULL::bigint, NULL::timestamptz, NULL::real, NULL,
                        NULL, NULL::text[]);
                    RETURN;
                END IF;
                IF sought <> '' AND querytree(query) <> 'T' THEN
                    EXECUTE format('EXPLAIN (FORMAT JSON) SELECT FROM post_search WHERE words @@ %L::tsquery',
                        query) INTO plan;
                    expected := (plan -> 0 -> 'Plan' ->> 'Plan Rows')::float8;
                    share := expected / greatest(1, (SELECT sum(c.reltuples) FROM pg_inherits i
                        JOIN pg_class c ON c.oid = i.inhrelid
                                                     WHERE i.inhparent = 'post_search'::regclass));
                END IF;
                IF expected <= 2000 OR cardinality(reached) <= 20 AND expected < 'infinity'
                    OR share <= 0.05 THEN
                    step := 4000;
                    looking := '
                        WITH met AS ' || CASE WHEN cardinality(reached) <= 20 THEN 'NOT ' ELSE '' END
                            || 'MATERIALIZED (
                            SELECT channel_id, message_id, posted_at, lang, has FROM %1$s
                            WHERE words @@ $1 AND posted_at >=
                                $3 AND posted_at <= $4)
                        SELECT array_agg(n.channel_id), array_agg(n.message_id), array_agg(n.posted_at),
                            array_agg(true) FROM (
                            SELECT channel_id, message_id, posted_at FROM met m
                            WHERE channel_id = ANY ($2) AND ' || is_seen || '
                                AND (posted_at < $4 OR (channel_id, message_id) > ($5, $6))
                              AND ($7 IS NULL OR lang = ANY ($7)) AND has & $8 = $8
                            ORDER BY posted_at DESC, channel_id, message_id LIMIT $9) n';
                ELSE
                    step := least(4000, 100 + 1.3 * most / greatest(share, 0.01));
                    looking := '
                        SELECT array_agg(n.channel_id), array_agg(n.message_id), array_agg(n.posted_at),
                            array_agg(f.fits) FROM (
                            SELECT channel_id, message_id, posted_at FROM %1$s m
                            WHERE channel_id = ANY ($2) AND posted_at >= $3 AND posted_at <= $4
                                AND ' || is_seen || '
                              AND (posted_at < $4 OR (channel_id, message_id) > ($5, $6))
                            ORDER BY posted_at DESC, channel_id, message_id LIMIT $9) n
                        LEFT JOIN LATERAL (
                            SELECT true AS fits FROM %1$s s
                            WHERE s.channel_id = n.channel_id AND s.message_id = n.message_id
                                AND s.posted_at = n.posted_at
                              AND ($10 OR s.words @@ $1) AND ($7 IS NULL OR s.lang = ANY ($7)) """
        r"""AND s.has & $8 = $8 OFFSET 0) f ON true';
                END IF;
                FOR slice IN
                    SELECT 'post_search' AS name, '-infinity'::timestamptz AS begins,
                        'infinity'::timestamptz AS ends WHERE expected <= 2000
                    UNION ALL SELECT b.name, b.begins, b.ends FROM (
                        SELECT c.oid::regclass::text AS name,
                               coalesce(substring(bound FROM $re$FROM \('([^']+)'\)$re$)::timestamptz,
                                        '-infinity') AS begins,
                               coalesce(substring(bound FROM $re$TO \('([^']+)'\)$re$)::timestamptz,
                                        'infinity') AS ends
                        FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid CROSS
                        JOIN LATERAL pg_get_expr(c.relpartbound, c.oid) bound
                        WHERE i.inhparent = 'post_search'::regclass
                    ) b
                    WHERE expected > 2000 AND b.begins <= before AND b.ends > since
                    ORDER BY 2 DESC
                LOOP
                    there := reached;
                    seen_from := last_window;
                    IF slice.ends <= last_window THEN
                        SELECT array_agg(w.channel_id), max(w.visible_from) INTO there, seen_from
                            FROM unnest(reached, windows) AS w(channel_id, visible_from)
                            WHERE w.visible_from < slice.ends;
                    END IF;
                    place := (before, before_channel, before_message);
                    LOOP
                        EXECUTE format(looking, slice.name) INTO met_channels, met_messages, met_at, met_fits
                            USING query, there, since, place.f1, place.f2, place.f3, langs, needs, step,
                                sought = '', seen_from;
                        met := coalesce(cardinality(met_channels), 0);
                        EXIT WHEN met = 0;
                        RETURN QUERY
                            SELECT n.channel_id, n.message_id, n.posted_at,
                                coalesce(ts_rank(p.words, query, 1), 0), p.lang, n.kind, n.tags FROM (
                                SELECT m.channel_id, m.message_id, m.posted_at, e.kind, e.tags
                                FROM unnest(met_channels, met_messages, met_at, met_fits) AS m(channel_id,
                                    message_id, posted_at, fits)
                                CROSS JOIN LATERAL (
                                    SELECT s.ai_policy FROM subscriptions s
                                    WHERE s.tenant_id = current_tenant() AND s.channel_id = m.channel_id
                                        AND s.active OFFSET 0) s
                                LEFT JOIN LATERAL (
                                    SELECT e.data ->> 'kind' AS kind, (e.data ->> 'is_ad')::boolean AS is_ad,
                                           ARRAY(SELECT jsonb_array_elements_text(e.data -> 'tags')) AS tags
                                    FROM post_enrichment e
                                    WHERE e.channel_id = m.channel_id AND e.message_id = m.message_id
                                        AND e.kind = 'tags'
                                      AND CASE e.tier WHEN 'provider' THEN s.ai_policy = 'provider'
                                          AND consented ELSE s.ai_policy <> 'off' END
                                    ORDER BY e.revision DESC, e.tier DESC LIMIT 1) e ON true
                                WHERE m.fits AND (with_ads OR e.is_ad IS NOT TRUE)
                                    AND (wanted_tags IS NULL OR e.tags && wanted_tags)
                                  AND (wanted_kinds IS NULL OR e.kind = ANY (wanted_kinds))
                                LIMIT most - found) n
                            CROSS JOIN LATERAL (
                                SELECT p.words, p.lang FROM post_search p
                                WHERE p.channel_id = n.channel_id AND p.message_id = n.message_id
                                    AND p.posted_at = n.posted_at OFFSET 0) p;
                        GET DIAGNOSTICS added = ROW_COUNT;
                        found := found + added;
                        IF found >= most THEN
                            RETURN;
                        END IF;
                        place := (met_at[met], met_channels[met], met_messages[met]);
                        EXIT WHEN met < step;
                        IF clock_timestamp() > over_at THEN
                            RETURN QUERY VALUES (place.f2, place.f3, place.f1, NULL::real, NULL, NULL,
                                NULL::text[]);
                            RETURN;
                        END IF;
                    END LOOP;
                    IF clock_timestamp() > over_at AND slice.begins > since THEN
                        RETURN QUERY VALUES (9223372036854775807, 9223372036854775807, slice.begins,
                            NULL::real, NULL, NULL, NULL::text[]);
                        RETURN;
                    END IF;
                END LOOP;
                RETURN QUERY VALUES (NULL::bigint, NULL::bigint, NULL::timestamptz, NULL::real, NULL, NULL,
                    NULL::text[]);
            END
        $$
        """
    )
    op.execute("REVOKE ALL ON FUNCTION search_words FROM PUBLIC")
    op.execute("GRANT EXECUTE ON FUNCTION search_words TO tga_tenant")


def switch_post_search() -> None:
    op.execute(
        r"""
        CREATE FUNCTION switch_post_search() RETURNS void
        LANGUAGE plpgsql SECURITY DEFINER SET search_path TO 'public', 'pg_temp' SET lock_timeout TO '5s'
        AS $$
            DECLARE
                one record;
            BEGIN
                LOCK TABLE post_search IN ACCESS EXCLUSIVE MODE;
                DROP TABLE post_search;
                FOR one IN
                    SELECT c.oid::regclass AS name, replace(c.relname, 'post_search_next',
                        'post_search') AS becomes,
                           CASE WHEN c.relkind IN ('i', 'I') THEN 'INDEX' ELSE 'TABLE' END AS kind
                    FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace
                        AND c.relname LIKE 'post\_search\_next%'
                LOOP
                    EXECUTE format('ALTER %s %s RENAME TO %I', one.kind, one.name, one.becomes);
                END LOOP;
            END
        $$
        """
    )
    op.execute("REVOKE ALL ON FUNCTION switch_post_search FROM PUBLIC")
    op.execute("GRANT EXECUTE ON FUNCTION switch_post_search TO tga_system")


def vectors_are_complete() -> None:
    """A tenant learns nothing but this: how many posts there are is not its to know."""
    op.execute(
        """
        CREATE FUNCTION vectors_are_complete() RETURNS boolean
        LANGUAGE sql STABLE SECURITY DEFINER SET search_path TO 'public', 'pg_temp'
        AS $$ SELECT EXISTS (SELECT 1 FROM rebuilds
            WHERE projection = 'vectors' AND completed_at IS NOT NULL) $$
        """
    )
    op.execute("REVOKE ALL ON FUNCTION vectors_are_complete FROM PUBLIC")
    op.execute("GRANT EXECUTE ON FUNCTION vectors_are_complete TO tga_tenant")
