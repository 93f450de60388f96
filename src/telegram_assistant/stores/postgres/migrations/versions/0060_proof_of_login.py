"""The database lets a person in for a proof only: a password, a one-time link or a session, which the login
of requests cannot read.

A password is stored as the SHA-256 of its argon2 hash. Requests get salt and parameters, compute the hash and
hand it over; the function compares. Sessions and links are handed over as the tokens themselves, so that
somebody who has read a backup has nothing to hand over. Functions about a person take the token of a session
of theirs. Logins, changes of passwords and ends of sessions write the audit log here.
"""

from alembic import op

revision = "0060"
down_revision = "0059"

RIGHTS = "SECURITY DEFINER SET search_path TO 'public', 'pg_temp'"
PERSON_COLUMNS = (
    "u.user_id, u.public_id, u.name, u.language, u.zone, u.theme, u.feed_order, "
    "u.password_digest IS NOT NULL AS has_password"
)
PERSON = (
    "user_id bigint, public_id uuid, name text, language text, zone text, theme text, feed_order text, "
    "has_password boolean"
)
MAX_SESSIONS = 20
"""Of one person; the one that was not seen for longest ends."""
LONGEST_SESSION = "interval '1 year'"


def upgrade() -> None:
    for name in REPLACED:
        op.execute(f"DROP FUNCTION {name}")
    passwords()
    columns()
    for name, definition in INTERNAL_FUNCTIONS.items():
        op.execute(f"CREATE FUNCTION {name}{definition}")
        op.execute(f"REVOKE ALL ON FUNCTION {name} FROM PUBLIC")
    for name, (signature, kind, body) in API_FUNCTIONS.items():
        op.execute(
            f"CREATE FUNCTION {name}{signature} LANGUAGE {kind} {RIGHTS} AS $function${body}$function$"
        )
        op.execute(f"REVOKE ALL ON FUNCTION {name} FROM PUBLIC")
        op.execute(f"GRANT EXECUTE ON FUNCTION {name} TO tga_api")


def passwords() -> None:
    """Splits the stored hashes in place: an encoded argon2 hash ends with the hash itself."""
    op.execute("ALTER TABLE users ADD COLUMN password_parameters text, ADD COLUMN password_digest bytea")
    op.execute(
        r"""
        UPDATE users SET password_parameters = regexp_replace(password_hash, '\$[^$]*$', ''),
            password_digest = sha256(decode(rpad(encoded, (length(encoded) + 3) / 4 * 4, '='), 'base64'))
        FROM (SELECT user_id AS owner, regexp_replace(password_hash, '^.*\$', '') AS encoded FROM users) split
        WHERE user_id = owner AND password_hash IS NOT NULL
        """
    )
    op.execute(
        "ALTER TABLE users DROP COLUMN password_hash, "
        "ADD CONSTRAINT users_password_is_whole CHECK ((password_parameters IS NULL) = (password_digest IS "
        "NULL))"
    )
    op.execute(
        "COMMENT ON COLUMN users.password_parameters IS 'Algorithm, cost and salt, as argon2 writes them.'"
    )
    op.execute(
        "COMMENT ON COLUMN users.password_digest IS 'SHA-256 of the argon2 hash. Requests cannot read it.'"
    )


def columns() -> None:
    op.execute("ALTER TABLE audit_log ADD COLUMN actor_id uuid")
    op.execute(
        "COMMENT ON COLUMN audit_log.actor_id IS 'The public id of the person: two names can look the same.'"
    )
    op.execute(f"UPDATE sessions SET expires_at = least(expires_at, created_at + {LONGEST_SESSION})")


REPLACED = (
    "begin_session",
    "create_first_owner",
    "end_sessions",
    "find_session",
    "has_people",
    "password_of_person",
    "sessions_of_person",
    "set_password",
    "set_preferences",
    "use_login_link",
)

INTERNAL_FUNCTIONS = {
    "token_hash": (
        "(token text) RETURNS bytea LANGUAGE sql IMMUTABLE AS $$ SELECT sha256(convert_to(token, 'UTF8')) $$"
    ),
    "person_of_session": """(session_token text) RETURNS bigint LANGUAGE sql STABLE AS $$
        SELECT user_id FROM sessions WHERE hash = token_hash(session_token) AND ended_at IS NULL
            AND expires_at > now()
    $$""",
    "person_named": """(wanted text) RETURNS SETOF users LANGUAGE sql STABLE AS $$
        SELECT * FROM users WHERE lower(name) = lower(wanted) AND password_digest IS NOT NULL
        ORDER BY name = wanted DESC, user_id LIMIT 1
    $$""",
    # In the log of each tenant of the person; of somebody without a tenant, and of a name that nobody has, in
    # the operator's.
    "note_of_person": """(person bigint, what text, path text, details jsonb) RETURNS void LANGUAGE sql AS $$
        INSERT INTO audit_log (tenant_id, actor, actor_id, action, subject, facts)
        SELECT t.tenant_id, coalesce(u.name, 'unknown'), u.public_id, what, path, jsonb_strip_nulls(details)
        FROM (SELECT person AS user_id) p LEFT JOIN users u USING (user_id)
        JOIN tenants t ON EXISTS (SELECT 1 FROM memberships m
            WHERE m.tenant_id = t.tenant_id AND m.user_id = person)
            OR (t.is_operator AND NOT EXISTS (SELECT 1 FROM memberships m WHERE m.user_id = person))
    $$""",
    "add_session": f"""(person bigint, session_hash bytea, browser text, lasts interval,
        how text) RETURNS void LANGUAGE plpgsql AS $$
        DECLARE
            added uuid;
            ended integer;
        BEGIN
            DELETE FROM sessions WHERE user_id = person
                AND coalesce(ended_at, expires_at) < now() - interval '90 days';
            INSERT INTO sessions (hash, user_id, agent, expires_at)
            VALUES (session_hash, person, left(browser, 200), now() + least(lasts, {LONGEST_SESSION}))
                RETURNING public_id INTO added;
            UPDATE sessions SET ended_at = now() WHERE user_id = person AND ended_at IS NULL AND hash NOT IN (
                SELECT hash FROM sessions WHERE user_id = person AND ended_at IS NULL AND expires_at > now()
                ORDER BY seen_at DESC, created_at DESC LIMIT {MAX_SESSIONS});
            GET DIAGNOSTICS ended = ROW_COUNT;
            PERFORM note_of_person(person, how, '/login',
                jsonb_build_object('session', added, 'ended_sessions', nullif(ended, 0)));
        END
    $$""",
}
"""For the functions below only."""

API_FUNCTIONS = {
    "find_session": (
        f"(session_hash bytea) RETURNS TABLE({PERSON}, session_id uuid, tenants jsonb)",
        "sql",
        f"""
        WITH seen AS (
            UPDATE sessions s SET seen_at = now(),
                expires_at = least(now() + (s.expires_at - s.seen_at), s.created_at + {LONGEST_SESSION})
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
    "password_parameters": (
        "(wanted text) RETURNS text",
        "sql STABLE",
        "SELECT password_parameters FROM person_named(wanted)",
    ),
    "begin_session_by_password": (
        (
            "(wanted text, proof bytea, session_hash bytea, browser text, lasts interval, place text, "
            "unknown_as text) RETURNS bigint"
        ),
        "plpgsql",
        """
        DECLARE
            person users;
        BEGIN
            SELECT * INTO person FROM person_named(wanted);
            IF person.user_id IS NULL OR sha256(proof) IS DISTINCT FROM person.password_digest THEN
                PERFORM note_of_person(person.user_id, 'log_in_failed', '/login', jsonb_build_object(
                    'from', place, 'name_hash', CASE WHEN person.user_id IS NULL THEN unknown_as END));
                RETURN NULL;
            END IF;
            PERFORM add_session(person.user_id, session_hash, browser, lasts, 'log_in');
            RETURN person.user_id;
        END
        """,
    ),
    "begin_session_by_link": (
        "(link_token text, session_hash bytea, browser text, lasts interval) RETURNS bigint",
        "plpgsql",
        """
        DECLARE
            person bigint;
        BEGIN
            UPDATE one_time_links SET used_at = now()
            WHERE hash = token_hash(link_token) AND kind = 'login' AND used_at IS NULL AND expires_at > now()
                RETURNING user_id INTO person;
            IF person IS NOT NULL THEN
                PERFORM add_session(person, session_hash, browser, lasts, 'log_in_by_link');
            END IF;
            RETURN person;
        END
        """,
    ),
    "note_login_alarm": (
        "(wanted text, place text, unknown_as text) RETURNS void",
        "sql",
        """
        SELECT note_of_person(p.user_id, 'logins_of_name_limited', '/login', jsonb_build_object(
            'from', place, 'name_hash', CASE WHEN p.user_id IS NULL THEN unknown_as END))
        FROM (SELECT (SELECT user_id FROM person_named(wanted)) AS user_id) p
        """,
    ),
    "set_password": (
        "(session_token text, old_proof bytea, new_parameters text, new_digest bytea) RETURNS integer",
        "plpgsql",
        """
        DECLARE
            person bigint := person_of_session(session_token);
            ended integer;
        BEGIN
            UPDATE users SET password_parameters = new_parameters, password_digest = new_digest
            WHERE user_id = person AND (password_digest IS NULL OR password_digest = sha256(old_proof));
            IF NOT FOUND THEN
                PERFORM note_of_person(person, 'change_password_failed', '/me/password', '{}')
                    WHERE person IS NOT NULL;
                RETURN NULL;
            END IF;
            UPDATE sessions SET ended_at = now() WHERE user_id = person AND ended_at IS NULL
                AND hash <> token_hash(session_token);
            GET DIAGNOSTICS ended = ROW_COUNT;
            PERFORM note_of_person(person, 'change_password', '/me/password',
                jsonb_build_object('ended_sessions', nullif(ended, 0)));
            RETURN ended;
        END
        """,
    ),
    "sessions_of_person": (
        (
            "(session_token text) RETURNS TABLE(public_id uuid, created_at timestamptz, seen_at timestamptz, "
            "agent text)"
        ),
        "sql STABLE",
        """
        SELECT public_id, created_at, seen_at, agent FROM sessions
        WHERE user_id = person_of_session(session_token) AND ended_at IS NULL AND expires_at > now()
            ORDER BY seen_at DESC
        """,
    ),
    "end_sessions": (
        "(session_token text, ended uuid) RETURNS integer",
        "plpgsql",
        """
        DECLARE
            person bigint := person_of_session(session_token);
            number integer;
        BEGIN
            UPDATE sessions SET ended_at = now()
            WHERE user_id = person AND ended_at IS NULL
              AND CASE WHEN ended IS NULL THEN hash <> token_hash(session_token) ELSE public_id = ended END;
            GET DIAGNOSTICS number = ROW_COUNT;
            IF number > 0 THEN
                PERFORM note_of_person(person, 'end_sessions', '/me/sessions',
                    jsonb_build_object('session', ended, 'ended_sessions', number));
            END IF;
            RETURN number;
        END
        """,
    ),
    "set_preferences": (
        "(session_token text, new_language text, new_zone text, new_theme text, new_order text) RETURNS void",
        "sql",
        """
        UPDATE users SET language = new_language, zone = new_zone, theme = new_theme, feed_order = new_order
        WHERE user_id = person_of_session(session_token)
        """,
    ),
    "has_people": ("() RETURNS boolean", "sql STABLE", "SELECT EXISTS (SELECT 1 FROM memberships)"),
    "has_owner": (
        "() RETURNS boolean",
        "sql STABLE",
        "SELECT EXISTS (SELECT 1 FROM memberships JOIN tenants USING (tenant_id) WHERE is_operator)",
    ),
    "create_first_owner": (
        (
            "(new_name text, new_parameters text, new_digest bytea, session_hash bytea, browser text, "
            "lasts interval) RETURNS bigint"
        ),
        "plpgsql",
        """
        DECLARE
            person bigint;
        BEGIN
            PERFORM pg_advisory_xact_lock(7315002);
            IF has_owner() OR EXISTS (SELECT 1 FROM users WHERE lower(name) = lower(new_name)) THEN
                RETURN NULL;
            END IF;
            INSERT INTO users (name, password_parameters, password_digest)
                VALUES (new_name, new_parameters, new_digest)
            ON CONFLICT (name) DO NOTHING RETURNING user_id INTO person;
            IF person IS NOT NULL THEN
                INSERT INTO memberships (tenant_id, user_id, role) SELECT tenant_id, person, 'owner'
                FROM find_operator();
                PERFORM add_session(person, session_hash, browser, lasts, 'create_first_owner');
            END IF;
            RETURN person;
        END
        """,
    ),
}
"""For requests whose tenant is not known yet. None returns a hash."""
