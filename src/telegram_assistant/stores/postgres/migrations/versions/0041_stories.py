"""Stories: which posts tell the same, by which links,
and the words by which the posts of three days are compared.
"""

from alembic import op

from telegram_assistant.stores.postgres.migrations.classes import (
    by_channel,
    subscribed_table,
    system_table,
    within_window,
)

revision = "0041"
down_revision = "0040"


def upgrade() -> None:
    stories()
    story_posts()
    story_links()
    post_terms()
    term_postings()
    term_counts()
    current_story()


def stories() -> None:
    op.execute(
        """
        CREATE TABLE stories (
            story_id uuid PRIMARY KEY,
            first_posted_at timestamptz NOT NULL,
            last_posted_at timestamptz NOT NULL,
            posts int NOT NULL,
            merged_into uuid,
            created_at timestamptz NOT NULL DEFAULT now(),
            changed_at timestamptz NOT NULL DEFAULT now()
        )
        """
    )
    op.execute("CREATE INDEX stories_merged ON stories (merged_into) WHERE (merged_into IS NOT NULL)")
    system_table(
        "stories",
        "Stories: posts that tell of the same event, over all channels. "
        "What a tenant sees of one follows from its own posts.",
    )
    op.execute(
        "COMMENT ON COLUMN stories.merged_into IS 'Where most of its posts went; "
        "the story itself has none any more.'"
    )


def story_posts() -> None:
    op.execute(
        """
        CREATE TABLE story_posts (
            channel_id bigint NOT NULL,
            message_id bigint NOT NULL,
            story_id uuid NOT NULL,
            posted_at timestamptz NOT NULL,
            joined_at timestamptz NOT NULL DEFAULT now(),
            link text,
            terms_hash bigint NOT NULL,
            PRIMARY KEY (channel_id, message_id)
        ) PARTITION BY HASH (channel_id)
        """
    )
    by_channel("story_posts")
    op.execute("CREATE INDEX story_posts_story ON story_posts (story_id)")
    op.execute("CREATE INDEX story_posts_newest ON story_posts (channel_id, posted_at DESC)")
    subscribed_table(
        "story_posts",
        "Which story a post belongs to.",
        rows=within_window("story_posts", "story_posts.posted_at >= s.visible_from"),
    )
    op.execute(
        "COMMENT ON COLUMN story_posts.link IS 'The surest link to another post of the story; "
        "empty for a post alone.'"
    )
    op.execute(
        "COMMENT ON COLUMN story_posts.terms_hash IS 'Of the words and pictures with which it was compared "
        "last.'"
    )


def story_links() -> None:
    op.execute(
        """
        CREATE TABLE story_links (
            channel_id bigint NOT NULL,
            message_id bigint NOT NULL,
            other_channel_id bigint NOT NULL,
            other_message_id bigint NOT NULL,
            kind text NOT NULL,
            score real NOT NULL,
            is_leaf boolean NOT NULL,
            posted_at timestamptz NOT NULL,
            other_posted_at timestamptz NOT NULL,
            PRIMARY KEY (channel_id, message_id, other_channel_id, other_message_id)
        )
        """
    )
    op.execute("CREATE INDEX story_links_other ON story_links (other_channel_id, other_message_id)")
    own = within_window("story_links", "story_links.posted_at >= s.visible_from")
    other = own.replace("story_links.channel_id", "story_links.other_channel_id").replace(
        "story_links.posted_at", "story_links.other_posted_at"
    )
    subscribed_table(
        "story_links",
        "Why two posts are in one story, the later first. A tenant sees it with both ends.",
        rows=f"{own} AND {other}",
    )
    op.execute(
        "COMMENT ON COLUMN story_links.is_leaf IS 'One end is in a private channel: "
        "it joins a story and holds nothing together.'"
    )


def post_terms() -> None:
    op.execute(
        """
        CREATE TABLE post_terms (
            channel_id bigint NOT NULL,
            message_id bigint NOT NULL,
            posted_at timestamptz NOT NULL,
            is_private boolean NOT NULL,
            terms_hash bigint NOT NULL,
            language text NOT NULL,
            terms int[] NOT NULL,
            names int[] NOT NULL,
            numbers int[] NOT NULL,
            pairs int[] NOT NULL,
            links int[] NOT NULL,
            mentions int[] NOT NULL,
            username int NOT NULL,
            looks bytea NOT NULL,
            seen int[] NOT NULL,
            keys bigint[] NOT NULL,
            written_at timestamptz NOT NULL DEFAULT now(),
            PRIMARY KEY (channel_id, message_id)
        )
        """
    )
    op.execute("CREATE INDEX post_terms_written ON post_terms (written_at)")
    op.execute("CREATE INDEX post_terms_posted ON post_terms (posted_at)")
    system_table(
        "post_terms",
        "The words of a post as hashes, to compare it with the posts of the days around it; kept for a week.",
    )
    op.execute("COMMENT ON COLUMN post_terms.pairs IS 'Neighbouring words: copies share most of them.'")
    op.execute("COMMENT ON COLUMN post_terms.looks IS 'Perceptual hashes of its pictures, 40 bytes each.'")
    op.execute("COMMENT ON COLUMN post_terms.seen IS 'Words and numbers read in its pictures.'")
    op.execute("COMMENT ON COLUMN post_terms.keys IS 'Under which it stands in term_postings.'")


def term_postings() -> None:
    """A key holds the three days that it belongs to, so a common word finds no older posts,
    however many are stored.
    """
    op.execute(
        """
        CREATE TABLE term_postings (
            key bigint NOT NULL,
            posted_at timestamptz NOT NULL,
            channel_id bigint NOT NULL,
            message_id bigint NOT NULL,
            PRIMARY KEY (key, posted_at, channel_id, message_id)
        )
        """
    )
    system_table(
        "term_postings", "Which posts have a rare word, name, number, link or picture, by three days."
    )


def term_counts() -> None:
    op.execute(
        """
        CREATE TABLE term_counts (
            number int PRIMARY KEY,
            made_at timestamptz NOT NULL DEFAULT now(),
            texts int NOT NULL,
            terms int[] NOT NULL,
            counts int[] NOT NULL
        )
        """
    )
    system_table(
        "term_counts",
        "How many public posts of the last days have a word: rare words weigh more. "
        "The highest number holds.",
    )


def current_story() -> None:
    """Says nothing about posts; a tenant that has an old id may ask where the story went."""
    op.execute(
        """
        CREATE FUNCTION current_story(known uuid) RETURNS uuid
        LANGUAGE sql STABLE SECURITY DEFINER SET search_path TO 'public', 'pg_temp'
        AS $$
            WITH RECURSIVE way AS (
                SELECT story_id, merged_into, 0 AS steps FROM stories WHERE story_id = known
                UNION ALL
                SELECT s.story_id, s.merged_into, w.steps + 1 FROM way w
                JOIN stories s ON s.story_id = w.merged_into WHERE w.steps < 100
            )
            SELECT story_id FROM way ORDER BY steps DESC LIMIT 1
        $$
        """
    )
    op.execute("REVOKE ALL ON FUNCTION current_story FROM PUBLIC")
    op.execute("GRANT EXECUTE ON FUNCTION current_story TO tga_tenant, tga_system")
