"""People: passwords, preferences, sessions, one-time links, and the functions that let them in."""

from alembic import op

from telegram_assistant.stores.postgres.migrations.classes import system_table

revision = "0034"
down_revision = "0033"


def upgrade() -> None:
    users()
    sessions()
    one_time_links()
    for name, (signature, body) in API_FUNCTIONS.items():
        definer(name, signature, body, caller="tga_api")
    for name, (signature, body) in TENANT_FUNCTIONS.items():
        definer(name, signature, body, caller="tga_tenant")


def users() -> None:
    op.execute(
        """
        ALTER TABLE users
            ADD COLUMN password_hash text,
            ADD COLUMN language text CHECK (language IN ('en', 'ru')),
            ADD COLUMN zone text,
            ADD COLUMN theme text NOT NULL DEFAULT 'system' CHECK (theme IN ('system', 'light', 'dark')),
            ADD COLUMN feed_order text NOT NULL DEFAULT 'newest' CHECK (feed_order IN ('newest', 'oldest'))
        """
    )
    op.execute("COMMENT ON COLUMN users.language IS 'Null: as the browser asks.'")
    op.execute("COMMENT ON COLUMN users.zone IS 'Null: as the browser says, else TZ.'")


def sessions() -> None:
    op.execute(
        """
        CREATE TABLE sessions (
            hash bytea PRIMARY KEY,
            public_id uuid NOT NULL DEFAULT gen_random_uuid() UNIQUE,
            user_id bigint NOT NULL REFERENCES users ON DELETE CASCADE,
            created_at timestamptz NOT NULL DEFAULT now(),
            seen_at timestamptz NOT NULL DEFAULT now(),
            expires_at timestamptz NOT NULL,
            agent text NOT NULL DEFAULT '',
            ended_at timestamptz
        )
        """
    )
    op.execute("CREATE INDEX sessions_user ON sessions (user_id, created_at)")
    system_table("sessions", "Logins of people in browsers, by the SHA-256 of their cookie.")


def one_time_links() -> None:
    op.execute(
        """
        CREATE TABLE one_time_links (
            hash bytea PRIMARY KEY,
            public_id uuid NOT NULL DEFAULT gen_random_uuid() UNIQUE,
            kind text NOT NULL CHECK (kind IN ('login', 'invitation')),
            user_id bigint REFERENCES users ON DELETE CASCADE,
            tenant_id bigint REFERENCES tenants ON DELETE CASCADE,
            role text CHECK (role IN ('owner', 'editor', 'viewer')),
            created_by text NOT NULL,
            created_at timestamptz NOT NULL DEFAULT now(),
            expires_at timestamptz NOT NULL,
            used_at timestamptz,
            CHECK (CASE kind WHEN 'login' THEN user_id IS NOT NULL ELSE tenant_id IS NOT NULL
                AND role IS NOT NULL END)
        )
        """
    )
    op.execute("CREATE INDEX one_time_links_tenant ON one_time_links (tenant_id, created_at)")
    system_table(
        "one_time_links",
        "Links that let a person in once: a login, or an invitation to a tenant. By their SHA-256.",
    )


PERSON_COLUMNS = (
    "u.user_id, u.public_id, u.name, u.language, u.zone, u.theme, u.feed_order, "
    "u.password_hash IS NOT NULL AS has_password"
)
PERSON = (
    "user_id bigint, public_id uuid, name text, language text, zone text, theme text, feed_order text, "
    "has_password boolean"
)

API_FUNCTIONS = {
    "find_session": (
        f"(session_hash bytea) RETURNS TABLE({PERSON}, session_id uuid, tenants jsonb)",
        f"""
        WITH seen AS (
            UPDATE sessions s SET seen_at = now(), expires_at = now() + (s.expires_at - s.seen_at)
            WHERE s.hash = session_hash AND s.ended_at IS NULL AND s.expires_at > now()
                AND s.seen_at < now() - interval '1 minute'
        )
        SELECT {PERSON_COLUMNS}, s.public_id, (
            SELECT coalesce(jsonb_agg(jsonb_build_object(
                'tenant_id', t.tenant_id, 'tenant', t.public_id, 'name', t.name, 'is_operator', t.is_operator,
                'role', m.role,
                'suspended_reason', CASE WHEN t.suspended_at IS NOT NULL
                    THEN coalesce(t.suspended_reason, '') END) ORDER BY t.name), '[]')
            FROM memberships m JOIN tenants t USING (tenant_id) WHERE m.user_id = u.user_id)
        FROM sessions s JOIN users u USING (user_id)
        WHERE s.hash = session_hash AND s.ended_at IS NULL AND s.expires_at > now()
        """,
    ),
    "begin_session": (
        "(person bigint, session_hash bytea, browser text, lasts interval) RETURNS uuid",
        """
        INSERT INTO sessions (hash, user_id, agent, expires_at)
            VALUES (session_hash, person, left(browser, 200), now() + lasts) RETURNING public_id
        """,
    ),
    "end_sessions": (
        "(person bigint, ended uuid, except_hash bytea) RETURNS SETOF uuid",
        """
        UPDATE sessions SET ended_at = now()
        WHERE user_id = person AND ended_at IS NULL AND (ended IS NULL OR public_id = ended)
            AND (except_hash IS NULL OR hash <> except_hash)
        RETURNING public_id
        """,
    ),
    "sessions_of_person": (
        (
            "(person bigint) RETURNS TABLE(public_id uuid, created_at timestamptz, seen_at timestamptz, "
            "agent text)"
        ),
        """
        SELECT public_id, created_at, seen_at, agent FROM sessions
        WHERE user_id = person AND ended_at IS NULL AND expires_at > now() ORDER BY seen_at DESC
        """,
    ),
    "password_of_person": (
        "(wanted text) RETURNS TABLE(user_id bigint, password_hash text)",
        (
            "SELECT user_id, password_hash FROM users WHERE lower(name) = lower(wanted) "
            "AND password_hash IS NOT NULL"
        ),
    ),
    "set_password": (
        "(person bigint, new_hash text) RETURNS void",
        "UPDATE users SET password_hash = new_hash WHERE user_id = person",
    ),
    "set_preferences": (
        "(person bigint, new_language text, new_zone text, new_theme text, new_order text) RETURNS void",
        """
        UPDATE users SET language = new_language, zone = new_zone, theme = new_theme, feed_order = new_order
        WHERE user_id = person
        """,
    ),
    "has_people": (
        "() RETURNS boolean",
        "SELECT EXISTS (SELECT 1 FROM users WHERE password_hash IS NOT NULL)",
    ),
    "create_first_owner": (
        "(new_name text, new_hash text) RETURNS bigint",
        """
        WITH locked AS MATERIALIZED (SELECT pg_advisory_xact_lock(7315002)),
        made AS (
            INSERT INTO users (name, password_hash)
            SELECT new_name, new_hash FROM locked
            WHERE NOT EXISTS (SELECT 1 FROM users WHERE password_hash IS NOT NULL)
            ON CONFLICT (name) DO UPDATE SET password_hash = excluded.password_hash
            RETURNING user_id
        ),
        joined AS (
            INSERT INTO memberships (tenant_id, user_id, role)
            SELECT (SELECT tenant_id FROM tenants WHERE is_operator ORDER BY tenant_id LIMIT 1), user_id,
                'owner' FROM made
            ON CONFLICT (tenant_id, user_id) DO UPDATE SET role = 'owner'
        )
        SELECT user_id FROM made
        """,
    ),
    "find_link": (
        (
            "(link_hash bytea) RETURNS TABLE(kind text, user_name text, tenant_name text, role text, "
            "created_by text, expires_at timestamptz)"
        ),
        """
        SELECT l.kind, u.name, t.name, l.role, l.created_by, l.expires_at
        FROM one_time_links l LEFT JOIN users u USING (user_id) LEFT JOIN tenants t USING (tenant_id)
        WHERE l.hash = link_hash AND l.used_at IS NULL AND l.expires_at > now()
        """,
    ),
    "use_login_link": (
        "(link_hash bytea) RETURNS bigint",
        """
        UPDATE one_time_links SET used_at = now()
        WHERE hash = link_hash AND kind = 'login' AND used_at IS NULL AND expires_at > now() RETURNING user_id
        """,
    ),
    "create_person_by_link": (
        "(link_hash bytea, new_name text, new_hash text) RETURNS bigint",
        """
        WITH invited AS (
            SELECT 1 FROM one_time_links WHERE hash = link_hash AND kind = 'invitation' AND used_at IS NULL
                AND expires_at > now()
        )
        INSERT INTO users (name, password_hash)
        SELECT new_name, new_hash FROM invited
        WHERE NOT EXISTS (SELECT 1 FROM users WHERE lower(name) = lower(new_name))
        ON CONFLICT (name) DO NOTHING RETURNING user_id
        """,
    ),
    "accept_invitation": (
        "(link_hash bytea, person bigint) RETURNS uuid",
        """
        WITH used AS (
            UPDATE one_time_links SET used_at = now()
            WHERE hash = link_hash AND kind = 'invitation' AND used_at IS NULL AND expires_at > now()
                RETURNING tenant_id, role
        ),
        joined AS (
            INSERT INTO memberships (tenant_id, user_id, role) SELECT tenant_id, person, role FROM used
            ON CONFLICT (tenant_id, user_id) DO NOTHING
        )
        SELECT t.public_id FROM used JOIN tenants t USING (tenant_id)
        """,
    ),
}
"""For requests whose tenant is not known yet.

Each does one thing; none returns a hash but `password_of_person`.
"""

TENANT_FUNCTIONS = {
    "members_of_tenant": (
        "() RETURNS TABLE(public_id uuid, name text, role text, created_at timestamptz, seen_at timestamptz)",
        """
        SELECT u.public_id, u.name, m.role, m.created_at,
            (SELECT max(s.seen_at) FROM sessions s WHERE s.user_id = u.user_id)
        FROM memberships m JOIN users u USING (user_id) WHERE m.tenant_id = current_tenant()
        ORDER BY m.created_at, u.name
        """,
    ),
    "set_member_role": (
        "(member uuid, new_role text) RETURNS boolean",
        """
        WITH owners AS MATERIALIZED (
            SELECT m.user_id FROM memberships m WHERE m.tenant_id = current_tenant() AND m.role = 'owner'
                FOR UPDATE
        )
        UPDATE memberships m SET role = new_role FROM users u
        WHERE m.tenant_id = current_tenant() AND u.user_id = m.user_id AND u.public_id = member
          AND (new_role = 'owner' OR EXISTS (SELECT 1 FROM owners o WHERE o.user_id <> m.user_id))
        RETURNING true
        """,
    ),
    "remove_member": (
        "(member uuid) RETURNS boolean",
        """
        WITH owners AS MATERIALIZED (
            SELECT m.user_id FROM memberships m WHERE m.tenant_id = current_tenant() AND m.role = 'owner'
                FOR UPDATE
        )
        DELETE FROM memberships m USING users u
        WHERE m.tenant_id = current_tenant() AND u.user_id = m.user_id AND u.public_id = member
          AND EXISTS (SELECT 1 FROM owners o WHERE o.user_id <> m.user_id)
        RETURNING true
        """,
    ),
    "make_invitation": (
        "(link_hash bytea, new_role text, author text, lasts interval) RETURNS uuid",
        """
        INSERT INTO one_time_links (hash, kind, tenant_id, role, created_by, expires_at)
        SELECT link_hash, 'invitation', current_tenant(), new_role, author, now() + lasts
        WHERE current_tenant() IS NOT NULL RETURNING public_id
        """,
    ),
    "open_invitations": (
        (
            "() RETURNS TABLE(public_id uuid, role text, created_by text, created_at timestamptz, "
            "expires_at timestamptz)"
        ),
        """
        SELECT public_id, role, created_by, created_at, expires_at FROM one_time_links
        WHERE kind = 'invitation' AND tenant_id = current_tenant() AND used_at IS NULL AND expires_at > now()
            ORDER BY created_at DESC
        """,
    ),
    "withdraw_invitation": (
        "(withdrawn uuid) RETURNS boolean",
        """
        UPDATE one_time_links SET expires_at = now()
        WHERE public_id = withdrawn AND kind = 'invitation' AND tenant_id = current_tenant()
            AND used_at IS NULL AND expires_at > now()
        RETURNING true
        """,
    ),
}
"""For one tenant. The last owner can neither be removed nor lose the role."""


def definer(name: str, signature: str, body: str, *, caller: str) -> None:
    rights = "SECURITY DEFINER SET search_path TO 'public', 'pg_temp'"
    op.execute(
        f"CREATE FUNCTION {name}{signature} LANGUAGE sql VOLATILE {rights} AS $function${body}$function$"
    )
    op.execute(f"REVOKE ALL ON FUNCTION {name} FROM PUBLIC")
    op.execute(f"GRANT EXECUTE ON FUNCTION {name} TO {caller}")
