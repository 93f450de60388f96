"""Search relaxes by itself, mends typing errors and knows names in both alphabets; edits say how they changed
the meaning.

The file is long because a step is one file, and the function that search calls is one function.
"""

from alembic import op

from telegram_assistant.stores.postgres.migrations.classes import system_table

revision = "0044"
down_revision = "0043"


def upgrade() -> None:
    search_vocabulary()
    matching_words()
    search_words()
    similar_word()
    meaning_of_changes()


def meaning_of_changes() -> None:
    op.execute("ALTER TABLE post_versions ADD COLUMN meaning jsonb, ADD COLUMN weight smallint")
    op.execute(
        "COMMENT ON COLUMN post_versions.meaning IS 'How the next text changed the meaning: kind, before, "
        "after of each change.'"
    )
    op.execute("COMMENT ON COLUMN post_versions.weight IS 'How much the next text changed the meaning.'")


def search_vocabulary() -> None:
    """The login that migrates creates the extension, because the owner of the tables may create none."""
    op.execute("RESET ROLE")
    op.execute("CREATE EXTENSION IF NOT EXISTS pg_trgm")
    op.execute("SET ROLE tga_owner")
    op.execute("CREATE TABLE search_vocabulary (word text PRIMARY KEY)")
    op.execute("CREATE INDEX search_vocabulary_alike ON search_vocabulary USING gin (word gin_trgm_ops)")
    system_table(
        "search_vocabulary",
        "The words of all posts, each once: a projection, outside row-level security, "
        "read through one function.",
    )


def matching_words() -> None:
    """The posts that match a query, for `search_words`; nobody else may call it. No query: all posts.

    Names no channel that the tenant does not subscribe to, nor results that it may not see. Reads slices
    newest first until there are enough matches or the time is over; a slice is read for those channels whose
    windows reach into it. A word that occurs in every twentieth post is not looked up: the tenant's newest
    posts are walked through. A rare word is looked up in all slices at once. The planner's own estimate
    decides which of both it is. The order is (posted_at DESC, channel_id, message_id), and `before` is a
    position in it. A last row without a rank says how far the search went; it is missing when `most` were
    found.
    """
    op.execute(
        r"""
        CREATE FUNCTION matching_words(query tsquery, within bigint[], since timestamptz, before timestamptz,
            before_channel bigint,
            before_message bigint, langs text[], needs smallint, wanted_tags text[], wanted_kinds text[],
            with_ads boolean, most integer,
            budget interval)
            RETURNS TABLE(channel_id bigint, message_id bigint, posted_at timestamptz, rank real, lang text,
                kind text, tags text[])
        LANGUAGE plpgsql SET search_path TO 'public', 'pg_temp' SET "TimeZone" TO 'UTC'
            SET plan_cache_mode TO 'force_generic_plan'
        AS $$
            #variable_conflict use_column
            DECLARE
                over_at timestamptz := clock_timestamp() + budget;
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
                IF reached IS NULL THEN
                    RETURN QUERY VALUES (NULL::bigint, NULL::bigint, NULL::timestamptz, NULL::real, NULL,
                        NULL, NULL::text[]);
                    RETURN;
                END IF;
                IF query IS NOT NULL AND querytree(query) <> 'T' THEN
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
                                query IS NULL, seen_from;
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
    op.execute("REVOKE ALL ON FUNCTION matching_words FROM PUBLIC")


def search_words() -> None:
    """Runs with the owner's rights. A term is a word, a "phrase" or an -exclusion, with the key of a name if
    it may be one (or '').

    All terms of one alternative must match. If fewer than `enough` posts do, and nothing is left to look
    through, posts follow that have half of the words, or a rare one: `matched` says which words they have, a
    bit each, and they rank by how rare these are. If the planner expects few posts with all words, these are
    among the others from the beginning. With `related` (keys of names after a ~, and numbers) only that
    second part runs, and finds posts with a rare one of these too. How rare a word is, the planner estimates;
    the words that suffice alone are together in 1,500 posts at most. A last row without a rank says how far
    the search went, and which terms are words. The function with one text for all words stays for programs of
    the release before.
    """
    op.execute(
        r"""
        CREATE FUNCTION search_words(terms text[], names text[], alternatives smallint[], related text[],
            related_weights real[], enough integer,
            within bigint[], since timestamptz, before timestamptz, before_channel bigint,
            before_message bigint, langs text[], needs smallint,
            wanted_tags text[], wanted_kinds text[], with_ads boolean, most integer, budget interval)
            RETURNS TABLE(channel_id bigint, message_id bigint, posted_at timestamptz, rank real, lang text,
                kind text, tags text[], matched bigint)
        LANGUAGE plpgsql SECURITY DEFINER SET search_path TO 'public', 'pg_temp'
            SET plan_cache_mode TO 'force_generic_plan'
        AS $$
            #variable_conflict use_column
            DECLARE
                query tsquery;
                one_way tsquery;
                term tsquery;
                demanded tsquery;
                ranked tsquery[] := '{}';
                places bigint[] := '{}';
                words int;
                core tsquery[];
                found int := 0;
                is_all boolean := false;
                is_loose boolean;
                is_rare boolean := false;
                may_relax boolean := false;
                plan json;
                posts float8;
                slice text;
                shares float8[];
                weights real[];
                one record;
                alone float8 := 0;
                partly tsquery;
                reached bigint[];
                consented boolean := EXISTS (SELECT 1 FROM ai_consents k
                    WHERE k.tenant_id = current_tenant());
            BEGIN
                FOR way IN 0 .. coalesce((SELECT max(a) FROM unnest(alternatives) a), -1) LOOP
                    one_way := NULL;
                    FOR number IN 1 .. cardinality(terms) LOOP
                        CONTINUE WHEN alternatives[number] <> way;
                        term := websearch_to_tsquery('russian', terms[number]);
                        CONTINUE WHEN numnode(term) = 0;
                        IF terms[number] ~ '^[-"]' THEN
                            demanded := coalesce(demanded && term, term);
                        ELSE
                            IF names[number] <> '' THEN
                                term := term || format('%L', '~' || names[number])::tsquery;
                            END IF;
                            ranked := ranked || term;
                            places := places || (1::bigint << number - 1);
                        END IF;
                        one_way := coalesce(one_way && term, term);
                    END LOOP;
                    query := coalesce(query || one_way, one_way, query);
                END LOOP;
                words := cardinality(ranked);
                is_loose := cardinality(related) > 0;
                IF query IS NULL AND cardinality(terms) > 0 THEN
                    RETURN QUERY VALUES (NULL::bigint, NULL::bigint, NULL::timestamptz, NULL::real, NULL,
                        NULL, NULL::text[], 0::bigint);
                    RETURN;
                END IF;
                ranked := ranked || ARRAY(
                    SELECT CASE WHEN r.said LIKE '~%' THEN format('%L', r.said)::tsquery
                        ELSE phraseto_tsquery('russian', r.said) END
                    FROM unnest(related) WITH ORDINALITY AS r(said, number) ORDER BY r.number);
                IF words > 1 AND enough > 0 AND NOT EXISTS (SELECT 1 FROM unnest(alternatives) a WHERE a > 0)
                    OR is_loose THEN
                    SELECT sum(c.reltuples), (array_agg(c.oid::regclass::text
                        ORDER BY c.reltuples DESC))[1] INTO posts, slice
                        FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
                        WHERE i.inhparent = 'post_search'::regclass;
                    EXECUTE (
                        SELECT format('EXPLAIN (FORMAT JSON) SELECT FROM %s', slice)
                               || string_agg(format(' UNION ALL SELECT FROM %s WHERE words @@ %L::tsquery',
                                   slice, t.term), '' ORDER BY t.number)
                        FROM unnest(coalesce(query, ''::tsquery) || ranked)
                            WITH ORDINALITY AS t(term, number)) INTO plan;
                    shares := ARRAY(
                        SELECT (p.value ->> 'Plan Rows')::float8 / greatest(1,
                            (plan -> 0 -> 'Plan' -> 'Plans' -> 0 ->> 'Plan Rows')::float8)
                        FROM json_array_elements(plan -> 0 -> 'Plan' -> 'Plans')
                            WITH ORDINALITY AS p(value, number)
                        WHERE p.number > 1 ORDER BY p.number);
                    may_relax := true;
                    is_rare := shares[1] * posts <= 20;
                    shares := shares[2:];
                END IF;
                IF NOT is_loose AND NOT is_rare THEN
                    FOR channel_id, message_id, posted_at, rank, lang, kind, tags IN
                        SELECT * FROM matching_words(query, within, since, before, before_channel,
                            before_message, langs, needs,
                                                     wanted_tags, wanted_kinds, with_ads, most, budget)
                    LOOP
                        found := found + (rank IS NOT NULL)::int;
                        is_all := rank IS NULL AND posted_at IS NULL;
                        IF rank IS NULL THEN
                            matched := (SELECT coalesce(sum(p), 0) FROM unnest(places) p);
                        END IF;
                        RETURN NEXT;
                    END LOOP;
                    IF found >= enough OR NOT is_all OR NOT may_relax THEN
                        RETURN;
                    END IF;
                END IF;
                SELECT array_agg(s.channel_id) INTO reached
                    FROM subscriptions s WHERE s.tenant_id = current_tenant() AND s.active
                        AND (within IS NULL OR s.channel_id = ANY (within));
                core := ARRAY(SELECT t.term FROM unnest(ranked[1:words]) WITH ORDINALITY AS t(term, number)
                              ORDER BY length(t.term::text) DESC, t.number LIMIT 8);
                FOR mask IN 1 .. (1 << cardinality(core)) - 1 LOOP
                    CONTINUE WHEN bit_count(mask::bit(8)) <> CASE words WHEN 2 THEN 2
                        ELSE (cardinality(core) + 1) / 2 END;
                    one_way := NULL;
                    FOR number IN 1 .. cardinality(core) LOOP
                        IF mask & (1 << number - 1) > 0 THEN
                            one_way := coalesce(one_way && core[number], core[number]);
                        END IF;
                    END LOOP;
                    partly := coalesce(partly || one_way, one_way);
                END LOOP;
                weights := ARRAY(
                    SELECT (-ln(greatest(t.share, 0.005)) * coalesce(related_weights[t.number - words],
                        1))::real
                    FROM unnest(shares) WITH ORDINALITY AS t(share, number) ORDER BY t.number);
                FOR pass IN 1 .. 2 LOOP
                    CONTINUE WHEN pass = 1 AND (words = 2 OR is_loose);
                    IF pass = 2 THEN
                        FOR one IN
                            SELECT t.term, t.share * posts AS expected
                            FROM unnest(ranked, shares) AS t(term, share)
                            WHERE t.share <= 0.03 AND numnode(t.term) > 0 ORDER BY t.share
                        LOOP
                            EXIT WHEN alone + one.expected > 1500;
                            alone := alone + one.expected;
                            partly := coalesce(partly || one.term, one.term);
                        END LOOP;
                    END IF;
                    RETURN QUERY
                        SELECT n.channel_id, n.message_id, n.posted_at, n.score, n.lang, e.kind, e.tags,
                            n.bits
                        FROM (
                            SELECT m.channel_id, m.message_id, m.posted_at, m.lang, r.score, r.bits
                            FROM post_search m
                            CROSS JOIN LATERAL (
                                SELECT sum(k.weight) AS score, coalesce(sum(k.bit), 0)::bigint AS bits
                                FROM unnest(ranked, weights, places) AS k(term, weight, bit)
                                WHERE m.words @@ k.term) r
                            WHERE m.words @@ coalesce(partly && demanded, partly)
                                AND (m.posted_at >= since AND m.posted_at <= before) IS TRUE
                              AND (m.channel_id IN (SELECT unnest(reached))) IS TRUE AND EXISTS (
                                  SELECT 1 FROM subscriptions s
                                  WHERE s.tenant_id = current_tenant() AND s.channel_id = m.channel_id
                                      AND m.posted_at >= s.visible_from OFFSET 0)
                              AND (m.posted_at < before OR (m.channel_id, m.message_id) > (before_channel,
                                  before_message))
                              AND (langs IS NULL OR m.lang = ANY (langs)) AND m.has & needs = needs
                            ORDER BY r.score DESC, m.posted_at DESC, m.channel_id, m.message_id
                            LIMIT CASE WHEN wanted_tags IS NULL AND wanted_kinds IS NULL THEN 100
                                ELSE 1000 END) n
                        CROSS JOIN LATERAL (
                            SELECT s.ai_policy FROM subscriptions s
                            WHERE s.tenant_id = current_tenant() AND s.channel_id = n.channel_id
                                AND s.active OFFSET 0) s
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
                          AND (wanted_kinds IS NULL OR e.kind = ANY (wanted_kinds));
                    GET DIAGNOSTICS found = ROW_COUNT;
                    EXIT WHEN found >= enough;
                END LOOP;
                -- more posts than the planner thought: perhaps not all that match are among them
                IF is_rare AND NOT is_loose AND found >= 100 THEN
                    RETURN QUERY
                        SELECT m.channel_id, m.message_id, m.posted_at, m.rank, m.lang, m.kind, m.tags,
                               CASE WHEN m.rank IS NULL THEN (SELECT coalesce(sum(p), 0)::bigint
                                   FROM unnest(places) p) END
                        FROM matching_words(query, within, since, before, before_channel, before_message,
                            langs, needs,
                                            wanted_tags, wanted_kinds, with_ads, most, budget) m;
                ELSIF is_rare AND NOT is_loose THEN
                    RETURN QUERY VALUES (NULL::bigint, NULL::bigint, NULL::timestamptz, NULL::real, NULL,
                        NULL, NULL::text[],
                                         (SELECT coalesce(sum(p), 0)::bigint FROM unnest(places) p));
                END IF;
            END
        $$
        """
    )
    op.execute(
        "REVOKE ALL ON FUNCTION search_words(text[], text[], smallint[], text[], real[], integer, bigint[], "
        "timestamptz, timestamptz, bigint, "
        "bigint, text[], smallint, text[], text[], boolean, integer, interval) FROM PUBLIC"
    )
    op.execute(
        "GRANT EXECUTE ON FUNCTION search_words(text[], text[], smallint[], text[], real[], integer, "
        "bigint[], timestamptz, timestamptz, bigint, "
        "bigint, text[], smallint, text[], text[], boolean, integer, interval) TO tga_tenant"
    )


def similar_word() -> None:
    """The word that a tenant probably meant, with a post in which it sees it; runs with the owner's rights.

    Candidates come from the words of all posts, but each is looked up in what the tenant sees, so no word of
    another tenant is named.
    """
    op.execute(
        r"""
        CREATE FUNCTION letters_apart(one text, other text) RETURNS integer
        LANGUAGE plpgsql IMMUTABLE SET search_path TO 'public', 'pg_temp'
        AS $$
            DECLARE
                before int[];
                last int[];
                next int[];
                costs int;
            BEGIN
                last := ARRAY(SELECT generate_series(0, length(other)));
                FOR i IN 1 .. length(one) LOOP
                    next := ARRAY[i];
                    FOR j IN 1 .. length(other) LOOP
                        costs := (substr(one, i, 1) <> substr(other, j, 1))::int;
                        next[j + 1] := least(next[j] + 1, last[j + 1] + 1, last[j] + costs);
                        IF i > 1 AND j > 1 AND substr(one, i, 1) = substr(other, j - 1, 1)
                            AND substr(one, i - 1, 1) = substr(other, j, 1) THEN
                            next[j + 1] := least(next[j + 1], before[j - 1] + 1);
                        END IF;
                    END LOOP;
                    before := last;
                    last := next;
                END LOOP;
                RETURN last[length(other) + 1];
            END
        $$
        """
    )
    op.execute("REVOKE ALL ON FUNCTION letters_apart FROM PUBLIC")
    op.execute(
        r"""
        CREATE FUNCTION similar_word(typed text, budget interval) RETURNS TABLE(word text, channel_id bigint,
            message_id bigint)
        LANGUAGE plpgsql SECURITY DEFINER SET search_path TO 'public', 'pg_temp'
        AS $$
            #variable_conflict use_column
            DECLARE
                over_at timestamptz := clock_timestamp() + budget;
                stem text := (tsvector_to_array(to_tsvector('russian', typed)))[1];
                candidate text;
            BEGIN
                LOCK TABLE post_search IN ACCESS SHARE MODE;
                PERFORM set_config('pg_trgm.similarity_threshold', '0.25', true);
                FOR candidate IN
                    SELECT stem WHERE stem IS NOT NULL UNION ALL SELECT c.word FROM (SELECT a.word FROM (
                        SELECT v.word, letters_apart(v.word, stem) AS apart, similarity(v.word, stem) AS alike
                        FROM (
                            SELECT v.word FROM search_vocabulary v
                            WHERE v.word % stem AND abs(length(v.word) - length(stem)) <= 2 AND v.word <> stem
                            ORDER BY similarity(v.word, stem) DESC, v.word LIMIT 60) v) a
                    WHERE a.apart <= CASE WHEN length(stem) < 6 THEN 1 ELSE 2 END
                        ORDER BY a.apart, a.alike DESC, a.word) c
                LOOP
                    EXECUTE format('
                        SELECT p.channel_id, p.message_id FROM post_search p
                        JOIN subscriptions s ON s.tenant_id = current_tenant() AND s.channel_id = p.channel_id
                            AND s.active
                         AND p.posted_at >= s.visible_from
                        WHERE p.words @@ %L::tsquery LIMIT 1', quote_literal(candidate))
                        INTO channel_id, message_id;
                    IF channel_id IS NOT NULL THEN
                        word := candidate;
                        IF candidate <> stem THEN
                            RETURN NEXT;
                        END IF;
                        RETURN;
                    END IF;
                    EXIT WHEN clock_timestamp() > over_at;
                END LOOP;
            END
        $$
        """
    )
    op.execute("REVOKE ALL ON FUNCTION similar_word FROM PUBLIC")
    op.execute("GRANT EXECUTE ON FUNCTION similar_word TO tga_tenant")
