"""The functions that tenants may call tell only of what lies in the tenant's own windows, as row-level security does."""

from alembic import op

revision = "0031"
down_revision = "0030"


def upgrade() -> None:
    reading()
    tags()
    searching()
    revisions()


def definer(name: str, parameters: str, returns: str, body: str, *, volatility: str = "STABLE") -> None:
    """A function that runs with its owner's rights: a door in the wall, so its body names the tenant itself."""
    op.execute(
        f"""
        CREATE OR REPLACE FUNCTION {name}({parameters}) RETURNS {returns}
        LANGUAGE sql {volatility} SECURITY DEFINER SET search_path = public, pg_temp SET plan_cache_mode = force_custom_plan AS $$ {body} $$
        """
    )
    op.execute(f"REVOKE ALL ON FUNCTION {name} FROM PUBLIC")
    op.execute(f"GRANT EXECUTE ON FUNCTION {name} TO tga_tenant")


def reading() -> None:
    # As before; but a poll counts only since the tenant follows, an account's jobs are those that its own tenant asked for, and what is
    # overdue are channels that it can open, whoever reads them.
    definer(
        "reading_of_channels",
        "only_channels bigint[]",
        """TABLE (channel_id bigint, has_account boolean, last_polled_at timestamptz, failures int, blocked_until timestamptz, lost_reason text,
               lost_at timestamptz, is_filling boolean, fill_error text, fill_again_at timestamptz, by_preview boolean,
               previews_blocked_until timestamptz)""",
        """
        SELECT c.channel_id, p.account_id IS NOT NULL OR able.yes IS NOT NULL,
               CASE WHEN p.last_polled_at >= s.created_at THEN p.last_polled_at END, p.fail_count, l.blocked_until, lost.lost_reason, lost.lost_at,
               coalesce(b.state = 'open', false), b.error, b.next_try_at,
               r.lease_until > now() AND NOT c.is_private AND c.username IS NOT NULL,
               CASE WHEN r.next_request_at > now() + interval '1 minute' THEN r.next_request_at END
        FROM subscriptions s
        JOIN channels c ON c.channel_id = s.channel_id
        JOIN poll_schedule p ON p.channel_id = s.channel_id
        CROSS JOIN preview_reader r
        LEFT JOIN LATERAL (
            SELECT l.blocked_until FROM account_limits l JOIN telegram_accounts a USING (account_id) JOIN tenants t USING (tenant_id)
            WHERE l.account_id = p.account_id AND l.method = 'messages.getHistory' AND l.blocked_until > now()
              AND (a.tenant_id = s.tenant_id OR t.is_operator)) l ON true
        LEFT JOIN LATERAL (
            SELECT true AS yes FROM account_channels k JOIN telegram_accounts a USING (account_id) JOIN tenants t USING (tenant_id)
            WHERE p.account_id IS NULL AND k.channel_id = s.channel_id AND k.lost_at IS NULL AND a.state = 'active'
              AND (a.tenant_id = s.tenant_id OR t.is_operator AND NOT c.is_private) LIMIT 1) able ON true
        LEFT JOIN LATERAL (
            SELECT state, error, next_try_at FROM backfills WHERE channel_id = s.channel_id AND state <> 'done'
            ORDER BY backfill_id DESC LIMIT 1) b ON true
        LEFT JOIN LATERAL (
            SELECT k.lost_reason, k.lost_at FROM account_channels k JOIN telegram_accounts a USING (account_id) JOIN tenants t USING (tenant_id)
            WHERE k.channel_id = s.channel_id AND k.lost_at IS NOT NULL AND (a.tenant_id = s.tenant_id OR t.is_operator)
            ORDER BY k.lost_at DESC LIMIT 1) lost ON true
        WHERE s.tenant_id = current_tenant() AND s.active AND (only_channels IS NULL OR s.channel_id = ANY(only_channels))
        """,
    )
    definer(
        "work_of_accounts",
        "",
        "TABLE (account_id bigint, channels bigint, overdue bigint, requests_per_second real, open_backfills bigint, lost_channels bigint)",
        """
        SELECT a.account_id,
               CASE WHEN t.is_operator THEN (SELECT count(*) FROM poll_schedule p WHERE p.account_id = a.account_id AND p.next_poll_at < 'infinity')
               ELSE (SELECT count(*) FROM account_channels k JOIN subscriptions s ON s.channel_id = k.channel_id
                     WHERE k.account_id = a.account_id AND k.lost_at IS NULL AND s.tenant_id = a.tenant_id AND s.active) END,
               CASE WHEN t.is_operator THEN
                   (SELECT count(*) FROM poll_schedule p WHERE p.account_id = a.account_id AND p.next_poll_at < now() - interval '5 minutes')
               ELSE (SELECT count(*) FROM account_channels k JOIN subscriptions s ON s.channel_id = k.channel_id
                     JOIN poll_schedule p ON p.channel_id = k.channel_id
                     WHERE k.account_id = a.account_id AND k.lost_at IS NULL AND s.tenant_id = a.tenant_id AND s.active
                       AND p.next_poll_at < now() - interval '5 minutes') END,
               l.requests_per_second,
               (SELECT count(*) FROM backfills b WHERE b.account_id = a.account_id AND b.state = 'open'
                  AND (t.is_operator OR b.requested_by IN (0, a.tenant_id))),
               (SELECT count(*) FROM account_channels k WHERE k.account_id = a.account_id AND k.lost_at IS NOT NULL)
        FROM telegram_accounts a JOIN tenants t USING (tenant_id) LEFT JOIN account_plans l USING (account_id)
        WHERE a.tenant_id = current_tenant()
        """,
    )


def tags() -> None:
    # As before, within the windows.
    definer(
        "tags_in_use",
        "since timestamptz, until timestamptz, most int",
        "TABLE (tag text, posts bigint, channels bigint)",
        """
        WITH mine AS MATERIALIZED (
            SELECT s.channel_id, s.visible_from,
                   s.ai_policy = 'provider' AND EXISTS (SELECT 1 FROM ai_consents k WHERE k.tenant_id = s.tenant_id) AS pays
            FROM subscriptions s WHERE s.tenant_id = current_tenant() AND s.active AND s.ai_policy <> 'off'
        ),
        tagged AS (
            SELECT m.channel_id, e.tags FROM mine m
            CROSS JOIN LATERAL (
                SELECT p.message_id FROM posts p
                WHERE p.channel_id = m.channel_id AND p.posted_at >= greatest(since, m.visible_from) AND p.posted_at < until
                  AND p.deleted_at IS NULL) p
            CROSS JOIN LATERAL (
                SELECT e.data -> 'tags' AS tags FROM post_enrichment e
                WHERE e.channel_id = m.channel_id AND e.message_id = p.message_id AND e.kind = 'tags' AND (m.pays OR e.tier = 'local')
                ORDER BY e.revision DESC, e.tier = 'provider' DESC LIMIT 1) e
        )
        SELECT t.name, count(*), count(DISTINCT tagged.channel_id)
        FROM tagged
        CROSS JOIN LATERAL jsonb_array_elements_text(CASE jsonb_typeof(tagged.tags) WHEN 'array' THEN tagged.tags ELSE '[]' END) AS t(name)
        GROUP BY t.name ORDER BY 2 DESC, 1 LIMIT least(most, 1000)
        """,
    )
    definer(
        "posts_with_tags",
        "wanted text[], since timestamptz, before_at timestamptz, before_channel bigint, before_message bigint, most int",
        "TABLE (channel_id bigint, message_id bigint, posted_at timestamptz)",
        """
        WITH mine AS MATERIALIZED (
            SELECT s.channel_id, s.visible_from,
                   s.ai_policy = 'provider' AND EXISTS (SELECT 1 FROM ai_consents k WHERE k.tenant_id = s.tenant_id) AS pays
            FROM subscriptions s WHERE s.tenant_id = current_tenant() AND s.active AND s.ai_policy <> 'off'
        ),
        tagged AS MATERIALIZED (
            SELECT e.channel_id, e.message_id, e.revision, e.tier FROM post_enrichment e WHERE e.kind = 'tags' AND e.data -> 'tags' ?| wanted
        )
        SELECT p.channel_id, p.message_id, p.posted_at
        FROM tagged e JOIN mine m ON m.channel_id = e.channel_id AND (m.pays OR e.tier = 'local')
        JOIN posts p ON p.channel_id = e.channel_id AND p.message_id = e.message_id
        WHERE p.deleted_at IS NULL AND p.posted_at >= greatest(since, m.visible_from)
          AND (before_at IS NULL OR (p.posted_at, p.channel_id, p.message_id) < (before_at, before_channel, before_message))
          AND NOT EXISTS (
              SELECT 1 FROM post_enrichment o
              WHERE o.channel_id = e.channel_id AND o.message_id = e.message_id AND o.kind = 'tags' AND (m.pays OR o.tier = 'local')
                AND (o.revision, o.tier = 'provider') > (e.revision, e.tier = 'provider') OFFSET 0)
        ORDER BY p.posted_at DESC, p.channel_id DESC, p.message_id DESC LIMIT least(most, 1000)
        """,
    )


def revisions() -> None:
    # A post that was edited before the tenant followed its channel is new to it: its first revision is the one that it met.
    definer(
        "revisions_before",
        "channel bigint, message bigint",
        "int",
        """
        SELECT coalesce(max(v.revision), 0) FROM subscriptions s JOIN post_versions v ON v.channel_id = s.channel_id
        WHERE s.tenant_id = current_tenant() AND s.active AND s.channel_id = channel AND v.message_id = message AND v.replaced_at < s.created_at
        """,
    )


def searching() -> None:
    # As before, within the windows. A slice is read for those channels whose windows reach into it, and where they all begin before
    # a post there is nothing to ask for.
    op.execute(
        r"""
        CREATE OR REPLACE FUNCTION search_words(
            sought text, within bigint[], since timestamptz, before timestamptz, before_channel bigint, before_message bigint,
            langs text[], needs smallint, wanted_tags text[], wanted_kinds text[], with_ads boolean, most int, budget interval
        ) RETURNS TABLE (channel_id bigint, message_id bigint, posted_at timestamptz, rank real, lang text, kind text, tags text[])
        LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET timezone = 'UTC' SET plan_cache_mode = force_generic_plan AS $$
        #variable_conflict use_column
        DECLARE
            over_at timestamptz := clock_timestamp() + budget;
            query tsquery := websearch_to_tsquery('russian', sought);
            consented boolean := EXISTS (SELECT 1 FROM ai_consents k WHERE k.tenant_id = current_tenant());
            reached bigint[];
            windows timestamptz[];
            first_window timestamptz;
            last_window timestamptz;
            there bigint[];
            seen_from timestamptz;
            is_seen text := '(m.posted_at >= $11 OR EXISTS (
                SELECT 1 FROM subscriptions s
                WHERE s.tenant_id = current_tenant() AND s.channel_id = m.channel_id AND m.posted_at >= s.visible_from OFFSET 0))';
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
            LOCK TABLE post_search IN ACCESS SHARE MODE;  -- another one may take its place, and its slices with it
            SELECT array_agg(s.channel_id), array_agg(s.visible_from), min(s.visible_from), max(s.visible_from)
                INTO reached, windows, first_window, last_window
                FROM subscriptions s WHERE s.tenant_id = current_tenant() AND s.active AND (within IS NULL OR s.channel_id = ANY (within));
            since := greatest(since, first_window);
            IF reached IS NULL OR sought <> '' AND numnode(query) = 0 THEN
                RETURN QUERY VALUES (NULL::bigint, NULL::bigint, NULL::timestamptz, NULL::real, NULL, NULL, NULL::text[]);
                RETURN;
            END IF;
            IF sought <> '' AND querytree(query) <> 'T' THEN
                EXECUTE format('EXPLAIN (FORMAT JSON) SELECT FROM post_search WHERE words @@ %L::tsquery', query) INTO plan;
                expected := (plan -> 0 -> 'Plan' ->> 'Plan Rows')::float8;
                share := expected / greatest(1, (SELECT sum(c.reltuples) FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
                                                 WHERE i.inhparent = 'post_search'::regclass));
            END IF;
            IF expected <= 2000 OR cardinality(reached) <= 20 AND expected < 'infinity' OR share <= 0.05 THEN
                step := 4000;
                looking := '
                    WITH met AS ' || CASE WHEN cardinality(reached) <= 20 THEN 'NOT ' ELSE '' END || 'MATERIALIZED (
                        SELECT channel_id, message_id, posted_at, lang, has FROM %1$s WHERE words @@ $1 AND posted_at >= $3 AND posted_at <= $4)
                    SELECT array_agg(n.channel_id), array_agg(n.message_id), array_agg(n.posted_at), array_agg(true) FROM (
                        SELECT channel_id, message_id, posted_at FROM met m
                        WHERE channel_id = ANY ($2) AND ' || is_seen || ' AND (posted_at < $4 OR (channel_id, message_id) > ($5, $6))
                          AND ($7 IS NULL OR lang = ANY ($7)) AND has & $8 = $8
                        ORDER BY posted_at DESC, channel_id, message_id LIMIT $9) n';
            ELSE
                step := least(4000, 100 + 1.3 * most / greatest(share, 0.01));
                looking := '
                    SELECT array_agg(n.channel_id), array_agg(n.message_id), array_agg(n.posted_at), array_agg(f.fits) FROM (
                        SELECT channel_id, message_id, posted_at FROM %1$s m
                        WHERE channel_id = ANY ($2) AND posted_at >= $3 AND posted_at <= $4 AND ' || is_seen || '
                          AND (posted_at < $4 OR (channel_id, message_id) > ($5, $6))
                        ORDER BY posted_at DESC, channel_id, message_id LIMIT $9) n
                    LEFT JOIN LATERAL (
                        SELECT true AS fits FROM %1$s s
                        WHERE s.channel_id = n.channel_id AND s.message_id = n.message_id AND s.posted_at = n.posted_at
                          AND ($10 OR s.words @@ $1) AND ($7 IS NULL OR s.lang = ANY ($7)) AND s.has & $8 = $8 OFFSET 0) f ON true';
            END IF;
            FOR slice IN
                SELECT 'post_search' AS name, '-infinity'::timestamptz AS begins, 'infinity'::timestamptz AS ends WHERE expected <= 2000
                UNION ALL SELECT b.name, b.begins, b.ends FROM (
                    SELECT c.oid::regclass::text AS name,
                           coalesce(substring(bound FROM $re$FROM \('([^']+)'\)$re$)::timestamptz, '-infinity') AS begins,
                           coalesce(substring(bound FROM $re$TO \('([^']+)'\)$re$)::timestamptz, 'infinity') AS ends
                    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid CROSS JOIN LATERAL pg_get_expr(c.relpartbound, c.oid) bound
                    WHERE i.inhparent = 'post_search'::regclass
                ) b
                WHERE expected > 2000 AND b.begins <= before AND b.ends > since
                ORDER BY 2 DESC
            LOOP
                there := reached;
                seen_from := last_window;
                IF slice.ends <= last_window THEN
                    SELECT array_agg(w.channel_id), max(w.visible_from) INTO there, seen_from
                        FROM unnest(reached, windows) AS w(channel_id, visible_from) WHERE w.visible_from < slice.ends;
                END IF;
                place := (before, before_channel, before_message);
                LOOP
                    EXECUTE format(looking, slice.name) INTO met_channels, met_messages, met_at, met_fits
                        USING query, there, since, place.f1, place.f2, place.f3, langs, needs, step, sought = '', seen_from;
                    met := coalesce(cardinality(met_channels), 0);
                    EXIT WHEN met = 0;
                    RETURN QUERY
                        SELECT n.channel_id, n.message_id, n.posted_at, coalesce(ts_rank(p.words, query, 1), 0), p.lang, n.kind, n.tags FROM (
                            SELECT m.channel_id, m.message_id, m.posted_at, e.kind, e.tags
                            FROM unnest(met_channels, met_messages, met_at, met_fits) AS m(channel_id, message_id, posted_at, fits)
                            CROSS JOIN LATERAL (
                                SELECT s.ai_policy FROM subscriptions s
                                WHERE s.tenant_id = current_tenant() AND s.channel_id = m.channel_id AND s.active OFFSET 0) s
                            LEFT JOIN LATERAL (
                                SELECT e.data ->> 'kind' AS kind, (e.data ->> 'is_ad')::boolean AS is_ad,
                                       ARRAY(SELECT jsonb_array_elements_text(e.data -> 'tags')) AS tags
                                FROM post_enrichment e
                                WHERE e.channel_id = m.channel_id AND e.message_id = m.message_id AND e.kind = 'tags'
                                  AND CASE e.tier WHEN 'provider' THEN s.ai_policy = 'provider' AND consented ELSE s.ai_policy <> 'off' END
                                ORDER BY e.revision DESC, e.tier DESC LIMIT 1) e ON true
                            WHERE m.fits AND (with_ads OR e.is_ad IS NOT TRUE) AND (wanted_tags IS NULL OR e.tags && wanted_tags)
                              AND (wanted_kinds IS NULL OR e.kind = ANY (wanted_kinds))
                            LIMIT most - found) n
                        CROSS JOIN LATERAL (
                            SELECT p.words, p.lang FROM post_search p
                            WHERE p.channel_id = n.channel_id AND p.message_id = n.message_id AND p.posted_at = n.posted_at OFFSET 0) p;
                    GET DIAGNOSTICS added = ROW_COUNT;
                    found := found + added;
                    IF found >= most THEN
                        RETURN;
                    END IF;
                    place := (met_at[met], met_channels[met], met_messages[met]);
                    EXIT WHEN met < step;
                    IF clock_timestamp() > over_at THEN
                        RETURN QUERY VALUES (place.f2, place.f3, place.f1, NULL::real, NULL, NULL, NULL::text[]);
                        RETURN;
                    END IF;
                END LOOP;
                IF clock_timestamp() > over_at AND slice.begins > since THEN
                    RETURN QUERY VALUES (9223372036854775807, 9223372036854775807, slice.begins, NULL::real, NULL, NULL, NULL::text[]);
                    RETURN;
                END IF;
            END LOOP;
            RETURN QUERY VALUES (NULL::bigint, NULL::bigint, NULL::timestamptz, NULL::real, NULL, NULL, NULL::text[]);
        END $$
        """
    )
