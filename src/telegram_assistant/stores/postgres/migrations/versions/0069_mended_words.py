"""A mistyped word is mended with its spellings, within a budget that says when it is over."""

from alembic import op

revision = "0069"
down_revision = "0068"


def upgrade() -> None:
    """The word that a tenant probably meant, with a post in which it sees it; runs with the owner's rights.

    `spellings` are all that differ from the typed word by one letter, so a look into the vocabulary replaces
    the comparison with it: that took 100 ms and more on a busy machine, and then found nothing. Of several
    words, the most similar one is meant; the number of the tenant's posts decides between equals. Words that
    are two letters apart are compared only if the typed one is long. No row: the tenant sees the typed word,
    or no other. A row without a word: the time is over. Each word is looked up in what the tenant sees, so no
    word of another tenant is named.

    `similar_word` stays for programs of the release before.
    """
    op.execute(
        r"""
        CREATE FUNCTION mended_word(typed text, spellings text[], is_long boolean, budget interval)
            RETURNS TABLE(word text, channel_id bigint, message_id bigint)
        LANGUAGE plpgsql SECURITY DEFINER SET search_path TO 'public', 'pg_temp'
        AS $$
            #variable_conflict use_column
            DECLARE
                over_at timestamptz := clock_timestamp() + budget;
                stem text := (tsvector_to_array(to_tsvector('russian', typed)))[1];
                candidates text[];
                candidate text;
                likeness float8;
                best float8 := 0;
                here record;
                looking text := '
                    SELECT count(*) AS posts, min(p.channel_id) AS channel_id,
                        (array_agg(p.message_id ORDER BY p.channel_id, p.message_id))[1] AS message_id
                    FROM (
                        SELECT p.channel_id, p.message_id FROM post_search p
                        JOIN subscriptions s ON s.tenant_id = current_tenant() AND s.channel_id = p.channel_id
                            AND s.active AND p.posted_at >= s.visible_from
                        WHERE p.words @@ %L::tsquery LIMIT 20) p';
            BEGIN
                LOCK TABLE post_search IN ACCESS SHARE MODE;
                IF stem IS NULL THEN
                    RETURN;
                END IF;
                EXECUTE format(looking, quote_literal(stem)) INTO here;
                IF here.posts > 0 THEN
                    RETURN;
                END IF;
                FOR step IN 1 .. 2 LOOP
                    CONTINUE WHEN step = 2 AND NOT is_long;
                    IF clock_timestamp() > over_at THEN
                        RETURN QUERY VALUES (NULL::text, NULL::bigint, NULL::bigint);
                        RETURN;
                    END IF;
                    IF step = 1 THEN
                        candidates := ARRAY(
                            SELECT v.word FROM search_vocabulary v
                            WHERE v.word = ANY (tsvector_to_array(
                                to_tsvector('russian', array_to_string(spellings, ' '))))
                                AND v.word <> stem
                            ORDER BY similarity(v.word, stem) DESC, v.word);
                    ELSE
                        PERFORM set_config('pg_trgm.similarity_threshold', '0.35', true);
                        candidates := ARRAY(
                            SELECT a.word FROM (
                                SELECT v.word, similarity(v.word, stem) AS alike FROM search_vocabulary v
                                WHERE v.word % stem AND abs(length(v.word) - length(stem)) <= 2
                                    AND v.word <> stem
                                ORDER BY 2 DESC, v.word LIMIT 30) a
                            WHERE letters_apart(a.word, stem) <= 2 ORDER BY a.alike DESC, a.word);
                    END IF;
                    FOREACH candidate IN ARRAY candidates LOOP
                        IF clock_timestamp() > over_at THEN
                            IF best = 0 THEN
                                RETURN QUERY VALUES (NULL::text, NULL::bigint, NULL::bigint);
                                RETURN;
                            END IF;
                            EXIT;
                        END IF;
                        EXECUTE format(looking, quote_literal(candidate)) INTO here;
                        CONTINUE WHEN here.posts = 0;
                        likeness := similarity(candidate, stem) + 0.03 * ln(here.posts);
                        IF likeness > best THEN
                            best := likeness;
                            word := candidate;
                            channel_id := here.channel_id;
                            message_id := here.message_id;
                        END IF;
                    END LOOP;
                    IF best > 0 THEN
                        RETURN NEXT;
                        RETURN;
                    END IF;
                END LOOP;
            END
        $$
        """
    )
    op.execute("REVOKE ALL ON FUNCTION mended_word FROM PUBLIC")
    op.execute("GRANT EXECUTE ON FUNCTION mended_word TO tga_tenant")
