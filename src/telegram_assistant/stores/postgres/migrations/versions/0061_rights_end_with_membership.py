"""A person who leaves a tenant, or gets a lower role in it, keeps nothing that lets them or others in.

A trigger on memberships does it, so that no way to change them forgets it: a page, the command line, or SQL.
Invitations end with the right to invite; keys lose the scopes that the role does not have; of somebody who
leaves, keys are revoked, feeds deleted and receivers paused. An owner who removes somebody may take over
feeds and receivers; they change hands before the membership ends. Only an owner with a session of their own
removes people and changes roles.
"""

from alembic import op

revision = "0061"
down_revision = "0060"

RIGHTS = "SECURITY DEFINER SET search_path TO 'public', 'pg_temp'"
CREATOR_LEFT = "the person who made this receiver is no longer a member"


def upgrade() -> None:
    columns()
    for name in REPLACED:
        op.execute(f"DROP FUNCTION {name}")
    op.execute(
        "CREATE FUNCTION withdraw_rights() RETURNS trigger LANGUAGE plpgsql "
        f"SET search_path TO 'public', 'pg_temp' AS $$ {WITHDRAW_RIGHTS} $$"
    )
    op.execute("REVOKE ALL ON FUNCTION withdraw_rights FROM PUBLIC")
    op.execute(
        "CREATE TRIGGER withdraw_rights AFTER UPDATE OF role OR DELETE ON memberships FOR EACH ROW EXECUTE "
        "FUNCTION withdraw_rights()"
    )
    for name, (caller, signature, kind, body) in FUNCTIONS.items():
        op.execute(
            f"CREATE FUNCTION {name}{signature} LANGUAGE {kind} {RIGHTS} AS $function${body}$function$"
        )
        op.execute(f"REVOKE ALL ON FUNCTION {name} FROM PUBLIC")
        op.execute(f"GRANT EXECUTE ON FUNCTION {name} TO {caller}")


def columns() -> None:
    """Existing rows belong to the member whose name stands there: names are unique.

    Invitations of nobody end.
    """
    op.execute(
        """
        CREATE FUNCTION current_actor() RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE
        AS $$ SELECT nullif(current_setting('app.actor_id', true), '')::bigint $$
        """
    )
    for table, ending in (
        ("receivers", "SET NULL"),
        ("feed_addresses", "CASCADE"),
        ("one_time_links", "CASCADE"),
    ):
        op.execute(
            f"ALTER TABLE {table} ADD COLUMN created_by_user bigint REFERENCES users ON DELETE {ending}"
        )
        op.execute(
            f"COMMENT ON COLUMN {table}.created_by_user IS 'Who made it, or has taken it over. Null: "
            "the command line, or a key of nobody.'"
        )
        op.execute(
            f"""
            UPDATE {table} made SET created_by_user = u.user_id FROM users u
            JOIN memberships m USING (user_id)
            WHERE u.name = made.created_by AND m.tenant_id = made.tenant_id
            """
        )
    for table in ("receivers", "feed_addresses"):
        op.execute(f"ALTER TABLE {table} ALTER COLUMN created_by_user SET DEFAULT current_actor()")
    op.execute(
        "UPDATE one_time_links SET expires_at = now() WHERE kind = 'invitation' AND created_by_user IS NULL "
        "AND expires_at > now()"
    )


REPLACED = (
    "accept_invitation",
    "create_person_by_link",
    "find_caller",
    "find_link",
    "make_invitation",
    "remove_member",
    "set_member_role",
)

WITHDRAW_RIGHTS = f"""
DECLARE
    permitted text[] := CASE
        WHEN TG_OP = 'DELETE' THEN '{{}}'::text[]
        WHEN NEW.role = 'owner' THEN '{{read,write,admin,operate}}'
        WHEN NEW.role = 'editor' THEN '{{read,write}}'
        ELSE '{{read}}' END;
BEGIN
    IF NOT 'admin' = ANY (permitted) THEN
        UPDATE one_time_links SET expires_at = now()
        WHERE kind = 'invitation' AND tenant_id = OLD.tenant_id AND created_by_user = OLD.user_id
            AND used_at IS NULL AND expires_at > now();
    END IF;
    UPDATE api_keys SET
        scopes = CASE WHEN scopes && permitted
            THEN ARRAY(SELECT s FROM unnest(scopes) s WHERE s = ANY (permitted)) ELSE scopes END,
        revoked_at = CASE WHEN scopes && permitted THEN NULL ELSE now() END
    WHERE tenant_id = OLD.tenant_id AND user_id = OLD.user_id AND revoked_at IS NULL
        AND NOT scopes <@ permitted;
    IF TG_OP = 'DELETE' THEN
        UPDATE receivers SET paused_at = coalesce(paused_at, now()), trouble = '{CREATOR_LEFT}'
        WHERE tenant_id = OLD.tenant_id AND created_by_user = OLD.user_id;
        DELETE FROM feed_addresses WHERE tenant_id = OLD.tenant_id
            AND (created_by_user = OLD.user_id OR user_id = OLD.user_id);
        DELETE FROM deliveries WHERE tenant_id = OLD.tenant_id AND user_id = OLD.user_id
            AND delivered_at IS NULL;
    END IF;
    RETURN NULL;
END
"""

INVITED = """
l.kind = 'invitation' AND l.used_at IS NULL AND l.expires_at > now() AND EXISTS (
    SELECT 1 FROM memberships m WHERE m.tenant_id = l.tenant_id AND m.user_id = l.created_by_user
        AND m.role = 'owner')
"""

# Locks all owners first, in one order, so that two owners who remove each other do not wait for each other.
BY_OWNER = """
PERFORM 1 FROM memberships WHERE tenant_id = current_tenant() AND role = 'owner' ORDER BY user_id FOR UPDATE;
SELECT m.user_id INTO owner FROM memberships m
WHERE m.tenant_id = current_tenant() AND m.user_id = person_of_session(session_token) AND m.role = 'owner';
IF owner IS NULL THEN
    RETURN NULL;
END IF;
SELECT user_id INTO person FROM users WHERE public_id = member;
"""
HAS_OTHER_OWNER = (
    "EXISTS (SELECT 1 FROM memberships o WHERE o.tenant_id = current_tenant() AND o.role = 'owner' "
    "AND o.user_id <> person)"
)

FUNCTIONS = {
    "find_link": (
        "tga_api",
        """(link_hash bytea) RETURNS TABLE(kind text, user_name text, tenant uuid, tenant_name text,
            role text, created_by text, expires_at timestamptz)""",
        "sql STABLE",
        f"""
        SELECT l.kind, u.name, t.public_id, t.name, l.role, l.created_by, l.expires_at
        FROM one_time_links l LEFT JOIN users u USING (user_id) LEFT JOIN tenants t USING (tenant_id)
        WHERE l.hash = link_hash AND ((l.kind = 'login' AND l.used_at IS NULL AND l.expires_at > now())
            OR ({INVITED}))
        """,
    ),
    "join_by_link": (
        "tga_api",
        (
            "(link_token text, new_name text, new_parameters text, new_digest bytea, session_hash bytea, "
            "browser text, lasts interval) RETURNS bigint"
        ),
        "plpgsql",
        f"""
        DECLARE
            link one_time_links;
            person bigint;
        BEGIN
            SELECT l.* INTO link FROM one_time_links l
            WHERE l.hash = token_hash(link_token) AND {INVITED} FOR UPDATE;
            IF link.hash IS NULL OR EXISTS (SELECT 1 FROM users WHERE lower(name) = lower(new_name)) THEN
                RETURN NULL;
            END IF;
            INSERT INTO users (name, password_parameters, password_digest)
                VALUES (new_name, new_parameters, new_digest)
            ON CONFLICT (name) DO NOTHING RETURNING user_id INTO person;
            IF person IS NOT NULL THEN
                UPDATE one_time_links SET used_at = now() WHERE hash = link.hash;
                INSERT INTO memberships (tenant_id, user_id, role) VALUES (link.tenant_id, person, link.role);
                PERFORM note_of_person(person, 'join_tenant', '/link',
                    jsonb_build_object('invitation', link.public_id, 'role', link.role));
                PERFORM add_session(person, session_hash, browser, lasts, 'log_in');
            END IF;
            RETURN person;
        END
        """,
    ),
    "accept_invitation": (
        "tga_api",
        "(link_token text, session_token text) RETURNS uuid",
        "plpgsql",
        f"""
        DECLARE
            person bigint := person_of_session(session_token);
            link one_time_links;
        BEGIN
            SELECT l.* INTO link FROM one_time_links l
            WHERE l.hash = token_hash(link_token) AND {INVITED} FOR UPDATE;
            IF link.hash IS NULL OR person IS NULL THEN
                RETURN NULL;
            END IF;
            UPDATE one_time_links SET used_at = now() WHERE hash = link.hash;
            INSERT INTO memberships (tenant_id, user_id, role) VALUES (link.tenant_id, person, link.role)
            ON CONFLICT (tenant_id, user_id) DO NOTHING;
            INSERT INTO audit_log (tenant_id, actor, actor_id, action, subject, facts)
            SELECT link.tenant_id, name, public_id, 'join_tenant', '/link',
                jsonb_build_object('invitation', link.public_id, 'role', link.role)
            FROM users WHERE user_id = person;
            RETURN (SELECT public_id FROM tenants WHERE tenant_id = link.tenant_id);
        END
        """,
    ),
    # The membership is locked, so that an invitation cannot slip past the removal of its author.
    "make_invitation": (
        "tga_tenant",
        "(session_token text, link_hash bytea, new_role text, lasts interval, max_open integer) RETURNS uuid",
        "plpgsql",
        """
        DECLARE
            author users;
            invitation uuid;
        BEGIN
            SELECT u.* INTO author FROM memberships m JOIN users u USING (user_id)
            WHERE m.tenant_id = current_tenant() AND m.user_id = person_of_session(session_token)
                AND m.role = 'owner' FOR SHARE OF m;
            INSERT INTO one_time_links (hash, kind, tenant_id, role, created_by, created_by_user, expires_at)
            SELECT link_hash, 'invitation', current_tenant(), new_role, author.name, author.user_id, now()
                + lasts
            WHERE author.user_id IS NOT NULL AND (SELECT count(*) FROM open_invitations()) < max_open
                RETURNING public_id INTO invitation;
            RETURN invitation;
        END
        """,
    ),
    "set_member_role": (
        "tga_tenant",
        "(session_token text, member uuid, new_role text) RETURNS boolean",
        "plpgsql",
        f"""
        DECLARE
            owner bigint;
            person bigint;
        BEGIN
            {BY_OWNER}
            UPDATE memberships SET role = new_role
            WHERE tenant_id = current_tenant() AND user_id = person
                AND (new_role = 'owner' OR {HAS_OTHER_OWNER});
            RETURN FOUND;
        END
        """,
    ),
    "remove_member": (
        "tga_tenant",
        "(session_token text, member uuid, keep_feeds boolean, keep_receivers boolean) RETURNS boolean",
        "plpgsql",
        f"""
        DECLARE
            owner bigint;
            person bigint;
        BEGIN
            {BY_OWNER}
            IF person IS NULL OR NOT {HAS_OTHER_OWNER} THEN
                RETURN false;
            END IF;
            UPDATE receivers SET created_by_user = owner
            WHERE keep_receivers AND owner <> person AND tenant_id = current_tenant()
                AND created_by_user = person;
            UPDATE feed_addresses SET created_by_user = owner
            WHERE keep_feeds AND owner <> person AND tenant_id = current_tenant() AND created_by_user = person
                AND user_id IS NULL;
            DELETE FROM memberships WHERE tenant_id = current_tenant() AND user_id = person;
            RETURN FOUND;
        END
        """,
    ),
    "things_of_member": (
        "tga_tenant",
        "(member uuid) RETURNS TABLE(kind text, name text, detail text, created_at timestamptz)",
        "sql STABLE",
        """
        WITH person AS (
            SELECT user_id FROM users JOIN memberships USING (user_id)
            WHERE public_id = member AND tenant_id = current_tenant()
        ),
        things AS (
            SELECT 'invitation' AS kind, '' AS name, l.role AS detail, l.created_at
            FROM one_time_links l JOIN person p ON p.user_id = l.created_by_user
            WHERE l.kind = 'invitation' AND l.tenant_id = current_tenant() AND l.used_at IS NULL
                AND l.expires_at > now()
            UNION ALL
            SELECT 'key', k.name, array_to_string(k.scopes, ', '), k.created_at FROM api_keys k
            JOIN person USING (user_id)
            WHERE k.tenant_id = current_tenant() AND k.revoked_at IS NULL
                AND (k.expires_at IS NULL OR k.expires_at > now())
            UNION ALL
            SELECT 'feed', f.name, f.kind, f.created_at FROM feed_addresses f
            JOIN person p ON p.user_id IN (f.created_by_user, f.user_id)
            WHERE f.tenant_id = current_tenant()
            UNION ALL
            SELECT 'receiver', r.name, r.kind, r.created_at FROM receivers r
            JOIN person p ON p.user_id = r.created_by_user
            WHERE r.tenant_id = current_tenant() AND r.paused_at IS NULL
        )
        SELECT kind, name, detail, created_at FROM things ORDER BY kind, created_at
        """,
    ),
    "find_caller": (
        "tga_api",
        """(key_hash bytea) RETURNS TABLE(key_id uuid, tenant_id bigint, scopes text[], user_id bigint,
            key_name text, public_id uuid, tenant_name text, is_operator boolean, expires_at timestamptz,
            is_suspended boolean, suspended_reason text, user_name text, role text, user_public_id uuid)""",
        "sql",
        """
        WITH found AS (
            SELECT k.key_id, k.tenant_id, k.scopes, k.user_id, k.name, t.public_id, t.name AS tenant_name,
                t.is_operator,
                   k.expires_at, t.suspended_at IS NOT NULL AS is_suspended, t.suspended_reason,
                   u.name AS user_name, m.role,
                   u.public_id AS user_public_id
            FROM api_keys k JOIN tenants t USING (tenant_id)
            LEFT JOIN users u ON u.user_id = k.user_id
            LEFT JOIN memberships m ON m.tenant_id = k.tenant_id AND m.user_id = k.user_id
            WHERE k.hash = key_hash AND k.revoked_at IS NULL
                AND (k.expires_at IS NULL OR k.expires_at > now())
              AND (k.user_id IS NULL OR m.role IS NOT NULL)
              AND NOT EXISTS (
                  SELECT 1 FROM api_keys a WHERE a.key_id = ANY(k.ancestors)
                      AND (a.revoked_at IS NOT NULL OR a.expires_at <= now()))
        ),
        used AS (
            UPDATE api_keys k SET last_used_at = now() FROM found
            WHERE NOT found.is_suspended AND k.hash = key_hash
                AND (k.last_used_at IS NULL OR k.last_used_at < now() - interval '1 minute')
        )
        SELECT * FROM found
        """,
    ),
}
"""The role that may call it, its signature, its language and its body."""
