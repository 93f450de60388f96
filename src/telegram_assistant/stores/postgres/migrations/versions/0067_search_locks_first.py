"""A search locks the index of words before it reads a part of it."""

from alembic import op

revision = "0067"
down_revision = "0066"


def upgrade() -> None:
    """As in 0044, but for the lock.

    The estimates read one part of the index before the index itself was locked, so a search and a rebuild
    that ended at the same moment could wait for each other, and the search failed after a second.
    """
    op.execute(
        r"""
        CREATE OR REPLACE FUNCTION search_words(terms text[], names text[], alternatives smallint[],
            related text[], related_weights real[], enough integer,
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
                -- the table before its parts, as whoever replaces it: else each may wait for the other
                LOCK TABLE post_search IN ACCESS SHARE MODE;
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
